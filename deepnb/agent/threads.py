"""The threads of a session: making, switching, forking and rewinding them, and taking that back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from deepnb.agent.state import State
from deepnb.agent.thread import Thread, check_name
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Snapshot, ThreadInfo


class Threads:
    """The session's threads by name; one of them is current."""

    def __init__(self, state: State, first: str = "main") -> None:
        self._state = state
        self._threads = {first: Thread(first, snapshot=Snapshot(first))}
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self.current = self._threads[first]

    def __getitem__(self, name: str) -> Thread:
        if name not in self._threads:
            raise DeepnbError(
                f"no thread {name!r}", f"%agent new {name} starts it, %agent threads lists those there are"
            )
        return self._threads[name]

    def infos(self) -> tuple[ThreadInfo, ...]:
        """The threads as they are listed, in the order they were made."""
        return tuple(
            ThreadInfo(t.name, len(t.turns), len(t.snapshot.messages), t is self.current, t.parent)
            for t in self._threads.values()
        )

    def busy(self) -> bool:
        """Whether a turn is running in one of them."""
        return any(t.running for t in self._threads.values())

    def switch(self, name: str) -> Thread:
        """Make another thread current."""
        self.current = self[name]
        return self.current

    def new(self, name: str | None = None, parent: str | None = None) -> Thread:
        """A new thread, made current; without a name it is called `thread-N`."""
        name = check_name(name) if name else self._free_name()
        if name in self._threads:
            raise DeepnbError(f"there is a thread {name!r} already", f"%agent switch {name}, or choose another name")
        before = self.current
        made = self.current = self._threads[name] = Thread(name, parent, snapshot=Snapshot(name))

        def take_back() -> None:
            self._threads.pop(name, None)
            self._state.forget(made)
            self.current = before

        self._undo.append((f"new thread {name}" if parent is None else f"fork {name}", take_back))
        return made

    def fork(self, name: str | None = None, at: int | None = None) -> Thread:
        """A new thread that begins as the current one stood after turn `at` (the last, if not given)."""
        source = self.current
        self._state.start(source)
        number = len(source.turns) if at is None else at
        begin = source.snapshot if at is None else self._after(source, number)
        made = self.new(name, f"{source.name}@{number}")
        self._state.copy(begin, made)
        made.root = source.root
        made.held = dict(source.held) if at is None else {}
        made.turns = [replace(t, thread=made.name) for t in source.turns[:number]]
        return made

    def rewind(self, thread: Thread, number: int, *, memory: bool = False, what: str = "") -> None:
        """Take a thread back to just after turn `number` (0: before the first)."""
        self._state.start(thread)
        to = self._after(thread, number)
        state, now, shared = self._state, replace(thread, turns=list(thread.turns)), self._state.shared

        def take_back() -> None:
            state.back(thread, now.snapshot)
            thread.turns, thread.held = now.turns, now.held
            state.look(thread, share=False)
            if memory:
                state.unrestore(shared, restored)

        state.back(thread, to)
        self._undo.append((what or f"rewind to turn {number}", take_back))
        thread.turns, thread.held = now.turns[:number], {}
        state.look(thread, share=False)
        if memory:
            state.restore(thread)
        restored = state.shared

    def rebase(self) -> None:
        """Let every thread's memory block be made anew."""
        for thread in self._threads.values():
            if thread.root is not None:
                self._state.rebase(thread)

    def undo(self) -> str:
        """Take back the last rewind, fork, new or re-run; says which it was."""
        if not self._undo:
            raise DeepnbError("nothing to undo", "undo takes back the last rewind, fork, new or re-run")
        what, take_back = self._undo.pop()
        take_back()
        return what

    @staticmethod
    def _after(thread: Thread, number: int) -> Snapshot:
        """The state just after a turn; 0 is before the first."""
        if number:
            return thread.turn(number).after
        if thread.turns:
            return thread.turns[0].before
        assert thread.root is not None  # a thread that was started has one
        return thread.root

    def _free_name(self) -> str:
        n = len(self._threads) + 1
        while f"thread-{n}" in self._threads:
            n += 1
        return f"thread-{n}"
