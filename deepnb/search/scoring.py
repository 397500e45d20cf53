"""What a leg thinks of each unit: idf-weighted words, a little of its neighbours, and of the chunks it is in.

A unit is scored by BM25 (Robertson and Zaragoza, 2009) with a term counted once, which in one line is the
rule. An answer often shares its words with the question before it, so a unit gets a part of its
neighbours' scores. The coarse score is the same over pairs of chunks, where the words of a passage add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnb.search.keys import HEAD, Keys, Scores, among, chunks_of, lengths_of

K1, B = 1.2, 0.4
BEFORE, AFTER = 0.3, 0.15
"""How much of the score of the unit before, and of that after, a unit gets."""
HEADING = 0.5
"""A word in a heading, as a part of one in the text below it."""
DEEP = 500
"""Units that a leg brings along at most, its best ones."""
ENOUGH, FEW = 2000, 100
"""Units with the rarer words of a query that are scored, where these are not too few: common words then only add
to their scores. In a small index, every unit with a word of the query is scored."""


NONE: Keys = np.empty(0, np.int64)
Places = np.ndarray[tuple[int], np.dtype[np.intp]]


@dataclass(frozen=True)
class Postings:
    """Where a word is: unit keys in order, and after them the headings'."""

    keys: Keys

    @cached_property
    def units(self) -> Keys:
        return self.keys[: int(np.searchsorted(self.keys, HEAD))]

    @cached_property
    def chunks(self) -> Keys:
        """The chunk of each unit, in order: a chunk stands here as often as it has units with the word."""
        return chunks_of(self.units)

    @cached_property
    def heads(self) -> Keys:
        """The chunks with the word in their heading, in order."""
        return self.keys[len(self.units) :] - HEAD

    @cached_property
    def chunk_count(self) -> int:
        return _different(self.chunks)

    @cached_property
    def file_count(self) -> int:
        return _different(self.units >> 43)


@dataclass(frozen=True)
class Concept:
    """A word of the query as sets of postings, each with how surely they are of that word (0 to 1), surest first."""

    sets: tuple[tuple[Postings, float], ...]

    def count(self, most: int) -> int:
        return min(sum(len(postings.units) for postings, _ in self.sets), most)

    def chunk_count(self, most: int) -> int:
        return min(sum(postings.chunk_count for postings, _ in self.sets), most)


@dataclass(frozen=True)
class Scored:
    """Units in the order of their keys, with the fine and the coarse score of a leg; none is negative."""

    keys: Keys
    fine: Scores
    coarse: Scores


@dataclass(frozen=True)
class Size:
    """How much there is in the index."""

    units: int
    chunks: int


def scored(concepts: Sequence[Concept], size: Size, documents: Keys = NONE) -> Scored:
    """The units that have one of the rarer concepts in them; all that have any, where that is few enough.

    The coarse score of the files that are `documents` is left at 0.
    """
    keys = _candidates(concepts, size)
    if not len(keys):
        return Scored(keys, np.empty(0), np.empty(0))
    fine = np.zeros(len(keys))
    for concept in concepts:
        strength = np.zeros(len(keys))
        for postings, sure in reversed(concept.sets):
            strength[_has(postings.units, keys)] = sure
        fine += strength * idf(concept.count(size.units), size.units)
    lengths = lengths_of(keys)
    fine *= (K1 + 1) / (1 + K1 * (1 - B + B * lengths / lengths.mean()))
    fine = _with_neighbours(keys, fine)
    best = np.sort(np.argpartition(-fine, DEEP)[:DEEP]) if len(keys) > DEEP else np.arange(len(keys))
    keys, fine = keys[best], fine[best]
    coarse, others = np.zeros(len(keys)), ~among(keys >> 43, documents)
    if others.any():
        coarse[others] = _coarse(concepts, keys[others], size)
    return Scored(keys, fine, coarse)


def idf(found: int, of: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): never negative, as in Lucene."""
    return float(np.log1p((max(of, found) - found + 0.5) / (found + 0.5)))


def _different(keys: Keys) -> int:
    """How many there are of keys in order."""
    return int(np.count_nonzero(np.diff(keys))) + 1 if len(keys) else 0


def unique(keys: Keys) -> Keys:
    """In order, each once; numpy's own hashes first and takes several times as long."""
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def _candidates(concepts: Sequence[Concept], size: Size) -> Keys:
    taken: list[Keys] = []
    count = 0
    for concept in sorted(concepts, key=lambda concept: concept.count(size.units)):
        count += concept.count(size.units)
        if count > ENOUGH and sum(map(len, taken)) > FEW:
            break
        taken += [postings.units for postings, _ in concept.sets]
    return unique(np.concatenate(taken)) if taken else np.empty(0, np.int64)


def _with_neighbours(keys: Keys, scores: Scores) -> Scores:
    beside = np.diff(keys >> 23) == 1
    out = scores.copy()
    out[1:] += BEFORE * scores[:-1] * beside
    out[:-1] += AFTER * scores[1:] * beside
    return out


def _coarse(concepts: Sequence[Concept], keys: Keys, size: Size) -> Scores:
    """For each unit the better of the two pairs of chunks that its own is in."""
    mine = chunks_of(keys)
    pairs = unique(np.concatenate([mine, mine - 1]))
    total = np.zeros(len(pairs))
    for concept in concepts:
        counts = np.zeros(len(pairs))
        for postings, sure in concept.sets:
            counts += sure * how_often(postings.chunks, pairs)
            if len(postings.heads):
                counts += HEADING * sure * how_often(postings.heads, pairs)
        total += idf(concept.chunk_count(size.chunks), size.chunks) * counts * (K1 + 1) / (counts + K1)
    return np.maximum(total[np.searchsorted(pairs, mine)], total[np.searchsorted(pairs, mine - 1)])


def how_often(chunks: Keys, pairs: Keys) -> Scores:
    """How often the first or the second chunk of each pair stands in `chunks`; the shorter is looked up in the longer."""
    if not len(chunks):
        return np.zeros(len(pairs))
    if len(chunks) < len(pairs):
        both = np.concatenate([chunks, chunks - 1])
        at = np.minimum(np.searchsorted(pairs, both), len(pairs) - 1)
        return np.bincount(at[pairs[at] == both], minlength=len(pairs)).astype(np.float64)
    low = np.searchsorted(chunks, pairs, side="left")
    return (np.searchsorted(chunks, pairs + 1, side="right") - low).astype(np.float64)


def _has(some: Keys, keys: Keys) -> Places:
    """The places in `keys` of those that are in `some`, too; both are in order, and each key stands there once."""
    if not len(some):
        return np.empty(0, np.intp)
    if len(some) < len(keys):
        at = np.minimum(np.searchsorted(keys, some), len(keys) - 1)
        return np.asarray(at[keys[at] == some])
    at = np.minimum(np.searchsorted(some, keys), len(some) - 1)
    return np.flatnonzero(some[at] == keys)
