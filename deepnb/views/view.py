"""What everything shown has: text for a terminal, HTML for a notebook."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class View(Protocol):
    """A view-model: the facts are its fields, these two are how they look."""

    def text(self) -> str:
        """Lines for a terminal, about 100 columns, complete without colour."""
        ...

    def html(self) -> str:
        """One <div> that reads well in a notebook, and with every style taken away."""
        ...
