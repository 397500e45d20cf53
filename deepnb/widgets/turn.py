"""A turn while it happens: in a notebook as outputs updated in place, in a terminal as printed text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from deepnb.core.values import Event, TextDelta
from deepnb.views.segments import Answer, Segment, Segments
from deepnb.views.view import View
from deepnb.widgets.screen import Output, Screen

MAX_OUTPUTS = 20
"""JupyterLab hides a cell's outputs from the 51st on; a turn never makes more than this."""


class NotebookTurn:
    """Outputs that grow: one for each answer, one for each run of cards between two answers."""

    def __init__(self, screen: Screen, hz: float = 15.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._pause = 1.0 / hz if hz > 0 else 0.0
        self._clock = clock
        self._segments = Segments()
        self._group_of: list[int] = []
        self._groups: list[list[int]] = []
        self._outputs: list[Output] = []
        self._dirty: set[int] = set()
        self._flushed = float("-inf")

    def add(self, event: Event) -> None:
        """Take an event; text is shown at most `hz` times a second, everything else at once."""
        at = self._segments.add(event)
        if at is None:
            return
        while len(self._group_of) < len(self._segments.segments):
            self._place(len(self._group_of))
        self._dirty.add(self._group_of[at])
        if not isinstance(event, TextDelta) or self._clock() - self._flushed >= self._pause:
            self.flush()

    def finish(self, *views: View) -> None:
        """Show what is not shown yet, then the views below it (a footer)."""
        self.flush()
        for view in views:
            self._screen.show(view)

    def flush(self) -> None:
        """Show every output that has changed."""
        for group in sorted(self._dirty):
            view = _Group([self._segments.segments[i] for i in self._groups[group]])
            if group < len(self._outputs):
                self._outputs[group].update(view)
            else:
                self._outputs.append(self._screen.show(view))
        self._dirty.clear()
        self._flushed = self._clock()

    def _place(self, index: int) -> None:
        """Put a new segment into the last group, or into one of its own; the last place takes all the rest."""
        segments = self._segments.segments
        cards = index > 0 and not isinstance(segments[index], Answer) and not isinstance(segments[index - 1], Answer)
        if not self._groups or not (cards or len(self._groups) >= MAX_OUTPUTS - 2):
            self._groups.append([])
        self._groups[-1].append(index)
        self._group_of.append(len(self._groups) - 1)


class TerminalTurn:
    """Text printed as it comes; a tool call is printed when it has ended."""

    def __init__(self, screen: Screen, out: TextIO | None = None) -> None:
        self._screen = screen
        self._out = out or sys.stdout
        self._segments = Segments()
        self._printed = -1
        self._column = 0

    def add(self, event: Event) -> None:
        """Take an event and print what it adds."""
        at = self._segments.add(event)
        if at is None:
            return
        segment = self._segments.segments[at]
        if isinstance(segment, Answer) and isinstance(event, TextDelta):
            if at != self._printed:
                self._line()
                self._print("\n" if self._printed >= 0 else "")
            self._print(event.text)
            self._printed = at
        elif getattr(segment, "status", "ok") != "running":
            self._line()
            self._print(segment.text() + "\n")
            self._printed = at

    def finish(self, *views: View) -> None:
        """End the line, then print the views below it."""
        self._line()
        self._print("\n" if self._printed >= 0 else "")
        for view in views:
            self._screen.show(view)

    def _line(self) -> None:
        if self._column:
            self._print("\n")

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._column = 0 if text.endswith("\n") else 1


class QuietTurn:
    """Nothing while it runs."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def add(self, event: Event) -> None:
        """Take an event and show nothing."""

    def finish(self, *views: View) -> None:
        """Show the views."""
        for view in views:
            self._screen.show(view)


class _Group:
    """Segments shown in one output."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments

    def text(self) -> str:
        return "\n".join(s.text() for s in self._segments)

    def html(self) -> str:
        return "".join(s.html() for s in self._segments)


def turn_display(screen: Screen, *, hz: float) -> NotebookTurn | TerminalTurn:
    """The display of a turn that fits a screen: `add` events, then `finish` with the footer."""
    return NotebookTurn(screen, hz) if screen.notebook else TerminalTurn(screen)
