"""A session whose messages are held in memory: one out of a database, or of a conversation that is one JSON value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from deepnb.core.errors import NotFoundError
from deepnb.core.session_file import FileContent, SessionIndex
from deepnb.formats.indexing import Turns
from deepnb.formats.items import Arrangement, Other


class HeldSession:
    """Its turns, and their content."""

    def __init__(self, arrangement: Arrangement, facts: Mapping[str, Any]) -> None:
        """`facts` are fields of its index that the entries do not tell."""
        self._turns = Turns(arrangement, lambda entry: entry.items, None)
        unknown = Counter(
            item.text
            for entries in (arrangement.main, *(agent.entries for agent in arrangement.agents))
            for entry in entries
            for item in entry.items
            if isinstance(item, Other)
        )
        counts, notices = arrangement.counts, tuple(arrangement.notices)
        self.index = SessionIndex(
            turns=self._turns.figures, unknown=dict(unknown), counts=counts, notices=notices, **facts
        )

    def content(self, turn: int) -> FileContent:
        """One turn word for word; turns count from 1."""
        return self._turns.content(check_turn(self.index, turn))


def check_turn(index: SessionIndex, turn: int) -> int:
    """The number, if there is such a turn."""
    if not 1 <= turn <= len(index.turns):
        there = f"has turns 1 to {len(index.turns)}" if index.turns else "has no turns"
        raise NotFoundError(f"no turn {turn}: session {index.id} {there}", "%agent turns lists them")
    return turn
