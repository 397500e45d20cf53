"""The main thread plays turns, one at a time, as that of a kernel runs cells: there an interrupt reaches the agent's code."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

_GRACE = 10.0
"""Seconds after which a process that has to end is ended, whatever its code does."""


class Turns:
    """What the main thread has to do."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._running: Future[Any] | None = None
        self._is_open = self._sent = self._ended = False
        """Whether an interrupt may be raised, one of ours is on its way, and the process has to end."""

    def add(self, work: Callable[[], Any]) -> Future[Any]:
        """Have the main thread do this after what it has to do already."""
        future: Future[Any] = Future()
        self._jobs.put((future, work))
        return future

    def interrupt(self, future: Future[Any] | None) -> None:
        """Interrupt what is being done for this future; what has not begun never will."""
        if future is not None and not future.cancel() and self._running is future:
            self._sent = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def end(self) -> None:
        """Let the main thread end, which is interrupted."""
        if not self._ended:
            self._ended = True
            self._jobs.put(None)
            last = threading.Timer(_GRACE, os._exit, (1,))
            last.daemon = True
            last.start()
            self.interrupt(self._running)

    # -- in the main thread

    def serve(self) -> None:
        """Do what there is to do until `end`, or a signal that ends programs."""
        signal.signal(signal.SIGINT, self._interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
        while (job := self._jobs.get()) is not None:
            future, work = job
            if self._ended:
                future.cancel()
            if future.set_running_or_notify_cancel():
                self._running = future
                try:
                    future.set_result(work())
                except BaseException as error:  # it is raised where the result is awaited
                    future.set_exception(error)
                self._running = None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within the block an interrupt is a KeyboardInterrupt; elsewhere it comes to nothing."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def _interrupted(self, *_: Any) -> None:
        ours, self._sent = self._sent, False
        if not ours:
            self.end()
        if self._is_open:
            raise KeyboardInterrupt
