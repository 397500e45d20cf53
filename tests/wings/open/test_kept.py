"""Threads of LangGraph in a PostgreSQL database, read and not written; what was taken out of a kept session."""

from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from deepnb import Session, list_sessions, open_session
from deepnb.values.errors import DeepnbError, RefusedError
from deepnb.wings.open import opening
from tests.persistence.test_taken import WORDS, Talker
from tests.persistence.test_taken import short as short
from tests.support import postgres
from tests.support.databases import contents, execute
from tests.wings.open.hostile_values import SAID, evil_folder, packed, read_all, watched
from tests.wings.open.session_files import graph_threads


@pytest.mark.slow
def test_a_postgresql_database_is_read_and_not_written(postgres_server: str) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    url = postgres.new_database(postgres_server)
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        graph_threads(saver)
    before = contents(url)
    secret = url.replace("postgres@", "postgres:pass-word@")
    assert [(row.id, row.prompt) for row in list_sessions(secret)] == [("main", "Note it"), ("older", "Hi")]
    session = Session()
    opened = open_session(secret, into=session)
    assert [turn.first_words for turn in opened.turns] == ["Note it", "Goodbye"]
    assert opened.memory.text() == "/AGENTS.md\n\n- tea, no sugar\n"
    assert opened.index.path == url and "pass-word" not in repr(opened.index)
    assert opened.fork("live") == "live" and session.run("Hello").number == 3
    assert [held.line for held in session.memory.pending()] == ["- tea, no sugar"]
    session.close()
    assert contents(url) == before
    execute(url, "ALTER TABLE checkpoint_writes DROP COLUMN task_path")  # as it was before 2025
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


@pytest.mark.slow
def test_no_class_that_a_value_names_is_made(postgres_server, tmp_path, monkeypatch):

    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    url, folder = postgres.new_database(postgres_server), evil_folder(tmp_path, monkeypatch)
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        graph_threads(saver)
    bomb = packed([SAID, ormsgpack.Ext(0, packed(("evil", "Bomb", 1)))])
    with psycopg.connect(url) as connection:
        for table in ("checkpoint_blobs", "checkpoint_writes"):
            connection.execute(f"UPDATE {table} SET type = 'msgpack', blob = %s WHERE channel = 'messages'", (bomb,))
    with watched() as events:
        assert SAID in read_all(url, "main")
    assert not events and not (folder / "ran").exists()


def test_what_was_taken_out_of_the_state_is_read(tmp_path: Path) -> None:
    kept = Session(Talker(), persist=tmp_path / "k.db")
    for n in range(24):
        kept.run(f"question {n}: {WORDS}")
    assert sum(turn.compacted for turn in kept.turns) >= 2
    opened = opening.open_session(tmp_path / "k.db")
    assert [turn.prompt[:12] for turn in opened.index.turns] == [turn.prompt[:12] for turn in kept.turns]
    told = [m for turn in opened.index.turns for m in turn.messages]
    assert [m.text for m in told if m.source is None] == [m.text for m in kept.snapshot.messages]
    kept.close()
