"""Damage and other formats inside a database: refused in one line, and left as they were."""

import time
from pathlib import Path

import psycopg
import pytest

from deepnb import Session
from tests.persistence.conftest import session
from tests.support import databases
from tests.support.databases import execute
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.walks import walked


def contents(where: str) -> dict[str, bytes]:
    """What is there, less what SQLite has beside a file while it is open: an empty log, and the index of the log."""
    found = databases.contents(where)
    return {name: data for name, data in found.items() if data and not name.endswith("-shm")}


def begun(where: str) -> None:
    with session(where, call("write_file", file_path="/a.txt", content="A"), "written", "two") as s:
        walked(s, "memory.add likes tea", "run one", "run two")


DAMAGE = {
    "a later format": ("UPDATE deepnb_format SET version = 999", "was written by a later deepnb"),
    "no format": ("DELETE FROM deepnb_format", "is damaged .it does not say which format"),
    "two formats": ("INSERT INTO deepnb_format (version) VALUES (1)", "is damaged .it does not say which format"),
    "a table is gone": ("DROP TABLE deepnb_lines", "is damaged"),
    "a column is gone": ("ALTER TABLE deepnb_threads DROP COLUMN begun", "is damaged"),
    "LangGraph's table is gone": ("DROP TABLE checkpoints", "is damaged"),
    "a turn is gone": ("DELETE FROM deepnb_turns WHERE parent IS NOT NULL", "is damaged .a turn that a thread names"),
    "the first turn is gone": ("DELETE FROM deepnb_turns WHERE parent IS NULL", "is damaged .a turn that a turn names"),
    "a turn is no JSON": ("UPDATE deepnb_turns SET record = substr(record, 1, 40)", "is damaged .a record is no JSON"),
    "a turn is another's": ("""UPDATE deepnb_turns SET record = '{"number": 1}'""", "is damaged .a turn can't be read"),
    "a thread is no JSON": ("UPDATE deepnb_threads SET facts = 'x'", "is damaged .a record is no JSON"),
    "texts are gone": ("DELETE FROM deepnb_values", "is damaged .a text that a turn names"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", DAMAGE)
def test_it_is_refused_and_left_as_it_was(where, tmp_path, what):
    sql, match = DAMAGE[what]
    begun(where)
    execute(where, sql)
    before = contents(where)
    refused(match, session, where)
    assert contents(where) == before, "it is left as it was"


def test_a_damaged_checkpoint_is_refused_and_left_as_it_was(where):
    begun(where)
    blob = "checkpoint_blobs SET blob" if "://" in where else "checkpoints SET checkpoint"
    execute(where, f"UPDATE {blob} = " + (r"'\x93ff'" if "://" in where else "x'93ff'"))
    before = contents(where)
    refused("a checkpoint of this session is damaged", session, where)
    assert contents(where) == before


def test_a_refused_database_keeps_no_connection_open(where):
    if "://" not in where:
        pytest.skip("a file has none")
    begun(where)
    execute(where, "UPDATE deepnb_format SET version = 999")
    refused("", session, where)
    with psycopg.connect(where, autocommit=True) as db:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        # The server takes a moment to end the process of a connection that was closed; one that is open stays.
        for _ in range(600):
            if db.execute(others).fetchone() == (0,):
                return
            time.sleep(0.1)
    pytest.fail("a connection stays open")


def test_a_session_whose_place_was_damaged_writes_no_more(where, tmp_path: Path):
    begun(where)
    execute(where, "DELETE FROM deepnb_values")
    before = contents(where)
    s = Session(model=Scripted(answers=["ok"]))
    refused("is damaged", s.persist, where)
    refused("this session is closed", s.run, "go on")
    assert contents(where) == before
