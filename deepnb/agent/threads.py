"""Threads of a session: their turns, what they were forked from, and what `undo` takes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepnb.core.errors import DeepnbError
from deepnb.core.values import Snapshot, ThreadInfo, Turn


@dataclass
class Thread:
    """One thread. Its `name` is its `thread_id` in the checkpointer."""

    name: str
    parent: str | None = None
    turns: list[Turn] = field(default_factory=list)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(""))
    """The state as last seen, at the checkpoint it names."""
    files: dict[str, Any] = field(default_factory=dict)
    """path -> FileData at that checkpoint."""
    root: str | None = None
    """The checkpoint before the first turn."""
    held: dict[str, Any] = field(default_factory=dict)
    """Writes from outside that wait until the run that is under way has ended: path -> FileData or None."""
    running: bool = False
    cut: tuple[str, ...] = ()
    """Names of tools that were interrupted in the middle of the last turn."""

    @property
    def config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": self.name}}

    @property
    def unfinished(self) -> bool:
        """Whether steps of the last turn are still to run."""
        return bool(self.snapshot.next)

    def turn(self, number: int) -> Turn:
        """Turn `number`, counted from 1."""
        if not 1 <= number <= len(self.turns):
            there = f"has turns 1 to {len(self.turns)}" if self.turns else "has no turns yet"
            raise DeepnbError(f"no turn {number}: thread {self.name} {there}", "%agent turns lists them")
        return self.turns[number - 1]


class Threads:
    """The session's threads by name; one of them is current."""

    def __init__(self, first: str = "main") -> None:
        self._threads = {first: Thread(first, snapshot=Snapshot(first))}
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self.current = self._threads[first]

    def __getitem__(self, name: str) -> Thread:
        if name not in self._threads:
            raise DeepnbError(
                f"no thread {name!r}", f"%agent switch {self.current.name}, or %agent new {name} to start it"
            )
        return self._threads[name]

    def __contains__(self, name: str) -> bool:
        return name in self._threads

    def names(self) -> tuple[str, ...]:
        return tuple(self._threads)

    def infos(self) -> tuple[ThreadInfo, ...]:
        """The threads as they are listed, in the order they were made."""
        return tuple(
            ThreadInfo(t.name, len(t.turns), len(t.snapshot.messages), t is self.current, t.parent)
            for t in self._threads.values()
        )

    def switch(self, name: str) -> Thread:
        self.current = self[name]
        return self.current

    def add(self, name: str | None, parent: str | None = None) -> Thread:
        """A new thread, made current; without a name it is called `thread-N`."""
        name = check_name(name) if name else self._free_name()
        if name in self._threads:
            raise DeepnbError(f"there is a thread {name!r} already", f"%agent switch {name}, or choose another name")
        before = self.current
        made = self._threads[name] = Thread(name, parent, snapshot=Snapshot(name))
        self.current = made

        def take_back() -> None:
            self._threads.pop(name, None)
            self.current = before

        self.remember(f"new thread {name}" if parent is None else f"fork {name}", take_back)
        return made

    def remember(self, what: str, take_back: Callable[[], None]) -> None:
        """Note how to take back what is about to be done."""
        self._undo.append((what, take_back))

    def undo(self) -> str:
        """Take back the last rewind, fork, new or re-run; says which it was."""
        if not self._undo:
            raise DeepnbError("nothing to undo", "undo takes back the last rewind, fork, new or re-run")
        what, take_back = self._undo.pop()
        take_back()
        return what

    def _free_name(self) -> str:
        n = len(self._threads) + 1
        while f"thread-{n}" in self._threads:
            n += 1
        return f"thread-{n}"


def check_name(name: str) -> str:
    """The name, if it may be a thread's: it becomes the name of its history file."""
    if not name or len(name) > 100 or name.startswith((".", "-")) or not all(c.isalnum() or c in "._-" for c in name):
        raise DeepnbError(f"{name!r} can't be a thread's name", "use letters, digits, dots, hyphens and underscores")
    return name


def overlay(shared: Mapping[str, Any], files: Mapping[str, Any], is_shared: Callable[[str], bool]) -> dict[str, Any]:
    """What a thread with these files must be told to have the session's shared files: None deletes."""
    update = {p: data for p, data in shared.items() if files.get(p) != data}
    update.update((p, None) for p in files if is_shared(p) and p not in shared)
    return update


def merged(files: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Files with an update applied; None deletes."""
    out = {**files, **update}
    return {p: data for p, data in out.items() if data is not None}
