"""One run of a graph in a thread of its own, read as Events; it can be cancelled at any moment."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from deepnb.engine import keys
from deepnb.engine.approvals import is_bound
from deepnb.engine.graph import Graph
from deepnb.engine.listen import Cancelled, LimitReached, Listener
from deepnb.engine.probe import new_messages
from deepnb.gate import redact
from deepnb.values.approvals import PendingCall
from deepnb.values.messages import Added
from deepnb.values.turn import Asked, Event

T = TypeVar("T")

_Errand = tuple[Callable[[], Any], Future[Any]]
"""Work that one thread does for another, which waits."""

_GRACE = 2.0
"""Seconds a cancelled run is waited for; after that it is left to end by itself."""
_LOOK_UP = 0.05
"""Seconds after which a thread that waits for the reader looks whether the run was cancelled, and the reader for a signal."""


_READ: ContextVar[Run | None] = ContextVar("read", default=None)


def current_run() -> Run | None:
    return _READ.get()


class _SecondInterrupt(BaseException):
    """Passes where a KeyboardInterrupt is caught."""


@contextmanager
def _interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread, as a cell does; a second one ends work that catches the first."""
    handler = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(handler):
        yield
        return
    heard = False

    def interrupt(*given: Any) -> None:
        nonlocal heard
        if heard:
            raise _SecondInterrupt
        heard = True
        handler(*given)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except _SecondInterrupt:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, handler)


class Run:
    """Iterate it for the Events of the run; afterwards `values` is the last state seen.

    The graph runs in a thread, so that an interrupt ends the waiting at once even where a tool is blocked in C. With the
    stream modes used here LangGraph runs the nodes in that same thread.
    """

    def __init__(
        self,
        graph: Graph,
        input: Any,  # noqa: A002
        config: dict[str, Any],
        ledger: Any,
        *limits: Any,
        record: Callable[[Event | Added], None],
        notify: Callable[[], None] | None = None,
    ) -> None:
        """`record` is called with each event, and each message as it joins, before the next step begins.

        With `notify` the iteration never waits: it yields None where there is no event yet, and `notify` is called in
        the run's thread when there is one.
        """
        self._graph = graph
        self.notify = notify
        """Tells an event loop that reads the run, and must not wait for work; None for a thread that reads it."""
        self.values: dict[str, Any] | None = None
        self.interrupts: tuple[Any, ...] = ()
        self._is_asked = False
        self.told: list[Event] = []
        """Its events, those included that nobody has read."""
        self._record = record
        self._recording = threading.Lock()
        self._unrecorded: Exception | None = None
        """Why an event could not be written down, which ends the run."""
        self._closed = False
        """Whether nothing is recorded any more: a run that did not end in time is left to itself."""
        self._events: queue.SimpleQueue[Event | _Errand | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._reader: int | None = None
        self.listener = Listener(self.tell, ledger, *limits, added=self._join)
        config = {**config, "callbacks": [*(config.get("callbacks") or ()), self.listener]}
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._pump, input, config), daemon=True, name="deepnb-run"
        )

    def __iter__(self) -> Iterator[Event | None]:
        self._reader = threading.get_ident()
        self._thread.start()
        while True:
            try:
                # A signal that comes just before the wait in C does not end it: only a wait that ends lets Python see it.
                event = self._events.get(block=self.notify is None, timeout=_LOOK_UP)
            except queue.Empty:
                if self.notify is not None:
                    yield None
                continue
            if event is None:
                break
            if not isinstance(event, tuple):
                yield event
                continue
            work, done = event
            try:
                with _interrupts():
                    value = work()
                done.set_result(value)
            except BaseException as error:  # an interrupt is for both threads, any other for the one that waits
                done.set_exception(error)
                if isinstance(error, KeyboardInterrupt):
                    raise
        self._thread.join()
        if self._error is not None:
            raise self._error

    def expect(self, calls: Iterable[PendingCall]) -> None:
        for path, some in groupby(sorted(calls, key=attrgetter("path")), attrgetter("path")):
            self.listener.expect(path, [call.id for call in some])

    def on_reader(self, work: Callable[[], T]) -> T:
        """Return what `work` gives, done by the thread that iterates, in which a KeyboardInterrupt ends the run."""
        if threading.get_ident() == self._reader:  # a tool that a function calls
            return work()
        done: Future[T] = Future()
        self._put((work, done))
        while not wait((done,), _LOOK_UP).done:
            if self._closed or self.listener.is_cancelled:
                raise Cancelled
        return done.result()

    def cancel(self) -> bool:
        """End the run, and return whether it has ended within the grace time. Nothing is told of it any more."""
        self.listener.cancel()
        if self._thread.ident is None:  # not begun, and never will be
            return True
        self._thread.join(0.1)
        if self._thread.is_alive():
            with self._recording:  # a line is not cut in two
                self.listener.wake()
            self._thread.join(_GRACE)
        with self._recording:
            self._closed = self.listener.is_late = True
        return not self._thread.is_alive()

    def unanswerable(self) -> str:
        """Return in a few words what asked the user something that no approval is; empty if nothing did, or a call waits."""
        foreign = [one.value for one in self.interrupts if not is_bound(one.value)]
        if not foreign or self._is_asked:
            return ""
        shown = " ".join(redact(repr(foreign[0])).split())[:120]
        return f"the run stopped with interrupt({shown}), and a session can't answer it"

    def tell(self, event: Event) -> None:
        """Add an event, in the order in which all who hear of the run hear it."""
        with self._recording:  # the tools of a step run side by side: all who hear of them hear the same order
            if not self._closed:
                self.told.append(event)
            self._write(event)
            self._put(event)

    def _put(self, event: Event | _Errand | None) -> None:
        self._events.put(event)
        if self.notify is not None:
            self.notify()

    def _join(self, message: Added) -> None:
        with self._recording:
            self._write(message)

    def _write(self, event: Event | Added) -> None:
        if not self._closed:
            try:
                self._record(event)
            except Exception as error:  # LangChain logs what a callback raises
                self._unrecorded = error
                self.listener.cancel()
                raise Cancelled from error

    def _pump(self, input: Any, config: dict[str, Any]) -> None:  # noqa: A002
        _READ.set(self)
        try:
            for mode, chunk in self._graph.stream(input, config):
                if mode == "values":
                    self.values = chunk
                elif keys.INTERRUPT in chunk:
                    known = {one.id for one in self.interrupts}
                    new = [one for one in chunk[keys.INTERRUPT] if one.id not in known]
                    self.interrupts = (*self.interrupts, *new)
                    messages = (self.values or {}).get(keys.MESSAGES) or ()
                    for call in self._graph.asked(new, config["configurable"]["thread_id"], messages):
                        self._is_asked = True
                        self.tell(Asked(call, call.path))
                else:
                    for message in new_messages(chunk):
                        if message.role == "assistant":
                            self.listener.said(message)
                        self._join(Added(message))
        except LimitReached as limit:
            self._error = limit
        except Cancelled:  # whoever cancelled knows
            self._error = self._unrecorded
        except BaseException as error:  # handed to the reading thread, which raises it
            self._error = error
        finally:
            self._put(None)
