"""From scores to passages: documents by BM25 at three scales, and the units that are put together round the best ones.

In talks and notes each line is a thing by itself, and a score over a window harms: it joins lines that only happen to be
neighbours. Prose is about one thing for a page: a file tells what it is about, a window where, and a unit which of its
passages answers. At each scale it counts how often a word stands there, and how long the text is. Words that look like
one of the query count a little: `LIKE` of one that is there.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from deepnb.search.keys import Keys, Scores, among, ordinal_range, unique, values_at
from deepnb.search.scoring import ENOUGH, Concept, Postings, how_often, idf

K1, B = 1.5, 0.8
"""Higher than for lines: how often a word stands in a page, and how long that is, says more."""
BEST = 60
"""Windows that count, the best ones."""
UNIT = 0.3
"""What the score of a unit counts beside that of its window and its file."""
SCALES = 2 + UNIT
"""What a document gains by a word that stands in it once, beside a line of notes that gains 1."""
LIKE, SURE = 0.3, 0.4
"""What a word that looks like one of the query counts, times how much it does, and from where on."""
AGAIN = 0.5
"""What a word counts for each time that the query has it again."""


@dataclass(frozen=True)
class Chunks:
    """The chunks of documents, in order, with their characters."""

    keys: Keys
    lengths: Scores

    def instead(self, file: int, others: Chunks) -> Chunks:
        """Return these chunks, with `others` in place of those of the file."""
        low, high = np.searchsorted(self.keys, [file << 18, file + 1 << 18])
        keys = np.concatenate([self.keys[:low], others.keys, self.keys[high:]])
        return Chunks(keys, np.concatenate([self.lengths[:low], others.lengths, self.lengths[high:]]))

    def of(self, pairs: Keys) -> Scores:
        """Return the characters of pairs, each named by its first chunk."""
        return values_at(pairs, self.keys, self.lengths) + values_at(pairs + 1, self.keys, self.lengths)

    @cached_property
    def usual(self) -> float:
        """The mean length of the longer of the two windows that each chunk is in."""
        beside = (np.diff(self.keys) == 1) * self.lengths[1:], (np.diff(self.keys) == 1) * self.lengths[:-1]
        return float((self.lengths + np.maximum(np.append(beside[0], 0), np.insert(beside[1], 0, 0))).mean())

    @cached_property
    def files(self) -> Keys:
        return unique(self.keys >> 18)

    @cached_property
    def file_lengths(self) -> Scores:
        return np.asarray(np.bincount(np.searchsorted(self.files, self.keys >> 18), self.lengths), np.float64)


@dataclass(frozen=True)
class _Scale:
    """The texts that are scored: how long each is beside the usual one, and where the words are counted."""

    lengths: Scores
    texts: int
    count: Callable[[Postings], Scores]
    texts_with: Callable[[Postings], int]

    def scores(self, words: Sequence[Concept], counts: Sequence[int]) -> Scores:
        norm = K1 * (1 - B + B * self.lengths)
        total = np.zeros(len(self.lengths))
        for word, asked in zip(words, counts, strict=True):
            (own, _), *alike = word.sets
            there = self.count(own)
            for postings, sure in alike:
                if sure >= SURE:
                    there = there + LIKE * sure * self.count(postings)
            found = next(filter(None, (self.texts_with(postings) for postings, _ in word.sets)), 0)
            weight = idf(min(found, self.texts), self.texts) * (1 + AGAIN * (asked - 1))
            total += weight * there * (K1 + 1) / (there + norm)
        return total


def windows(words: Sequence[Concept], counts: Sequence[int], chunks: Chunks) -> tuple[Keys, Scores]:
    """Return the chunks in the best windows, in order, each with the score of the better one and of its file.

    counts: how often each of the words is asked.
    """
    pairs = _candidates([word.sets[0][0] for word in words], chunks)
    if not len(pairs):
        return pairs, np.empty(0)
    file_of = pairs + 1 >> 18  # by the second chunk: what stands before a file's first one is of no file
    files = unique(file_of)
    lengths = chunks.file_lengths[np.searchsorted(chunks.files, files)] / chunks.file_lengths.mean()
    near = _Scale(
        chunks.of(pairs) / chunks.usual,
        len(chunks.keys),
        lambda of: how_often(of.chunks, pairs) + how_often(of.heads, pairs),
        attrgetter("chunk_count"),
    )
    whole = _Scale(lengths, len(chunks.files), partial(_counts_in, files), attrgetter("file_count"))
    total = near.scores(words, counts) + values_at(file_of, files, whole.scores(words, counts))
    best = np.sort(np.lexsort((pairs, -total))[:BEST])
    both = unique(pairs[best], pairs[best] + 1)
    keys = both[among(both, chunks.keys)]
    return keys, np.maximum(*(values_at(windows, pairs[best], total[best]) for windows in (keys, keys - 1)))


def _counts_in(files: Keys, postings: Postings) -> Scores:
    """Return the units of each file, and one more where the word is in a heading."""
    units = np.searchsorted(postings.units, files + 1 << 43) - np.searchsorted(postings.units, files << 43)
    if not len(postings.heads):
        return units.astype(np.float64)
    heads = np.searchsorted(postings.heads, files + 1 << 18) > np.searchsorted(postings.heads, files << 18)
    return (units + heads).astype(np.float64)


def _candidates(words: Sequence[Postings], chunks: Chunks) -> Keys:
    """Return the pairs with the rarer words in them, as long as these are not too many."""
    taken: list[Keys] = []
    for postings in sorted(words, key=attrgetter("chunk_count")):
        if taken and sum(map(len, taken)) + postings.chunk_count > ENOUGH:
            break
        mine = unique(postings.chunks)
        taken.append(mine[among(mine, chunks.keys)])
    return unique(*taken, *(chunks - 1 for chunks in taken))


# -- Passages put together from units: round each of the best ones, as much of its section as fits and fits best

AROUND = 25
"""Units to each side that are looked at; a passage of shorter lines ends there."""
NEAR, REACH = 0.5, 400.0
"""What nearness is worth beside a score of 1, and the characters in which it falls to a third."""
PASSAGES_AGAIN = 0.8
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
    """Yield spans that share no unit, by the score of their best one, which is less for each earlier span of a document.

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
            heapq.heappush(queue, (-score_of[key] * PASSAGES_AGAIN ** taken[file], key, taken[file]))
            continue
        taken[file] += 1
        rows = _section(near(*ordinal_range(key, AROUND)), key, used)
        span = _window(rows, key, score_of, room(key))
        used.update(row.key for row in span)
        yield Span(span, key, -below)


def _section(rows: list[Row], key: int, used: set[int]) -> list[Row]:
    """Return the rows side by side with that of `key`, up to the section's ends and to what is taken."""
    at = next(i for i, row in enumerate(rows) if row.key == key)
    low = high = at
    while low and _follows(rows[low - 1], rows[low]) and rows[low - 1].key not in used:
        low -= 1
    while high + 1 < len(rows) and _follows(rows[high], rows[high + 1]) and rows[high + 1].key not in used:
        high += 1
    return rows[low : high + 1]


def _follows(one: Row, two: Row) -> bool:
    return (two.key >> 23) - (one.key >> 23) == 1


def _window(rows: list[Row], key: int, score_of: dict[int, float], room: int) -> tuple[Row, ...]:
    """Return the window that is worth most, of all that have `key` in them and fit the room. Among equals one that
    fills the room, or nearly, and has the best unit nearest to its middle."""
    at = next(i for i, row in enumerate(rows) if row.key == key)
    begins, ends = np.array([row.a for row in rows]), np.array([row.b for row in rows])
    away = np.abs(begins + ends - (begins[at] + ends[at])) / 2
    # What stands beside a line that fits is likely to belong to it, whatever its words are; and many units that hardly
    # fit, such as all those with a speaker's name, must not pull a passage away from there: scores are squared.
    scores = np.array([score_of.get(row.key, 0.0) for row in rows]) / score_of[key]
    sums = np.concatenate([[0.0], np.cumsum(scores**2 + NEAR * np.exp(-away / REACH))])
    best: tuple[tuple[float, float, float], int, int] | None = None
    end = at + 1
    for low in range(at + 1):
        while end < len(rows) and rows[end].b - rows[low].a <= room:
            end += 1
        if (size := rows[end - 1].b - rows[low].a) > room and low < at:
            continue
        off = abs((rows[low].a + rows[end - 1].b) / 2 - (rows[at].a + rows[at].b) / 2)
        value = (round(float(sums[end] - sums[low]), 9), float(min(size, int(room * 0.8))), -off)
        if best is None or value > best[0]:
            best = (value, low, end)
    assert best is not None
    return tuple(rows[best[1] : best[2]])
