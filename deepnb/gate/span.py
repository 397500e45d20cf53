"""A stretch of a text that is a credential: where it is, of what kind, and why it is taken for one."""

from typing import NamedTuple


class Span(NamedTuple):
    """`reason` never holds the value."""

    start: int
    end: int
    kind: str
    reason: str
