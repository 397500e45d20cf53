"""A turn while it happens: in a notebook as outputs updated in place, in a terminal as printed text."""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from deepnb.core.activity import WAITS, Activity
from deepnb.core.values import Asked, CodeOutput, Event, TextDelta, ThinkingDelta, ToolStarted
from deepnb.views.code_output import HasBundle, Printed
from deepnb.views.growing_markdown import GrowingMarkdown, Piece
from deepnb.views.notice import notice_view
from deepnb.views.running import RunningView
from deepnb.views.subagent_card import is_task, task_end, task_head
from deepnb.views.text import clean, indent, short
from deepnb.views.turn_segments import Answer, Segment, Segments, Thinking, ToolSegment
from deepnb.views.view import View
from deepnb.widgets.flow import Flow
from deepnb.widgets.progress import Pulse
from deepnb.widgets.screen import NOTHING, Reserved, Screen

MAX_OUTPUTS = 20
"""JupyterLab hides a cell's outputs from the 51st on; a turn never makes more than this."""
_BELOW = 2
"""Of these, for what stands below the turn."""

_WHOLE, _SHORT = 800, 400
"""Characters an answer has before its first cut, and that its open end has from then on."""

_OFTEN = 0.22
"""Seconds after which an open end is shown anew in any case, while it is short."""
_FREE, _PER_CHARACTER, _PER_SECOND = 6_000, 6, 20_000
"""Bytes that may be sent to show an answer more often than that: at first, and for each new character; and in all,
for each second, where an end is long."""

_SELDOM, _LONGEST = 20, 5.0
"""The line of a turn that runs is shown anew after a part of the time it has taken, at most so many seconds."""
INTERRUPT = "interrupt the kernel to stop it"
"""How to stop a turn that a cell runs: a button of ours would be heard when the cell has ended."""
_CLEAR = "\r\x1b[K"
_EDGE = "  │ "


class NotebookTurn:
    """Outputs that grow: answers cut where they are finished, the cards between two answers together.

    `most` is how many outputs it makes, those of `finish` included.
    """

    def __init__(
        self,
        screen: Screen,
        hz: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
        most: int = MAX_OUTPUTS,
        patience: float = 1.0,
        hint: str = INTERRUPT,
        now: Callable[[], str] = lambda: "",
    ) -> None:
        """After `patience` seconds of silence a line says what is waited for, and how to stop it; `now` is its time."""
        self._screen = screen
        self._pause = 1.0 / hz if hz > 0 else 0.0
        self._clock = clock
        self._segments = Segments()
        self._most = most
        self._flow = Flow(screen, max(most - _BELOW, 1), _SHORT)
        self._growing: dict[int, GrowingMarkdown] = {}
        self._known = 0
        self._flushed = float("-inf")
        self._credit = _FREE
        self._cost = 0
        self._asked = False
        self._thought: Thinking | None = None
        self._lock = threading.Lock()
        self._patience, self._hint, self._now = patience, hint, now
        self._began = clock()
        self._activity = Activity()
        self._pulse = Pulse(self._lock, patience, self._beat)
        self._waiting: RunningView | None = None

    def add(self, event: Event) -> None:
        """Take an event; text is shown at most `hz` times a second, everything else at once."""
        with self._lock:
            self._pulse.touch()
            self._activity.add(event)
            self._asked |= isinstance(event, Asked)
            at = self._segments.add(event)
            if self._thought is not None and self._thought.ended:
                self._changed(self._thought)
                self._thought = None
            if at is not None:
                self._take(at, event)
                if not isinstance(event, TextDelta | ThinkingDelta) or self._due(len(event.text)):
                    self._flush()
            if self._waiting is not None and self._waiting.doing != self._activity.line:
                self._say()

    def ended(self) -> None:
        """No event comes any more: nothing is waited for."""
        with self._lock:
            self._pulse.end()

    def finish(self, *views: View) -> Screen:
        """Show what is not shown yet, then the views below it (a footer); gives where more can be shown.

        A turn that needs an approval has half its outputs at most: what it goes on with needs some, too.
        """
        with self._lock:
            self._pulse.end()
            if not self._asked:
                self._segments.close()
            below = list(views)
            if self._waiting is not None:
                self._flow.replace(
                    self._waiting, below.pop(0) if below else NOTHING if self._asked else notice_view("no output")
                )
                self._waiting = None
            free = self._screen.free if isinstance(self._screen, Reserved) and not self._asked else 0
            self._flow.end(max(free - len(below), 0))
            room = self._halved() if self._asked else self._screen
            self._flush()
            for view in below:
                room.show(view)
            return room

    def _halved(self) -> Screen:
        """Free the outputs beyond half of all there may be; gives the screen that begins with these."""
        if isinstance(self._screen, Reserved):
            return self._screen
        freed = self._flow.shrink(max(self._most // 2, 1))
        return Reserved(self._screen, free=freed) if freed else self._screen

    def flush(self) -> None:
        """Show every output that has changed."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        self._credit = max(self._credit - self._flow.send(), 0)
        self._flushed, self._cost = self._clock(), 0

    def _take(self, at: int, event: Event) -> None:
        """Give the flow what the event made or changed."""
        segment = self._segments.segments[at]
        new = at >= self._known
        self._known = len(self._segments.segments)
        self._thought = segment if isinstance(segment, Thinking) else self._thought
        if not isinstance(segment, Answer) or not isinstance(event, TextDelta):
            self._place(segment) if new else self._changed(segment)
            return
        if self._waiting is not None and not new:  # the answer goes on, and is cut where it is the last thing
            self._flow.drop()
            self._waiting = None
        growing = self._growing.setdefault(at, GrowingMarkdown())
        growing.add(event.text)
        self._place(growing.end) if new else self._changed(growing.end)
        enough = _WHOLE if growing.end.above is None else _SHORT
        if len(growing.end.markdown) > enough and self._flow.last[-1] is growing.end and growing.cut():
            self._flow.begin(growing.end)

    def _place(self, thing: View) -> None:
        """Show a new thing: in the place of the line that waits for it, with other cards, or in a run of its own."""
        if self._waiting is not None:
            self._flow.replace(self._waiting, thing)
            self._waiting = None
        elif self._flow.last and not any(isinstance(one, Piece | HasBundle) for one in (thing, self._flow.last[-1])):
            self._flow.join(thing) if self._flow.light else self._flow.begin(thing)
        else:
            self._flow.begin(thing)

    def _changed(self, thing: View) -> None:
        self._cost = max(self._cost, self._flow.changed_at(thing))

    def _due(self, characters: int) -> bool:
        """Whether the growing text is to be shown now: soon while that is cheap, and five times a second."""
        self._credit += _PER_CHARACTER * characters
        since = self._clock() - self._flushed
        if since < self._pause:
            return False
        return self._credit >= self._cost or since >= max(_OFTEN, self._cost / _PER_SECOND)

    def _beat(self, silent: bool) -> float:
        """Say how long it has taken, where nothing came for a while or that is shown already."""
        if silent or self._waiting is not None:
            self._say()
        return min(max(self._patience, (self._clock() - self._began) / _SELDOM), _LONGEST)

    def _say(self) -> None:
        """Say what is waited for."""
        self._flush()
        at, doing = self._activity, self._activity.line
        waiting = RunningView(self._clock() - self._began, doing, at.budget, self._hint, self._now())
        if self._waiting is None:
            self._flow.begin(waiting)
        else:
            self._flow.replace(self._waiting, waiting)
        self._waiting = waiting
        self._flush()


class TerminalTurn:
    """Text printed as it comes; a tool call is printed when it has ended, a subagent's one by one."""

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
        self._tasks = TaskLines()
        self._printed = -1
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
                self._take(at, event)

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
            self._print("\n" if self._printed >= 0 else "")
        for view in views:
            self._screen.show(view)
        return self._screen

    def _take(self, at: int, event: Event) -> None:
        segment = self._segments.segments[at]
        if (lines := self._tasks.take(segment, event)) is not None:
            for line in lines:
                self._print_line(line)
            at = at if lines else self._printed
        elif isinstance(segment, Thinking):
            if at != self._printed:
                self._print_line(segment.text())
        elif isinstance(segment, Printed):
            if at != self._printed:
                self._line()
            self._print(clean(event.text) if isinstance(event, CodeOutput) and event.text else "")
        elif isinstance(segment, Answer) and isinstance(event, TextDelta):
            if at != self._printed:
                self._line()
                self._print("\n" if self._printed >= 0 else "")
            self._print(event.text)
        elif getattr(segment, "status", "ok") != "running":
            self._print_line(segment.text())
        else:
            return
        self._printed = at

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
        return min(max(self._patience, seconds / _SELDOM), _LONGEST)

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


class QuietTurn:
    """Nothing while it runs."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def add(self, event: Event) -> None:
        """Take an event and show nothing."""

    def ended(self) -> None:
        """Nothing is shown."""

    def finish(self, *views: View) -> Screen:
        """Show the views; gives where more can be shown."""
        for view in views:
            self._screen.show(view)
        return self._screen


def turn_display(
    screen: Screen, *, hz: float, hint: str = INTERRUPT, now: Callable[[], str] = lambda: ""
) -> NotebookTurn | TerminalTurn:
    """The display of a turn that fits a screen: `add` events, then `finish` with the footer."""
    if not screen.notebook:
        return TerminalTurn(screen)
    most = screen.free if isinstance(screen, Reserved) else MAX_OUTPUTS
    return NotebookTurn(screen, hz, most=most, hint=hint, now=now)


class TaskLines:
    """What to print of tasks: the first to run line by line, those beside it whole when it has ended."""

    def __init__(self) -> None:
        self._open: ToolSegment | None = None
        self._shown = 0
        self._later: list[ToolSegment] = []

    def take(self, segment: Segment, event: Event) -> list[str] | None:
        """The texts to print now that an event has changed a segment; None where it is no task's."""
        if not isinstance(segment, ToolSegment) or not is_task(segment):
            return None
        if self._open is None and segment.status == "running" and isinstance(event, ToolStarted) and not event.path:
            self._open, self._shown = segment, 0
            return [task_head(segment)]
        if segment is not self._open:
            if segment.status == "running":
                return []
            if self._open is None:
                return [segment.text()]
            self._later.append(segment)
            return []
        if segment.status == "running":
            return self._finished(segment)
        end = [*self._rest(segment), task_end(segment, segment.calls, segment.usage, segment.said_last)]
        late, self._later, self._open = [one.text() for one in self._later], [], None
        return [*end, *late]

    def _finished(self, task: ToolSegment) -> list[str]:
        """What is finished inside and not printed yet: an answer or a thought is where something follows it."""
        out = []
        for i in range(self._shown, len(task.children)):
            child = task.children[i]
            growing = isinstance(child, Answer | Thinking) and i == len(task.children) - 1
            if growing or getattr(child, "status", "ok") == "running":
                break
            out.append(indent(child.text(), _EDGE))
            self._shown = i + 1
        return out

    def _rest(self, task: ToolSegment) -> list[str]:
        return [indent(child.text(), _EDGE) for child in task.children[self._shown :]]
