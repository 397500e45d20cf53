"""What is in a place that a session is kept in: a SQLite file, or a PostgreSQL database by its address."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver


@contextmanager
def made_checkpointer(kind: str, folder: Path) -> Iterator[Any]:
    """One in memory or in a file; None for any other kind."""
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        yield {"memory": InMemorySaver(), "file": saver}.get(kind)


@pytest.fixture(params=["memory", "file"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """What `Session(checkpointer=...)` is given."""
    with made_checkpointer(request.param, tmp_path) as made:
        yield made


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
