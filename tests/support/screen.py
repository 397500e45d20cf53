"""A screen that remembers every state of every output."""

import io
import time
from typing import Any

from deepnb.views.view import View
from deepnb.widgets.screen import Output


class Cell:
    notebook = True

    def __init__(self) -> None:
        self.outputs: list[list[str]] = []
        self.drawn: list[list[str]] = []
        self.widgets: list[Any] = []

    def show(self, view: View) -> Output:
        self.outputs.append([view.text()])
        self.drawn.append([view.html()])
        return _Output(self.outputs[-1], self.drawn[-1])

    def widget(self, widget: Any, text: str) -> Output:
        self.widgets.append(widget)
        self.outputs.append([text])
        return _Output(self.outputs[-1], [])

    @property
    def last(self) -> list[str]:
        return [states[-1] for states in self.outputs]


class _Output:
    def __init__(self, states: list[str], drawn: list[str]) -> None:
        self._states, self._drawn = states, drawn

    def update(self, view: View) -> None:
        self._states.append(view.text())
        self._drawn.append(view.html())

    def become(self, widget: Any, text: str) -> None:
        self._states.append(text)


def until(said: Cell | io.StringIO, words: str) -> None:
    end = time.monotonic() + 30
    while words not in (said.getvalue() if isinstance(said, io.StringIO) else "".join(said.last[-1:])):
        assert time.monotonic() < end, f"{words} is not said"
        time.sleep(0.005)


def below(widget: Any) -> list[Any]:
    """A widget and all in it."""
    return [widget, *(one for child in getattr(widget, "children", ()) for one in below(child))]
