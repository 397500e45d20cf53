"""The threads of a session: which there are, how the current one stands, and moving between them."""

# mypy: disable-error-code="misc"
# `self` is the session this is a part of, which mypy takes for no kind of it.

from __future__ import annotations

from typing import TYPE_CHECKING

from deepnb.core.approvals import PendingCall
from deepnb.core.values import Snapshot, ThreadInfo, Turn
from deepnb.memory.scope import Scope

if TYPE_CHECKING:
    from deepnb.agent.session import Session


class SessionThreads:
    """The part of a `Session` that is about its threads."""

    @property
    def thread(self: Session) -> str:
        """The name of the current thread."""
        return self._threads.current.name

    @property
    def thread_info(self: Session) -> ThreadInfo:
        """The current thread as it is listed."""
        return self._threads.info(self._threads.current)

    @property
    def threads(self: Session) -> tuple[ThreadInfo, ...]:
        """All threads, in the order they were made."""
        return self._threads.infos()

    @property
    def thread_names(self: Session) -> tuple[str, ...]:
        """The names of all threads; none of those that a given checkpointer holds is read for it."""
        return self._threads.names

    @property
    def scope(self: Session) -> Scope:
        """What the agent of the current thread may know of memory."""
        return self._threads.current.scope

    @property
    def readable_threads(self: Session) -> tuple[str, ...]:
        """The threads whose transcripts may be read where the current one is: with its memory, and no more private."""
        here = self._threads.current
        found = map(self._threads.__getitem__, self.thread_names)
        return tuple(t.name for t in found if t.pool is here.pool and (here.scope.whole or t.scope.shared))

    @property
    def turns(self: Session) -> tuple[Turn, ...]:
        """The turns of the current thread."""
        return tuple(self._threads.current.turns)

    def turn(self: Session, number: int) -> Turn:
        """Turn `number` of the current thread, counted from 1."""
        return self._threads.current.turn(number)

    @property
    def text(self: Session) -> str:
        """The last answer in the current thread; empty before the first."""
        turns = self._threads.current.turns
        return turns[-1].text if turns else ""

    @property
    def snapshot(self: Session) -> Snapshot:
        """The state of the current thread as it stands, waiting writes included."""
        return self._state.seen(self._threads.current)

    @property
    def pending(self: Session) -> str | None:
        """What the current thread waits for, in one line; None where nothing is left to run."""
        return self._threads.current.pending

    @property
    def asked(self: Session) -> tuple[PendingCall, ...]:
        """The calls that wait for the user's word; each has `approve()`, `reject(why)` and `edit(args)` for `resume`."""
        return self._threads.current.asked

    def new(self: Session, name: str | None = None, *, empty: bool = False, shared: bool = False) -> str:
        """Start a new thread and make it current; gives its name.

        Memory, notes and skills are the session's: it has them, and the others see what it learns. An
        `empty` one has none of them, and keeps what it learns to itself and its forks. A `shared` one is
        a thread that others read along: `/MEMORY.md` is kept from its agent.
        """
        self._idle()
        made = self._threads.new(name, scope=Scope(empty, shared))
        self._tell()
        return made.name

    def switch(self: Session, name: str) -> str:
        """Make another thread current."""
        self._idle()
        self._threads.switch(name)
        self._tell()
        return name

    def fork(self: Session, name: str | None = None, at: int | None = None) -> str:
        """A new thread that begins as this one stood after turn `at` (the last, if not given)."""
        self._idle()
        source = self.thread
        made = self._threads.fork(name, at)
        self.transcripts.forked(source, made.name, made.snapshot.messages, made.parent or source)
        self._tell()
        return made.name

    def rewind(self: Session, number: int, *, memory: bool = False) -> None:
        """Take the current thread back to just after turn `number`; with `memory`, memory and skills too."""
        self._idle()
        self._threads.rewind(self._threads.current, number, memory=memory)
        self.backend.restored(f"rewind to turn {number}")
        self.transcripts.moved(self.thread, self.snapshot.messages, "rewind", f"to turn {number}")
        self._tell()

    def undo(self: Session) -> str:
        """Take back the last rewind, fork, new or re-run; says which it was."""
        self._idle()
        what, thread = self._threads.undo()
        with self._places.on(thread):
            self.backend.restored(f"undo of {what}")
            self.transcripts.moved(thread.name, thread.snapshot.messages, "undo", what)
        self.transcripts.gone(self.thread_names, what)
        self._tell()
        return what
