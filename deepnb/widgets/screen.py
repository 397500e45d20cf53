"""Where things are shown: static outputs with a display id in a notebook, lines in a terminal."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from deepnb.views.view import View


class Output(Protocol):
    """Something shown that can be shown anew in its place."""

    def update(self, view: View) -> None:
        """Show another view where the first one stands."""


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


class Notebook:
    """Outputs of text/html and text/plain with a display id: they survive in the saved file as they are."""

    notebook = True

    def show(self, view: View) -> Output:
        shown = _Displayed(_new_id())
        shown.publish(view, update=False)
        return shown

    def widget(self, widget: Any, text: str) -> Output:
        from IPython.display import publish_display_data

        mime = "application/vnd.jupyter.widget-view+json"
        view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
        shown = _Displayed(_new_id())
        publish_display_data({mime: view, "text/plain": text}, transient={"display_id": shown.id})
        return shown


class _Printed:
    def update(self, view: View) -> None:
        """What is printed stays."""


class _Displayed:
    def __init__(self, id_: str) -> None:
        self.id = id_
        self._last: tuple[str, str] | None = None

    def update(self, view: View) -> None:
        self.publish(view, update=True)

    def publish(self, view: View, *, update: bool) -> None:
        from IPython.display import publish_display_data

        now = (view.html(), view.text())
        if now != self._last:
            self._last = now
            data = {"text/html": now[0], "text/plain": now[1]}
            publish_display_data(data, transient={"display_id": self.id}, update=update)


_KERNEL = uuid.uuid4().hex[:8]
_NUMBER = itertools.count(1)


def _new_id() -> str:
    return f"deepnb-{_KERNEL}-{next(_NUMBER)}"
