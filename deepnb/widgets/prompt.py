"""The requests to touch: choose a call, and see what the model was sent."""

from collections.abc import Callable, Sequence
from typing import Any

from deepnb.views.html import box, muted
from deepnb.views.numbers import counted
from deepnb.views.view import View

Place = tuple[int, int]
"""A call: its turn, and its number there."""


LISTED = 40
"""Calls that can be chosen, the newest."""


class PromptPanel:
    """The calls of a thread to choose from, the newest one chosen, and the picture of that one."""

    def __init__(self, calls: Callable[[], Sequence[tuple[str, Place]]], at: Callable[[Place | None], View]) -> None:
        """`calls` gives a name and the place of each; `at` the picture of one, of None where there is none yet."""
        import ipywidgets as w

        self._calls, self._at = calls, at
        self._choice = w.Dropdown(description="Call", layout=w.Layout(width="24em"))
        self._picture = w.HTML()
        self._older = w.HTML()
        self._shown: object = ()
        self._now: object = ()
        self._filling = False
        self._choice.observe(lambda _: self._show(), names="value")
        self.widget: Any = w.VBox([w.HBox([self._choice, self._older]), self._picture])
        self.refresh()

    def refresh(self) -> None:
        """Offer what there is now; a choice that stood at the newest call follows it."""
        all_ = list(self._calls())
        calls = all_[-LISTED:]
        calls = [call for call in all_[:-LISTED] if call[1] == self._choice.value] + calls
        older = len(all_) - len(calls)
        self._older.value = box(muted(f"{counted(older, 'earlier call')}: %agent xray TURN.CALL")) if older else ""
        self._now = (len(all_), all_[-1:])
        before = [place for _, place in self._choice.options]
        if calls != list(self._choice.options):
            chosen, newest = self._choice.value, before[-1] if before else None
            places = [place for _, place in calls]
            self._filling = True
            self._choice.options = calls
            follows = chosen == newest or chosen not in places
            self._choice.value = chosen if not follows else places[-1] if places else None
            self._filling = False
        self._choice.disabled = not calls
        self._show()

    def _show(self) -> None:
        place = self._choice.value
        if self._filling or self._shown == (place, self._now):
            return
        self._shown = (place, self._now)
        self._picture.value = self._at(place).html()
