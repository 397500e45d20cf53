"""What an agent that somebody else made has of what deepnb shows and does, found once."""

from collections.abc import Iterator
from dataclasses import dataclass

from deepnb.values.errors import RefusedError
from deepnb.values.short_repr import short_repr


@dataclass(frozen=True)
class Feature:
    """A feature, whether it is there, and what would give it where it is not."""

    name: str
    what: str
    """What the graph has of it, or why it lacks it, in a few words."""
    do: str = ""
    """What would give it; empty where it is there."""
    has: bool = True
    ours: bool = False
    """Whether only deepnb's own agent can have it."""


@dataclass(frozen=True)
class Features:
    """All of them, by name; an agent that deepnb made has every one and lists none."""

    agent: str = ""
    listed: tuple[Feature, ...] = ()

    def __repr__(self) -> str:
        has, lacks = (", ".join(one.name for one in self.listed if one.has is there) for there in (True, False))
        return short_repr(
            self, f"of {self.agent}: has {has or 'none of them'}; lacks {lacks}" if self.listed else "all"
        )

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.listed)

    def __bool__(self) -> bool:
        return bool(self.listed)

    @property
    def lacks(self) -> tuple[Feature, ...]:
        """The features that are not there."""
        return tuple(one for one in self.listed if not one.has)

    def has(self, name: str) -> bool:
        """Whether it is there."""
        return all(one.name != name for one in self.lacks)

    def need(self, name: str) -> None:
        """Raise an error in one line where the feature is not there."""
        for one in self.lacks:
            if one.name == name:
                raise RefusedError(f"{self.agent} has no {one.name} ({one.what})", one.do)
