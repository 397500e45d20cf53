"""What can be clicked: buttons, pictures with buttons beside them, tabs; what a page tells of a field with a click, and
where its focus goes when what had it is gone."""

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol

from deepnb.values.errors import DeepnbError
from deepnb.views.view import View, notice_view
from deepnb.widgets.screen import Nothing, Output

TAB_STYLE = """<style>
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar { max-height: none; overflow: visible }
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar > .lm-TabBar-content { flex-wrap: wrap }
.jupyter-widgets.deepnb-tabs > .lm-TabBar.widget-tab-bar .lm-TabBar-tab { flex: 0 0 auto; min-width: 0 }
</style>"""


def stay() -> bool:
    """Have what the page sends next to the widgets that this message makes or changes come to this thread; whether a
    page sent the message at all.

    A page names a subshell in its messages, and ipykernel leads the answer to what a widget sent to the subshell of
    the message at that time: a button made in a click would be heard in a thread where no code of a cell can run.
    """
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)  # type: ignore[no-untyped-call, unused-ignore]
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
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)  # type: ignore[no-untyped-call, unused-ignore]
    manager = getattr(getattr(kernel, "shell_channel_thread", None), "manager", None)
    return bool(getattr(manager, "list_subshell", list)())


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
    from ipywidgets import Widget

    class Value(Widget):  # type: ignore[misc, unused-ignore]
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
    state: str = ""
    """What the picture says beside the key: with another state the row is made anew."""


class ActionPanel:
    """Rows with buttons; a click's mistake is said in one line above them."""

    def __init__(self, rows: Callable[[], Sequence[Row]], empty: View) -> None:
        import ipywidgets as w

        self._w, self._rows, self._empty = w, rows, empty
        self._said = w.HTML()
        self._made: dict[tuple[str, str], Any] | None = None
        self._list = w.VBox()
        self.widget: Any = w.VBox([self._said, self._list])
        self.refresh()

    def refresh(self) -> None:
        """Show the rows there are now; of those that were there before none is made anew."""
        rows, before = {(row.key, row.state): row for row in self._rows()}, self._made or {}
        if self._made is not None and list(rows) == list(before):
            return
        self._made = {key: before.get(key) or self._row(row) for key, row in rows.items()}
        fill(self._list, [*self._made.values()] or [self._w.HTML(self._empty.html())])

    def _row(self, row: Row) -> Any:
        about = [(word.capitalize(), f"{word} {row.key}", partial(self._click, act)) for word, act in row.actions]
        buttons = [button(*one) for one in about]
        picture = self._w.HTML(row.view.html(), layout=self._w.Layout(flex="1 1 auto"))
        return self._w.HBox([picture, self._w.HBox(buttons)])

    def _click(self, act: Callable[[], object]) -> None:
        attempt(act, self._said)
        self.refresh()


class Tabs:
    """Panels side by side, one of them seen.

    ipywidgets cuts the names of tabs on a narrow page, where these go on in the next line.
    """

    def __init__(self, panels: Sequence[tuple[str, Refreshable]]) -> None:
        import ipywidgets as w

        self._panels = [panel for _, panel in panels]
        self._tab = w.Tab([p.widget for p in self._panels], titles=[name for name, _ in panels], selected_index=0)
        self._tab.add_class("deepnb-tabs")
        on_change(self._tab, self.refresh, "selected_index")
        self.widget: Any = w.VBox([w.HTML(TAB_STYLE, layout=w.Layout(display="none")), self._tab])

    def refresh(self) -> None:
        """Show the one that is seen as things are now; the others follow when they are turned to."""
        if (at := self._tab.selected_index) is not None:
            self._panels[at].refresh()


def attempt(act: Callable[[], object], said: Any) -> None:
    """Do what a click asks for; a mistake is one line in `said`, an HTML widget, which is else emptied."""
    try:
        act()
        said.value = ""
    except DeepnbError as error:
        said.value = notice_view(error.typed, "error").html()


def on_change(widget: Any, act: Callable[[], object], trait: str = "value") -> None:
    widget.observe(lambda _: act(), names=trait)


def button(word: str, tooltip: str, act: Callable[[], object], style: str = "", width: str | None = "auto") -> Any:
    """Return a button that calls `act` when it is clicked.

    `style` is one of ipywidgets' (`primary`, `success`, `danger`), a width of None its usual one. It is seen as a
    button in forced colours, too: there its ground is gone and an unseen border shows.
    """
    import ipywidgets as w

    layout = w.Layout(width=width, border="1px solid transparent")
    made = w.Button(description=word, tooltip=tooltip, button_style=style, layout=layout)
    made.on_click(lambda _: press(made, act) if stay() else act())
    return made


_pressed: ContextVar[tuple[Any, list[tuple[Any, int, Any]]] | None] = ContextVar("_pressed", default=None)
"""The control whose action runs; and each box around it, with the place in it and what is there; none once it is done."""
_done: list[tuple[Any, Any]] = []
"""The line that has the focus in place of a control that is gone, after its box: there is one at a time."""

FOCUS = Nothing()
FOCUS.bundle = (
    {
        "application/javascript": "document.activeElement === document.body && [...document.querySelectorAll("
        "'.jp-Notebook .jp-Cell.jp-mod-active')].find(cell => cell.offsetParent)?.focus({preventScroll: true})",
        "text/plain": "",
    },
    {},
)
"""Gives the active cell the focus where nothing has it: for an output whose widget becomes a record, which has none."""


def press(control: Any, act: Callable[[], object]) -> None:
    """Do what a page asks for with a control; where it is gone after that, a line in its place has the focus.

    The line and not the next button: a key that is pressed twice must not decide twice.
    """
    from ipywidgets.widgets.widget import _instances  # a widget does not know which box it is in

    boxes = {id(one): (box, n) for box in [*_instances.values()] for n, one in enumerate(getattr(box, "children", ()))}
    around, inner = list[tuple[Any, int, Any]](), control
    while id(inner) in boxes:
        around.append((*boxes[id(inner)], inner))
        inner = around[-1][0]
    token = _pressed.set((control, around))
    try:
        act()
        _keep_focus()
    finally:
        _pressed.reset(token)


def _keep_focus() -> None:
    import ipywidgets as w

    control: Any
    control, around = _pressed.get() or (None, [])
    there = [one for one in around if one[0].comm is not None]
    # A page draws anew all children of a box from the first that is another one.
    if not there or not (control.disabled or any(box.children[n : n + 1] != (one,) for box, n, one in there)):
        return
    box, at, inner = there[0]
    around.clear()  # it is kept once: what else the action does may take long
    while _done:
        within, old = _done.pop()
        fill(within, [one for one in within.children if one is not old])
    line = w.Button(description=f"done: {control.tooltip}", tabbable=False, layout=w.Layout(width="auto"))
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


def fill(box: Any, children: Sequence[Any]) -> None:
    """Show these widgets in a box; those that were there and are not among them are closed."""
    old, box.children = box.children, children
    for child in old:
        if all(child is not one for one in children):
            close(child)
    _keep_focus()


def choose_from(choice: Any, options: Sequence[tuple[str, Any]]) -> None:
    """Offer (words, value) in a selection, the newest last; a choice that stood at the newest follows it."""
    if list(options) != list(choice.options):
        chosen, values = choice.value, [value for _, value in options]
        stays = chosen in values and choice.index not in (None, len(choice.options) - 1)
        choice.options = options
        choice.value = chosen if stays else values[-1] if values else None


def close(widget: Any) -> None:
    """Close a widget and all below it: ipywidgets keeps one for ever unless it is closed."""
    for child in getattr(widget, "children", ()):
        close(child)
    for part in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
        if part is not None:
            part.close()
