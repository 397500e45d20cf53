"""One contract of memory, over each place it can be in; `KINDS` holds a name for each."""

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import StoreBackend
from langgraph.store.memory import InMemoryStore

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal import replay
from deepnb.backends.writer import writing
from deepnb.engine.request import message_text
from deepnb.values.turn import ToolStarted
from deepnb.wiring.options import Refresh
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row, refused

REFRESH = ("thread", "call", "delta")
KINDS = ("state", "disk", "store", "state + disk", "given disk")


class Place:
    """A session whose memory file is somewhere, and a way to write there past it."""

    def __init__(self, tmp: Path, kind: str, refresh: Refresh = "delta", store: Any = None) -> None:
        self.tmp, self.kind, self.store = tmp, kind, store or InMemoryStore()
        self.path = "/AGENTS.md" if kind in ("state", "given disk") else "/memory/AGENTS.md"
        memory = ("/AGENTS.md", self.path) if kind == "state + disk" else (self.path,)
        backend = DiskBackend(tmp / "d") if kind == "given disk" else None
        how: dict[str, Any] = {"memory": memory, "memory_refresh": refresh, "backend": backend}
        self.s = Session(model=Scripted(answers=["ok"]), store=self.store, **how)
        if kind in ("disk", "state + disk"):
            self.mount("disk:d")
        elif kind == "store":
            self.mount("store:x")
        if kind == "state + disk":
            self.s.memory.write("/AGENTS.md", "- at home\n")

    def mount(self, spec: str) -> None:
        self.s.workspace.home.storage.mount("/memory", spec, base=self.tmp, store=self.store, assistant_id=None)

    def outside(self, data: bytes | None) -> None:
        if self.kind in ("state", "store"):
            raw: Any = self.s.backend.inner
            path = self.path
            if self.kind == "store":
                raw, path = StoreBackend(store=self.store, namespace=lambda _: ("x",)), "/AGENTS.md"
            raw.delete(path) if data is None else raw.upload_files([(path, data)])
            return
        file = self.tmp / "d/AGENTS.md"
        file.parent.mkdir(exist_ok=True)
        file.unlink() if data is None else file.write_bytes(data)

    def data(self) -> bytes | None:
        return self.s.backend.download_files([self.path])[0].content

    def run(self, *answers: Any) -> list[str]:
        requests = self.s.options.model.requests
        self.s.options.model.answers[:] = [*["-"] * len(requests), *answers, "done"]
        count = len([m for m in self.s.snapshot.messages if m.role == "tool"])
        self.s.run("go")
        return [m.text for m in self.s.snapshot.messages if m.role == "tool"][count:]

    def write(self, text: str) -> Any:
        return call("write_file", file_path=self.path, content=text)

    def edit(self, old: str, new: str) -> Any:
        return call("edit_file", file_path=self.path, old_string=old, new_string=new)

    def request(self) -> str:
        sent = self.s.options.model.requests[-1]
        return "\n".join(message_text(m) for m in sent if m.type != "tool" and not getattr(m, "tool_calls", None))

    def entries(self) -> list[Any]:
        return [e for e in self.s.memory.log_entries() if e.path == self.path]

    def law(self) -> None:
        assert replay(self.path, self.s.memory.log_entries()) == self.s.files.get(self.path)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, request.param)


@every_row("refresh", REFRESH)
@every_row("kind", KINDS)
def test_a_change_is_seen_at_the_very_next_call_but_for_thread(tmp_path: Path, kind: str, refresh: Refresh):
    place = Place(tmp_path, kind, refresh)

    def run(line: str, *answers: Any) -> bool:
        place.run(*answers)
        return line in place.request()

    place.s.memory.add("from before", place.path)
    assert run("from before")
    place.s.memory.add("of the user", place.path)
    seen = [run("of the user")]
    place.outside((place.data() or b"") + b"- of another\n")
    seen += [run("of another")]
    seen += [run("- of the agent", place.edit("- from before", "- from before\n- of the agent"))]
    seen += [run("- written whole", place.write(place.s.files[place.path] + "- written whole\n"))]
    assert seen == [refresh != "thread"] * 4
    lines = {"- from before", "- of the user", "- of another", "- of the agent", "- written whole"}
    assert {*place.s.files[place.path].splitlines()} == lines
    if refresh == "delta":
        requests = [[message_text(m) for m in r] for r in place.s.options.model.requests]
        assert all(b[: len(a)] == a for a, b in pairwise(requests))
    place.law()


def test_each_change_is_an_entry_with_its_facts(place: Place):
    s = place.s
    s.memory.add("one", place.path)
    place.run(place.edit("- one", "- one\n- two"), place.write("- one\n- two\n- three\n"))
    place.outside(b"- one\n- two\n- three\n- four\n")
    s.new("b")
    s.memory.write(place.path, "- one\n")
    assert [(e.origin, e.thread, e.turn, e.created) for e in place.entries()] == [
        ("user", "main", None, True), ("agent", "main", 1, False), ("agent", "main", 1, False),
        ("external", "b", None, False), ("user", "b", None, False),
    ]  # fmt: skip
    log = s.memory.log()
    assert {*log.columns} >= {"id", "at", "origin", "path", "thread", "turn", "note", "diff"}
    assert list(log[log.path == place.path].origin) == ["user", "agent", "agent", "external", "user"]
    place.law()


def test_why_names_file_line_and_entry(place: Place):
    place.s.memory.add("one", place.path)
    place.run(place.edit("- one", "- one\n- TWO of them"))
    place.outside(b"- one\n- TWO of them\n- three\n")
    why = place.s.memory.why("two OF")
    assert why[["path", "line", "text", "origin"]].to_numpy().tolist() == [[place.path, 2, "- TWO of them", "agent"]]
    assert why.entry[0] == place.entries()[1].id and why.turn[0] == 1
    assert place.s.memory.why("three").origin[0] == "external"


def test_a_removed_file_leaves_the_prompt_and_comes_back_by_revert(place: Place):
    s = place.s
    s.memory.add("one", place.path)
    place.run()
    s.memory.remove(place.path)
    assert place.path not in s.files
    place.run()
    assert "-- one" in place.request() and place.entries()[-1].removed
    s.memory.revert(place.entries()[-1].id)
    assert s.files[place.path] == "- one\n"
    place.outside(None)
    assert place.entries()[-1].removed and place.entries()[-1].origin == "external"
    place.run()
    s.memory.add("anew", place.path)
    assert s.files[place.path] == "- anew\n"
    place.law()


def test_a_binary_file_is_one_line_and_stays_as_it_is(place: Place):
    s, data = place.s, b"- caf\xe9\n\x00\x01"
    s.memory.add("one", place.path)
    place.run()
    place.outside(data)
    told = refused("", s.run, "go")
    why = "is not UTF-8 text (byte 5): save it as UTF-8, or remove it, then run again"
    assert s.turns[-1].error == str(told) == f"memory file {place.path} {why}"
    refused("not UTF-8 text", s.memory.add, "two", place.path)
    with writing(origin="agent"):
        assert "not UTF-8 text" in (s.backend.write(place.path, "x").error or "")
        assert "not UTF-8 text" in (s.backend.edit(place.path, "a", "b").error or "")
    assert place.data() == data and place.entries()[-1].removed
    s.memory.write(place.path, "- mended\n")
    place.run()
    assert "- mended" in place.request()


def test_a_file_removed_in_the_middle_of_a_turn(place: Place):
    place.s.memory.add("one", place.path)
    place.s.options.model.answers[:] = [place.edit("- one", "- two"), "done"]
    gone = False
    for event in place.s.stream("go"):
        if isinstance(event, ToolStarted) and not gone and place.kind != "state":
            gone = True
            if place.data() is not None:
                place.outside(None)
    said = [m.text for m in place.s.snapshot.messages if m.role == "tool"]
    assert len(said) == 1 and "\n" not in said[0]
    place.law()
    assert place.s.run("go on").text


def test_a_directory_that_went_missing_is_made_again(tmp_path: Path):
    place = Place(tmp_path, "disk")
    place.s.memory.add("one", place.path)
    place.run()
    shutil.rmtree(tmp_path / "d")
    place.run()
    assert place.path not in place.s.files
    place.s.memory.add("two", place.path)
    assert place.s.files[place.path] == "- two\n"
    place.law()


def test_a_place_that_can_only_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Made by hand: a superuser passes permissions."""
    place = Place(tmp_path, "disk")
    place.s.memory.add("one", place.path)
    real = os.open

    def read_only(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    refused("Read-only file system", place.s.memory.add, "two", place.path)
    said = place.run(place.edit("- one", "- two"))
    assert "Read-only file system" in said[0] and "\n" not in said[0]
    assert len(place.entries()) == 1 and place.s.memory.text()
    monkeypatch.undo()
    assert place.data() == b"- one\n"
    place.s.memory.add("two", place.path)
    place.law()


@every_row("refresh", ["call", "delta"])
@every_row("kind", ["disk", "store"])
def test_two_sessions_see_each_others_writes_at_their_next_call(tmp_path: Path, kind: str, refresh: Refresh):
    a = Place(tmp_path, kind, refresh)
    b = Place(tmp_path, kind, refresh, store=a.store)
    for n in range(3):
        a.s.memory.add(f"a{n} of the user", a.path)
        b.run()
        assert f"a{n} of the user" in b.request()
        b.run(b.edit(f"- a{n} of the user", f"- a{n} of the user\n- b{n} of the agent"))
        a.run()
        assert f"b{n} of the agent" in a.request()
    assert a.s.memory.log_entries() == b.s.memory.log_entries()
    assert [e.origin for e in a.entries()] == ["user", "agent"] * 3
    a.law()
    b.law()


@every_row("kind", ["disk", "store"])
def test_what_an_agent_writes_from_an_old_view_is_merged(tmp_path: Path, kind: str):
    a = Place(tmp_path, kind, "thread")
    b = Place(tmp_path, kind, "thread", store=a.store)
    a.s.memory.write(a.path, "- one\n- two\n- three\n")
    for place in (a, b):
        place.run()
    a.run(a.write("- one, said a\n- two\n- three\n"))
    said = b.run(b.write("- one\n- two\n- three, said b\n"))
    assert a.s.files[a.path] == "- one, said a\n- two\n- three, said b\n"
    assert (b.entries()[-1].note, b.s.memory.conflicts()) == ("merged", ()) and "conflict" not in said[-1]
    b.law()
