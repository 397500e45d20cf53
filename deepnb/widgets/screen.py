"""Where things are shown: outputs with a display id in a notebook, lines in a terminal."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from deepnb import widgets as w
from deepnb.views.view import HasBundle, Stack, View

_KERNEL = uuid.uuid4().hex[:8]
_NUMBER = itertools.count(1)


class Output(Protocol):
    """Something shown that can be shown anew in its place."""

    def update(self, view: View) -> None:
        """Show another view where the first one stands."""
        return

    def become(self, widget: Any, text: str) -> None:
        """Show an ipywidget where the view stands, with a text for where there are none."""
        return


class Screen(Protocol):
    """A front end, as far as we use one."""

    notebook: bool
    """Whether outputs can change after they were made."""

    def show(self, view: View) -> Output:
        """Show a view below what is there."""

    def widget(self, widget: Any, text: str) -> Output:
        """Show an ipywidget, with a text for where there are none; a view can take its place."""


class Terminal:
    """Lines printed one after the other; an update prints nothing."""

    notebook = False

    def __init__(self, write: Callable[[str], Any] = print) -> None:
        self._write = write

    def show(self, view: View) -> Output:
        self._write(view.text())
        return _Printed()

    def widget(self, widget: Any, text: str) -> Output:
        self._write(text)
        return _Printed()


class Reserved:
    """Outputs kept free in the cell that runs, to be filled in order later: by a widget's callback, which can make none.

    What comes when all are filled is shown in the last one, below what is there.
    """

    notebook = True

    def __init__(self, screen: Screen, count: int = 0, free: Sequence[Output] = ()) -> None:
        """`free` are outputs that were made before and hold nothing now; `count` more are made."""
        self._free = [*free, *(screen.show(NOTHING) for _ in range(count))]
        for output in free:
            output.update(NOTHING)
        self._filled: list[_Filled] = []

    @property
    def free(self) -> int:
        """How many are not filled yet."""
        return len(self._free)

    def show(self, view: View) -> Output:
        if self._free:
            self._filled.append(_Filled(self._free.pop(0)))
        return self._filled[-1].add(view)

    def widget(self, widget: Any, text: str) -> Output:
        output = self.take()
        output.become(widget, text)
        return output

    def take(self) -> Output:
        """Return the first that is free, to hold what may be given back."""
        return self._free.pop(0)

    def give_back(self, output: Output) -> None:
        """Take an output that stands just above those that are free as one of them; what it shows is gone."""
        output.update(NOTHING)
        self._free.insert(0, output)

    def gather(self) -> None:
        """Show all that was shown in the first output, so that the others are free again; no widget may stand there."""
        first, rest = self._filled[0], self._filled[1:]
        for filled in rest:
            first.take(filled)
        first.send()
        for filled in reversed(rest):
            self.give_back(filled.output)
        self._filled = [first]


class NoScreen(Terminal):
    """No place to show things: for what happens where no output can be made."""

    notebook = True

    def __init__(self) -> None:
        super().__init__(write=lambda text: None)


class Counted:
    """Another screen, with the number of outputs made on it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.notebook = screen.notebook
        self.shown = 0

    def show(self, view: View) -> Output:
        self.shown += 1
        return self._screen.show(view)

    def widget(self, widget: Any, text: str) -> Output:
        self.shown += 1
        return self._screen.widget(widget, text)


class Notebook:
    """Outputs of text/html and text/plain with a display id: they survive in the saved file as they are."""

    notebook = True

    def show(self, view: View) -> Output:
        shown = _Displayed()
        shown.update(view)
        return shown

    def widget(self, widget: Any, text: str) -> Output:
        shown = _Displayed()
        shown.become(widget, text)
        return shown


class _Printed(Output):
    """What is printed stays."""


class _Displayed:
    """An output with a display id: what comes first makes it, what comes later takes its place."""

    def __init__(self) -> None:
        self._id = f"deepnb-{_KERNEL}-{next(_NUMBER)}"
        self._last: dict[str, Any] | None = None

    def update(self, view: View) -> None:
        if isinstance(view, HasBundle):
            self._publish(*map(dict, view.bundle))
        else:
            self._publish({"text/html": view.html(), "text/plain": view.text()}, {})

    def become(self, widget: Any, text: str) -> None:
        self._publish({**widget_data(widget), "text/plain": text}, {})

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        from IPython.display import publish_display_data

        if data != self._last:
            publish_display_data(data, metadata, transient={"display_id": self._id}, update=self._last is not None)
            self._last = data


class Boxed(Notebook):
    """Outputs in a box of ipywidgets, above what it has: a page that is loaded again knows this box and no display id."""

    def __init__(self, box: Any) -> None:
        self._box, self._last = box, None

    def show(self, view: View) -> Output:
        inside, there = _Inside(), self._box.children
        at = there.index(self._last) + 1 if self._last in there else 0
        self._box.children = (*there[:at], inside.area, *there[at:])
        self._last = inside.area
        inside.update(view)
        return inside

    def widget(self, widget: Any, text: str) -> Output:
        output = self.show(NOTHING)
        output.become(widget, text)
        return output


class _Inside(_Displayed):
    def __init__(self) -> None:
        super().__init__()
        self.area: Any = w.Output()

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any]) -> None:
        self.area.outputs = ({"output_type": "display_data", "data": data, "metadata": metadata},) if data else ()


class Nothing:
    """A view without any form: a page gives its output no room, not even a margin."""

    bundle: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})

    def text(self) -> str:
        return ""

    def html(self) -> str:
        return ""


NOTHING = Nothing()


class _Filled:
    def __init__(self, output: Output) -> None:
        self.output = output
        self._parts: list[_Part] = []

    def add(self, view: View) -> Output:
        self._parts.append(_Part(self, view))
        self.send()
        return self._parts[-1]

    def take(self, other: _Filled) -> None:
        for part in other._parts:
            part.place = self
        self._parts += other._parts

    def send(self) -> None:
        views = [part.view for part in self._parts]
        self.output.update(views[0] if len(views) == 1 else Stack(*views, gap="\n"))


class _Part:
    def __init__(self, place: _Filled, view: View) -> None:
        self.place, self.view = place, view

    def update(self, view: View) -> None:
        self.view = view
        self.place.send()

    def become(self, widget: Any, text: str) -> None:
        self.place.output.become(widget, text)


def widget_data(widget: Any) -> dict[str, Any]:
    """Return an ipywidget as a front end is sent it."""
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"application/vnd.jupyter.widget-view+json": view}
