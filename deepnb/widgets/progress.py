"""One line that says what is being done or waited for, where it takes longer than a moment."""

import _thread
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from math import inf
from typing import Self

from deepnb.views.view import View, notice_view
from deepnb.widgets.screen import Output, Screen


class Progress:
    """Shows its line after some seconds; `end` puts the record in its place."""

    def __init__(self, screen: Screen, line: str, after: float = 1.0, failed: str = "") -> None:
        """Leaving a `with` by an error says what `failed`."""
        self._failed = failed
        self._screen = screen
        self._line = line
        self._output: Output | None = None
        self._ended = False
        self._lock = threading.Lock()
        # In the context of now, which says which cell an output belongs to.
        self._timer = threading.Timer(after, copy_context().run, args=(self._begin,))
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop(self._failed)

    def end(self, view: View) -> None:
        """It is over: show what came of it, in the place of the line where outputs can change."""
        if not self._ended_with(view):
            self._screen.show(view)

    def stop(self, line: str) -> None:
        """It failed: say so in the place of the line, if that was shown; who caught it says why."""
        self._ended_with(notice_view(line))

    def _ended_with(self, view: View) -> bool:
        with self._lock:
            self._ended = True
            self._timer.cancel()
            if self._output is None or not self._screen.notebook:
                return False
            self._output.update(view)
            return True

    def _begin(self) -> None:
        with self._lock:
            if not self._ended:
                self._output = self._screen.show(notice_view(self._line))


class Pulse:
    """Calls `beat` about once a second, later more seldom, holding `lock`, from the first `touch` to `end`."""

    def __init__(self, lock: threading.Lock, patience: float, beat: Callable[[bool], float]) -> None:
        """`beat` is told whether nothing came for `patience` seconds, and gives how long to wait for the next."""
        self._lock, self._patience, self._beat = lock, patience, beat
        self._touched = 0.0
        self.due = 0.0
        """The moment of the next beat, or 0 before the first touch."""

    def touch(self) -> None:
        """Something came."""
        self._touched = time.monotonic()
        if not self.due:
            self.due = self._touched + self._patience
            self._context = copy_context()  # of now, which says which cell an output belongs to
            _PULSES.begin(self)

    def end(self) -> None:
        """Nothing more comes. To be called with the lock held: no beat follows."""
        self.due = inf
        _PULSES.all.discard(self)

    def tick(self) -> None:
        """Beat if it is time, in the thread of all pulses."""
        with self._lock:
            if (now := time.monotonic()) >= self.due:
                self.due = now + self._context.run(self._beat, now - self._touched >= self._patience)


class _Pulses:
    """The one thread of all pulses. It sleeps on for a while when there are none, and ends then: to start a thread
    for each turn, or to wake one, costs a short turn more than all that it prints."""

    def __init__(self) -> None:
        self.all: set[Pulse] = set()
        self._lock = threading.Lock()
        self._earlier = threading.Event()
        self._wakes: float | None = None
        """The moment at which the thread wakes, or None while no thread runs."""

    def begin(self, pulse: Pulse) -> None:
        with self._lock:
            self.all.add(pulse)
            if self._wakes is None:
                self._wakes = 0.0
                # `Thread.start` would wait for the new thread, which in a busy turn is a whole turn of the interpreter's lock.
                _thread.start_new_thread(self._run, ())
            elif pulse.due < self._wakes:
                self._earlier.set()

    def _run(self) -> None:
        idle = 0
        while True:
            self._earlier.clear()
            for pulse in (pulses := tuple(self.all)):
                try:
                    pulse.tick()
                except Exception as error:
                    self.all.discard(pulse)
                    if not isinstance(error, OSError | ValueError):  # of a closed output: who writes next is told
                        self._wakes = None
                        raise
            idle = 0 if pulses else idle + 1
            with self._lock:
                if idle > _IDLE and not self.all:
                    self._wakes = None
                    return
                now = time.monotonic()
                self._wakes = min([now + 1.0, *(one.due for one in tuple(self.all))])
            self._earlier.wait(self._wakes - now)


_IDLE = 60
"""Seconds without a pulse after which the thread ends."""
_PULSES = _Pulses()


def pause(seconds: float, least: float) -> float:
    """Return how long to wait before a line that says how long something has taken is shown anew: later ever longer."""
    return min(max(least, seconds / 20), 5.0)
