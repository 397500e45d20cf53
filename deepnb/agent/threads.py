"""The threads of a session: making, switching, forking and rewinding them, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from deepnb.agent.pool import Pool
from deepnb.agent.state import State
from deepnb.agent.thread import Thread, check_name
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Snapshot, ThreadInfo
from deepnb.memory.scope import MAIN, Scope


class Threads:
    """The session's threads by name; one of them is current."""

    def __init__(self, state: State, first: str = "main") -> None:
        self._state = state
        self.pool = Pool()
        """What the threads of the session have in common, but for those made apart."""
        self._threads = {first: Thread(first, pool=self.pool, snapshot=Snapshot(first))}
        self._undo: list[tuple[str, Thread, Callable[[], None]]] = []
        self.current = self._threads[first]

    def __getitem__(self, name: str) -> Thread:
        if name not in self._threads:
            raise DeepnbError(
                f"no thread {name!r}", f"%agent new {name} starts it, %agent threads lists those there are"
            )
        return self._threads[name]

    def __iter__(self) -> Iterator[Thread]:
        return iter(tuple(self._threads.values()))

    def infos(self) -> tuple[ThreadInfo, ...]:
        """The threads as they are listed, in the order they were made."""
        return tuple(
            ThreadInfo(
                t.name,
                len(t.turns),
                len(t.snapshot.messages),
                t is self.current,
                t.parent,
                t.scope.empty,
                t.scope.shared,
                tuple(turn.number for turn in t.turns if turn.compacted),
                t.rewound,
                sum(call.key not in t.decided for call in t.asked),
            )
            for t in self._threads.values()
        )

    def busy(self) -> bool:
        """Whether a turn is running in one of them."""
        return any(t.running for t in self._threads.values())

    def switch(self, name: str) -> Thread:
        """Make another thread current."""
        self.current = self[name]
        return self.current

    def new(self, name: str | None = None, *, scope: Scope = MAIN, of: tuple[Thread, int] | None = None) -> Thread:
        """A new thread, made current; without a name it is called `thread-N`.

        One whose scope is `empty` has a pool of its own; a fork `of` a thread after a turn has its pool and scope.
        """
        name = check_name(name) if name else self._free_name()
        if name in self._threads:
            raise DeepnbError(f"there is a thread {name!r} already", f"%agent switch {name}, or choose another name")
        before = self.current
        if of is not None:
            parent, pool, scope = f"{of[0].name}@{of[1]}", of[0].pool, of[0].scope
        else:
            parent, pool = None, Pool() if scope.empty else self.pool
        made = self.current = self._threads[name] = Thread(name, parent, pool, scope, snapshot=Snapshot(name))

        def take_back() -> None:
            self._threads.pop(name, None)
            self._state.forget(made)
            self.current = before

        self._undo.append((f"new thread {name}" if of is None else f"fork {name}", before, take_back))
        return made

    def fork(self, name: str | None = None, at: int | None = None) -> Thread:
        """A new thread that begins as the current one stood after turn `at` (the last, if not given)."""
        source = self.current
        self._state.start(source)
        number = len(source.turns) if at is None else at
        begin = source.snapshot if at is None else self._after(source, number)
        made = self.new(name, of=(source, number))
        self._state.copy(begin, made)
        made.root = source.root
        made.held = dict(source.held) if at is None else {}
        made.turns = [replace(t, thread=made.name) for t in source.turns[:number]]
        return made

    def rewind(self, thread: Thread, number: int, *, memory: bool = False, what: str = "") -> None:
        """Take a thread back to just after turn `number` (0: before the first)."""
        self._state.start(thread)
        to = self._after(thread, number)
        state, now, common = self._state, replace(thread, turns=list(thread.turns)), thread.pool.files

        def take_back() -> None:
            state.back(thread, now.snapshot)
            thread.turns, thread.held, thread.rewound = now.turns, now.held, now.rewound
            state.look(thread, share=False)
            if memory:
                state.unrestore(thread.pool, common, restored)

        state.back(thread, to)
        self._undo.append((what or f"rewind to turn {number}", thread, take_back))
        thread.turns, thread.held = now.turns[:number], {}
        thread.rewound = (*now.rewound, (len(now.turns), number))
        state.look(thread, share=False)
        if memory:
            state.restore(thread)
        restored = thread.pool.files

    def rebase(self) -> None:
        """Let the memory block of every thread that has its memory in common with the current one be made anew."""
        for thread in self._threads.values():
            if thread.root is not None and thread.pool is self.current.pool:
                self._state.rebase(thread)

    def undo(self) -> tuple[str, Thread]:
        """Take back the last rewind, fork, new or re-run; says which it was, and whose files it changed."""
        if not self._undo:
            raise DeepnbError("nothing to undo", "undo takes back the last rewind, fork, new or re-run")
        what, thread, take_back = self._undo.pop()
        take_back()
        return what, thread

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
