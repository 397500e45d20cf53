"""Memory has one home, whichever thread writes it: what any walk through a session leaves there, and as of each turn."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.backends.utils import create_file_data, file_data_to_string
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.backends.journal import replay
from deepnb.middleware import GuardMiddleware, MemoryMiddleware
from tests.support.scripted import Scripted, call

HOMES = ("kernel", "directory", "database", "checkpointer")
BACK = ("fork", "fork at", "rewind", "rewind memory", "undo")
"""After these a checkpointer alone, read by another session, does not tell which checkpoint a turn began or ended with."""
OPS = ("add", "write", "remove", "file", "run", "note", "wait", "new", "apart", "switch", *BACK)


class Walk:
    """A session, and beside it what is to be there: memory by home, files and turns (prompt, memory, files) by thread."""

    def __init__(self, open_: Callable[[], Session]) -> None:
        self.s = open_()
        self.memory: dict[str, dict[str, str]] = {"": {}}
        self.home, self.files, self.turns = {"main": ""}, {"main": dict[str, str]()}, {"main": list[Any]()}
        self.number = 0

    @property
    def here(self) -> dict[str, str]:
        return self.memory[self.home[self.s.thread]]

    def step(self, op: str, pick: int) -> None:
        self.number += 1
        s, n, thread = self.s, self.number, self.s.thread
        match op:
            case "add":
                s.memory.add(f"fact {n}")
                self.here["/AGENTS.md"] = f"{self.here.get('/AGENTS.md', '')}- fact {n}\n"
            case "write":
                s.files["/memory/notes.md"] = self.here["/memory/notes.md"] = f"# {n}\n"
            case "remove" if "/AGENTS.md" in self.here:
                del s.files["/AGENTS.md"], self.here["/AGENTS.md"]
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
                # what waited is written after the turn
                self.turns[thread].append((f"turn {n}", before, dict(self.here), files))
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
            case "fork at" | "rewind" | "rewind memory" | "undo" if self.turns[thread]:
                self._back(op, pick % (len(self.turns[thread]) + 1))

    def _back(self, op: str, number: int) -> None:
        """Go back to a turn, or to before the first; its files were there when it began, and when it ended."""
        thread, turns = self.s.thread, self.turns[self.s.thread]
        memory, files = dict(self.here), dict(self.files[thread])
        _, before, after, then = turns[max(number - 1, 0)]
        if op == "fork at":
            made = self.s.fork(f"a{self.number}", at=number)
            self.home[made], self.files[made], self.turns[made] = self.home[thread], dict(then), turns[:number]
            return
        self.s.rewind(number, memory=op != "rewind")
        if op == "undo":
            self.s.undo()
            assert dict(self.s.files) == {**memory, **files}
            return
        if op == "rewind memory":
            self.here.clear()
            self.here.update(after if number else before)
        self.files[thread] = dict(then)
        del turns[number:]

    def check(self, *, turns: bool = True) -> None:
        """Compare what is there with what is to be there, with the memory of each turn if `turns`."""
        s, thread = self.s, self.s.thread
        there = {**self.here, **self.files[thread]}
        assert dict(s.files) == there
        found = s.backend.download_files(sorted(there))
        assert {one.path: (one.content or b"").decode() for one in found} == there
        assert dict(s.snapshot.files) == there
        if turns:
            prompts = [prompt for prompt, *_ in self.turns[thread]]
            assert [m.text for m in s.snapshot.messages if m.role == "user" and not m.source] == prompts
            assert [(t.number, t.prompt) for t in s.turns] == [*enumerate(prompts, 1)]
        for turn, (_, before, after, _) in zip(s.turns, self.turns[thread], strict=True) if turns else ():
            kept = [{p: t for p, t in state.files.items() if p != "/work.txt"} for state in (turn.before, turn.after)]
            assert kept == [before, after], turn.number
        log = s.memory.log_entries()
        for path in {entry.path for entry in log} | {*self.here}:
            assert replay(path, log) == self.here.get(path), path


@contextmanager
def opener(kind: str) -> Iterator[Callable[[], Session]]:
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


def walk(steps: str) -> list[tuple[str, int]]:
    parts = [step.partition(": ") for step in steps.split(", ")]
    return [(op, int(pick or 0)) for op, _, pick in parts]


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.parametrize("kind", HOMES)
@example(steps=walk("run, add, file"))
@example(steps=walk("file, run, file, run, fork, run, rewind: 1, run, switch: 1"))
@example(steps=walk("file, run, fork at, run, switch: 1, run"))
@example(steps=walk("run, file, add, fork, run, file, switch: 1, fork at: 1"))
@example(steps=walk("run, add, run, fork at: 1, run, switch: 1"))
@example(steps=walk("add, run, add, run, rewind memory: 1, run, rewind memory, run"))
@example(steps=walk("file, run, add, file, run, run, rewind: 1, run, rewind, run"))
@example(steps=walk("add, run, new, run, remove, switch, run"))
@settings(max_examples=settings().max_examples // 2)  # in each of the homes
@given(steps=st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 9)), max_size=8))
def test_after_any_walk_files_memory_and_the_memory_of_each_turn_are_what_they_were(kind: str, steps: Any) -> None:
    with opener(kind) as open_:
        here = Walk(open_)
        for op, pick in steps:
            here.step(op, pick)
            here.check()
        if kind in ("database", "checkpointer"):
            thread = here.s.thread
            here.s.close()
            here.s = open_()
            if thread in {info.name for info in here.s.threads}:
                here.s.switch(thread)
                here.check(turns=kind == "database" or not {*BACK} & {op for op, _ in steps})
        here.s.close()


def test_a_session_its_backend_and_a_plain_graph_show_the_same_files() -> None:
    begin = {"/AGENTS.md": "- tea\n", "/work.txt": "a\n", "/gone.txt": "x\n"}
    calls = [
        call("edit_file", id="1", file_path="/AGENTS.md", old_string="tea", new_string="coffee"),
        call("write_file", id="2", file_path="/memory/note.md", content="- noted\n"),
        call("write_file", id="3", file_path="/out.txt", content="made\n"),
        call("edit_file", id="4", file_path="/work.txt", old_string="a", new_string="b"),
        call("delete", id="5", file_path="/gone.txt"),
    ]
    with Session(Scripted(answers=[*calls, "done"])) as s:
        s.files.update(begin)
        s.run("go")
        shown, found = dict(s.files), s.backend.download_files(list(s.files))
        assert {one.path: (one.content or b"").decode() for one in found} == dict(s.snapshot.files) == shown
    files = {path: create_file_data(text) for path, text in begin.items()}
    for parts in ([], [GuardMiddleware(), MemoryMiddleware()]):
        graph: Any = create_deep_agent(Scripted(answers=[*calls, "done"]), backend=StateBackend(), middleware=parts)
        after = graph.invoke({"messages": [("user", "go")], "files": files})["files"]
        assert {path: file_data_to_string(data) for path, data in after.items()} == shown


@pytest.mark.parametrize("path", ["/AGENTS.md", "/.deepagents/AGENTS.md", "/a/.b/c/AGENTS.md", "/.agents.md"])
def test_memory_moves_with_its_home_from_wherever_it_is(path: str, tmp_path: Path) -> None:
    with Session(Scripted(answers=["ok"] * 3), memory=[path]) as s:
        s.memory.add("The user likes tea")
        s.run("hello")
        for move in (s.memory.keep, lambda at: s.persist(at / "k.db"), lambda _: s.fork("other")):
            move(tmp_path)
            assert path in s.files and "likes tea" in s.memory.text() and s.memory.diff(0, 1) == ()
        assert s.workspace.backend.delete(path.rpartition("/")[0] or path).error is None
        assert path not in s.files and list(s.memory.log().change) == ["+ The user likes tea", "- The user likes tea"]
