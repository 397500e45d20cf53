"""One line that says what is being done or waited for, where it takes longer than a moment."""

import threading
from collections.abc import Callable
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
        self._timer = _timer(after, self._begin)
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
        if not self._ended_with(view):
            self._screen.show(view)

    def stop(self, line: str) -> None:
        """It failed: say so in the place of the line, if that was shown; who caught it says why."""
        self._ended_with(notice_view(line))

    def _ended_with(self, view: View) -> bool:
        """Say nothing more; whether the view stands in the place of the line now."""
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


class Silence:
    """Says what is waited for after some seconds in which nothing came, holding `lock`."""

    def __init__(self, lock: threading.Lock, patience: float, say: Callable[[str], None]) -> None:
        self._lock = lock
        self._patience = patience
        self._say = say
        self._timer: threading.Timer | None = None

    def begins(self, line: str) -> None:
        """From now on nothing comes; `line` is what to say."""
        self.ends()
        self._timer = _timer(self._patience, self._over, line)
        self._timer.start()

    def ends(self) -> None:
        """Something came: nothing is said any more. To be called with the lock held."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self, line: str) -> None:
        with self._lock:
            if self._timer is threading.current_thread():
                self._say(line)


def _timer(seconds: float, act: Callable[..., None], *args: str) -> threading.Timer:
    """Acts in the context of now, which says which cell an output belongs to."""
    timer = threading.Timer(seconds, copy_context().run, args=(act, *args))
    timer.daemon = True
    return timer
