"""Memory has one home, whichever thread writes it: what any walk through a session leaves there, and as of each turn."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.backends.journal import replay
from tests.support.scripted import Scripted, call

HOMES = ("kernel", "directory", "database", "checkpointer")
OPS = (
    "add",
    "write",
    "file",
    "run",
    "note",
    "new",
    "apart",
    "switch",
    "fork",
    "rewind",
    "rewind memory",
    "undo",
    "wait",
)

BACK = {"fork", "rewind", "rewind memory", "undo"}
"""After these a checkpointer alone, read by another session, does not tell which checkpoint a turn began or ended with."""


class Walk:
    """A session, and beside it what is to be there: memory by home, ordinary files and turns by thread."""

    def __init__(self, open_: Callable[[], Session]) -> None:
        self.s = open_()
        self.memory: dict[str, dict[str, str]] = {"": {}}
        self.home, self.files, self.turns = {"main": ""}, {"main": dict[str, str]()}, {"main": list[Any]()}
        self.number = 0

    @property
    def here(self) -> dict[str, str]:
        """The memory of the current thread."""
        return self.memory[self.home[self.s.thread]]

    def step(self, op: str, pick: int) -> None:
        """Do one thing, here and there."""
        self.number += 1
        s, n, thread = self.s, self.number, self.s.thread
        match op:
            case "add":
                s.memory.add(f"fact {n}")
                self.here["/AGENTS.md"] = f"{self.here.get('/AGENTS.md', '')}- fact {n}\n"
            case "write":
                s.files["/memory/notes.md"] = self.here["/memory/notes.md"] = f"# {n}\n"
            case "file":
                s.files["/work.txt"] = self.files[thread]["/work.txt"] = f"{n}"
            case "run" | "note" | "wait":
                before, files = dict(self.here), dict(self.files[thread])
                noted = call("write_file", id=f"w{n}", file_path=f"/memory/n{n}.md", content=f"- by the agent {n}\n")
                s.configure(model=Scripted(answers=[noted, "noted"] if op != "run" else ["ok"]))
                s.run(f"turn {n}", max_steps=1 if op == "wait" else None)
                if op != "run":
                    self.here[f"/memory/n{n}.md"] = f"- by the agent {n}\n"
                if op == "wait":
                    s.memory.add(f"meanwhile {n}")
                    s.files["/work.txt"] = self.files[thread]["/work.txt"] = f"waits {n}"
                    self.here["/AGENTS.md"] = f"{self.here.get('/AGENTS.md', '')}- meanwhile {n}\n"
                    s.configure(model=Scripted(answers=["noted"]))
                    list(s.resume())
                self.turns[thread].append((before, dict(self.here), files))  # what waited is written after the turn
            case "new" | "apart":
                made = s.new(f"t{n}", empty=op == "apart")
                self.home[made] = made if op == "apart" else ""
                self.memory.setdefault(self.home[made], {})
                self.files[made], self.turns[made] = {}, []
            case "switch":
                s.switch(sorted(self.home)[pick % len(self.home)])
            case "fork":
                made = s.fork(f"f{n}")
                self.home[made] = self.home[thread]
                self.files[made], self.turns[made] = dict(self.files[thread]), list(self.turns[thread])
            case "rewind" | "rewind memory" | "undo" if self.turns[thread]:
                self._back(op, pick)

    def _back(self, op: str, pick: int) -> None:
        thread, turns = self.s.thread, self.turns[self.s.thread]
        number = 1 + pick % len(turns)
        memory, files = dict(self.here), dict(self.files[thread])
        self.s.rewind(number, memory=op != "rewind")
        if op == "undo":
            self.s.undo()
            assert dict(self.s.files) == {**memory, **files}
            return
        if op == "rewind memory":
            self.here.clear()
            self.here.update(turns[number - 1][1])
        self.files[thread] = dict(turns[number - 1][2])
        del turns[number:]

    def check(self, *, turns: bool = True) -> None:
        """Compare what is there with what is to be there, with the memory of each turn if `turns`."""
        s, thread = self.s, self.s.thread
        there = {**self.here, **self.files[thread]}
        assert dict(s.files) == there
        found = s.backend.download_files(sorted(there))
        assert {one.path: (one.content or b"").decode() for one in found} == there
        assert dict(s.snapshot.files) == there
        for turn, (before, after, _) in zip(s.turns, self.turns[thread], strict=True) if turns else ():
            kept = [{p: t for p, t in state.files.items() if p != "/work.txt"} for state in (turn.before, turn.after)]
            assert kept == [before, after], turn.number
        log = s.memory.log_entries()
        for path in {entry.path for entry in log} | {*self.here}:
            assert replay(path, log) == self.here.get(path), path


@contextmanager
def opener(kind: str) -> Iterator[Callable[[], Session]]:
    """What opens a session whose memory is kept there, again and again."""
    folder, saver = Path(tempfile.mkdtemp()), InMemorySaver()

    def opened() -> Session:
        options: dict[str, Any] = {"persist": folder / "k.db"} if kind == "database" else {}
        options |= {"checkpointer": saver} if kind == "checkpointer" else {}
        s = Session(model=Scripted(answers=["ok"]), **options)
        if kind == "directory":
            s.memory.keep(folder / "kept")
        return s

    try:
        yield opened
    finally:
        shutil.rmtree(folder)


@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", HOMES)
@example(steps=[("run", 0), ("add", 0), ("file", 0)])
@given(steps=st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 9)), max_size=8))
def test_after_any_walk_files_memory_and_the_memory_of_each_turn_are_what_they_were(kind: str, steps: Any) -> None:
    with opener(kind) as open_:
        walk = Walk(open_)
        for op, pick in steps:
            walk.step(op, pick)
            walk.check()
        if kind in ("database", "checkpointer"):
            thread = walk.s.thread
            walk.s.close()
            walk.s = open_()
            if thread in {info.name for info in walk.s.threads}:
                walk.s.switch(thread)
                walk.check(turns=kind == "database" or BACK.isdisjoint(op for op, _ in steps))
        walk.s.close()
