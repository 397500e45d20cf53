"""Bytes that a turn adds to a thread's SQLite file, over 250 turns, beside a bare deepagents graph's."""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.agents import MESSAGES, Pair, bare_turn, on_disk, session_turn
from tests.bench.row import Row, held

QUICK = False
TURNS = 250
MOST, GROWTH = 1.25, 1.1


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "ours.sqlite", Path(folder) / "bare.sqlite"
        pair = Pair(session_turn(on_disk(files[0])), bare_turn(on_disk(files[1])))
        begin = tuple(map(_size, files))
        sizes = [begin, *(tuple(map(_size, files)) for _ in pair.grow(TURNS * MESSAGES))]
    ours, bare = ([size / 1000 for size in one] for one in zip(*sizes, strict=True))
    yield held(f"a turn over {TURNS} turns, SQLite", _each(ours, 0, TURNS), _each(bare, 0, TURNS), "kB", MOST)
    what = f"the last 50 of {TURNS} turns beside turns 51 to 100"
    yield held(what, _each(ours, TURNS - 50, TURNS), _each(ours, 50, 100), "kB", GROWTH)


def _each(sizes: Sequence[float], begin: int, end: int) -> float:
    return (sizes[end] - sizes[begin]) / (end - begin)


def _size(path: Path) -> int:
    """Bytes of the database, its write-ahead log included as it will be once it is written back."""
    with sqlite3.connect(path) as db:
        (pages,), (size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    db.close()
    return int(pages * size)
