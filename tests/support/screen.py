"""A screen that remembers every state of every output."""

from __future__ import annotations

from typing import Any

from deepnb.views.view import View
from deepnb.widgets.screen import Output


class Cell:
    """A screen that remembers every state of every output."""

    notebook = True

    def __init__(self) -> None:
        self.outputs: list[list[str]] = []
        self.drawn: list[list[str]] = []

    def show(self, view: View) -> Output:
        self.outputs.append([view.text()])
        self.drawn.append([view.html()])
        return _Output(self.outputs[-1], self.drawn[-1])

    def widget(self, widget: Any, text: str) -> Output:
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
