"""Passages put together from units: round each of the best ones, as much of its section as fits and fits best."""

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnb.search.keys import Keys, Scores, ordinal_range

AROUND = 25
"""Units to each side that are looked at; a passage of shorter lines ends there."""
NEAR, REACH = 0.5, 400.0
"""What nearness is worth beside a score of 1, and the characters in which it falls to a third."""
AGAIN = 0.8
"""What each further passage of a document counts, so that a budget gathers from several. In talks and notes what one day
says is worth the room of another day's, and this harms (evidence within 2,000 tokens: .60, with it .56)."""


class Row(NamedTuple):
    """A unit as the index keeps it."""

    key: int
    line: int
    a: int
    b: int


@dataclass(frozen=True)
class Span:
    """Neighbouring units of one section, the best of them and its score."""

    rows: tuple[Row, ...]
    best: int
    score: float


def passages(
    keys: Keys,
    scores: Scores,
    near: Callable[[int, int], list[Row]],
    room: Callable[[int], int],
    documents: Container[int] = (),
) -> Iterator[Span]:
    """Spans that share no unit, by the score of their best one, which is less for each earlier span of a document.

    `near(low, high)` gives the units with keys from low to high; `room(key)` the characters that a
    passage round this unit may have, as it is asked; `documents` are numbers of files.
    """
    score_of = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    used: set[int] = set()
    taken: Counter[int] = Counter()
    queue = [(-score, key, 0) for key, score in score_of.items()]
    heapq.heapify(queue)
    while queue:
        below, key, known = heapq.heappop(queue)
        if key in used:
            continue
        file = key >> 43
        if taken[file] > known and file in documents:
            heapq.heappush(queue, (-score_of[key] * AGAIN ** taken[file], key, taken[file]))
            continue
        taken[file] += 1
        rows = _section(near(*ordinal_range(key, AROUND)), key, used)
        span = _window(rows, key, score_of, room(key))
        used.update(row.key for row in span)
        yield Span(span, key, -below)


def _section(rows: list[Row], key: int, used: set[int]) -> list[Row]:
    """The rows side by side with that of `key`, up to the section's ends and to what is taken."""
    at = next(i for i, row in enumerate(rows) if row.key == key)
    low = high = at
    while low and _beside(rows[low - 1], rows[low]) and rows[low - 1].key not in used:
        low -= 1
    while high + 1 < len(rows) and _beside(rows[high], rows[high + 1]) and rows[high + 1].key not in used:
        high += 1
    return rows[low : high + 1]


def _beside(one: Row, two: Row) -> bool:
    return (two.key >> 23) - (one.key >> 23) == 1


def _window(rows: list[Row], key: int, score_of: dict[int, float], room: int) -> tuple[Row, ...]:
    """The window that is worth most, of all that have `key` in them and fit the room.

    Among equals one that fills the room, or nearly, and has the best unit nearest to its middle.
    """
    at = next(i for i, row in enumerate(rows) if row.key == key)
    sums = np.concatenate([[0.0], np.cumsum(_worth(rows, at, score_of))])
    best: tuple[tuple[float, float, float], int, int] | None = None
    end = at + 1
    for low in range(at + 1):
        while end < len(rows) and rows[end].b - rows[low].a <= room:
            end += 1
        size = rows[end - 1].b - rows[low].a
        if size > room and low < at:
            continue
        off = abs((rows[low].a + rows[end - 1].b) / 2 - (rows[at].a + rows[at].b) / 2)
        value = (round(float(sums[end] - sums[low]), 9), float(min(size, int(room * 0.8))), -off)
        if best is None or value > best[0]:
            best = (value, low, end)
    assert best is not None
    return tuple(rows[best[1] : best[2]])


def _worth(rows: list[Row], at: int, score_of: dict[int, float]) -> Scores:
    """What each unit adds to a passage round the one at `at`: its score beside that one's, squared, and its nearness.

    What stands beside a line that fits is likely to belong to it, whatever its words are; and many units that
    hardly fit, such as all those with a speaker's name, must not pull a passage away from there.
    """
    begins, ends = np.array([row.a for row in rows]), np.array([row.b for row in rows])
    away = np.abs(begins + ends - (begins[at] + ends[at])) / 2
    scores = np.array([score_of.get(row.key, 0.0) for row in rows]) / score_of[rows[at].key]
    return np.asarray(scores**2 + NEAR * np.exp(-away / REACH), np.float64)
