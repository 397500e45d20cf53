"""What is computed when it is needed, or not at all, and a context variable that is set for a block."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def nothing(*given: object) -> None:
    """Do nothing: what is called where nobody has asked to be called."""


class Memo(Generic[T]):
    """Calls `work`, unless it is given what it was given last: then the result is the very same object."""

    def __init__(self, work: Callable[..., T]) -> None:
        self._work = work
        self._last: tuple[tuple[Any, ...], T] | None = None

    def __call__(self, *given: Any) -> T:
        last = self._last
        if last is None or not all(a is b or a == b for a, b in zip(given, last[0], strict=True)):
            last = self._last = (given, self._work(*given))
        return last[1]


@contextmanager
def set_in_block(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Give a context variable a value within a block, and what it had before after it."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


# -- A mapping that is made when it is first looked into


class LazyMapping(Mapping[str, str]):
    """What `make` gives, which is asked once."""

    def __init__(self, make: Callable[[], Mapping[str, str]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, str]:
        return self._make()

    def __getitem__(self, key: str) -> str:
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"LazyMapping({dict(self)!r})" if "_made" in self.__dict__ else "LazyMapping(...)"
