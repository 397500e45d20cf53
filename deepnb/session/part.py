"""What the parts of a session that a user holds in hand have in common."""

from __future__ import annotations

from deepnb.running.workspace import Workspace
from deepnb.values.text import short_repr
from deepnb.values.turn import Snapshot


class Part:
    """One part of a session, such as its memory: it speaks of the thread that is current when it is asked."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __repr__(self) -> str:
        return short_repr(self, f"of {self.stamp}")

    @property
    def snapshot(self) -> Snapshot:
        """The state of the current thread."""
        return self._workspace.snapshot

    @property
    def stamp(self) -> str:
        """`thread main, turn 2`: what a picture of it is stamped with."""
        turns = len(self._workspace.turns)
        return f"thread {self._workspace.thread.name}, {f'turn {turns}' if turns else 'before turn 1'}"

    def count(self, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self._workspace.built.meter.count(text)
