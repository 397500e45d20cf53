"""What is asked of an index: a query and how it is to be answered, checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import date
from difflib import get_close_matches

from deepnb.core.errors import InvalidError
from deepnb.search.hits import LEGS, Room

PASSAGE = 1600
"""Characters a hit has at most, its heading counted."""
HITS = 6
"""How many hits are given without a budget."""
SHARE, SHORTEST = 13, 300
"""Into how many passages a budget in tokens is parted, and the fewest characters they then have. Many short ones
find more: on the talks of the tests, 13 of 600 characters beat 5 of 1,600."""
TOKEN = 4
"""Characters of a token, about."""
FUSIONS = ("rank", "weight")
WEIGHTS = (0.7, 0.3)
"""Of the vector and the text, where scores are added and nothing else is asked for."""


@dataclass(frozen=True)
class Request:
    """Errors: `DeepnbError` for a leg or a fusion that is unknown, and for weights that would count for nothing."""

    query: str
    k: int | None = None
    legs: Sequence[str] = LEGS
    fusion: str = "rank"
    vector_weight: float | None = None
    text_weight: float | None = None
    recency: float | None = None
    today: date | None = None
    within: Callable[[str], bool] | None = None
    passage: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.legs, str):
            raise InvalidError(f"legs can't be {self.legs!r}", f'give a list, such as legs=["{LEGS[0]}"]')
        for leg in self.legs:
            _known("leg", leg, LEGS)
        _known("fusion", self.fusion, FUSIONS)
        if self.fusion != "weight" and (self.vector_weight, self.text_weight) != (None, None):
            raise InvalidError("vector_weight and text_weight count with fusion='weight' only", "add fusion='weight'")

    @property
    def weights(self) -> tuple[float, float]:
        """Of the vector and of the text."""
        given = (self.vector_weight, self.text_weight)
        return tuple(of if of is not None else usual for of, usual in zip(given, WEIGHTS, strict=True))  # type: ignore[return-value]

    @property
    def most(self) -> int | None:
        """How many hits at most; None for as many as the budget has room for."""
        if self.k is None:
            return HITS if self.tokens is None else None
        return max(int(self.k), 0)

    @property
    def room(self) -> Room:
        """What the hits may have: fewer than SHARE of them share a budget as longer ones."""
        longest = self.passage or PASSAGE
        if self.tokens is None:
            return Room(longest, float("inf"))
        share = self.tokens * TOKEN // min(self.most or SHARE, SHARE)
        return Room(min(longest, max(share, SHORTEST)), self.tokens * TOKEN)


def check_options(how: Iterable[str]) -> None:
    """Errors: `DeepnbError` for a name that is no option of a search."""
    for name in how:
        _known("option", name, tuple(field.name for field in fields(Request))[1:])


def _known(what: str, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        near = get_close_matches(str(name), names, 1)
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        do = f"did you mean {near[0]}?" if near else f"use {listed}"
        raise InvalidError(f"unknown {what} {name!r}", do)
