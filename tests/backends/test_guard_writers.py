"""No lost update: many processes on one directory, and two agents on one file."""

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.journal import replay
from tests.support.scripted import Scripted, call

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
