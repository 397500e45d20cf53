"""Documents by BM25 at three scales: a window of two neighbouring chunks, the file it is in, and the unit itself.

In talks and notes each line is a thing by itself, and a score over a window harms: it joins lines that only happen to be
neighbours. Prose is about one thing for a page: a file tells what it is about, a window where, and a unit which of its
passages answers. At each scale it counts how often a word stands there, and how long the text is. Words that look like
one of the query count a little: `LIKE` of one that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnb.search.keys import Keys, Scores, among, values_at
from deepnb.search.scoring import ENOUGH, Concept, Postings, how_often, idf, unique

K1, B = 1.5, 0.8
"""Higher than for lines: how often a word stands in a page, and how long that is, says more."""
BEST = 60
"""Windows that count, the best ones."""
UNIT = 0.3
"""What the score of a unit counts beside that of its window and its file."""
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
        """These chunks, with `others` in place of those of the file."""
        low, high = np.searchsorted(self.keys, [file << 18, file + 1 << 18])
        keys, lengths = (
            np.concatenate([old[:low], new, old[high:]])
            for old, new in ((self.keys, others.keys), (self.lengths, others.lengths))
        )
        return Chunks(keys, lengths)

    def of(self, pairs: Keys) -> Scores:
        """The characters of pairs, each named by its first chunk."""
        return self._length(pairs) + self._length(pairs + 1)

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

    def _length(self, keys: Keys) -> Scores:
        return values_at(keys, self.keys, self.lengths)


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
    """The chunks in the best windows, in order, each with the score of the better one and of its file.

    counts: how often each of the words is asked.
    """
    pairs = _candidates([word.sets[0][0] for word in words], chunks)
    if not len(pairs):
        return pairs, np.empty(0)
    file_of = pairs + 1 >> 18  # by the second chunk: what stands before a file's first one is of no file
    files = unique(file_of)
    lengths = chunks.file_lengths[np.searchsorted(chunks.files, files)] / chunks.file_lengths.mean()
    near = _Scale(
        chunks.of(pairs) / chunks.usual, len(chunks.keys), lambda of: _counts(of, pairs), lambda of: of.chunk_count
    )
    whole = _Scale(lengths, len(chunks.files), lambda of: _counts_in(of, files), lambda of: of.file_count)
    total = near.scores(words, counts) + values_at(file_of, files, whole.scores(words, counts))
    best = np.sort(np.lexsort((pairs, -total))[:BEST])
    both = np.concatenate([pairs[best], pairs[best] + 1])
    keys = unique(both[among(both, chunks.keys)])
    return keys, np.maximum(*(values_at(windows, pairs[best], total[best]) for windows in (keys, keys - 1)))


def _counts(postings: Postings, pairs: Keys) -> Scores:
    counts = how_often(postings.chunks, pairs)
    return counts + how_often(postings.heads, pairs) if len(postings.heads) else counts


def _counts_in(postings: Postings, files: Keys) -> Scores:
    """The units of each file, and one more where the word is in a heading."""
    units = np.searchsorted(postings.units, files + 1 << 43) - np.searchsorted(postings.units, files << 43)
    if not len(postings.heads):
        return units.astype(np.float64)
    heads = np.searchsorted(postings.heads, files + 1 << 18) > np.searchsorted(postings.heads, files << 18)
    return (units + heads).astype(np.float64)


def _candidates(words: Sequence[Postings], chunks: Chunks) -> Keys:
    """The pairs with the rarer words in them, as long as these are not too many."""
    taken: list[Keys] = []
    for postings in sorted(words, key=lambda one: one.chunk_count):
        if taken and sum(map(len, taken)) + postings.chunk_count > ENOUGH:
            break
        mine = unique(postings.chunks)
        taken.append(mine[among(mine, chunks.keys)])
    every = unique(np.concatenate(taken)) if taken else np.empty(0, np.int64)
    return unique(np.concatenate([every, every - 1]))
