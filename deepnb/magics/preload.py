"""Importing the engine while the kernel has nothing to do, so that the first turn need not wait for it."""

import importlib
import threading
from contextlib import suppress

IDLE = 3.0
"""Seconds without a running cell before the import begins: an import beside the user's own slows both."""


class Preload:
    """A timer that is put off by every cell, and never runs twice."""

    def __init__(self, module: str = "deepnb.wiring.build", idle: float = IDLE) -> None:
        self._module = module
        self._idle = idle
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        """Held while the import goes on."""
        self._done = False

    def begin(self) -> None:
        """Wait for idleness from now on."""
        self.stop()
        if not self._done:
            self._timer = threading.Timer(self._idle, self._load)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Do not begin; wait for an import that has begun.

        Two threads that import the same packages at once can each get one that is made by half: Python
        lets them, to prevent a deadlock, and then a name "cannot be imported".
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with self._lock:
            pass

    def _load(self) -> None:
        with self._lock:
            if threading.current_thread() is not self._timer:  # stopped on its way here
                return
            self._done = True
            with suppress(Exception):  # what is missing is said by the first turn, where it can be fixed
                importlib.import_module(self._module)
