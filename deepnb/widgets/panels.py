"""Panels to touch, each beside its static twin and live across cells; and a text to edit, which becomes a record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deepnb.values.errors import DeepnbError
from deepnb.views import html as h
from deepnb.views.view import Picture, Stack, View, notice_view
from deepnb.widgets.actions import Refreshable, button, close, fill, leave, on_change, shown
from deepnb.widgets.screen import Output, Screen

Source = Callable[[], View]
Subscribe = Callable[[Callable[[], None]], Callable[[], None]]

MAX_LIVE = 8
"""Panels that follow a session; each is drawn again after every change, so that there has to be an end."""

_ENDED = "this panel is no longer live, because newer ones are: run the cell again to update it"
Save = Callable[[str], "Saved"]

_ROWS = (6, 24)
"""Lines of text that are seen at once, at least and at most."""


class Page:
    """One picture; `refresh` shows it as it is now."""

    def __init__(self, source: Source) -> None:
        import ipywidgets as w

        self._source = source
        self.widget: Any = w.HTML()
        self.refresh()

    def refresh(self) -> None:
        _set(self.widget, _drawn(self._source).html())


class TurnPanel:
    """A way through the turns with the picture of each, below the picture of now.

    A field, not a slider of ipywidgets, since that has no name for a screen reader.
    """

    def __init__(self, last: Callable[[], int], at: Callable[[int], View], now: Source) -> None:
        import ipywidgets as w

        self._last, self._at, self._now = last, at, now
        about, look = "show the memory of this turn", w.Layout(width="11em")
        self._turn = w.BoundedIntText(min=0, max=0, description="Turn", tooltip=about, layout=look)
        self._diff, self._picture = w.HTML(), w.VBox()
        on_change(self._turn, self._show_turn)
        self.widget: Any = w.VBox([self._picture, self._turn, self._diff])
        self.refresh()

    def refresh(self) -> None:
        """Show what is new; a panel that stood at the newest turn follows it. Parts that stay the same are not sent again."""
        import ipywidgets as w

        following = self._turn.value == self._turn.max
        self._turn.max = self._last()
        if following:
            self._turn.value = self._turn.max
        self._turn.disabled = self._turn.max == 0
        self._show_turn()
        view = _drawn(self._now)
        parts: Sequence[str] = getattr(view, "parts", None) or (view.html(),)
        pages = self._picture.children[: len(parts)]
        for page, part in zip(pages, parts, strict=False):
            _set(page, part)
        if len(self._picture.children) != len(parts):
            fill(self._picture, [*pages, *(w.HTML(part) for part in parts[len(pages) :])])

    def _show_turn(self) -> None:
        _set(self._diff, _drawn(lambda: self._at(self._turn.value)).html())


class Live:
    """The panels that follow a session: the newest `MAX_LIVE` of them, and of one cell the last."""

    def __init__(self, subscribe: Subscribe) -> None:
        self._subscribe = subscribe
        self._shown: list[_Shown] = []

    def show(self, screen: Screen, panel: Refreshable | None, twin: Source, text: str, cell: str | None) -> None:
        """Show a panel and below it its static twin, both changing with the session from now on.

        Where the same cell showed one before, that one's outputs are gone, and so it ends. Without
        ipywidgets (a terminal) the twin alone is shown.
        """
        if panel is not None:
            screen.widget(panel.widget, text)
        below = screen.show(_drawn(twin))
        if not screen.notebook:
            return
        for before in [s for s in self._shown if s.place == (cell, text) and cell is not None]:
            self._shown.remove(before)
            before.end()
        if len(self._shown) >= MAX_LIVE:
            oldest = self._shown.pop(0)
            oldest.end()
            oldest.below.update(Stack(_drawn(oldest.twin), notice_view(_ENDED)))
        self._shown.append(_Shown(cell, text, panel, twin, below, self._subscribe))


class _Shown:
    def __init__(
        self, cell: str | None, text: str, panel: Refreshable | None, twin: Source, below: Output, subscribe: Subscribe
    ) -> None:
        self.place, self.panel, self.twin, self.below = (cell, text), panel, twin, below
        self._unsubscribe = subscribe(self._refresh)

    def end(self) -> None:
        """Follow no more; ipywidgets keeps a widget for ever unless it is closed."""
        self._unsubscribe()
        if self.panel is not None:
            close(self.panel.widget)

    def _refresh(self) -> None:
        if self.panel is not None:
            self.panel.refresh()
        self.below.update(_drawn(self.twin))


def folded(title: str, view: View) -> Picture:
    """Return a view behind a fold: the static twin beside a panel, out of the way until it is wanted."""
    return Picture((), [view.text()], [h.fold(title, h.Html(view.html()), framed=False)])


def _drawn(source: Source) -> View:
    """Return the picture, or a line that says why it can't be shown: an error here must not end the turn."""
    try:
        return source()
    except Exception as error:
        return notice_view(f"this can't be shown: {getattr(error, 'typed', error)}", "error")


def _set(page: Any, html: str) -> None:
    if page.value != html:
        page.value = html


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
        self._output: Output | None = None
        self._closed = f"cancelled: {name} is unchanged"
        rows = min(max(text.count("\n") + 2, _ROWS[0]), _ROWS[1])
        about, wide, style = f"the text of {name}", w.Layout(width="99%"), {"description_width": "initial"}
        self._area = w.Textarea(text, rows=rows, description="text", tooltip=about, layout=wide, style=style)
        self._said = w.HTML()
        on_save = partial(shown, self._area, self._on_save)
        self._button_save = button("Save", f"save {name}", on_save, "primary", None)
        self._button_cancel = button("Cancel", "close without saving", partial(self._end, None), width=None)
        head = w.HTML(notice_view(f"editing {name}", "ok").html())
        buttons = w.HBox([self._button_save, self._button_cancel])
        self.widget: Any = w.VBox([head, self._area, self._said, buttons], layout=w.Layout(width="100%"))

    def show(self, screen: Screen, twin: View) -> None:
        """Show the editor and below it its static twin; a record of what became of the text takes its place."""
        without = f"to edit {self._name} where there are no widgets, run a cell that begins with %%memory {self._name}"
        self._output = screen.widget(self.widget, without)
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

    def _end(self, record: View | None) -> None:
        if self._output is not None:
            leave(self._output)
            self._output.update(record or notice_view(self._closed))
        close(self.widget)
