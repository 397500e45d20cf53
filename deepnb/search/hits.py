"""What a search gives: passages with their place, and what a reader's budget and a day's age do to them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import numpy as np

from deepnb.search.fusion import Leg
from deepnb.search.passages import Span
from deepnb.search.reading import Reader

LEGS = ("exact", "words", "grams", "vector")
LEAST = 60
"""Characters: a budget with less than these left is used up."""
PASSED = 12
"""How many hits that are too long for the rest of a budget are passed over in search of one that is not."""
_DAY = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")


@dataclass(frozen=True)
class Hit:
    """A passage that was found: whole lines `start` to `end` (from 1), or a part of one line that is very long.

    `score` falls from hit to hit and means nothing by itself. `leg` names the legs that found its best line:
    exact (an identifier), words, grams (words that look alike), vector. `heading` has the headings above it,
    outermost first.
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
    by = [name for name in LEGS if name in legs and _has(legs[name], span.best)]
    return Hit(
        path=reader.paths[first.key >> 43],
        start=first.line,
        end=first.line + text.count("\n"),
        text=text,
        score=span.score,
        leg="+".join(by) or "words",
        heading=reader.heading(first.key),
    )


def _has(leg: Leg, key: int) -> bool:
    at = int(np.searchsorted(leg.keys, key))
    return at < len(leg.keys) and int(leg.keys[at]) == key and float(leg.scores[at]) > 0


def fading(half_life: float, today: date | None) -> Callable[[str], float]:
    """1 for a path without a date or of today, 0.75 after one half-life, 0.5 for what is very old."""
    now = today or date.today()

    def of(path: str) -> float:
        found = _DAY.search(path)
        with suppress(ValueError):
            if found:
                age = max((now - date(*map(int, found.groups()))).days, 0)
                return float(0.5 + 0.5 ** (1 + age / half_life))
        return 1.0

    return of


class Room:
    """How many characters the next hit may have: those of a passage, and no more than are left of a budget.

    The last passage is cut to what is left, so that the budget is filled.
    """

    def __init__(self, passage: int, budget: float) -> None:
        self.passage, self._left = passage, budget

    def below(self, heading: str) -> int:
        """The characters of a passage below this heading."""
        return max(int(min(self.passage, self._left)) - len(heading) - 1, 1)

    def take(self, hit: Hit) -> bool:
        """Whether there is room for a hit; it is taken up."""
        size = len(hit.text) + len(hit.heading) + 1
        if size > self._left:
            return False
        self._left -= size
        return True

    @property
    def full(self) -> bool:
        return self._left < LEAST


def filled(found: Iterable[Hit], room: Room, k: int | None) -> Iterator[Hit]:
    """The first `k` hits, or as many as there is room for; one that is too long for what is left is passed over."""
    taken = passed = 0
    for hit in found if k != 0 else ():
        if room.take(hit):
            taken += 1
            yield hit
        else:
            passed += 1
        if taken == k or passed == PASSED or room.full:
            return
