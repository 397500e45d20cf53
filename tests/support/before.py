"""A stand-in of an object, with something done just before each of some calls."""

from collections.abc import Callable, Collection
from typing import Any


class Before:
    """Before call number `at`, from 1, or each if it is None; `calls` is how many there were."""

    def __init__(self, inner: Any, names: Collection[str], at: int | None, act: Callable[[], object]) -> None:
        self._inner, self._names, self._at, self._act, self.calls = inner, names, at, act, 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name not in self._names:
            return value

        def called(*args: Any, **options: Any) -> Any:
            self.calls += 1
            if self._at in (None, self.calls):
                self._act()
            return value(*args, **options)

        return called
