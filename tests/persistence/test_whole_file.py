"""A kept SQLite file: alone it is the whole, and what goes wrong with it costs one line, never the thread."""

import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from deepnb import DeepnbError, Session
from deepnb.persistence import sqlite
from tests.support.compactions import AT_LENGTH
from tests.support.scripted import Scripted, call, unasked, walked
from tests.support.tables import every_row, refused


def order(n: int) -> str:
    """Order."""
    if n < 0:
        raise KeyboardInterrupt
    return f"ordered {n}"


def session(where: Path | str | None, *answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), persist=where, **{**unasked(order), **options})


def content(s: Session) -> dict[str, Any]:
    held = {}
    for name in [info.name for info in s.threads]:
        s.switch(name)
        asked = [(one.name, one.args) for one in s.asked]
        turns = [(t.prompt, t.text, t.interrupted, len(t.events)) for t in s.turns]
        held[name] = turns, [m.text for m in s.snapshot.messages], dict(s.files), asked
    return {**held, "journal": [(e.path, e.origin) for e in s.memory.log_entries()]}


def bare_copy(file: Path) -> Path:
    folder = file.parent / f"copy{len(list(file.parent.glob('copy*')))}"
    folder.mkdir()
    return Path(shutil.copy(file, folder))


def run(*answers: Any) -> Callable[[Session], Any]:
    def act(s: Session) -> None:
        s.configure(model=Scripted(answers=list(answers)))
        with suppress(KeyboardInterrupt, DeepnbError):
            s.run("go on")

    return act


def ask(s: Session) -> None:
    s.configure(approve={"order": "ask"})
    run(call("order", n=2), "approved")(s)


ACTS: dict[str, Callable[[Session], Any]] = {
    "turn": run(AT_LENGTH, "in short"),
    "tools": run(call("order", n=1), call("write_file", file_path="/a.txt", content="A" * 9000), "done"),
    "failure": run(ValueError("no")), "interrupt": run(call("order", n=-1), "never"),
    "skip": lambda s: list(s.resume("skip")) if s.pending and not s.asked else None, "ask": ask,
    "approve": lambda s: list(s.resume(s.asked[0].approve())) if s.asked else None,
    "reject": lambda s: list(s.resume(s.asked[0].reject("no"))) if s.asked else None,
    "remember": lambda s: s.memory.add("likes tea"), "note": lambda s: s.memory.daily("was here"),
    "file": lambda s: s.files.update({"/b.txt": "B"}), "fork": lambda s: s.fork(), "new": lambda s: s.new(),
    "rewind": lambda s: s.rewind(max(0, len(s.turns) - 1)), "undo": lambda s: s.undo(),
    "compact": lambda s: s.compact(),
}  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "count"), [(3, 12), *(pytest.param(seed, 50, marks=pytest.mark.nightly) for seed in range(5))]
)
def test_copies_of_the_bare_file_between_turns_open_whole(tmp_path, seed, count):
    file, chance = tmp_path / "k.db", random.Random(seed)
    with session(file) as s:
        for _ in range(count):
            name = chance.choice(tuple(ACTS))
            with suppress(DeepnbError, KeyboardInterrupt):  # nothing to undo, or a call interrupts again
                ACTS[name](s)
            thread = s.thread
            copy = bare_copy(file)
            assert os.listdir(copy.parent) == [copy.name]
            with session(copy) as opened:
                assert opened.thread == thread, name
                mine = content(s)
                assert content(opened) == mine, name
            s.switch(thread)


END = """
import sys, threading, time
from deepnb import Session
from tests.support.scripted import Scripted
s = Session(model=Scripted(answers=["one"]), persist=sys.argv[1])
s.run("first")
s.memory.add("likes tea")
if len(sys.argv) > 2:
    s.configure(model=(slow := Scripted(answers=["never"], delay=600)))
    threading.Thread(target=s.run, args=("second",), daemon=True).start()
    while not slow.requests:
        time.sleep(0.01)
"""


@pytest.mark.slow
@every_row("how", [(), ("in a turn",)])
def test_an_ordinary_end_of_the_kernel_leaves_the_file_whole(tmp_path, how):
    file = tmp_path / "k.db"
    subprocess.run([sys.executable, "-c", END, str(file), *how], check=True, cwd=Path(__file__).parents[2], timeout=60)
    with session(bare_copy(file)) as s:
        assert [t.prompt for t in s.turns] == ["first", *(["second"] if how else [])]
        assert "likes tea" in s.files["/AGENTS.md"]
        assert not how or s.pending


def moved(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def replaced(file: Path) -> None:
    shutil.copy(file, file.with_name("new.db"))
    os.replace(file.with_name("new.db"), file)


@every_row("what", [moved, Path.unlink, replaced])
def test_a_file_that_is_gone_is_noticed_and_nothing_is_lost(tmp_path, what):
    file, new = tmp_path / "k.db", tmp_path / "fresh.db"
    s = session(file)
    s.run("one")
    what(file)
    there = file.read_bytes() if file.exists() else None
    for act in (lambda: s.run("two"), lambda: s.memory.add("likes tea"), lambda: s.fork("b"), lambda: s.rewind(0)):
        refused(r"k\.db was moved, replaced or deleted .*session\.persist\(FILE\)", act)
    assert there == (file.read_bytes() if file.exists() else None)
    goes_on = tmp_path / "elsewhere.db" if what is moved else new
    assert s.persist(goes_on).where == str(goes_on) and s.run("three").number == 2
    with session(bare_copy(goes_on)) as opened:
        assert [t.prompt for t in opened.turns] == ["one", "three"]
    s.close()


def test_a_new_file_for_one_that_is_gone_overwrites_none(tmp_path):
    (tmp_path / "taken.db").write_bytes(b"mine")
    s = session(tmp_path / "k.db")
    s.run("one")
    (tmp_path / "k.db").unlink()
    refused("exists already", s.persist, tmp_path / "taken.db")
    assert (tmp_path / "taken.db").read_bytes() == b"mine"
    s.persist(tmp_path / "new.db")
    assert s.run("two").number == 2


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@every_row("act", ["run", "resume", "switch", "fork", "remember", "file", "persist", "open"])
def test_a_lock_of_another_program_costs_one_line_and_nothing_else(tmp_path, monkeypatch, act):
    monkeypatch.setattr(sqlite, "_WAIT", 0.02)
    monkeypatch.setattr(sqlite, "_PATIENCE", 20)
    file = tmp_path / "k.db"
    s = walked(session(file, "one", call("order", n=1), "two", approve={"order": "ask"}), "run one", "run two")
    other = session(None)
    acts: dict[str, Callable[[], Any]] = {
        "run": lambda: s.run("three"), "resume": lambda: list(s.resume(s.asked[0].approve())),
        "switch": lambda: s.switch("main"), "fork": lambda: s.fork("b"),
        "remember": lambda: s.memory.add("likes tea"), "file": lambda: s.files.update({"/a.txt": "A"}),
        "persist": lambda: other.persist(file), "open": lambda: session(file),
    }  # fmt: skip
    if act == "run":
        list(s.resume(s.asked[0].reject("no")))
    with locked(file):
        refused("locked by another program", acts[act])
    acts[act]()
    if s.asked:
        list(s.resume(s.asked[0].reject("no")))
    before = len(s.turns)
    assert s.run("after").number == before + 1
    other.close()
    s.close()


@pytest.fixture
def fails_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None, int], Callable[[], int]]:
    """Have the n-th statement of all connections fail, with a result code of SQLite's; gives how many there were."""
    state = {"n": 0, "at": -1, "code": 0}

    def counted(name: str, of: type) -> Callable[..., Any]:
        def act(self: Any, *given: Any) -> Any:
            state["n"] += 1
            if state["n"] == state["at"]:
                error = sqlite3.OperationalError("it failed")
                error.sqlite_errorcode = state["code"]
                raise error
            return getattr(of, name)(self, *given)

        return act

    names = ("execute", "executemany", "fetchone", "fetchall", "__next__")
    cursor: Any = type("Cursor", (sqlite3.Cursor,), {name: counted(name, sqlite3.Cursor) for name in names})
    acts = {
        "commit": counted("commit", sqlite3.Connection),
        "cursor": lambda self, *given: sqlite3.Connection.cursor(self, cursor),
    }
    below = type("Below", (sqlite3.Connection,), acts)
    monkeypatch.setattr(sqlite, "_Connection", type("Failing", (sqlite._Connection, below), {}))

    def arm(at: int | None, code: int) -> Callable[[], int]:
        state.update(n=0, at=at or -1, code=code)
        return lambda: state["n"]

    return arm


@pytest.mark.slow
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.nightly), 19])
def test_a_failure_at_any_statement_of_a_turn_never_ends_the_thread(tmp_path, fails_at, caplog, every):
    file = tmp_path / "k.db"
    s = session(file, call("order", n=1), "done")
    s.run("one")
    count = fails_at(None, 0)
    s.configure(model=Scripted(answers=[call("order", n=1), "done"]))
    s.run("two")
    statements = count()
    assert statements > 20
    for at in range(1, statements + 1, every):
        for code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)[at % 2 :: 2]:
            s.configure(model=Scripted(answers=[call("order", n=1), "done"]))
            fails_at(at, code)
            try:
                s.run(f"at {at}")
            except DeepnbError as told:
                assert "it failed" in str(told) or "locked" in str(told), at
                assert "\n" not in str(told), at
            fails_at(None, 0)
            if s.pending:
                list(s.resume("skip"))
            s.configure(model=Scripted(answers=["done"]))
            assert s.run(f"after {at}").text == "done", at
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]
    with session(bare_copy(file)) as opened:
        assert content(opened) == content(s)


def test_a_full_disk_is_one_line_and_what_was_kept_stays(tmp_path, caplog):
    file = tmp_path / "k.db"
    s = session(file)
    s.run("one")
    database: Any = s.workspace.persistence and s.workspace.persistence.database
    for connection in database._connections:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")
    refused(r"k.db can't be written \(database or disk is full\)", lambda: [s.run("x" * 20_000) for _ in range(20)])
    assert not caplog.records
    for connection in database._connections:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert s.run("after").text == "ok"
    with session(bare_copy(file)) as opened:
        assert [t.prompt for t in opened.turns][:1] == ["one"] and opened.turns[-1].prompt == "after"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The file with a few bytes changed: of its texts, or anywhere; a page of noise; or an end that is missing."""
    out = bytearray(data)
    kind = chance.choice(["text", "text", "text", "bytes", "page", "cut"])
    if kind == "cut":
        return data[: chance.randrange(len(data))]
    if kind == "page":
        at = chance.randrange(len(out) // 4096) * 4096
        out[at : at + 4096] = chance.randbytes(4096)
    for _ in range(chance.choice([1, 20, 300]) if kind in ("text", "bytes") else 0):
        at = chance.randrange(4096, len(out))
        if kind == "bytes":
            out[at] = chance.randrange(256)
        elif 32 <= out[at] < 127:
            out[at] = chance.choice([0xFF, 0xC3, 0x22, 0x7B, 0x30])
    return bytes(out)


LOOKS: tuple[Callable[[Session], Any], ...] = (
    lambda s: [(t.text, t.events, dict(t.after.files), dict(t.after.memory)) for t in s.turns],
    lambda s: list(s.threads), lambda s: s.transcript(), lambda s: s.memory.log_entries(), lambda s: dict(s.files),
    lambda s: s.run("more"), lambda s: s.switch("b"), lambda s: s.run("again"), lambda s: s.rewind(1),
    lambda s: s.memory.add("x"), lambda s: s.close(),
)  # fmt: skip


@pytest.mark.parametrize("count", [25, pytest.param(400, marks=pytest.mark.nightly)])
def test_a_damaged_file_is_never_a_raw_error(tmp_path, count):
    file = tmp_path / "whole.db"
    with session(file, call("write_file", file_path="/a.txt", content="Aé" * 50), "ok", "é", "no") as s:
        walked(s, "memory.add likes tea", "run one", "run twö", "fork b", "run three", "switch main")
    data = file.read_bytes()
    for seed in range(count):
        one = tmp_path / f"{seed}.db"
        one.write_bytes(damaged(data, random.Random(seed)))
        with suppress(DeepnbError):
            opened = session(one)
            for look in LOOKS:
                with suppress(DeepnbError):
                    look(opened)
