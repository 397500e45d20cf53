"""A turn while it happens in a notebook: outputs updated in place, and a line with a button that stops it."""

import signal
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable
from typing import Any

from deepnb import widgets as w
from deepnb.values.events import Activity
from deepnb.values.turn import Asked, Event, TextDelta, ThinkingDelta
from deepnb.views.growing_markdown import GrowingMarkdown, Piece
from deepnb.views.status import RunningView
from deepnb.views.turn_segments import Answer, Segments, Thinking
from deepnb.views.view import HasBundle, View, notice_view
from deepnb.widgets.actions import FOCUS, button, close, has_page_thread, use_page_thread
from deepnb.widgets.flow import Flow
from deepnb.widgets.progress import Pulse, pause
from deepnb.widgets.screen import NOTHING, Reserved, Screen, widget_data
from deepnb.widgets.terminal_turn import TerminalTurn

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

INTERRUPT = "interrupt the kernel to stop it"
"""How to stop a turn that a cell runs, where a click on a button would be heard only when the cell has ended."""


class StopLine:
    """The line of a running turn with a button beside it.

    It is made before it is shown: as it is made, a page that can hear a click while a cell runs gets ready to.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._line = w.HTML()
        self.button = stop_button("stop this turn", stop)
        flow = w.Layout(flex_flow="row wrap", align_items="center")
        self._widget = w.HBox([self.button, self._line], layout=flow)

    def say(self, view: RunningView) -> None:
        self._line.value = view.html()

    @property
    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and the line for where there are none."""
        return {**widget_data(self._widget), "text/plain": self.text()}, {}

    def text(self) -> str:
        """Return what is saved of it, which stays the same while the line changes."""
        return "a turn is running in this cell: interrupt the kernel to stop it"

    def html(self) -> str:
        return str(self._line.value)

    def close(self) -> None:
        """End it: ipywidgets keeps a widget for ever unless it is closed."""
        close(self._widget)


def stop_button(tooltip: str, stop: Callable[[], None]) -> Any:
    """Return a button that is heard while a cell runs, where the page can do that; it takes one click."""

    def clicked() -> None:
        if made.description == "Stop":  # not disabled, since it would lose the focus
            made.description = "Stopping ..."
            stop()

    made = button("Stop", tooltip, clicked, "danger")
    use_page_thread(made)
    return made


def interrupt() -> None:
    """Interrupt the main thread, as a front end does; called in whichever thread."""
    if hasattr(signal, "pthread_kill"):  # a real signal: it wakes a thread that waits for a lock
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        interrupt_main()


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
        stop: Callable[[], None] | None = None,
    ) -> None:
        """After `patience` seconds of silence a line says what is waited for, and how to stop it; `now` is its time.
        With `stop` the line has a button where a click can be heard while the cell runs."""
        self._screen = screen
        self._pause = 1.0 / hz if hz > 0 else 0.0
        self._clock = clock
        self._segments = Segments()
        self._most = most
        self._flow = Flow(screen, max(most - _BELOW, 1), _SHORT)
        self._growing: dict[int, GrowingMarkdown] = {}
        """Call of a model -> its answer."""
        self._known, self._asked = 0, False
        self._flushed, self._credit, self._cost = float("-inf"), _FREE, 0
        self._thought: Thinking | None = None
        self._lock = threading.Lock()
        self._patience, self._hint, self._now, self._stop = patience, hint, now, stop
        self._began, self._activity = clock(), Activity()
        self._pulse = Pulse(self._lock, patience, self._beat)
        self._line: StopLine | None = None
        self._waiting: RunningView | StopLine | None = None
        self._said = ""

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
                if isinstance(event, TextDelta | ThinkingDelta):  # soon while that is cheap, and five times a second
                    self._credit += _PER_CHARACTER * len(event.text)
                    since, late = self._clock() - self._flushed, max(_OFTEN, self._cost / _PER_SECOND)
                    if since >= self._pause and (self._credit >= self._cost or since >= late):
                        self._flush()
                else:
                    self._flush()
            if self._waiting is not None and self._said != self._activity.line:
                self._say()

    def ended(self) -> None:
        """No event comes any more: nothing is waited for."""
        with self._lock:
            self._pulse.end()
            self._stop = None

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
                rest = NOTHING if self._asked else notice_view("no output")
                self._flow.replace(self._waiting, below.pop(0) if below else rest)
                self._waiting = None
            free = self._screen.free if isinstance(self._screen, Reserved) and not self._asked else 0
            self._flow.end(max(free - len(below), 0))
            room = self._screen
            if self._asked and not isinstance(room, Reserved):
                freed = self._flow.shrink(max(self._most // 2, 1))
                room = Reserved(room, free=freed) if freed else room
            self._flush()
            for view in below:
                last = room.show(view)
                if self._line is not None and self._line.button.description != "Stop":  # it has the focus
                    last.update(FOCUS)
                    last.update(view)
            if self._line is not None:
                self._line.close()
            return room

    def _flush(self) -> None:
        self._credit = max(self._credit - self._flow.send(), 0)
        self._flushed, self._cost = self._clock(), 0

    def _take(self, at: int, event: Event) -> None:
        segments = self._segments.segments
        segment = segments[at]
        new, self._known = len(segments) > self._known, len(segments)
        self._thought = segment if isinstance(segment, Thinking) else self._thought
        if new and at < len(segments) - 1:  # a call began after one that its answer names later
            self._flow.insert(segment, segments[at + 1])
            return
        if not isinstance(segment, Answer) or not isinstance(event, TextDelta):
            self._place(segment) if new else self._changed(segment)
            return
        if self._waiting is not None and not new:  # the answer goes on, and is cut where it is the last thing
            self._flow.drop()
            self._waiting = None
        growing = self._growing.setdefault(segment.call, GrowingMarkdown())
        growing.add(event.text)
        self._place(growing.end) if new else self._changed(growing.end)
        size = len(growing.end.markdown)
        # A block that still grows is cut late: it is put together again as soon as it ends.
        is_long = size > (_SHORT if growing.inside else _WHOLE)
        if size > _SHORT and self._flow.last[-1] is growing.end and growing.cut(is_long):
            if not growing.inside:
                self._flow.close_block()
            self._flow.begin(growing.end)

    def _place(self, thing: View) -> None:
        self._flow.close_block()
        if isinstance(self._waiting, StopLine) and not isinstance(thing, Piece | HasBundle):
            # Its button stays where the pointer is while one tool follows another.
            if not self._flow.join_above(thing):
                self._flow.replace(self._waiting, thing)
                self._flow.begin(self._waiting)
        elif self._waiting is not None:
            self._flow.replace(self._waiting, thing)
            self._waiting = None
        elif self._flow.last and not any(isinstance(one, Piece | HasBundle) for one in (thing, self._flow.last[-1])):
            self._flow.join(thing) if self._flow.is_light(self._flow.last) else self._flow.begin(thing)
        else:
            self._flow.begin(thing)

    def _changed(self, thing: View) -> None:
        self._cost = max(self._cost, self._flow.changed_at(thing))

    def _beat(self, silent: bool) -> float:
        if silent or self._waiting is not None:
            self._say()
        return pause(self._clock() - self._began, self._patience)

    def _say(self) -> None:
        self._flush()
        line = None
        if self._stop is not None:
            self._line = self._line or StopLine(self._stop)
            line = self._line if has_page_thread() else None  # once a click on its button would be heard
        hint = "" if line is not None else self._hint
        self._said = self._activity.line
        waiting: RunningView | StopLine
        waiting = RunningView(self._clock() - self._began, self._said, self._activity.budget, hint, self._now())
        if line is not None:
            line.say(waiting)
            waiting = line
        if self._waiting is None:
            self._flow.begin(waiting)
        elif self._waiting is not waiting:
            self._flow.replace(self._waiting, waiting)
        self._waiting = waiting
        self._flush()


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


def turn_display(screen: Screen, hz: float, **how: Any) -> NotebookTurn | TerminalTurn:
    """Return the display of a turn that fits a screen: `add` events, then `finish` with the footer.

    `how` are options of `NotebookTurn`.
    """
    if not screen.notebook:
        return TerminalTurn(screen)
    most = screen.free if isinstance(screen, Reserved) else MAX_OUTPUTS
    return NotebookTurn(screen, hz, most=most, **how)
