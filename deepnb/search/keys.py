"""The number a unit has in the index: file, place in the file, chunk and length in one integer.

Postings are rows of such numbers, so that scoring by unit, by neighbours and by chunk needs no other look
into the database: 18 bits of file, 20 of ordinal, 18 of chunk, 5 of length in sixteens of characters.
"""

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Scores = NDArray[np.float64]

FILES = 1 << 18
LAST = (1 << 63) - 1
"""No key is higher."""
HEAD = 1 << 61
"""Marks the posting of a chunk's heading: HEAD | chunk key."""


def unit_key(file: int, ordinal: int, chunk: int, chars: int) -> int:
    return file << 43 | ordinal << 23 | chunk << 5 | min(chars >> 4, 31)


def chunk_key(file: int, chunk: int) -> int:
    return file << 18 | chunk


def file_range(file: int) -> tuple[int, int]:
    """Return the first and the last key a unit of the file can have."""
    return file << 43, (file + 1 << 43) - 1


def chunk_range(file: int) -> tuple[int, int]:
    return file << 18, (file + 1 << 18) - 1


def ordinal_range(key: int, around: int) -> tuple[int, int]:
    """From `around` units before the one of this key to as many after it, in its file."""
    file, ordinal = key >> 43, key >> 23 & 0xFFFFF
    low, high = max(ordinal - around, 0), min(ordinal + around, 0xFFFFF)
    return file << 43 | low << 23, file << 43 | high << 23 | 0x7FFFFF


def chunks_of(keys: Keys) -> Keys:
    """Return the chunk keys of unit keys."""
    return keys >> 43 << 18 | keys >> 5 & 0x3FFFF


def lengths_of(keys: Keys) -> Scores:
    """Characters, to the nearest sixteen."""
    return ((keys & 31) * 16 + 8).astype(np.float64)


def values_at(keys: Keys, some: Keys, values: Scores) -> Scores:
    """Return the value of each key, 0 for those that are not in `some`, which is in order."""
    if not len(some):
        return np.zeros(len(keys))
    at = np.minimum(np.searchsorted(some, keys), len(some) - 1)
    return np.where(some[at] == keys, values[at], 0.0)


def among(keys: Keys, some: Keys) -> NDArray[np.bool_]:
    """Return which of the keys are in `some`, which is in order; numpy's own `isin` takes several times as long."""
    if not len(some):
        return np.zeros(len(keys), np.bool_)
    return np.asarray(some[np.minimum(np.searchsorted(some, keys), len(some) - 1)] == keys)


def unique(*parts: Keys) -> Keys:
    """In order, each once; numpy's own hashes first and takes several times as long."""
    keys = np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
