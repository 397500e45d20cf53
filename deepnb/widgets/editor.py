"""A text to edit in a notebook: a text area with save and cancel, replaced by a record once it is settled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deepnb.core.errors import DeepnbError
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import button, close, shown
from deepnb.widgets.screen import Screen

Save = Callable[[str], "Saved"]

_ROWS = (6, 24)
"""Lines of text that are seen at once, at least and at most."""


@dataclass(frozen=True)
class Saved:
    """What became of a text: the record of it, and where it has to be looked at again, the text as it now is."""

    record: View
    again: str | None = None
    why: str = ""


class Editor:
    """`save` gets the text as typed; a `DeepnbError` it raises is shown, and the text stays."""

    def __init__(self, name: str, text: str, save: Save) -> None:
        import ipywidgets as w

        self._name, self._save = name, save
        self._settled: Callable[[View], None] = lambda record: None
        self._closed = f"cancelled: {name} is unchanged"
        rows = min(max(text.count("\n") + 2, _ROWS[0]), _ROWS[1])
        self._area = w.Textarea(
            text,
            rows=rows,
            description="text",
            tooltip=f"the text of {name}",
            layout=w.Layout(width="99%"),
            style={"description_width": "initial"},
        )
        self._said = w.HTML()
        self._button_save = button("Save", f"save {name}", "primary", None)
        self._button_cancel = button("Cancel", "close without saving", width=None)
        self._button_save.on_click(lambda _: shown(self._area, self._on_save))
        self._button_cancel.on_click(lambda _: self._end(notice_view(self._closed)))
        head = w.HTML(notice_view(f"editing {name}", "ok").html())
        buttons = w.HBox([self._button_save, self._button_cancel])
        self.widget: Any = w.VBox([head, self._area, self._said, buttons], layout=w.Layout(width="100%"))

    def show(self, screen: Screen, twin: View) -> None:
        """Show the editor and below it its static twin; a record of what became of the text takes its place."""
        without = f"to edit {self._name} where there are no widgets, run a cell that begins with %%memory {self._name}"
        self._settled = screen.widget(self.widget, without).update
        screen.show(twin)

    def _on_save(self, text: str) -> None:
        try:
            saved = self._save(text)
        except DeepnbError as error:
            self._said.value = notice_view(error.typed, "error").html()
            return
        if saved.again is None:
            self._end(saved.record)
        else:
            self._area.value = saved.again
            self._closed = f"closed: {self._name} holds both texts"
            self._said.value = notice_view(saved.why, "warning").html()

    def _end(self, record: View) -> None:
        self._settled(record)
        close(self.widget)
