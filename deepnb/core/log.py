"""A sequence that only grows, and views of its beginning that cost nothing to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Log(Sequence[T], Generic[T]):
    """The first `n` values of a log that only grows: a turn keeps one for the price of an int.

    `grown(kept, new)` shares the log while it is only appended to, and starts another where an
    earlier value was changed or taken away.
    """

    __slots__ = ("_log", "_n")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._log: list[T] = list(values)
        self._n = len(self._log)

    def grown(self, kept: int, new: Sequence[T]) -> Log[T]:
        """The first `kept` of these values followed by `new`."""
        if kept == self._n == len(self._log):
            grown: Log[T] = object.__new__(type(self))
            self._log.extend(new)
            grown._log, grown._n = self._log, len(self._log)
            return grown
        return type(self)([*self[:kept], *new])

    def shares(self, other: Log[T]) -> bool:
        """Whether both are views of one log."""
        return self._log is other._log

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[T]:
        return islice(self._log, self._n)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self._log[i] for i in range(*index.indices(self._n)))
        if index < 0:
            index += self._n
        if not 0 <= index < self._n:
            raise IndexError(index)
        return self._log[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Log) and self[:] == other[:]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n})"
