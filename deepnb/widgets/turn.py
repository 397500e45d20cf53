"""A turn while it happens: in a notebook as outputs updated in place, in a terminal as printed text."""

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from deepnb.core.values import Asked, CodeOutput, Event, ModelStarted, TextDelta, ThinkingDelta, ToolStarted
from deepnb.views.code_output import HasBundle, Printed
from deepnb.views.data_images import ImageNames
from deepnb.views.growing_markdown import GrowingMarkdown, Piece
from deepnb.views.notice import notice_view
from deepnb.views.subagent_card import is_task, task_end, task_head
from deepnb.views.text import clean, indent
from deepnb.views.turn_segments import Answer, Segment, Segments, Thinking, ToolSegment
from deepnb.views.view import View
from deepnb.widgets.flow import Flow
from deepnb.widgets.progress import Silence
from deepnb.widgets.screen import NOTHING, Reserved, Screen

MAX_OUTPUTS = 20
"""JupyterLab hides a cell's outputs from the 51st on; a turn never makes more than this."""
_BELOW = 2
"""Of these, for what stands below the turn."""

_WHOLE, _SHORT = 800, 400
"""Characters that a block has before it is cut for the first time, and that the open end of an answer has else."""

_OFTEN = 0.22
"""Seconds after which an open end is shown anew in any case, while it is short."""
_FREE, _PER_CHARACTER, _PER_SECOND = 6_000, 6, 20_000
"""Bytes that may be sent to show an answer more often than that: at first, and for each new character; and in all,
for each second, where an end is long."""

_WAITING = {
    "answer": "waiting for the model ...",
    "summary": "compacting the context: summarizing ...",
    "flush": "compacting the context: asking the model what is worth keeping ...",
}
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
    ) -> None:
        """After `patience` seconds of silence a line says what is waited for."""
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
        self._silence = Silence(self._lock, patience, self._say)
        self._waiting: View | None = None

    def add(self, event: Event) -> None:
        """Take an event; text is shown at most `hz` times a second, everything else at once."""
        with self._lock:
            self._silence.ends()
            self._asked |= isinstance(event, Asked)
            at = self._segments.add(event)
            if self._thought is not None and self._thought.ended:
                self._changed(self._thought)
                self._thought = None
            if at is not None:
                self._take(at, event)
                if not isinstance(event, TextDelta | ThinkingDelta) or self._due(len(event.text)):
                    self._flush()
            if isinstance(event, ModelStarted) and not event.path:
                self._silence.begins(_WAITING[event.call.purpose])

    def finish(self, *views: View) -> Screen:
        """Show what is not shown yet, then the views below it (a footer); gives where more can be shown.

        A turn that needs an approval has half its outputs at most: what it goes on with needs some, too.
        """
        with self._lock:
            self._silence.ends()
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
        growing = self._growing.setdefault(at, GrowingMarkdown())
        growing.add(event.text)
        self._place(growing.end) if new else self._changed(growing.end)
        if len(growing.end.markdown) > _SHORT and self._flow.last[-1] is growing.end and growing.cut(_is_long(growing)):
            if not growing.inside:
                self._flow.close_block()
            self._flow.begin(growing.end)

    def _place(self, thing: View) -> None:
        """Show a new thing: in the place of the line that waits for it, with other cards, or in a run of its own."""
        self._flow.close_block()
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

    def _say(self, line: str) -> None:
        """Say what is waited for."""
        self._flush()
        waiting = notice_view(line)
        if self._waiting is None:
            self._flow.begin(waiting)
        else:
            self._flow.replace(self._waiting, waiting)
        self._waiting = waiting
        self._flush()


def _is_long(growing: GrowingMarkdown) -> bool:
    """Whether the block that still grows is to be cut, too: it is put together again as soon as it ends."""
    return len(growing.end.markdown) > (_SHORT if growing.inside else _WHOLE)


class TerminalTurn:
    """Text printed as it comes; a tool call is printed when it has ended, a subagent's one by one."""

    def __init__(self, screen: Screen, out: TextIO | None = None, patience: float = 1.0) -> None:
        """After `patience` seconds of silence a line says what is waited for, once a turn for each kind of it."""
        self._screen = screen
        self._out = out or sys.stdout
        self._segments = Segments()
        self._tasks = TaskLines()
        self._images = ImageNames()
        self._printed = -1
        self._column = 0
        self._lock = threading.Lock()
        self._silence = Silence(self._lock, patience, self._say)
        self._said: set[str] = set()

    def add(self, event: Event) -> None:
        """Take an event and print what it adds."""
        with self._lock:
            self._silence.ends()
            at = self._segments.add(event)
            if at is not None:
                self._take(at, event)
            if isinstance(event, ModelStarted) and not event.path:
                self._silence.begins(_WAITING[event.call.purpose])

    def finish(self, *views: View) -> Screen:
        """End the line, then print the views below it; gives where more can be shown."""
        with self._lock:
            self._silence.ends()
            if held := self._images.end():
                self._print(held)
            self._line()
            self._print("\n" if self._printed >= 0 else "")
        for view in views:
            self._screen.show(view)
        return self._screen

    def _take(self, at: int, event: Event) -> None:
        segment = self._segments.segments[at]
        if at != self._printed and (held := self._images.end()):
            self._print(held)
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
            self._print(self._images.add(event.text))
        elif getattr(segment, "status", "ok") != "running":
            self._print_line(segment.text())
        else:
            return
        self._printed = at

    def _say(self, line: str) -> None:
        """Say what is waited for: what a terminal has printed stays, so each only once."""
        if line not in self._said:
            self._said.add(line)
            self._print_line(notice_view(line).text())

    def _line(self) -> None:
        if self._column:
            self._print("\n")

    def _print_line(self, text: str) -> None:
        self._line()
        self._print(text + "\n")

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

    def finish(self, *views: View) -> Screen:
        """Show the views; gives where more can be shown."""
        for view in views:
            self._screen.show(view)
        return self._screen


def turn_display(screen: Screen, *, hz: float) -> NotebookTurn | TerminalTurn:
    """The display of a turn that fits a screen: `add` events, then `finish` with the footer."""
    if not screen.notebook:
        return TerminalTurn(screen)
    return NotebookTurn(screen, hz, most=screen.free if isinstance(screen, Reserved) else MAX_OUTPUTS)


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
