"""One turn in the background: a thread of Python's that plays it in a fork, and what can be said of it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from time import perf_counter
from typing import Literal

from deepnb.backends.writer import note_writes
from deepnb.running.current import Current
from deepnb.running.runner import Runner, TurnStream
from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace
from deepnb.values.errors import DeepnbError, NotFoundError
from deepnb.values.events import Activity
from deepnb.values.text import excerpt, short_repr
from deepnb.values.turn import Event, Turn

JobState = Literal["running", "needs approval", "done", "stopped", "failed"]

_GRACE = 5.0
"""Seconds that a job which is being stopped is waited for; a tool that is blocked may go on, and is ignored."""


class JobStream(TurnStream):
    """The events of a background turn, for the thread that plays it; stopping it is an interrupt there."""

    def __init__(self, stream: TurnStream, arrived: threading.Event) -> None:
        """`stream` was begun with `arrived.set` as `notify`."""
        self._stream, self._arrived = stream, arrived
        self._first: Event | None = None
        self._stop = threading.Event()
        self.activity = Activity()

    @property
    def turn(self) -> Turn | None:
        return self._stream.turn

    def begin(self) -> None:
        """Begin the turn: what is wrong with its model or its options is raised here."""
        self._first = self._stream.poll()

    def __next__(self) -> Event:
        while not self._stop.is_set():
            event, self._first = self._first or self._stream.poll(), None
            if event is not None:
                self.activity.add(event)
                return event
            self._arrived.wait()
            self._arrived.clear()
        raise KeyboardInterrupt

    def close(self) -> None:
        self._stream.close()

    def stop(self) -> None:
        """Interrupt whoever reads it; called in another thread."""
        self._stop.set()
        self._arrived.set()


class Job:
    """A turn in the background. It runs in a fork of a thread, with the options and the policy of when it started.

    Code never runs in it: such a call needs approval, and the turn then continues as any other, in the session.
    """

    def __init__(self, number: int, prompt: str, source: str, thread: Thread, current: Current) -> None:
        """`source` is the thread that was forked, `current` that of the session."""
        self.number = number
        self.prompt = prompt
        self.source = source
        self.started = current.now()
        """ISO timestamp."""
        self._thread, self._current = thread, current
        self._at = len(thread.turns) + 1
        self._began = perf_counter()
        self._turn: Turn | None = None
        self._stream: JobStream | None = None
        self._context = copy_context()
        self._ended = threading.Event()
        self.problem: DeepnbError | None = None
        """Why the turn failed."""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number} in {self.thread}, {self.state}: {excerpt(self.prompt)!r}")

    @property
    def thread(self) -> str:
        """The name of its thread: `session.switch(job.thread)` continues there once it is no longer running."""
        return self._thread.name

    @property
    def turn(self) -> Turn | None:
        """Its turn as it is now; None while it is running."""
        if not self._ended.is_set():
            return None
        kept = self._thread.turns[self._at - 1 : self._at]
        self._turn = kept[0] if kept else self._turn
        return self._turn

    @property
    def state(self) -> JobState:
        """What has become of it."""
        if not self._ended.is_set():
            return "running"
        turn = self.turn
        if turn is None or turn.interrupted is not None:
            return "stopped"
        if turn.error is not None:
            return "failed"
        return "needs approval" if turn.asked else "done"

    @property
    def activity(self) -> Activity:
        """Says what the job waits for, and the tokens of its calls so far."""
        return self._stream.activity if self._stream is not None else Activity()

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        turn = self.turn
        return turn.seconds if turn is not None else perf_counter() - self._began

    def wait(self, timeout: float | None = None) -> Turn | None:
        """Its turn, once it has ended or needs approval; None where it is still running after `timeout` seconds."""
        if not self._ended.wait(timeout):
            return None
        self._current.catch_up()
        return self.turn

    def stop(self) -> Turn | None:
        """Stop it, with all kept that was reached; gives its turn."""
        if self.state != "running":
            raise NotFoundError(f"job {self.number} is not running: it is {self.state}", "%agent jobs lists the others")
        self.interrupt()
        return self.wait(_GRACE)

    def interrupt(self) -> None:
        """Let it end soon; called in whichever thread."""
        if self._stream is not None:
            self._stream.stop()

    # -- for whoever starts it

    def begin(self, work: Workspace, stream: Callable[[Runner, Callable[[], None]], TurnStream]) -> None:
        """Begin the turn of `stream` in the job's own workspace; what is wrong with its options is raised here."""
        arrived = threading.Event()
        self._stream = JobStream(stream(Runner(work), arrived.set), arrived)
        self._context.run(self._current.begin_background)
        self._context.run(note_writes, f"background job {self.number}")
        self._context.run(self._stream.begin)

    def run(self, read: Callable[[JobStream], object], end: Callable[[], None]) -> None:
        """Have `read` read the stream in a thread of its own, in the context it was begun in; `end` comes last there."""
        assert self._stream is not None
        stream = self._stream

        def run() -> None:
            try:
                read(stream)
            except DeepnbError as error:
                self.problem = error
            except KeyboardInterrupt:
                pass  # `stop` raised it; the turn, which `close` records, says that it was interrupted and where
            finally:
                stream.close()
                self._turn = stream.turn
                end()
                self._ended.set()

        threading.Thread(target=self._context.run, args=(run,), daemon=True, name=f"deepnb-job-{self.number}").start()
