"""What is in a place that a session is kept in: a SQLite file, or a PostgreSQL database by its address."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg


def execute(where: str, sql: str) -> None:
    if "://" in where:
        with psycopg.connect(where) as server:
            server.execute(sql)  # type: ignore[call-overload]
        return
    with closing(sqlite3.connect(where)) as db, db:
        db.execute(sql)


def contents(where: str) -> dict[str, bytes]:
    """Table -> its rows as PostgreSQL has them in bytes; of a file, and of those that SQLite has beside it, the bytes."""
    if "://" not in where:
        return {file.name: file.read_bytes() for file in sorted(Path(where).parent.glob(f"{Path(where).name}*"))}
    out: dict[str, bytes] = {}
    with psycopg.connect(where) as server:
        for (table,) in server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall():
            with server.cursor().copy(f'COPY "{table}" TO STDOUT (FORMAT BINARY)') as copied:  # type: ignore[arg-type]
                out[table] = b"".join(map(bytes, copied))
    return out
