"""Panels to touch: ipywidgets fed with views, each beside its static twin; live across cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deepnb.views.view import View
from deepnb.widgets.screen import Output, Screen

Source = Callable[[], View]
Subscribe = Callable[[Callable[[], None]], Callable[[], None]]


class Panel:
    """Named pictures, shown as tabs; `refresh` shows them as they are now."""

    def __init__(self, tabs: Sequence[tuple[str, Source]]) -> None:
        import ipywidgets as w

        self._pages = [(source, w.HTML()) for _, source in tabs]
        self.widget: Any = w.Tab(children=[page for _, page in self._pages], titles=[name for name, _ in tabs])
        self.refresh()

    def refresh(self) -> None:
        for source, page in self._pages:
            _fill(page, source())


class TurnPanel:
    """A slider through the turns with the picture of each, above the picture of now."""

    def __init__(self, last: Callable[[], int], at: Callable[[int], View], now: Source) -> None:
        import ipywidgets as w

        self._last, self._at, self._now = last, at, now
        self._turn = w.IntSlider(
            min=0, max=0, value=0, description="turn", continuous_update=False, tooltip="memory after this turn"
        )
        self._diff, self._picture = w.HTML(), w.HTML()
        self._turn.observe(lambda _: _fill(self._diff, self._at(self._turn.value)), names="value")
        self.widget: Any = w.VBox([self._picture, self._turn, self._diff])
        self.refresh()

    def refresh(self) -> None:
        """Show what is new; a slider that stood at the newest turn follows it."""
        following = self._turn.value == self._turn.max
        self._turn.max = self._last()
        if following:
            self._turn.value = self._turn.max
        self._turn.disabled = self._turn.max == 0
        _fill(self._diff, self._at(self._turn.value))
        _fill(self._picture, self._now())


def show_live(screen: Screen, panel: Panel | TurnPanel | None, twin: Source, text: str, subscribe: Subscribe) -> None:
    """Show a panel and below it its static twin, both changing with the session from now on.

    Without ipywidgets (a terminal) the twin alone is shown.
    """
    if panel is not None:
        screen.widget(panel.widget, text)
    below: Output = screen.show(twin())

    def refresh() -> None:
        if panel is not None:
            panel.refresh()
        below.update(twin())

    if screen.notebook:
        subscribe(refresh)


class Folded:
    """A view behind a fold: the static twin beside a panel, out of the way until it is wanted."""

    def __init__(self, title: str, view: View) -> None:
        self._title = title
        self._view = view

    def text(self) -> str:
        return self._view.text()

    def html(self) -> str:
        from deepnb.views.html import Html, box, fold

        return box(fold(self._title, Html(self._view.html()), framed=False))


class Stack:
    """Views one below the other, as one."""

    def __init__(self, *views: View) -> None:
        self._views = views

    def text(self) -> str:
        return "\n\n".join(v.text() for v in self._views)

    def html(self) -> str:
        return "".join(v.html() for v in self._views)


def _fill(page: Any, view: View) -> None:
    html = view.html()
    if page.value != html:
        page.value = html
