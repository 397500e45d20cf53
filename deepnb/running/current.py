"""The present of a session: options in force, time, the thread that is meant, the turn that plays, who watches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from deepnb.memory.layers import guarded_paths
from deepnb.running.thread import Thread
from deepnb.values.approvals import Policy, policy_of
from deepnb.values.errors import BusyError, DeepnbError
from deepnb.values.fingerprint import fingerprint
from deepnb.values.lazy import nothing
from deepnb.values.turn import Event, Turn
from deepnb.wiring.options import Options, own_tools
from deepnb.workshop.kernel import PlainKernel

if TYPE_CHECKING:
    from deepnb.models.tapes.recorder import Recording

T = TypeVar("T")
_BACKGROUND: ContextVar[Current | None] = ContextVar("background", default=None)
"""Of the session whose background turn the code is part of."""

_BY = " by the code "


def granted_tool(mark: str) -> str:
    """Return the name of the tool that a `Current.grant` allows."""
    return mark.partition(_BY)[0]


class _Holding(threading.local):
    depth, changed = 0, False


class Current:
    """One value for all parts of a session; whoever changes something of it calls `tell`."""

    def __init__(self, options: Options, thread: Thread, clock: Callable[[], datetime] | None = None) -> None:
        self.options = options
        self.thread = thread
        """The thread that is meant where none is named, whether or not it has been read."""
        self.shared: frozenset[str] = frozenset()
        """Names, in lower case, of the threads that others can read."""
        self.turn: Turn | None = None
        """The turn that plays, as it began: the one fact that a turn is running."""
        self.last: Turn | None = None
        self.clock = clock or (lambda: datetime.now().astimezone())
        self.shell: PlainKernel | None = None
        self.live: Callable[[Event], None] = nothing
        """Shows an output of code while it runs; the reader of the turn is given it later."""
        self.recording: Recording | None = None
        self.wake: Callable[[], None] = nothing
        """Has `catch_up` called in the session's own thread soon; called in whichever thread."""
        self.save: Callable[[], None] = nothing
        """Keeps what has changed, where the session is kept; called before anybody is told."""
        self._later: deque[Callable[[], None]] = deque()
        self.read_only: DeepnbError | None = None
        """Why nothing can be changed: of a session that was opened from a file."""
        self._closed = False
        self._playing: Thread | None = None
        self._apart: Thread | None = None
        self._reader: int | None = None
        """The thread of Python's that holds an event of the turn, and means the current thread's files."""
        self._watchers: list[Callable[[], None]] = []
        self._holding = _Holding()

    def now(self) -> str:
        return self.clock().isoformat(timespec="seconds")

    def stamp(self) -> dict[str, Any]:
        """Return the moment as the journal keeps it: `at`, `thread`, `turn`, `cell`."""
        if (turn := self.turn) is not None:
            return {"at": self.now(), "thread": turn.thread, "turn": turn.number, "cell": turn.cell}
        return {"at": self.now(), "thread": self.thread.name, "turn": len(self.thread.turns) or None}

    @property
    def kernel(self) -> PlainKernel | None:
        """What runs code of the agent: the shell's, or a plain one over a namespace that is a dict."""
        namespace = self.options.namespace
        return self.shell or (PlainKernel(namespace) if isinstance(namespace, dict) else None)

    def play(self, thread: Thread, turn: Turn) -> None:
        self._playing, self.turn = thread, turn

    def stop(self) -> None:
        self._playing = self.turn = None

    def plays(self, thread: Thread) -> bool:
        """Return whether a turn is running in a thread."""
        return thread is self._playing

    @property
    def is_idle(self) -> bool:
        return self.turn is None

    def close(self) -> None:
        self._closed = True
        self._watchers.clear()

    def idle(self) -> None:
        """Raise an error while a turn is running, after the end of the session, and in one that is only for reading."""
        if self.read_only is not None:
            raise self.read_only
        if self._closed:
            raise BusyError("this session is closed", "deepnb.Session(...) starts a new one")
        if _BACKGROUND.get() is self:
            raise BusyError("a background job can't change its session", "do that in a cell")
        if not self.is_idle:
            raise BusyError("a turn is running", "interrupt it, or wait until it ends")
        self.catch_up()

    def begin_background(self) -> None:
        """The code of this context is part of a background turn from now on, and can't change the session."""
        _BACKGROUND.set(self)

    def later(self, act: Callable[[], None]) -> None:
        self._later.append(act)
        self.wake()

    def catch_up(self) -> None:
        """Do what background turns have left to do."""
        while self.is_idle and not self._closed and _BACKGROUND.get() is not self:
            try:
                act = self._later.popleft()
            except IndexError:
                return
            act()

    @property
    def agent_thread(self) -> Thread:
        """The thread whose agent is meant: that of the turn that plays, else the current one."""
        return self._playing or self.thread

    @property
    def files_thread(self) -> Thread:
        """The thread whose files are meant: the current one, but within `on` another."""
        apart = None if self._reader == threading.get_ident() else self._apart
        return apart or self.thread

    @contextmanager
    def on(self, thread: Thread) -> Iterator[None]:
        """Mean this thread's files within the block, where its memory is another than the current one's."""
        before = self._apart, self._reader
        self._apart, self._reader = None if thread.home == self.thread.home else thread, None
        try:
            yield
        finally:
            self._apart, self._reader = before

    def read(self, events: Generator[T, None, None]) -> Generator[T, None, None]:
        """Yield the events of a turn played within `on`; who has taken one sees the current thread until the next."""
        with closing(events):
            for event in events:
                self._reader = threading.get_ident()
                try:
                    yield event
                finally:
                    self._reader = None

    @property
    def policy(self) -> Policy:
        """Which calls need approval, in the thread whose agent is meant."""
        marks = self.agent_thread.granted
        granted = frozenset(name for name in map(granted_tool, marks) if self.grant(name) in marks)
        return replace(policy_of(self.options.approve), granted=granted)

    def grant(self, name: str) -> str:
        """Return what is kept of a tool that is allowed in a thread: its name, and of one of the user's which code it runs."""
        given = [tool for called, tool in own_tools(self.options, self.options.subagents) if called == name]
        return f"{name}{_BY}{fingerprint(given)}" if given else name

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after every change; return a function that ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Within the block this thread tells nobody, and once after it: who looks finds each change with its entry."""
        held = self._holding
        held.depth += 1
        try:
            yield
        finally:
            held.depth -= 1
            if held.changed and not held.depth:
                held.changed = False
                self.tell()

    def tell(self) -> None:
        if self._holding.depth:
            self._holding.changed = True
            return
        self.catch_up()
        self.save()
        for watcher in tuple(self._watchers):
            watcher()

    # -- which files belong to the session and not to one thread, and which stand behind the guard

    def is_guarded(self, path: str) -> bool:
        """Return whether the guard stands before a file: memory, notes, skills and subagents."""
        options = self.options
        names, folders = guarded_paths(options.memory, options.skills)
        return path in names or path.startswith(folders)

    def is_shared(self, path: str) -> bool:
        """Return whether a file belongs to the session (memory, notes, skills, subagents) and not to one thread."""
        return not self.options.graph and (path.startswith("/.deepnb/") or self.is_guarded(path))

    @property
    def is_apart(self) -> bool:
        """Whether each thread has all of its files for itself: those of somebody else's graph, in its state."""
        return bool((graph := self.options.graph) and graph.in_state)

    @property
    def is_served(self) -> bool:
        return bool((graph := self.options.graph) and graph.is_served)

    @property
    def is_attached(self) -> bool:
        return self.options.graph is not None

    def refusal(self, path: str) -> str:
        """Return why the agent would not read a file, in one line; empty where it would."""
        options = self.options
        if options.graph is None:
            return ""
        return options.graph.refusal(path, options.memory, options.skills, self.is_guarded(path))
