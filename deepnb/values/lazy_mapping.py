"""A mapping that is made when it is first looked into."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property


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
