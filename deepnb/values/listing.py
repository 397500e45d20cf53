"""A tuple that shows itself as one thing: threads as their tree, diffs as a diff."""

from typing import TypeVar

from deepnb.values.short_repr import short_repr

T = TypeVar("T")
_ITEMS = 4


class Listing(tuple[T, ...]):
    """A tuple in all respects but how it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        more = [f"and {len(self) - _ITEMS:,} more"] if len(self) > _ITEMS else []
        return short_repr(self, ", ".join([*map(repr, self[:_ITEMS]), *more]) or "(empty)")
