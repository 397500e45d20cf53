"""One line that says what is being done, where it takes longer than a moment."""

from __future__ import annotations

import threading
from contextvars import copy_context

from deepnb.views.notice import notice_view
from deepnb.views.view import View
from deepnb.widgets.screen import Output, Screen


class Progress:
    """Shows its line after some seconds; `end` puts the record in its place."""

    def __init__(self, screen: Screen, line: str, after: float = 1.0) -> None:
        self._screen = screen
        self._line = line
        self._output: Output | None = None
        self._ended = False
        self._lock = threading.Lock()
        # The context says which cell an output belongs to.
        self._timer = threading.Timer(after, copy_context().run, args=(self._begin,))
        self._timer.daemon = True
        self._timer.start()

    def say(self, line: str) -> None:
        """Say another line from now on."""
        with self._lock:
            if line != self._line and self._output is not None and not self._ended:
                if self._screen.notebook:
                    self._output.update(notice_view(line))
                else:
                    self._output = self._screen.show(notice_view(line))
            self._line = line

    def end(self, view: View) -> None:
        """It is over: show what came of it, in the place of the line where outputs can change."""
        with self._lock:
            self._ended = True
            self._timer.cancel()
            if self._output is not None and self._screen.notebook:
                self._output.update(view)
            else:
                self._screen.show(view)

    def stop(self, line: str) -> None:
        """It failed: say so in the place of the line, if that was shown; who caught it says why."""
        with self._lock:
            self._ended = True
            self._timer.cancel()
            if self._output is not None and self._screen.notebook:
                self._output.update(notice_view(line))

    def _begin(self) -> None:
        with self._lock:
            if not self._ended:
                self._output = self._screen.show(notice_view(self._line))
