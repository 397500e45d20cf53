"""What can be clicked: buttons, pictures with buttons beside them, tabs; what a page tells of a field with a click, and
where its focus goes when what had it is gone."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

from deepnb import widgets as w
from deepnb.values.errors import DeepnbError
from deepnb.views.html import label
from deepnb.views.view import View, notice_view
from deepnb.widgets.screen import Nothing, Output

TAB_STYLE = """<style>
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar { max-height: none; overflow: visible }
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar > .lm-TabBar-content { flex-wrap: wrap }
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar .lm-TabBar-tab { flex: 0 0 auto; min-width: 0 }
.jupyter-widgets.deepnb-panels .widget-html-content { min-width: 0 }
</style>"""
COVER_STYLE = """<style>
.jp-OutputArea-child:has(+ .jp-OutputArea-child .deepnb-instead),
.jp-OutputArea-child:has(.deepnb-instead) ~ .jp-OutputArea-child { display: none }
</style>"""


def stay() -> bool:
    """Have what the page sends next to the widgets that this message makes or changes come to this thread; whether a
    page sent the message at all.

    A page names a subshell in its messages, and ipykernel leads the answer to what a widget sent to the subshell of
    the message at that time: a button made in a click would be heard in a thread where no code of a cell can run.
    """
    kernel = _kernel()
    header = kernel.get_parent().get("header", {}) if kernel is not None else {}
    if threading.current_thread() is threading.main_thread():
        header.pop("subshell_id", None)
    return bool(header.get("msg_type") == "comm_msg")


def use_page_thread(widget: Any) -> None:
    """Have what a page says of a widget come to the thread that the page names, also while a cell is running.

    ipykernel keeps with the comm which subshell is led an answer, and goes by the page where it keeps none. To be
    called again after each change of the widget.
    """
    if widget.comm is not None:
        vars(widget.comm).pop("_reply_subshell_id", None)


def has_page_thread() -> bool:
    """Return whether a page has asked this kernel for such a thread: JupyterLab does as it shows its first widget."""
    manager = getattr(getattr(_kernel(), "shell_channel_thread", None), "manager", None)
    return bool(getattr(manager, "list_subshell", list)())


def _kernel() -> Any:
    from IPython.core.getipython import get_ipython

    return getattr(get_ipython(), "kernel", None)  # type: ignore[no-untyped-call, unused-ignore]


def shown(field: Any, then: Callable[[Any], object], trait: str = "value") -> None:
    """Call `then` with what the page shows in `field`; in a message of a page, as soon as the page has told.

    A page holds a field's newest value back while the kernel has not answered for an older one (`throttle` of
    ipywidgets), but it sends a click at once. A widget that is new to the page has nothing held back: a link in the
    page gives it the value.
    """
    if not stay():
        then(getattr(field, trait))
        return
    from ipywidgets import jsdlink

    told, control = _value_widget()(), (_pressed.get() or (field,))[0]

    def arrived(change: Any) -> None:
        stay()
        link.close()
        told.close()
        setattr(field, trait, change["new"])
        press(control, partial(then, change["new"]))

    told.observe(arrived, names="value")
    link = jsdlink((field, trait), (told, "value"))


@cache
def _value_widget() -> Any:
    import traitlets

    class Value(w.Widget):  # type: ignore[misc, unused-ignore]
        value = traitlets.Any().tag(sync=True)

    return Value


class Refreshable(Protocol):
    """A panel: a widget that can be shown as things are now."""

    widget: Any

    def refresh(self) -> None: ...


@dataclass(frozen=True)
class Row:
    """A picture, and what can be done with it: (word on the button, what a click does)."""

    key: str
    view: View
    actions: Sequence[tuple[str, Callable[[], object]]]


class ActionPanel:
    """Rows with buttons; what a click came to is said in one line above them."""

    def __init__(self, rows: Callable[[], Sequence[Row]], empty: View, title: str = "") -> None:
        self._rows, self._empty, self._said = rows, empty, w.HTML()
        self._made: dict[str, Any] = {}
        self._acts: dict[str, Sequence[tuple[str, Callable[[], object]]]] = {}
        self._list = w.Box(layout=grid("34em", "fill"))
        head = [w.HTML(label(title))] if title else []
        self.widget: Any = w.VBox([*head, self._said, self._list])
        self.refresh()

    def refresh(self) -> None:
        """Show the rows there are now; those that were there before change in their place, so that a button keeps the focus."""
        rows = {row.key: row for row in self._rows()}
        self._acts = {key: row.actions for key, row in rows.items()}
        self._made = {key: self._row(row) for key, row in rows.items()}
        if rows or not self._list.children or hasattr(self._list.children[0], "children"):
            fill(self._list, [*self._made.values()] or [w.HTML(self._empty.html())])

    def _row(self, row: Row) -> Any:
        words = [(word[:1].upper() + word[1:], f"{word} {row.key}") for word, _ in row.actions]
        if (made := self._made.get(row.key)) is None:
            picture = w.HTML(layout=w.Layout(flex="1 1 24em", min_width="0"))
            buttons = w.HBox(layout=w.Layout(flex="0 0 auto"))
            made = w.HBox([picture, buttons], layout=w.Layout(flex_flow="row wrap", align_items="baseline"))
        picture, buttons = made.children
        set_html(picture, row.view.html())
        kept = buttons.children[: len(words)]
        for one, word in zip(kept, words, strict=False):
            one.description, one.tooltip = word
        if len(buttons.children) != len(words):
            new = (button(*words[n], partial(self._click, row.key, n)) for n in range(len(kept), len(words)))
            fill(buttons, [*kept, *new])
        return made

    def _click(self, key: str, at: int) -> None:
        attempt(self._acts[key][at][1], self._said)
        self.refresh()


class Switches:
    """A check box for each name; `turn` is called with a name, and whether it was checked."""

    def __init__(
        self, states: Callable[[], Mapping[str, tuple[str, bool]]], turn: Callable[[str, bool], object]
    ) -> None:
        """`states` gives name -> (its words, whether it is on)."""
        self._states, self._turn, self._said, self._list = states, turn, w.HTML(), w.Box(layout=grid("15em"))
        self._made: dict[str, Any] = {}
        self.widget: Any = w.VBox([self._said, self._list])
        self.refresh()

    def refresh(self) -> None:
        states = self._states()
        for name in states.keys() - self._made.keys():
            self._made[name] = box = w.Checkbox(indent=False, layout=w.Layout(width="auto"))
            on_change(box, partial(self._changed, name))
        for name, (words, on) in states.items():
            box = self._made[name]
            box.description, box.tooltip, box.value = words, f"offer the tool {name}", on
        if list(states) != list(self._made) or len(self._list.children) != len(states):
            self._made = {name: self._made[name] for name in states}
            fill(self._list, [*self._made.values()])

    def _changed(self, name: str) -> None:
        on = self._made[name].value
        if self._states()[name][1] != on:
            attempt(partial(self._turn, name, on), self._said)
            self.refresh()


class Columns:
    """Panels side by side, as many as the page has room for; with `stacked`, one below the other."""

    def __init__(self, *panels: Refreshable, stacked: bool = False) -> None:
        self._panels = panels
        children = [panel.widget for panel in panels]
        self.widget: Any = w.VBox(children) if stacked else w.Box(children, layout=grid("30em"))

    def refresh(self) -> None:
        for panel in self._panels:
            panel.refresh()


def grid(least: str, auto: str = "fit") -> Any:
    """Return a layout of columns of the same width, at least so wide where the page is; with "fill", also of empty ones."""
    columns = f"repeat(auto-{auto}, minmax(min(100%, {least}), 1fr))"
    return w.Layout(display="grid", grid_template_columns=columns, grid_gap="0 20px", width="100%")


class Tabs:
    """Panels of which one is seen, below those that always are. A panel is made when it is turned to.

    ipywidgets cuts the names of tabs on a narrow page, where these go on in the next line.
    """

    def __init__(self, panels: Mapping[str, Callable[[], Refreshable]], above: Sequence[Refreshable] = ()) -> None:
        self._panels, self._above, self._places = panels, above, [w.VBox() for _ in panels]
        self._made: dict[str, Refreshable] = {}
        self._tab: Any = w.Tab(self._places, titles=[*panels], selected_index=0) if len(panels) > 1 else None
        below = self._places
        if self._tab is not None:
            self._tab.add_class("deepnb-tabs")
            on_change(self._tab, stay, "selected_index")
            on_change(self._tab, self.refresh, "selected_index")
            below = [w.HTML(TAB_STYLE, layout=w.Layout(display="none")), self._tab]
        self._said = w.HTML()
        self.widget: Any = w.VBox([*(panel.widget for panel in above), self._said, *below])
        self.widget.add_class("deepnb-panels")
        self.refresh()

    def open(self, name: str) -> bool:
        """Turn to a panel, if it is among them; return whether another was seen."""
        before = self._tab.selected_index if self._tab and name in self._panels else None
        if before is None or before == (at := list(self._panels).index(name)):
            return False
        self._tab.selected_index = at
        return True

    def refresh(self) -> None:
        """Show those that are seen as things are now; the others follow when they are turned to.

        One that can't be shown is said: an error here must not end the turn.
        """
        at = self._tab.selected_index if self._tab else 0
        try:
            for panel in self._above:
                panel.refresh()
            if at is not None and (name := list(self._panels)[at]) in self._made:
                self._made[name].refresh()
            elif at is not None:
                self._made[name] = self._panels[name]()
                self._places[at].children = [self._made[name].widget]
            failed = ""
        except Exception as error:
            failed = failed_view(error).html()
        set_html(self._said, failed)


def failed_view(error: Exception) -> View:
    """Return a line that says why something can't be shown."""
    return notice_view(f"this can't be shown: {getattr(error, 'typed', error)}", "error")


def attempt(act: Callable[[], object], said: Any) -> bool:
    """Do what a click asks for and return whether it was done.

    A mistake, or the view that is returned, is shown in `said`, an HTML widget, which is else emptied.
    """
    try:
        done = act()
    except DeepnbError as error:
        said.value = notice_view(error.typed, "error").html()
        return False
    said.value = done.html() if isinstance(done, View) else ""
    return True


def on_change(widget: Any, act: Callable[[], object], trait: str = "value") -> None:
    widget.observe(lambda _: getattr(widget, "is_filled", False) or act(), names=trait)


def button(word: str, tooltip: str, act: Callable[[], object], style: str = "", width: str | None = "auto") -> Any:
    """Return a button that calls `act` when it is clicked.

    `style` is one of ipywidgets' (`primary`, `success`, `danger`), a width of None its usual one. It is seen as a
    button in forced colours, too: there its ground is gone and an unseen border shows.
    """
    layout = w.Layout(width=width, border="1px solid transparent")
    made = w.Button(description=word, tooltip=tooltip, button_style=style, layout=layout)
    made.on_click(lambda _: press(made, act) if stay() else act())
    return made


def set_html(page: Any, html: str) -> None:
    """Show HTML in a widget; what it shows already is not sent again."""
    if page.value != html:
        page.value = html


_pressed: ContextVar[tuple[Any, str, list[tuple[Any, int, Any]]] | None] = ContextVar("_pressed", default=None)
"""The control whose action runs; what it says of itself; and each box around it, with the place in it and what is there; none once it is done."""
_done: list[tuple[Any, Any]] = []
"""The line that has the focus in place of a control that is gone, after its box: there is one at a time."""

_TO_CELL = (
    "document.activeElement === document.body && [...document.querySelectorAll("
    "'.jp-Notebook .jp-Cell.jp-mod-active')].find(cell => cell.offsetParent)?.focus({preventScroll: true})"
)
FOCUS = Nothing()
FOCUS.bundle = ({"application/javascript": _TO_CELL, "text/plain": ""}, {})
"""Gives the active cell the focus where nothing has it: for an output whose widget becomes a record, which has none."""


def press(control: Any, act: Callable[[], object]) -> None:
    """Do what a page asks for with a control; where it is gone after that, a line in its place has the focus.

    The line and not the next button: a key that is pressed twice must not decide twice.
    """
    from ipywidgets.widgets.widget import _instances  # a widget does not know which box it is in

    boxes = {id(one): (box, n) for box in [*_instances.values()] for n, one in enumerate(getattr(box, "children", ()))}
    around, inner = list[tuple[Any, int, Any]](), control
    while place := boxes.get(id(inner)):
        around.append((*place, inner))
        inner = place[0]
    token = _pressed.set((control, getattr(control, "tooltip", ""), around))
    try:
        act()
        _keep_focus()
    finally:
        _pressed.reset(token)


def _keep_focus() -> None:
    control: Any
    control, about, around = _pressed.get() or (None, "", [])
    there = [one for one in around if one[0].comm is not None]
    # A page draws anew all children of a box from the first that is another one.
    if not there or not (control.disabled or any(box.children[n : n + 1] != (one,) for box, n, one in there)):
        return
    box, at, inner = there[0]
    around.clear()  # it is kept once: what else the action does may take long
    while _done:
        within, old = _done.pop()
        fill(within, [one for one in within.children if one is not old])
    line = w.Button(
        description=f"done: {about}", tabbable=False, layout=w.Layout(align_self="flex-start", width="auto")
    )
    line.style.button_color, line._view_count = "transparent", 0  # so a page tells when it shows the line
    line.observe(lambda _: line.focus(), "_view_count")
    use_page_thread(line)
    at += inner in box.children
    box.children = (*box.children[:at], line, *box.children[at:])
    _done.append((box, line))


def leave(output: Output) -> None:
    """Have the page give the cell of an output the focus, where a click has taken a widget out of it."""
    if _pressed.get() is not None:
        output.update(FOCUS)


def last_page() -> object:
    """Return what stands for the page that was loaded last: each asks for the widgets there are over a comm of its own."""
    return getattr(w.Widget, "_control_comm", None)  # not public: without it no page seems to be loaded again


def cover(box: Any) -> None:
    """Have a page hide the output above that of a box, and those below it."""
    box.add_class("deepnb-instead")
    box.children = (*box.children, w.HTML(COVER_STYLE, layout=w.Layout(display="none")))


def fill(box: Any, children: Sequence[Any]) -> None:
    """Show these widgets in a box; those that were there and are not among them are closed."""
    old, kept = box.children, [*children]
    if (pressed := _pressed.get()) and not pressed[2]:  # what is drawn again in the same action keeps its line
        for line in (line for within, line in _done if within is box and line in old):
            kept.insert(old.index(line), line)
    box.children = children = kept
    for child in old:
        if all(child is not one for one in children):
            close(child)
    _keep_focus()


def offer(choice: Any, options: Sequence[tuple[str, Any]], value: Any) -> None:
    """Offer (words, value) in a selection, with one of them chosen, which is no change that a user made."""
    choice.is_filled = True
    with choice.hold_sync():
        if list(options) != list(choice.options):
            choice.options = options
        choice.value, choice.disabled = value, not options
    choice.is_filled = False


def close(widget: Any) -> None:
    """Close a widget and all below it: ipywidgets keeps one for ever unless it is closed."""
    for child in getattr(widget, "children", ()):
        close(child)
    for part in filter(None, (getattr(widget, "layout", None), getattr(widget, "style", None), widget)):
        part.close()
