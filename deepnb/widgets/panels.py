"""Panels to touch, each beside its static twin and live across cells; and a text to edit, which becomes a record."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from deepnb import widgets as w
from deepnb.views import html as h
from deepnb.views.bar import BAR, CHOSEN, HIGH, LEVEL
from deepnb.views.budget import BudgetView
from deepnb.views.text import short
from deepnb.views.view import Picture, Stack, View, notice_view
from deepnb.widgets.actions import (
    Refreshable,
    attempt,
    button,
    close,
    failed_view,
    fill,
    leave,
    offer,
    on_change,
    set_html,
    shown,
)
from deepnb.widgets.screen import Output, Screen

Source = Callable[[], View]
Subscribe = Callable[[Callable[[], None]], Callable[[], None]]

MAX_LIVE = 8
"""Panels that follow a session; each is drawn again after every change, so that there has to be an end."""

_ENDED = "this panel is no longer live, because newer ones are: run the cell again to update it"
Save = Callable[[str], tuple[View, str | None]]

_ROWS = (6, 24)
"""Lines of text that are seen at once, at least and at most."""


class Page:
    """One picture; `refresh` shows it as it is now. Parts of it that stay the same are not sent again."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.widget: Any = w.VBox()
        self.refresh()

    def refresh(self) -> None:
        view = _drawn(self._source)
        parts: Sequence[str] = getattr(view, "elements", None) or (view.html(),)
        pages = self.widget.children[: len(parts)]
        for page, part in zip(pages, parts, strict=False):
            set_html(page, part)
        if len(self.widget.children) != len(parts):
            fill(self.widget, [*pages, *(w.HTML(part) for part in parts[len(pages) :])])


Place = tuple[int, int]
"""A turn, and a call of it; the call is 0 where the turn has none."""
Act = Callable[[], object]
LISTED = 20
"""Turns before and after the chosen one that can be chosen at once."""


class Chooser:
    """The turn, and the call of it, that panels show: the newest one until the user chooses another."""

    def __init__(
        self,
        last: Callable[[], int],
        words: Callable[[int], str],
        calls: Callable[[int], Sequence[tuple[str, int]]],
    ) -> None:
        """`last` gives the number of the newest turn, `words` what a turn is listed as, `calls` (words, number) of its calls."""
        self._last, self._words, self._calls = last, words, calls
        self.follow: Callable[[], object] = lambda: None
        """What shows the choice."""
        self.lead: Callable[[], bool] = lambda: False
        """What turns to the request of the chosen call, and says whether another tab was seen."""
        self._turn = w.Dropdown(description="Turn", layout=w.Layout(width="34em", max_width="calc(100% - 4px)"))
        self._call = w.Dropdown(description="Call", layout=w.Layout(width="20em", max_width="calc(100% - 4px)"))
        self._chosen: tuple[int, int | None] | None = None
        on_change(self._turn, lambda: self.choose(self._turn.value))
        on_change(self._call, lambda: self.choose(self._turn.value, self._call.value))
        self.widget: Any = w.HBox([self._turn, self._call], layout=w.Layout(flex_flow="row wrap"))
        self.refresh()

    @property
    def place(self) -> Place | None:
        """What is chosen; None before the first turn."""
        return None if self._turn.value is None else (self._turn.value, self._call.value or 0)

    @property
    def newest(self) -> bool:
        return self._chosen is None

    def choose(self, turn: int, call: int | None = None) -> None:
        """Choose a call of a turn, by default its last."""
        self._chosen = (turn, call)
        self.refresh()
        self.follow()

    def show(self, turn: int, call: int) -> None:
        """Choose a call and turn to its request; what was clicked may be gone, so that the choice gets the focus."""
        self.choose(turn, call)
        if self.lead():
            self._turn.focus()

    def refresh(self) -> None:
        """Offer the turns around the chosen one, and the newest, which is chosen where the other is gone."""
        last = self._last()
        turn, call = self._chosen if self._chosen and self._chosen[0] <= last else (last, None)
        around = range(max(1, turn - LISTED), min(last, turn + LISTED) + 1)
        numbers = sorted({*around, *range(max(1, last), last + 1)})
        offer(self._turn, [(self._words(n), n) for n in numbers], turn or None)
        calls = list(self._calls(turn)) if turn else []
        newest = calls[-1][1] if calls else None
        call = call if any(call == number for _, number in calls) else newest
        offer(self._call, calls, call)
        self._chosen = None if (turn, call) == (last, newest) else (turn, call)


class Bars:
    """The plot of the calls of a thread, each bar a button that chooses its call."""

    def __init__(self, view: Callable[[], BudgetView], at: Chooser) -> None:
        self._view, self._at = view, at
        self._made: dict[Place, Any] = {}
        look = {"max_width": "600px", "overflow": "hidden", "margin": "0"}
        self._bars = w.HBox(layout=w.Layout(height=f"{HIGH}px", align_items="flex-end", **look))
        self._title, self._level, self._ends = w.HTML(), w.Box(layout=w.Layout(height="2px", **look)), w.HTML()
        self.widget: Any = w.VBox([self._title, self._bars, self._level, self._ends])
        self.refresh()

    def refresh(self) -> None:
        view = self._view()
        self._made = {place: self._made.get(place) or self._bar(place, bar[2]) for place, bar in view.bars.items()}
        for place, (words, height, _) in view.bars.items():
            one = self._made[place]
            one.tooltip, one.layout.height = words, f"{height}%"
            one.style.button_color = CHOSEN if place == self._at.place else BAR
        if list(self._bars.children) != list(self._made.values()):
            fill(self._bars, [*self._made.values()])
        high, there = view.line, bool(self._made)
        self._level.layout.border_top = LEVEL if there and high else None
        self._level.layout.margin = f"-{high}px 0 {high - 2}px 0" if high else "0"
        set_html(self._title, h.label(view.plot_title) if there else "")
        set_html(self._ends, h.muted(view.plot_ends) if there else "")

    def _bar(self, place: Place, compacted: bool) -> Any:
        made = button("", "", partial(self._at.show, *place))
        left = "1px dashed #888" if compacted else "1px solid transparent"
        look = {"flex": "0 1 14px", "min_width": "0", "margin": "0 1px 0 0", "padding": "0", "border_left": left}
        for name, value in look.items():
            setattr(made.layout, name, value)
        return made


class Live:
    """The panels that follow a session: the newest `MAX_LIVE` of them, and of one cell the last."""

    def __init__(self, subscribe: Subscribe) -> None:
        self._subscribe = subscribe
        self.shown: list[tuple[str | None, str, Callable[[bool], None]]] = []
        """Cell, text and, whether newer ones are the reason, how it ends."""

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

        def refresh() -> None:
            if panel is not None:
                panel.refresh()
            below.update(_drawn(twin))

        def end(newer: bool) -> None:
            unsubscribe()
            if panel is not None:
                close(panel.widget)
            if newer:
                below.update(Stack(_drawn(twin), notice_view(_ENDED)))

        for before in [one for one in self.shown if one[:2] == (cell, text) and cell is not None]:
            self.shown.remove(before)
            before[2](False)
        if len(self.shown) >= MAX_LIVE:
            self.shown.pop(0)[2](True)
        unsubscribe = self._subscribe(refresh)
        self.shown.append((cell, text, end))


def folded(title: str, view: View) -> Picture:
    """Return a view behind a fold: the static twin beside a panel, out of the way until it is wanted."""
    return Picture((), [view.text()], [h.fold(title, h.Html(view.html()), framed=False)])


def _drawn(source: Source) -> View:
    """Return the picture, or a line that says why it can't be shown: an error here must not end the turn."""
    try:
        return source()
    except Exception as error:
        return failed_view(error)


class Editor:
    """`save` gets the text as typed and returns the record of it or, where the text has to be looked at again, why, and
    the text as it is now; a `DeepnbError` it raises is shown, and the text stays."""

    def __init__(self, name: str, text: str, save: Save) -> None:
        self._name, self._save = name, save
        self._output: Output | None = None
        self._closed = f"cancelled: {name} is unchanged"
        rows = min(max(text.count("\n") + 2, _ROWS[0]), _ROWS[1])
        about, wide, style = f"the text of {name}", w.Layout(width="99%"), {"description_width": "initial"}
        self._area = w.Textarea(text, rows=rows, description="text", tooltip=about, layout=wide, style=style)
        self._said = w.HTML()
        on_save = partial(shown, self._area, lambda typed: attempt(partial(self._saved, typed), self._said))
        save_ = button("Save", f"save {name}", on_save, "primary", None)
        head = w.HTML(notice_view(f"editing {name}", "ok").html())
        buttons = w.HBox([save_, button("Cancel", "close without saving", partial(self._end, None), width=None)])
        self.widget: Any = w.VBox([head, self._area, self._said, buttons], layout=w.Layout(width="100%"))

    def show(self, screen: Screen, twin: View) -> None:
        """Show the editor and below it its static twin; a record of what became of the text takes its place."""
        without = f"to edit {self._name} where there are no widgets, run a cell that begins with %%memory {self._name}"
        self._output = screen.widget(self.widget, without)
        screen.show(twin)

    def _saved(self, typed: str) -> View | None:
        said, again = self._save(typed)
        if again is None:
            self._end(said)
            return None
        self._area.value, self._closed = again, f"closed: {self._name} holds both texts"
        return said

    def _end(self, record: View | None) -> None:
        if self._output is not None:
            leave(self._output)
            self._output.update(record or notice_view(self._closed))
        close(self.widget)


class LineEditor:
    """A line of some texts to choose and change, and a button that undoes the last change."""

    def __init__(
        self, texts: Callable[[], Mapping[str, str]], save: Callable[[str, str, str], View], undo: Act
    ) -> None:
        """`save` is given a path, the text that was shown under it, and the changed text; what it returns is shown."""
        self._texts, self._save, self._said = texts, save, w.HTML()
        self._at, self._base, self._was = ("", 0), "", ""
        """What is being changed: path and number of the line, the text it is in, the line as it was."""
        self._line = w.Dropdown(description="Line", layout=w.Layout(width="99%"))
        self._area = w.Textarea(rows=2, description="becomes", layout=w.Layout(width="99%"))
        on_change(self._line, self._load)
        on_save = partial(shown, self._area, self._on_save)
        buttons = [button("Save line", "save this line; an empty one is removed", on_save, "primary")]
        buttons.append(button("Undo", "undo the last change of memory", partial(self._do, undo)))
        self.widget: Any = w.VBox([self._line, self._area, w.HBox(buttons), self._said])
        self.refresh()

    def refresh(self) -> None:
        """Offer the lines there are now; one that is being changed stays as it is typed."""
        rows = [(path, n, line) for path, text in self._texts().items() for n, line in enumerate(text.split("\n"))]
        options = [(f"{short(line, 70)} · {path} {n + 1}", (path, n)) for path, n, line in rows if line.strip()]
        places = [place for _, place in options]
        offer(self._line, options, self._at if self._at in places else places[-1] if places else None)
        if self._area.value == self._was:
            self._load()

    def _load(self) -> None:
        self._at = path, n = self._line.value or ("", 0)
        self._base = self._texts().get(path, "")
        self._area.value = self._was = self._base.split("\n")[n].rstrip("\r") if path else ""
        self._area.disabled = not path

    def _on_save(self, typed: str) -> None:
        (path, n), lines = self._at, self._base.split("\n")
        lines[n : n + 1] = [typed + lines[n][len(self._was) :]] if typed.strip() else []
        if path:
            self._do(partial(self._save, path, self._base, "\n".join(lines)))

    def _do(self, act: Act) -> None:
        if attempt(act, self._said):
            self._was = self._area.value
            self.refresh()
