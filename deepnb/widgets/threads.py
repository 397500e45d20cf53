"""The live panel of the threads: switch, and the turns of the current one to see, fork from and rewind to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.views.notice import notice_view
from deepnb.views.view import View
from deepnb.widgets.actions import ActionPanel, Row, attempt, button
from deepnb.widgets.page import shown

LISTED = 40
"""Turns that can be chosen, the newest ones."""


@dataclass(frozen=True)
class Turns:
    """The turns of the current thread, and what can be done with one of them by its number."""

    words: Callable[[], Sequence[tuple[int, str]]]
    """(number, first words) of each."""
    see: Callable[[int], View]
    fork: Callable[[int], object]
    rewind: Callable[[int], object]


class ThreadsPanel:
    """A row for each thread with its buttons; below them the current one's turns, and the picture of the chosen one."""

    def __init__(self, rows: Callable[[], Sequence[Row]], turns: Turns, undo: Callable[[], object]) -> None:
        import ipywidgets as w

        self._turns = turns
        self._list = ActionPanel(rows, notice_view("no threads yet: type %agent new NAME"))
        self._choice = w.Select(description="Turn", rows=6, layout=w.Layout(width="100%", max_width="52em"))
        fork = button("Fork from here", "start a new thread from the state after this turn")
        rewind = button("Rewind to here", "rewind the current thread to the state after this turn")
        undo_ = button("Undo", "undo the last rewind, fork or new")
        self._on_turn = (self._choice, fork, rewind)
        self._picture, self._said = w.HTML(), w.HTML()
        self._seen: object = None
        self._choice.observe(lambda _: self._show(), names="value")
        fork.on_click(lambda _: shown(self._choice, lambda at: self._act(turns.fork, at), "index"))
        rewind.on_click(lambda _: shown(self._choice, lambda at: self._act(turns.rewind, at), "index"))
        undo_.on_click(lambda _: self._do(undo))
        buttons = w.HBox([fork, rewind, undo_], layout=w.Layout(flex_flow="row wrap"))
        self.widget: Any = w.VBox([self._list.widget, self._choice, buttons, self._said, self._picture])
        self.refresh()

    def refresh(self) -> None:
        """Show the threads as they are now; a choice that was the last turn follows it."""
        self._list.refresh()
        options = [(words, number) for number, words in self._turns.words()[-LISTED:]]
        if options != list(self._choice.options):
            before, numbers = self._choice.index, [number for _, number in options]
            chosen, at_end = self._choice.value, before is None or before == len(self._choice.options) - 1
            self._choice.options = options
            self._choice.value = chosen if chosen in numbers and not at_end else numbers[-1] if numbers else None
        for widget in self._on_turn:
            widget.disabled = not options
        self._show()

    def _show(self) -> None:
        number = self._choice.value
        words = self._choice.label
        if (number, words) != self._seen:
            self._seen = (number, words)
            self._picture.value = self._turns.see(number).html() if number is not None else ""

    def _act(self, act: Callable[[int], object], at: int | None) -> None:
        if at is not None:
            number = self._choice.options[at][1]
            self._do(lambda: act(number))

    def _do(self, act: Callable[[], object]) -> None:
        attempt(act, self._said)
        self.refresh()
