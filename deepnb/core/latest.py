"""The last result of a function of values that nobody changes in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Calls `work`, unless it is given what it was given last: then the result is the very same object."""

    def __init__(self, work: Callable[..., T]) -> None:
        self._work = work
        self._held: tuple[tuple[Any, ...], T] | None = None

    def __call__(self, *given: Any) -> T:
        held = self._held
        if held is None or not all(a is b or a == b for a, b in zip(given, held[0], strict=True)):
            held = self._held = (given, self._work(*given))
        return held[1]
