"""Postings in memory: read once, and after a write again only of the files that it touched."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepnb.search.database import Database
from deepnb.search.keys import HEAD, Keys, among, chunk_range, file_range
from deepnb.search.scoring import Postings

MOST = 8_000_000
"""Postings kept at most, of eight bytes."""
FEW = 20
"""Files that are read again one by one; where more have changed, everything is forgotten."""


class KeptPostings:
    """The units and headings with a word, as they are at the generation of the index that was last told."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._generation = -1
        self._touched: list[tuple[int, frozenset[int]]] = []
        """The files that each generation changed, oldest first."""
        self._kept: dict[tuple[str, ...], tuple[int, Postings]] = {}
        """With the generation each was read at."""
        self._size = 0

    def touch(self, generation: int, files: frozenset[int]) -> None:
        """Say that the index is at this generation, and which files have changed or gone since the last."""
        self._generation = generation
        if files:
            self._touched.append((generation, files))
        if sum(len(some) for _, some in self._touched) > FEW:
            self._forget()

    def of(self, *words: str) -> Postings:
        """Units and headings with one of the words."""
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        if words in self._kept:
            generation, postings = self._kept[words]
            files = sorted(set().union(*(some for at, some in self._touched if at > generation)))
            if not files:
                return postings
            self._size -= len(postings.keys) + 50
            postings = self._read_again(asked, postings, files)
        else:
            postings = Postings(self._read(asked, ""))
        self._size += len(postings.keys) + 50
        if self._size > MOST:
            self._forget()
        self._kept[words] = self._generation, postings
        return postings

    def _forget(self) -> None:
        self._kept.clear()
        self._touched.clear()
        self._size = 0

    def _read_again(self, asked: str, old: Postings, files: list[int]) -> Postings:
        """Postings whose keys of these files are what is there now."""
        numbers = np.array(files, np.int64)
        parts = [old.units[~among(old.units >> 43, numbers)], old.heads[~among(old.heads >> 18, numbers)] + HEAD]
        parts += [
            self._read(asked, f" AND rowid BETWEEN {first} AND {last}")
            for file in files
            for first, last in _ranges(file)
        ]
        return Postings(np.sort(np.concatenate(parts)))

    def _read(self, asked: str, where: str) -> Keys:
        found = self.db.value(f"SELECT group_concat(rowid) FROM words WHERE words MATCH ?{where}", (asked,))
        return np.fromstring(found, np.int64, sep=",") if found else np.empty(0, np.int64)


def _ranges(file: int) -> Iterator[tuple[int, int]]:
    """The rows of the full-text index of a file's units and of its headings."""
    yield file_range(file)
    first, last = chunk_range(file)
    yield HEAD + first, HEAD + last
