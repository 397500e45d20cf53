"""Threads of LangGraph in a PostgreSQL database, opened by its address: read, and not written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session, list_sessions, open_session
from deepnb.values.errors import DeepnbError, RefusedError
from tests.support import postgres
from tests.wings.open.hostile_values import CHANNELS, HELLO, check, evil_folder, forms
from tests.wings.open.session_files import graph_threads


@pytest.mark.slow
def test_a_postgresql_database_is_read_and_not_written(postgres_server: str) -> None:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    url = postgres.new_database(postgres_server)
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        graph_threads(saver)
    with psycopg.connect(url) as connection:
        before = counts(connection)
    secret = url.replace("postgres@", "postgres:pass-word@")
    assert [(row.id, row.prompt) for row in list_sessions(secret)] == [("main", "Note it"), ("older", "Hi")]
    session = Session()
    opened = open_session(secret, into=session)
    assert [turn.first_words for turn in opened.turns] == ["Note it", "Goodbye"]
    assert opened.memory.text() == "/AGENTS.md\n\n- tea, no sugar\n"
    assert opened.index.path == url and "pass-word" not in repr(opened.index)
    assert opened.fork("live") == "live"
    assert session.run("Hello").number == 3
    assert [held.line for held in session.memory.pending()] == ["- tea, no sugar"]
    session.close()
    with psycopg.connect(url) as connection:
        assert counts(connection) == before
        connection.execute("ALTER TABLE checkpoint_writes DROP COLUMN task_path")  # as it was before 2025
    assert [turn.first_words for turn in open_session(url).turns] == ["Note it", "Goodbye"]


@pytest.mark.slow
def test_a_postgresql_address_that_is_wrong_is_one_line(postgres_server: str) -> None:
    empty = postgres.new_database(postgres_server)
    with pytest.raises(RefusedError, match="holds no checkpoints of LangGraph"):
        open_session(empty)
    with pytest.raises(DeepnbError) as wrong:
        open_session("postgresql://me:pass-word@127.0.0.1:1/none")
    assert "pass-word" not in str(wrong.value) and "\n" not in str(wrong.value)
    with pytest.raises(DeepnbError) as wrong:
        open_session("postgresql://me:pass-word@127.0.0.1:port/none?options=pass-word")
    assert "pass-word" not in str(wrong.value)


def test_a_password_in_an_error_of_the_driver_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    def refuse(url: str, **how: Any) -> None:
        raise psycopg.OperationalError(f"bad {url} or pass/word")

    monkeypatch.setattr(psycopg, "connect", refuse)
    with pytest.raises(DeepnbError) as wrong:
        open_session("postgresql://me:pass%2Fword@127.0.0.1/none")
    assert "pass" not in str(wrong.value).replace("postgresql://me@127.0.0.1/none", "")


@pytest.mark.parametrize("of", [pytest.param(8, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)])
def test_no_form_of_a_value_runs_anything(
    postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: int
) -> None:
    """One form of eight: what reads them is tried on each in `tests/wings/open/test_hostile_checkpoints.py`."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    url = postgres.new_database(postgres_server)
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
    evil = evil_folder(tmp_path, monkeypatch)
    values = list(forms(evil))
    some = random.Random(of).sample(values, len(values) // of)
    stored = {f"t{n}": (kind or "null", value) for n, (kind, value) in enumerate(some)}
    versions = dict.fromkeys((*CHANNELS, "__start__"), "1")
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for thread, value in (stored | {"good": JsonPlusSerializer().dumps_typed(HELLO)}).items():
            for id_, parent in (("1", None), ("2", "1"), *([("3", "4"), ("4", "3")] if thread == "t7" else [])):
                held = {"v": 4, "id": id_, "channel_values": {}, "channel_versions": versions}
                row = (thread, id_, parent, json.dumps(held))
                cursor.execute("INSERT INTO checkpoints VALUES (%s, '', %s, %s, NULL, %s, '{}')", row)
                for n, channel in enumerate(CHANNELS if thread != "good" else ()):
                    cursor.execute(
                        "INSERT INTO checkpoint_writes VALUES (%s, '', %s, 'task', %s, %s, %s, %s)",
                        (thread, id_, n, channel, *value),
                    )
            for channel in versions:
                cursor.execute(
                    "INSERT INTO checkpoint_blobs VALUES (%s, '', %s, '1', %s, %s)", (thread, channel, *value)
                )
    check(url, len(stored), evil)


def counts(connection: Any) -> list[int]:
    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
    return [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
