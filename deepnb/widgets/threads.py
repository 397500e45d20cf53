"""The live panel of the threads: switch, fork, rewind the current one, and undo."""

from collections.abc import Callable, Sequence
from typing import Any

from deepnb.views.notice import notice_view
from deepnb.widgets.actions import ActionPanel, Row, attempt, button
from deepnb.widgets.page import shown


class ThreadsPanel:
    """A row for each thread with its buttons, and below them a turn to rewind the current one to."""

    def __init__(
        self,
        rows: Callable[[], Sequence[Row]],
        last: Callable[[], int],
        rewind: Callable[[int], object],
        undo: Callable[[], object],
    ) -> None:
        """`last` is the number of the current thread's last turn; `rewind` takes the turn to go back to."""
        import ipywidgets as w

        self._last = last
        self._list = ActionPanel(rows, notice_view("no threads yet: type %agent new NAME"))
        self._turn = w.BoundedIntText(min=0, max=0, description="To turn", layout=w.Layout(width="12em"))
        self._rewind = button("Rewind", "rewind the current thread to the state after this turn")
        self._undo = button("Undo", "undo the last rewind, fork or new")
        self._said = w.HTML()
        self._rewind.on_click(lambda _: shown(self._turn, lambda turn: self._act(lambda: rewind(turn))))
        self._undo.on_click(lambda _: self._act(undo))
        below = w.HBox([self._turn, self._rewind, self._undo], layout=w.Layout(flex_flow="row wrap"))
        self.widget: Any = w.VBox([self._list.widget, below, self._said])
        self.refresh()

    def refresh(self) -> None:
        """Show the threads as they are now; the turn stays as it was chosen where there still is one."""
        self._list.refresh()
        last = self._last()
        at_end = self._turn.value >= self._turn.max
        self._turn.max = last
        if at_end:
            self._turn.value = last
        self._rewind.disabled = self._turn.disabled = last == 0

    def _act(self, act: Callable[[], object]) -> None:
        attempt(act, self._said)
        self.refresh()
