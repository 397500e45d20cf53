"""What is asked of an index, and what a search gives: passages with their place, within a reader's budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from difflib import get_close_matches
from numbers import Integral, Real

import numpy as np

from deepnb.search.keys import values_at
from deepnb.search.passages import Span
from deepnb.search.reading import Reader
from deepnb.search.scoring import Leg
from deepnb.values.errors import InvalidError

LEGS = ("exact", "words", "grams", "vector")
DAY = "day"
"""The leg of a query that is nothing but days."""
LEAST = 60
"""Characters: a budget with less than these left is used up."""
PASSED = 12
"""How many hits that are too long for the rest of a budget are passed over in search of one that is not."""


@dataclass(frozen=True)
class Hit:
    """A passage that was found: whole lines `start` to `end` (from 1), or a part of one line that is very long.

    `score` falls from hit to hit and means nothing by itself. `leg` names the legs that found its best line: exact (an
    identifier), words, grams (words that look alike), vector; "day" is that of a query which only names days. `heading`
    has the headings above it, outermost first.
    """

    path: str
    start: int
    end: int
    text: str
    score: float
    leg: str
    heading: str = ""


def hit(reader: Reader, span: Span, legs: Mapping[str, Leg], passage: int) -> Hit:
    first, last = span.rows[0], span.rows[-1]
    text = reader.text(first, last)[:passage]
    of_best = {name: values_at(np.array([span.best]), leg.keys, leg.scores)[0] for name, leg in legs.items()}
    return Hit(
        path=reader.paths[first.key >> 43],
        start=first.line,
        end=first.line + text.count("\n"),
        text=text,
        score=span.score,
        leg="+".join(name for name in (*LEGS, DAY) if of_best.get(name, 0) > 0) or "words",
        heading=reader.heading(first.key),
    )


class Room:
    """How many characters the next hit may have: those of a passage, and no more than are left of a budget.

    The last passage is cut to what is left, so that the budget is filled.
    """

    def __init__(self, passage: int, budget: float) -> None:
        self.passage, self.left = passage, budget

    def below(self, heading: str) -> int:
        """Return the characters of a passage below this heading."""
        return max(int(min(self.passage, self.left)) - len(heading) - 1, 1)


def filled(found: Iterable[Hit], room: Room, k: int | None) -> Iterator[Hit]:
    """Yield the first `k` hits, or as many as there is room for; one that is too long for what is left is passed over."""
    taken = passed = 0
    for hit in found if k != 0 else ():
        if (size := len(hit.text) + len(hit.heading) + 1) <= room.left:
            room.left -= size
            taken += 1
            yield hit
        else:
            passed += 1
        if taken == k or passed == PASSED or room.left < LEAST:
            return


# -- What is asked of an index: a query and how it is to be answered, checked once

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
    """Errors: `InvalidError` for a leg or a fusion that is unknown, for an option of another type, and for weights that
    would count for nothing.
    """

    query: str
    k: int | None = None
    legs: Sequence[str] = LEGS
    fusion: str = "rank"
    vector_weight: float | None = None
    text_weight: float | None = None
    today: date | None = None
    within: Callable[[str], bool] | None = None
    passage: int | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name, (kind, example) in _KINDS.items():
            value = getattr(self, name)
            if not (isinstance(value, kind) or (value is None and name not in _REQUIRED)):
                raise InvalidError(f"{name} can't be {value!r}", f"give {example}")
            if isinstance(value, Real) and value < 0 and name != "k":
                raise InvalidError(f"{name} can't be negative: {value!r}", f"give {example}")
        if isinstance(self.legs, str):
            raise InvalidError(f"legs can't be {self.legs!r}", f'give a list, such as legs=["{LEGS[0]}"]')
        if self.within is not None and not callable(self.within):
            raise InvalidError(f"within can't be {self.within!r}", "give a function of a path, which returns a bool")
        for leg in self.legs:
            _known("leg", leg, LEGS)
        _known("fusion", self.fusion, FUSIONS)
        if self.fusion != "weight" and (self.vector_weight, self.text_weight) != (None, None):
            raise InvalidError("vector_weight and text_weight count with fusion='weight' only", "add fusion='weight'")

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of the vector and of the text."""
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


_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "query": (str, "a str"),
    "k": (Integral, "a number of hits, such as k=6"),
    "legs": (Sequence, f'a list, such as legs=["{LEGS[0]}"]'),
    "vector_weight": (Real, "a number, such as vector_weight=0.7"),
    "text_weight": (Real, "a number, such as text_weight=0.3"),
    "today": (date, "a datetime.date"),
    "passage": (Integral, "a number of characters, such as passage=1600"),
    "tokens": (Integral, "a number of tokens, such as tokens=2000"),
}
"""What an option is, and what to write; all but `query` and `legs` may be None."""
_REQUIRED = ("query", "legs")


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
