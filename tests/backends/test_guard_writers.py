"""No lost update: many processes on one directory, and two agents on one file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal import JournalFile, replay
from tests.support.scripted import Scripted, call

WRITERS, EACH = 8, 100
APPEND = """
import os, sys
from contextlib import nullcontext
from deepnb.backends.disk import DiskBackend
from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.record import Root
from deepnb.backends.journal import JournalFile
from deepnb.backends.locks import directory_lock
root, writers, each, locked = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "locked"
begin, start = os.pipe()

def write(who):
    disk = DiskBackend(root)
    lock = (lambda: directory_lock(root, seconds=60)) if locked else nullcontext
    facts = {"at": "2026-01-01T00:00:00+00:00", "thread": str(who)}
    guard = GuardedBackend(disk, [Root("/", JournalFile(disk), lock)], "/AGENTS.md".__eq__, lambda: facts)
    os.close(start)
    os.read(begin, 1)
    problems = [guard.append("/AGENTS.md", f"- fact {who}.{n}") for n in range(each)]
    return 1 if locked and any(problems) else 0

children = []
for who in range(writers):
    if not (child := os.fork()):
        os._exit(write(who))
    children.append(child)
os.close(start)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def written(root: Path, writers: int, each: int, how: str) -> tuple[list[str], JournalFile]:
    """The facts in the file and its journal, after `writers` processes added `each` at the same time."""
    root.mkdir()
    command = [sys.executable, "-c", APPEND, str(root), str(writers), str(each), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 or how != "locked", done.stderr
    journal = JournalFile(DiskBackend(root))
    journal.read()
    return (root / "AGENTS.md").read_text().splitlines(), journal


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.mark.nightly
@forks
def test_eight_processes_of_a_hundred_edits_lose_nothing(tmp_path: Path):
    lines, journal = written(tmp_path / "d", WRITERS, EACH, "locked")
    facts = {f"- fact {w}.{n}" for w in range(WRITERS) for n in range(EACH)}
    print(f"{len(facts & {*lines})} of {len(facts)} facts kept, {len(journal.entries)} entries")
    assert set(lines) == facts and len(lines) == len(facts)
    assert len(journal.entries) == len({e.id for e in journal.entries}) == len(facts)
    assert {e.origin for e in journal.entries} == {"user"}
    assert replay("/AGENTS.md", journal.entries) == "\n".join(lines) + "\n"


@forks
def test_without_the_lock_some_are_lost(tmp_path: Path):
    lines, _ = written(tmp_path / "d", 4, 50, "unlocked")
    assert len(set(lines)) < 200


PATH = "/memory/AGENTS.md"


def pair(tmp_path: Path, spec: str) -> tuple[Session, Session]:
    store = InMemoryStore()
    made = []
    for _ in range(2):
        s = Session(model=Scripted(answers=["ok"]), memory=(PATH,), store=store, memory_refresh="thread")
        s.workspace.home.storage.mount("/memory", spec, base=tmp_path, store=store, assistant_id=None)
        made.append(s)
    return made[0], made[1]


def told(s: Session, *answers: object) -> str:
    """Run a turn with these answers; gives what the last tool said."""
    s.options.model.answers[:] = [*["-"] * len(s.options.model.requests), *answers, "done"]
    s.run("go")
    results = [m.text for m in s.turns[-1].after.messages if m.role == "tool"]
    return results[-1] if results else ""


@pytest.fixture(params=["disk:d", "store:x"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Session, Session]:
    return pair(tmp_path, request.param)


def edit(old: str, new: str):
    return call("edit_file", file_path=PATH, old_string=old, new_string=new)


def write(text: str):
    return call("write_file", file_path=PATH, content=text)


def same_journal(a: Session, b: Session) -> None:
    assert a.memory.log_entries() == b.memory.log_entries()
    assert replay(PATH, a.memory.log_entries()) == a.files[PATH] == b.files[PATH]
    assert len({e.id for e in a.memory.log_entries()}) == len(a.memory.log_entries())


def test_a_whole_write_from_an_old_view_is_merged(two: tuple[Session, Session]):
    a, b = two
    a.memory.write(PATH, "- one\n- two\n- three\n")
    told(a)
    told(b)
    told(a, write("- one, said a\n- two\n- three\n"))
    told(b, write("- one\n- two\n- three, said b\n"))
    assert a.files[PATH] == "- one, said a\n- two\n- three, said b\n"
    assert b.memory.log_entries()[-1].note == "merged"
    told(a, write("- one, said a\n- two\n- three\n- four\n"))
    assert "- three, said b" in a.files[PATH] and "- four" in a.files[PATH]
    same_journal(a, b)


def test_an_edit_does_not_make_the_rest_of_the_file_seen(two: tuple[Session, Session]):
    """What the agent's own edit was merged into, its next whole write does not undo."""
    a, b = two
    a.memory.write(PATH, "- one\n- two\n- three\n")
    told(a)
    told(b)
    told(b, edit("- three", "- three\n- of b"))
    told(a, edit("- one", "- one, a"))
    told(a, write("- one, a\n- two\n- three\n- more of a\n"))
    assert "- of b" in a.files[PATH] and "- more of a" in a.files[PATH]
    same_journal(a, b)
