"""Words that look alike: the vocabulary of the index by its character n-grams, three to five of them.

A word is compared by the cosine of its n-grams, weighted by how rare they are in the vocabulary, its edges
being letters, too ("photo" is close to "photograph", and to "fotos" a little). The vocabulary is some
10,000 words where the texts are millions, so this is quick and small enough to be kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIZES = (3, 4, 5)
LONGEST = 40
"""Words over this many characters are not compared."""


class Vocabulary:
    """Words that are only ever added to; a few new ones do not cost the work for the old."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._parts: list[_Part] = []

    def extend(self, words: Sequence[str]) -> None:
        """Add words, each of 1 to LONGEST characters."""
        if not words:
            return
        old = self._parts[0].size if self._parts else 0
        self.words += words
        if len(self.words) - old > max(1000, old // 5):
            self._parts = [_Part(self.words, 0, None)]
        else:
            base = self._parts[0] if self._parts else None
            self._parts = [*self._parts[:1], _Part(self.words[old:], old, base)]

    def similar(self, word: str, floor: float, most: int) -> list[tuple[str, float]]:
        """The words closest to this one with their cosines of at least `floor`, best first; itself is 1."""
        hashes = np.unique(_grams([word])[0])
        found: list[tuple[str, float]] = []
        for part in self._parts:
            where, cosines = part.cosines(hashes, floor)
            found += [(self.words[part.first + i], float(c)) for i, c in zip(where, cosines, strict=True)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]


class _Part:
    """The n-grams of some words, sorted, each with the words it is in."""

    def __init__(self, words: Sequence[str], first: int, base: _Part | None) -> None:
        self.first, self.size = first, len(words)
        hashes, where = _grams(words)
        order = np.lexsort((where, hashes))
        hashes, where = hashes[order], where[order]
        new = np.ones(len(hashes), bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (where[1:] != where[:-1])
        hashes, where = hashes[new], where[new]
        self.grams, self.starts, counts = np.unique(hashes, return_index=True, return_counts=True)
        self.ends = self.starts + counts
        self.where = where
        self.rare = np.log1p(self.size / counts) if base is None else base.rarity(self.grams)
        self.most: float = float(np.log1p(self.size)) if base is None else base.most
        weights = np.repeat(self.rare**2, counts)
        self.norms = np.sqrt(np.maximum(np.bincount(where, weights=weights, minlength=self.size), 1e-9))

    def rarity(self, grams: NDArray[np.uint64]) -> NDArray[np.float64]:
        at = np.minimum(np.searchsorted(self.grams, grams), len(self.grams) - 1)
        return np.where(self.grams[at] == grams, self.rare[at], self.most)

    def cosines(self, hashes: NDArray[np.uint64], floor: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        rare = self.rarity(hashes)
        at = np.minimum(np.searchsorted(self.grams, hashes), len(self.grams) - 1)
        known = at[self.grams[at] == hashes]
        if not len(known):
            return np.empty(0, np.intp), np.empty(0)
        where = np.concatenate([self.where[self.starts[i] : self.ends[i]] for i in known])
        weights = np.repeat(self.rare[known] ** 2, self.ends[known] - self.starts[known])
        dots = np.bincount(where, weights=weights, minlength=self.size)
        cosines = dots / (self.norms * np.sqrt((rare**2).sum()))
        best = np.flatnonzero(cosines >= floor)
        return best, np.minimum(cosines[best], 1.0)


def _grams(words: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The hash of each n-gram of each word between two spaces, and the word it is of."""
    codes = np.frombuffer("".join(f" {word} " for word in words).encode("utf-32-le"), np.uint32).astype(np.uint64)
    sizes = np.array([len(word) + 2 for word in words])
    ends = np.repeat(np.cumsum(sizes), sizes)
    where = np.repeat(np.arange(len(words)), sizes)
    at = np.arange(len(codes))
    hashes, owners = [], []
    for n in SIZES:
        fits = at[at + n <= ends]
        value = np.full(len(fits), n, np.uint64)
        for i in range(n):
            value = (value ^ codes[fits + i]) * np.uint64(0x100000001B3)
            value ^= value >> np.uint64(29)
        hashes.append(value)
        owners.append(where[fits])
    return np.concatenate(hashes), np.concatenate(owners)
