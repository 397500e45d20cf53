"""A sequence that only grows, and views of its beginning that cost nothing to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class GrowingList(Sequence[T], Generic[T]):
    """The first `n` values of a list that only grows: a turn keeps one for the price of an int.

    `replace_from(kept, new)` shares the list while it is only appended to, and starts another where an
    earlier value was changed or taken away.
    """

    __slots__ = ("_n", "_values")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._values: list[T] = list(values)
        self._n = len(self._values)

    def replace_from(self, kept: int, new: Sequence[T]) -> GrowingList[T]:
        """The first `kept` of these values followed by `new`."""
        if kept == self._n == len(self._values):
            grown: GrowingList[T] = object.__new__(type(self))
            self._values.extend(new)
            grown._values, grown._n = self._values, len(self._values)
            return grown
        return type(self)([*self[:kept], *new])

    def first(self, n: int) -> GrowingList[T]:
        """The first `n` of these values, or all, sharing their list."""
        made: GrowingList[T] = object.__new__(type(self))
        made._values, made._n = self._values, min(n, self._n)
        return made

    def shares(self, other: GrowingList[T]) -> bool:
        """Whether both are views of one list."""
        return self._values is other._values

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[T]:
        return islice(self._values, self._n)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self._values[i] for i in range(*index.indices(self._n)))
        if index < 0:
            index += self._n
        if not 0 <= index < self._n:
            raise IndexError(index)
        return self._values[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowingList) and self[:] == other[:]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n})"
