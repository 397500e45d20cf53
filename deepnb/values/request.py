"""One request to a model as it was sent, in pieces that the requests after it share."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from deepnb.values.growing_list import GrowingList
from deepnb.values.short_repr import short_repr


@dataclass(frozen=True, slots=True)
class Sent:
    """A stretch of a request: a tool's schema, a part of the system prompt, a message's text, one tool call."""

    part: str
    """One of `values.budget.PARTS`."""
    label: str
    """What it is, in a word or two: `tool ls`, `system prompt`, `user`."""
    text: str
    tokens: int
    """As counted, with what a message costs beside its text."""


@dataclass(frozen=True)
class Request:
    """Tools, system prompt and messages, in the order in which providers cache a prefix.

    Kept for every call of a session: the head is one object while nothing in it changes, and the
    body one list for as long as the thread only grows. So n calls take the room of n messages, not
    of their square.
    """

    head: tuple[Sent, ...] = ()
    body: GrowingList[tuple[Sent, ...]] = field(default_factory=GrowingList)
    """A tuple of pieces for each message."""

    def __repr__(self) -> str:
        return short_repr(self, f"messages={len(self.body)} tokens={self.tokens}")

    def __iter__(self) -> Iterator[Sent]:
        return chain(self.head, *self.body)

    @property
    def tokens(self) -> int:
        """As counted when it was sent."""
        return sum(piece.tokens for piece in self)
