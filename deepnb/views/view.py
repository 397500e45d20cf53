"""What everything shown has: text for a terminal, HTML for a notebook."""

from collections.abc import Sequence
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


@runtime_checkable
class HasParts(Protocol):
    """A view that can also be shown in parts, of which those that stay the same need not be sent again."""

    @property
    def parts(self) -> Sequence[str]:
        """The HTML of each part, from top to bottom."""
