"""The file or database itself: whose it is, also with two kernels in it, which are left as they are, damage is one line, and what is forgotten."""

import json
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deepnb import DeepnbError, Session
from deepnb.backends.journal import replay
from tests.data import rows
from tests.persistence.conftest import session
from tests.support import databases
from tests.support.databases import execute
from tests.support.scripted import Scripted, Slow, call, unasked, walked
from tests.support.tables import every_row, refused


def left_alone(where: str | Path, match: str) -> None:
    before = Path(where).read_bytes()
    refused(match, session, where)
    assert Path(where).read_bytes() == before, "it is left as it was"


def test_all_of_it_is_its_owners_alone(tmp_path, home):
    with session(tmp_path / "session.db") as s:
        walked(s, "memory.add likes tea", "run one")
        made = [*tmp_path.glob("session.db*"), home / ".deepnb" / "key"]
        assert len(made) >= 3 and {stat.S_IMODE(file.stat().st_mode) for file in made} == {0o600}


@every_row("how", ["text", "cut", "overwritten"])
def test_a_damaged_file_is_refused(tmp_path, how):
    where = tmp_path / "session.db"
    with session(where) as s:
        for n in range(5):
            s.run(f"prompt {n} " + "x" * 2000)
    data = bytearray(where.read_bytes())
    if how == "text":
        data = bytearray(b"not a database at all\n" * 100)
    elif how == "cut":
        del data[len(data) // 2 :]
    else:
        data[8192 : 8192 * 3] = b"\xff" * (8192 * 2)
    where.write_bytes(data)
    left_alone(where, "is damaged, or no SQLite file")


def test_another_programs_database_is_refused(tmp_path):
    where = tmp_path / "other.db"
    with sqlite3.connect(where) as db:
        db.execute("CREATE TABLE customers (name TEXT)")
    db.close()
    left_alone(where, "is another program's database")


def test_a_file_of_langgraphs_own_is_brought_up_to_date(tmp_path):
    from langgraph.checkpoint.sqlite import SqliteSaver

    where = tmp_path / "threads.db"
    with SqliteSaver.from_conn_string(str(where)) as saver:
        Session(model=Scripted(answers=["first"]), checkpointer=saver).run("one")
    with session(where) as s:
        assert [(t.prompt, t.text) for t in s.turns] == [("one", "first")]
        s.run("two")
    with session(where) as again:
        assert [t.prompt for t in again.turns] == ["one", "two"]


@every_row(("where", "match"), [
    ("", "persist can't be"), (".", "is a directory"), ("missing/session.db", "there is no directory"),
    ("mysql://x/y", "mysql:// is no database that deepnb knows"),
    ("postgresql://me:hunter2secret@127.0.0.1:1/none", "can't be opened"),
])  # fmt: skip
def test_a_place_that_is_none_is_one_line(tmp_path, monkeypatch, where, match):
    monkeypatch.chdir(tmp_path)
    assert "hunter2secret" not in str(refused(match, session, where))


@every_row("extra", ["sqlite", "postgres"])
def test_a_missing_package_says_what_to_install(tmp_path, monkeypatch, extra):
    import sys

    monkeypatch.setitem(sys.modules, f"langgraph.checkpoint.{extra}", None)
    where = tmp_path / "s.db" if extra == "sqlite" else "postgresql://me@127.0.0.1:1/none"
    refused(rf'pip install "deepnb\[{extra}\]"', session, where)


def test_a_session_is_kept_in_one_place(tmp_path):
    with session(tmp_path / "a.db") as s, pytest.raises(DeepnbError, match=r"is kept in .*a\.db already"):
        s.persist(tmp_path / "b.db")
    from langgraph.checkpoint.memory import InMemorySaver

    refused("has a checkpointer of its own", lambda: Session(checkpointer=InMemorySaver(), persist=tmp_path / "c.db"))


def test_nothing_is_unpickled_and_no_foreign_class_is_made(tmp_path):
    import pickle

    where, evidence = tmp_path / "session.db", tmp_path / "evidence"

    class Evil:
        def __reduce__(self) -> Any:
            return Path.touch, (evidence,)

    with session(where) as s:
        s.run("one")
    db = sqlite3.connect(where)
    rows = db.execute(
        "UPDATE writes SET type = 'pickle', value = ? WHERE channel = 'messages'", (pickle.dumps(Evil()),)
    )
    assert rows.rowcount > 0
    db.commit()
    db.close()
    with pytest.raises(Exception, match=r".") as told:
        session(where).run("two")
    assert not evidence.exists() and isinstance(told.value, DeepnbError)


def test_a_constructor_in_json_is_data(monkeypatch):
    from deepnb.persistence.savers import PlainSerializer

    monkeypatch.setenv("OPENAI_API_KEY", "sk-hostile")
    names = (["langchain", "schema", "messages", "HumanMessage"], ["langchain", "chat_models", "openai", "ChatOpenAI"])
    values: list[Any] = [
        {"lc": version, "type": "constructor", "id": id_, "kwargs": {"content": "x"}}
        for version in (1, 2)
        for id_ in names
    ]
    values.append({"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]})
    before = set(sys.modules)
    assert [PlainSerializer().loads_typed(("json", json.dumps(one).encode())) for one in values] == values
    assert set(sys.modules) == before


def contents(where: str) -> dict[str, bytes]:
    """What is there, less what SQLite has beside a file while it is open: an empty log, and the index of the log."""
    found = databases.contents(where)
    return {name: data for name, data in found.items() if data and not name.endswith("-shm")}


def begun(where: str) -> None:
    with session(where, call("write_file", file_path="/a.txt", content="A"), "written", "two") as s:
        walked(s, "memory.add likes tea", "run one", "run two")


DAMAGE: dict[str, tuple[Any, str]] = dict(rows("refused")["databases"])


@pytest.mark.slow
@pytest.mark.parametrize("what", DAMAGE)
def test_it_is_refused_and_left_as_it_was(where, tmp_path, what):
    sql, match = DAMAGE[what]
    begun(where)
    execute(where, sql if isinstance(sql, str) else sql["://" in where])
    before = contents(where)
    refused(match, session, where)
    assert contents(where) == before, "it is left as it was"


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


WORD = "zeppelin"


def held(where: str) -> list[str]:
    """The tables, or files, whose bytes have the word, in whatever case."""
    return [name for name, data in databases.contents(where).items() if WORD.encode() in data.lower()]


def remembered(where: str, **options: Any) -> None:
    """Three threads that knew the word at many turns, in the block of memory and as an update; then its kernel ended."""
    with session(where, **options) as s:
        s.memory.write("/AGENTS.md", "- likes tea\n- owns a Zeppelin\n")
        walked(s, "run one", "memory.add the zeppelin is grey", "run two", "fork side", "run three", "new far")
        walked(s, "run four", "switch main")
        s.run("five", max_steps=0)


@pytest.mark.parametrize("refresh", ["delta", pytest.param("call", marks=pytest.mark.slow)])
def test_it_is_in_no_byte_and_no_later_request(where, refresh):
    remembered(where, memory_refresh=refresh)
    with session(where, memory_refresh=refresh) as s:
        assert held(where)
        found = s.memory.find(WORD)
        assert found.kept and found.files and found.journal
        assert ("may hold the words in its log" in s.memory.forget(WORD).left) is ("://" in where)
        assert held(where) == [] and s.memory.find(WORD).nothing and s.files["/AGENTS.md"] == "- likes tea\n"
        for thread in ("far", "side", "main"):
            s.switch(thread)
            s.run("and now")
            assert WORD not in str(s.options.model.requests[-1]).lower()
        s.rewind(1)
        s.fork("again", at=1)
        s.run("once more")
        assert held(where) == []
    with session(where) as s:
        s.switch("side")
        assert [t.prompt for t in s.turns] == ["one", "two", "three", "and now"]
        assert s.turns[0].after.memory["/AGENTS.md"] == "- likes tea\n- owns a [forgotten]\n"
        assert "owns a [forgotten]" in str(list(s.xray(1).request))
        s.rewind(2)
        assert s.run("on").number == 3


def test_what_the_conversation_said_stays(where):
    write = call("write_file", file_path="/AGENTS.md", content="- a zeppelin\n")
    with session(where, write, "noted the zeppelin", "yes") as s:
        walked(s, "run remember my zeppelin", "run do you?")
        s.memory.forget(WORD)
        assert s.memory.find(WORD).nothing and s.memory.forget(WORD).nothing
    with session(where) as s:
        assert s.turns[0].prompt == "remember my zeppelin" and s.turns[0].text == "noted the zeppelin"
        assert [m.text for m in s.snapshot.messages][:1] == ["remember my zeppelin"]
        assert "/AGENTS.md" not in s.files or WORD not in s.files["/AGENTS.md"]
        assert WORD not in str(s.memory.log_entries())


def test_nothing_is_forgotten_while_another_kernel_plays(where):
    slow = Slow()
    remembered(where)
    with session(where, call("wait"), "ready", **unasked(slow.wait)) as one, session(where) as two:
        one.new("here")
        with slow.held(lambda: one.run("wait")):
            refused("thread here is busy in another kernel", two.memory.forget, WORD)
            assert WORD in two.files["/AGENTS.md"].lower()
        left = two.memory.forget(WORD).left
        assert held(where) == [] or "another kernel uses" in left


def test_a_thread_in_which_a_turn_plays_is_busy_for_others_and_can_be_forked(where):
    slow = Slow()
    with session(where, "first", call("wait"), "second", **unasked(slow.wait)) as one, session(where, "other") as two:
        one.run("one")
        with slow.held(lambda: one.run("two")):
            told = refused("", two.run, "me, too")
            line = told.typed
            assert line.startswith("thread main is busy in another kernel (process ")
            assert ", since 20" in line and "%agent fork" in line
            for act in (lambda: two.rewind(0), lambda: two.files.update({"/a.txt": "A"})):
                refused("is busy in another kernel", act)
            walked(two, "memory.add memory is everybody's", "fork aside")
            assert two.run("me, too").number == 2
        assert [t.prompt for t in one.turns] == ["one", "two"]
        two.switch("main")
        assert two.run("three").number == 3 and [t.prompt for t in two.turns] == ["one", "two", "three"]
        assert "memory is everybody's" in one.files["/AGENTS.md"] and one.run("four").number == 4


def test_a_thread_that_another_kernel_made_meanwhile_is_not_overwritten(where):
    with session(where) as one, session(where) as two:
        assert not two.turns
        one.run("one")
        assert two.run("two").number == 2 and [turn.prompt for turn in two.turns] == ["one", "two"]
        two.rewind(1)
        assert len(two.snapshot.messages) == 2


def test_a_thread_made_meanwhile_is_not_overwritten(anywhere):
    with session(anywhere) as one, session(anywhere) as two:
        assert two.workspace.threads.names == ("main",)
        walked(one, "new later", "run here first")
        refused("a thread 'later' already exists", two.new, "later")
        two.switch("later")
        assert [turn.prompt for turn in two.turns] == ["here first"]


def all_there(s: Session, writers: list[str], edits: int) -> None:
    lines, log = s.files["/AGENTS.md"].splitlines(), s.memory.log_entries()
    assert sorted(lines) == sorted(f"- fact {name}-{n}" for name in writers for n in range(edits))
    assert [e.id for e in log] == [str(n) for n in range(1, len(lines) + 1)]
    assert replay("/AGENTS.md", log) == s.files["/AGENTS.md"]


def test_edits_of_many_writers_are_all_there(where):
    sessions = [session(where) for _ in range(4)]

    def write(number: int) -> None:
        for n in range(10):
            sessions[number].memory.add(f"fact {number}-{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    for s in sessions:
        all_there(s, [*"0123"], 10)
        s.close()


def test_two_writers_of_one_line_keep_both_texts(anywhere):
    with session(anywhere) as one, session(anywhere) as two:
        one.memory.write("/AGENTS.md", "- l1\n- x\n")
        two.memory.read("/AGENTS.md")
        one.memory.write("/AGENTS.md", "- l1 AAA\n- x\n")
        assert two.memory.write("/AGENTS.md", "- l1 BBB\n- x\n").conflicts
        for s in (one, two):
            assert s.memory.read("/AGENTS.md") == "- l1 AAA\n- l1 BBB\n- x\n"
            assert [c.conflict.kept for c in s.memory.conflicts()] == ["- l1 AAA"]
            assert replay("/AGENTS.md", s.memory.log_entries()) == s.files["/AGENTS.md"]
            assert [e.id for e in s.memory.log_entries()] == ["1", "2", "3"]


@pytest.mark.nightly
def test_eight_kernels_with_a_hundred_edits_each_lose_none(where):
    with session(where) as s:
        command = [sys.executable, "-m", "tests.support.memory_writer", "persist", where]
        kernels = [
            subprocess.Popen([*command, f"k{n}", "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for n in range(8)
        ]
        for one in kernels:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        for one in kernels:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        for one in kernels:
            one.communicate()
        assert [one.returncode for one in kernels] == [0] * 8
        all_there(s, [f"k{n}" for n in range(8)], 100)


def test_what_one_learns_the_other_is_told_at_its_next_turn(where):
    with session(where) as one, session(where) as two:
        one.run("one")
        walked(two, "switch main", "new b", "run in b")
        one.memory.add("likes tea")
        two.run("again in b")
        assert "likes tea" in str(two.options.model.requests[-1])
