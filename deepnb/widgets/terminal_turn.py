"""A turn while it happens in a terminal: text printed as it comes."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from deepnb.values.events import WAITS, Activity
from deepnb.values.image import IN_A_TERMINAL, PICTURES
from deepnb.values.turn import CodeOutput, Event, Retry, TextDelta
from deepnb.views.status import RunningView
from deepnb.views.text import clean, short
from deepnb.views.turn_segments import Answer, Printed, Rich, Segment, Segments, Thinking
from deepnb.views.view import View, notice_view
from deepnb.widgets.progress import Pulse, pause
from deepnb.widgets.screen import Screen

_CLEAR = "\r\x1b[K"


class TerminalTurn:
    """Text printed as it comes; a tool call, or a task of a subagent, is printed when it has ended."""

    def __init__(
        self,
        screen: Screen,
        out: TextIO | None = None,
        patience: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """After `patience` seconds of silence a line says what is waited for: one that is written over, where `out` is a
        terminal, else once a turn for each kind of it."""
        self._screen = screen
        self._out = out or sys.stdout
        self._segments = Segments()
        self._printed: Segment | None = None
        """What was printed of last."""
        self._column = 0
        self._lock = threading.Lock()
        self._patience, self._began = patience, clock()
        self._clock = clock
        self._activity = Activity()
        self._pulse = Pulse(self._lock, patience, self._beat)
        self._said: set[str] = set()
        self._over = self._out.isatty()
        self._fleeting = False
        """Whether the line that is written over is there."""

    def add(self, event: Event) -> None:
        """Take an event and print what it adds."""
        with self._lock:
            self._pulse.touch()
            self._activity.add(event)
            at = self._segments.add(event)
            if at is not None:
                self._take(self._segments.segments[at], event)
            elif isinstance(event, Retry) and not self._over:
                self._print_line(notice_view(event.line).text())

    def ended(self) -> None:
        """No event comes any more: nothing is waited for."""
        with self._lock:
            self._pulse.end()
            self._clear()

    def finish(self, *views: View) -> Screen:
        """End the line, then print the views below it; gives where more can be shown."""
        with self._lock:
            self._pulse.end()
            self._clear()
            self._line()
            self._print("\n" if self._printed else "")
        for view in views:
            self._screen.show(view)
        return self._screen

    def _take(self, segment: Segment, event: Event) -> None:
        if isinstance(segment, Thinking):
            if segment is not self._printed:
                self._print_line(segment.text())
        elif isinstance(segment, Printed):
            if segment is not self._printed:
                self._line()
            self._print(clean(event.text) if isinstance(event, CodeOutput) and event.text else "")
        elif isinstance(segment, Answer) and isinstance(event, TextDelta):
            if segment is not self._printed:
                self._line()
                self._print("\n" if self._printed else "")
            self._print(event.text)
        elif getattr(segment, "status", "ok") != "running":
            self._print_line(segment.text())
            if isinstance(segment, Rich) and not set(PICTURES).isdisjoint(segment.output.data):
                self._print_line(notice_view(IN_A_TERMINAL).text())
        else:
            return
        self._printed = segment

    def _beat(self, silent: bool) -> float:
        """Say what is waited for; what is printed and not written over stays, so each only once."""
        doing, seconds = self._activity.line, self._clock() - self._began
        if self._over and not self._column and (silent or self._fleeting):
            line = RunningView(seconds, doing, self._activity.budget, "Ctrl-C stops it").text()
            self._out.write(f"{_CLEAR}{short(line, shutil.get_terminal_size().columns - 1)}")
            self._out.flush()
            self._fleeting = True
        elif silent and not self._over and doing in {*WAITS.values()} - self._said:
            self._said.add(doing)
            self._print_line(notice_view(f"{doing} ...").text())
        return pause(seconds, self._patience)

    def _clear(self) -> None:
        if self._fleeting:
            self._out.write(_CLEAR)
            self._fleeting = False

    def _line(self) -> None:
        if self._column:
            self._print("\n")

    def _print_line(self, text: str) -> None:
        self._line()
        self._print(text + "\n")

    def _print(self, text: str) -> None:
        self._clear()
        self._out.write(text)
        self._out.flush()
        self._column = 0 if text.endswith("\n") else 1
