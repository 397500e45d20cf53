"""What is in a place that a session is kept in: a SQLite file, or a PostgreSQL database by its address."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg


def execute(where: str, sql: str) -> None:
    """Change something behind the session's back."""
    if "://" in where:
        with psycopg.connect(where) as server:
            server.execute(sql)  # type: ignore[call-overload]
        return
    with closing(sqlite3.connect(where)) as db, db:
        db.execute(sql)


def contents(where: str) -> dict[str, bytes]:
    """Table -> its rows as bytes, those columns decoded that hold bytes; of a file the bytes of it and of what is beside it."""
    if "://" not in where:
        return {file.name: file.read_bytes() for file in sorted(Path(where).parent.glob(f"{Path(where).name}*"))}
    out: dict[str, bytes] = {}
    with psycopg.connect(where) as server:
        for (table,) in server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall():
            with server.cursor().copy(f'COPY "{table}" TO STDOUT') as copied:  # type: ignore[arg-type]
                rows = [bytes(row) for row in copied]
            out[table] = b"".join(part for row in rows for part in (row, *map(_decoded, _bytea(row))))
    return out


def _bytea(row: bytes) -> list[bytes]:
    """The hexadecimal digits of the columns that hold bytes."""
    return [column[3:] for column in row.rstrip(b"\n").split(b"\t") if column.startswith(b"\\\\x")]


def _decoded(digits: bytes) -> bytes:
    return bytes.fromhex(digits.decode())
