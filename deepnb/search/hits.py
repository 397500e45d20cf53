"""What a search gives: passages with their place, and what a reader's budget and a day's age do to them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

import numpy as np

from deepnb.search.fusion import Leg
from deepnb.search.passages import Span
from deepnb.search.reading import Reader

LEGS = ("exact", "words", "grams", "vector")
_DAY = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")


@dataclass(frozen=True)
class Hit:
    """A passage that was found: whole lines `start` to `end` (from 1), or a part of one line that is very long.

    `score` falls from hit to hit and means nothing by itself. `leg` names the legs that found its best line:
    exact (an identifier), words, grams (words that look alike), vector. `heading` is what it stands below,
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
    by = [name for name in LEGS if name in legs and _has(legs[name], span.best)]
    return Hit(
        path=reader.paths[first.key >> 43],
        start=first.line,
        end=last.line,
        text=reader.text(first, last)[:passage],
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


def affordable(hits: Sequence[Hit], characters: int) -> Iterator[Hit]:
    for hit in hits:
        characters -= len(hit.text) + len(hit.heading) + 1
        if characters < 0:
            return
        yield hit
