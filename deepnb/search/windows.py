"""Documents by BM25 over windows: how often words are in two neighbouring chunks, and how long these are.

In talks and notes each line is a thing by itself, and a score over a window harms: it joins lines that only happen to be
neighbours. Prose is about one thing for a page, and a window finds what a long question is about. Words that look like one
of the query count a little: `LIKE` of one that is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnb.search.keys import Keys, Scores, among
from deepnb.search.scoring import ENOUGH, K1, Concept, Postings, how_often, idf, unique

B = 0.75
BEST = 60
"""Windows that count, the best ones."""
LIKE, SURE = 0.3, 0.4
"""What a word that looks like one of the query counts, times how much it does, and from where on."""


@dataclass(frozen=True)
class Chunks:
    """The chunks of documents, in order, with their characters."""

    keys: Keys
    lengths: Scores

    def of(self, pairs: Keys) -> Scores:
        """The characters of pairs, each named by its first chunk."""
        return self._length(pairs) + self._length(pairs + 1)

    @cached_property
    def usual(self) -> float:
        """The mean length of the longer of the two windows that each chunk is in."""
        return float(np.maximum(self.of(self.keys), self.of(self.keys - 1)).mean())

    def _length(self, keys: Keys) -> Scores:
        return _at(keys, self.keys, self.lengths)


def windows(words: Sequence[Concept], chunks: Chunks) -> tuple[Keys, Scores]:
    """The chunks in the best windows, in order, each with the score of the better one."""
    pairs = _candidates([word.sets[0][0] for word in words], chunks)
    if not len(pairs):
        return pairs, np.empty(0)
    norm = K1 * (1 - B + B * chunks.of(pairs) / chunks.usual)
    total = np.zeros(len(pairs))
    for word in words:
        (own, _), *alike = word.sets
        counts = _counts(own, pairs)
        for postings, sure in alike:
            if sure >= SURE:
                counts += LIKE * sure * _counts(postings, pairs)
        found = next((postings.chunk_count for postings, _ in word.sets if postings.chunk_count), 0)
        total += idf(min(found, len(chunks.keys)), len(chunks.keys)) * counts * (K1 + 1) / (counts + norm)
    best = np.sort(np.lexsort((pairs, -total))[:BEST])
    both = np.concatenate([pairs[best], pairs[best] + 1])
    keys = unique(both[among(both, chunks.keys)])
    return keys, np.maximum(*(_at(windows, pairs[best], total[best]) for windows in (keys, keys - 1)))


def _at(keys: Keys, some: Keys, values: Scores) -> Scores:
    """The value of each key, 0 for those that are not in `some`, which is in order."""
    at = np.minimum(np.searchsorted(some, keys), len(some) - 1)
    return np.where(some[at] == keys, values[at], 0.0)


def _counts(postings: Postings, pairs: Keys) -> Scores:
    counts = how_often(postings.chunks, pairs)
    return counts + how_often(postings.heads, pairs) if len(postings.heads) else counts


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
