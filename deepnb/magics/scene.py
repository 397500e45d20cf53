"""What a magic has to hand: the session, the screen, the user's variables, the next cell."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepnb.core.values import Turn
from deepnb.magics.config import DeepNB
from deepnb.session.session import Session
from deepnb.views.view import View
from deepnb.widgets.panels import Live
from deepnb.widgets.screen import Screen

if TYPE_CHECKING:
    from deepnb.magics.approval_commands import Cards


@dataclass
class Scene:
    """One loaded extension, as its commands see it."""

    session: Session
    screen: Screen
    config: DeepNB
    namespace: MutableMapping[str, Any]
    next_cell: Callable[[str], None]
    """Put text into a new cell below (in a terminal: the next prompt)."""
    cell: Callable[[], str | None]
    """The id of the cell that is running, where the front end sends one."""
    live: Live
    """The panels that follow the session."""

    @cached_property
    def cards(self) -> Cards:
        """The cards of calls that wait for the user's word."""
        from deepnb.magics.approval_commands import Cards

        cards = Cards()
        self.session.subscribe(lambda: cards.follow(self.session.approvals))
        return cards

    @cached_property
    def unfinished(self) -> dict[str, Callable[[Turn], Sequence[View]]]:
        """Thread -> what is to be done with the answer of its turn, which waits for the user's word."""
        return {}

    @property
    def stamp(self) -> str:
        """Which turn a record belongs to."""
        turns = len(self.session.turns)
        return f"thread {self.session.thread}, {f'turn {turns}' if turns else 'before turn 1'}"

    def show(self, view: View) -> None:
        """Show a view below what the cell has shown."""
        self.screen.show(view)
