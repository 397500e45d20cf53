"""The threads of a session: making, switching, forking and rewinding them, and taking that back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from deepnb.memory.layers import MAIN, Scope, scope_of
from deepnb.running.current import Current, granted_tool
from deepnb.running.state import State
from deepnb.running.thread import Thread, check_name
from deepnb.values.approvals import Decision
from deepnb.values.errors import BusyError, DeepnbError, NotFoundError, RefusedError
from deepnb.values.turn import Event, Snapshot, ThreadInfo, ThreadInfos, Turn, Usage

LISTED = 20


class Threads:
    """The session's threads by name; one of them is current. Those that the checkpointer holds are read when looked at."""

    def __init__(self, state: State, current: Current) -> None:
        self._state = state
        self._current = current
        self._threads = {current.thread.name: current.thread}
        self._undo: list[tuple[str, Thread, Callable[[], None]]] = []
        self._lent: set[str] = set()
        """Threads that a background turn runs in: out of reach until it ends."""
        self._stored: dict[str, str] | None = None
        """Those of the checkpointer that have not been read; None while nobody has asked for any."""

    @property
    def current(self) -> Thread:
        return self._read(self._current.thread)

    def __getitem__(self, name: str) -> Thread:
        if name in self._lent:
            raise BusyError(f"a background job is running in thread {name}", "%agent jobs lists it; wait, or stop it")
        if name in self._threads:
            return self._read(self._threads[name])
        unread, facts = self._unread(), self._state.metadata(name)
        if name in unread or facts is not None:  # one of the checkpointer is as it was made
            unread.setdefault(name, "")
            facts = facts or {}
            home = name if self._current.is_apart else str(facts.get("deepnb_pool", ""))
            scope = scope_of(str(facts.get("deepnb_scope", "")))
            return self._read(self._add(Thread(name, facts.get("deepnb_parent"), home, scope, snapshot=Snapshot(name))))
        raise NotFoundError(f"no thread {name!r}", f"%agent new {name} starts it, %agent threads lists the others")

    def __contains__(self, name: str) -> bool:
        return name in {*self._threads, *self._lent} or name in self._unread() or self._state.metadata(name) is not None

    def __iter__(self) -> Iterator[Thread]:
        return iter(tuple(self._threads.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all threads, read or not."""
        unread, kept = self._unread(), self._state.persistence
        order = {name: n for n, name in enumerate(kept.records.threads() if kept else ())}
        return tuple(sorted(dict.fromkeys((*self._threads, *unread)), key=lambda name: order.get(name, len(order))))

    @property
    def kept_names(self) -> tuple[str, ...]:
        """The names of all that are there, those included in which a background turn runs."""
        return (*self.names, *self._lent)

    def _unread(self) -> dict[str, str]:
        if self._stored is None:
            here = {name for name, thread in self._threads.items() if thread.root is not None}
            hidden = self._lent | (here if self._current.is_served else set())
            self._stored = {name: at for name, at in self._state.stored().items() if name not in hidden}
        return self._stored

    def reread(self) -> None:
        self._stored = None

    def _add(self, thread: Thread) -> Thread:
        self._threads[thread.name] = thread
        name = thread.name.casefold()
        self._current.shared = (self._current.shared - {name}) | ({name} if thread.scope.shared else frozenset())
        return thread

    def _read(self, thread: Thread) -> Thread:
        if self._unread().pop(thread.name, None) is not None:
            self._state.read_stored(thread)
        return thread

    def infos(self) -> ThreadInfos:
        if self._current.is_served:
            known, self._stored = self._stored, None
            try:
                self._unread()
            except DeepnbError:
                self._stored = known or {}
                raise
            unread = self._unread().keys() - {self._current.thread.name}
            return ThreadInfos(
                replace(ThreadInfo(name, 0, 0) if name in unread else self.info(self[name]), **self._state.served(name))
                for name in self.names
            )
        return ThreadInfos(self.info(self[name]) for name in self.names)

    def info(self, thread: Thread) -> ThreadInfo:
        return ThreadInfo(
            thread.name,
            len(thread.turns),
            len(thread.snapshot.messages),
            thread is self._current.thread,
            thread.parent,
            thread.scope.empty,
            thread.scope.shared,
            tuple(turn.number for turn in thread.turns for _ in range(turn.compacted)),
            thread.rewound,
            sum(call.key not in thread.decided for call in thread.asked),
            tuple(turn.first_words for turn in thread.turns[-LISTED:]),
        )

    def readable(self) -> tuple[str, ...]:
        """Return the threads whose transcripts may be read where the current one is: with its memory, and no more private."""
        here = self.current
        found = map(self.__getitem__, self.names)
        return tuple(t.name for t in found if t.home == here.home and (here.scope.whole or t.scope.shared))

    def switch(self, name: str) -> Thread:
        """Make another thread current."""
        thread = self._current.thread = self[name]
        if self._current.is_served:
            self._state.read_served(thread)
        return thread

    def new(
        self,
        name: str | None = None,
        *,
        scope: Scope = MAIN,
        of: tuple[Thread, int] | None = None,
        origin: str | None = None,
    ) -> Thread:
        """Return a new thread, made current; without a name it is called `thread-N`.

        A fork `of` a thread after a turn has its memory and scope. `origin` is `NAME@N` of an opened thread.
        """
        name = check_name(name) if name else self.free_name("thread", len(self.names) + 1)
        if name in self:
            raise RefusedError(f"a thread {name!r} already exists", f"%agent switch {name}, or choose another name")
        before = self._current.thread
        if of is not None:
            origin, scope = f"{of[0].name}@{of[1]}", of[0].scope
            home = name if self._current.is_apart else of[0].home
        else:
            home = name if scope.empty or self._current.is_apart else ""
        made = self._current.thread = self._add(Thread(name, origin, home, scope, snapshot=Snapshot(name)))

        def undo() -> None:
            self.remove(made)
            self._current.thread = before

        self._undo.append((f"fork {name}" if origin else f"new thread {name}", before, undo))
        return made

    def fork(self, name: str | None = None, at: int | None = None) -> Thread:
        """Return a new thread that begins as the current one stood after turn `at` (the last, if not given)."""
        source = self.current
        if self._state.is_busy(source):  # its state is one in the middle of a turn
            at = len(source.turns) if at is None else at
        else:
            self._state.ensure_checkpoint(source)
        number = len(source.turns) if at is None else at
        begin = source.snapshot if at is None else self._after(source, number)
        made = self.new(name, of=(source, number))
        try:
            return self._branched(source, made, begin, number, at is None)
        except BaseException:  # where it can't be written, there is no thread that begins empty
            self._undo.pop()
            del self._threads[made.name]
            self._current.thread = source
            raise

    def branch(self, source: Thread, name: str) -> Thread:
        """Return a fork of a thread as it is now, which is not made current."""
        self._state.ensure_checkpoint(source)
        number = len(source.turns)
        home = name if self._current.is_apart else source.home
        made = Thread(name, f"{source.name}@{number}", home, source.scope, snapshot=Snapshot(name))
        return self._branched(source, self._add(made), source.snapshot, number, True)

    def adopt(
        self, source: Thread, name: str, values: Mapping[str, Any], memory: Mapping[str, Any], turn: Turn
    ) -> Thread:
        """Add a fork of a thread with a turn that another workspace played in it, and the `memory` it had there."""
        number = len(source.turns)
        made = self._add(Thread(name, f"{source.name}@{number}", name, source.scope, snapshot=Snapshot(name)))
        self._state.begin(made, values, memory)
        made.root = source.root or made.snapshot
        ended = replace(turn, before=source.snapshot, after=made.snapshot)
        made.turns = [replace(t, thread=name) for t in (*source.turns, ended)]
        self._undo.append((f"thread {name}", source, partial(self.remove, made)))
        return made

    def remove(self, thread: Thread) -> None:
        self._threads.pop(thread.name, None)
        self._state.delete(thread)

    def lend(self, thread: Thread) -> None:
        """A background turn runs in a thread: it is out of reach until `take_back`."""
        del self._threads[thread.name]
        self._lent.add(thread.name)

    def take_back(self, thread: Thread) -> None:
        self._lent.discard(thread.name)
        self._add(thread)

    def _branched(self, source: Thread, made: Thread, begin: Snapshot, number: int, newest: bool) -> Thread:
        self._state.begin(made, self._state.values_at(begin), source=begin)
        made.root = source.root
        made.held = dict(source.held) if newest else {}
        made.turns = [replace(t, thread=made.name) for t in source.turns[:number]]
        return made

    def rewind(self, thread: Thread, number: int, *, memory: bool = False, what: str = "") -> None:
        """Take a thread back to just after turn `number` (0: before the first)."""
        self._state.ensure_checkpoint(thread)
        to = self._after(thread, number)
        state, now = self._state, replace(thread, turns=list(thread.turns))

        def undo() -> None:
            state.ensure_checkpoint(thread)
            if memory_back is not None:
                memory_back()
            moved = [turn.after for turn in thread.turns] != [turn.after for turn in now.turns[:number]]
            if moved or not now.asked or not state.drop_after(thread, now.snapshot):
                state.restore_checkpoint(thread, now.snapshot)
            thread.decided = now.decided
            thread.turns, thread.held, thread.rewound = now.turns, now.held, now.rewound
            state.read_checkpoint(thread)

        # Memory goes first: it is known of a checkpoint by the time at which that was made.
        memory_back = state.put_back(thread, to, f"rewind to turn {number}") if memory else None
        try:
            state.restore_checkpoint(thread, to)
        except BaseException:
            if memory_back is not None:
                memory_back()
            raise
        self._undo.append((what or f"rewind to turn {number}", thread, undo))
        thread.turns, thread.held = now.turns[:number], {}
        thread.rewound = (*now.rewound, (len(now.turns), number))
        state.read_checkpoint(thread)

    def rebase(self) -> None:
        """Let the memory block of every thread that has its memory in common with the current one be made anew."""
        names = self.names if self._state.persistence else tuple(self._threads)  # not those of other programs
        for thread in map(self.__getitem__, names):
            if thread.root is not None and thread.home == self._current.thread.home:
                self._state.rebase(thread)

    def reread_turns(self) -> None:
        """See anew what is kept of all turns."""
        self._state.forget()
        for thread in self._threads.values():
            if thread.root is not None:
                self._state.read_stored(thread)

    def undo(self) -> tuple[str, Thread]:
        """Take back the last rewind, fork, new or re-run; return which it was, and its thread."""
        if not self._undo:
            does = "undo reverts the last rewind, fork, new or re-run; what code did to variables stays"
            raise NotFoundError("nothing to undo", does)
        what, thread, undo = self._undo.pop()
        undo()
        return what, thread

    def add(self, thread: Thread, events: Sequence[Event], spent: Usage) -> None:
        """Something happened after the last turn, and is kept with it."""
        last = thread.turns[-1]
        all_ = (*last.events, *events)
        thread.turns[-1] = replace(last, events=all_, usage=last.usage + spent, after=thread.snapshot)

    def decide(self, thread: Thread, decisions: Sequence[Decision]) -> bool:
        """Keep decisions on the very calls that were shown; return whether no call of the thread needs approval any more."""
        waiting = {call.key: call for call in thread.asked}
        for decision in decisions:
            call, now = decision.call, waiting.get(decision.call.key)
            if now is None or not now.is_same(call):
                do = "%agent panel approvals shows what does"
                raise NotFoundError(f"this call of {call.name} no longer needs approval", do)
        for decision in decisions:
            thread.decided[decision.call.key] = decision
            if allowed := {*decision.also, *((decision.call.name,) if decision.remember else ())}:
                thread.granted |= set(map(self._current.grant, allowed))
                same = [call for call in thread.asked if call.name in allowed and "approve" in call.allowed]
                thread.decided = {**{call.key: call.approve() for call in same}, **thread.decided}
        return all(call.key in thread.decided for call in thread.asked)

    def withdraw(self, tool: str) -> None:
        """No thread allows calls of a tool any more because they were allowed there once."""
        for thread in self:
            thread.granted -= {mark for mark in thread.granted if granted_tool(mark) == tool}
        self._current.save()

    @staticmethod
    def _after(thread: Thread, number: int) -> Snapshot:
        if number:
            return thread.turn(number).after
        if thread.turns:
            return thread.turns[0].before
        assert thread.root is not None  # a thread that was started has one
        return thread.root

    def free_name(self, kind: str, n: int) -> str:
        while f"{kind}-{n}" in self:
            n += 1
        return f"{kind}-{n}"
