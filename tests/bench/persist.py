"""A session of 1,000 turns in a SQLite file: bytes and time of a turn beside a bare graph's, and opening it; minutes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from deepnb import Session
from deepnb.persistence.sqlite import SqliteDatabase
from tests.bench.agents import Looker, Pair, bare_turn, fill
from tests.bench.row import Row, below, held

QUICK = False
TURNS = int(os.environ.get("DEEPNB_BENCH_TURNS", "1000"))
SOME = 100
"""Turns of the beginning and of the end that are compared."""
PAIRS = 15
GROWTH, BOUND, SECONDS = 1.05, 1.15, 2.0
_OPEN = """
import sys
from time import perf_counter
import deepnb.wiring.build, langgraph.checkpoint.sqlite, langgraph.store.sqlite
from deepnb import Session
from tests.bench.agents import Looker
begin = perf_counter()
s = Session(Looker(), persist=sys.argv[1])
assert len(s.turns) == int(sys.argv[2]), len(s.turns)
print(perf_counter() - begin)
os = __import__("os")
os._exit(0)
"""


def rows() -> Iterator[Row]:
    """Bytes a turn, the 1,000th turn beside the bare graph on the same saver, and opening in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        ours, bare = Path(folder) / "ours.db", Path(folder) / "bare.db"
        session = Session(Looker(), persist=ours)
        fill(session)
        pair = Pair(lambda: session.run(_PROMPT), bare_turn(SqliteDatabase(bare).saver))
        sizes = [_sizes(session, bare)]
        times = []
        for _ in range(TURNS):
            times.append(pair.time())
            sizes.append(_sizes(session, bare))
        for name, one in (("kept session", 0), ("bare graph", 1)):
            first, last = (
                (sizes[b][one] - sizes[a][one]) / SOME / 1000 for a, b in ((0, SOME), (len(sizes) - 1 - SOME, -1))
            )
            what = f"{name}, a turn of the last {SOME} of {pair.turns:,} beside the first"
            yield held(what, last, first, "kB", GROWTH) if not one else Row(what, last, "kB", first, last / first)
        for what, some in (
            (f"turns {SOME - PAIRS} to {SOME}", times[SOME - PAIRS : SOME]),
            (f"the last of {pair.turns:,}", times[-PAIRS:]),
        ):
            here, there = (median(one) * 1000 for one in zip(*some, strict=True))
            yield held(
                f"a turn, {what}, beside the bare graph", here, there, "ms", BOUND, ratio=median(a / b for a, b in some)
            )
        command = [sys.executable, "-c", _OPEN, str(ours), str(pair.turns)]
        opened = [float(subprocess.check_output(command, text=True)) for _ in range(3)]
        yield below(f"opening {pair.turns:,} turns, the engine imported", median(opened), None, "s", SECONDS)
        begin = perf_counter()
        subprocess.check_output(command)
        yield Row("the same with starting Python and importing the engine", perf_counter() - begin, "s")


_PROMPT = "What files are there?"


def _sizes(session: Session, bare: Path) -> tuple[float, float]:
    """Bytes of both databases, what is only in their logs included."""
    kept = session.workspace.persistence
    assert kept is not None
    (pages,), (size,) = (kept.database.execute(f"PRAGMA {name}")[0] for name in ("page_count", "page_size"))
    return pages * size, _size(bare)


def _size(path: Path) -> float:
    import sqlite3

    db = sqlite3.connect(path)
    (pages,), (size,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    db.close()
    return float(pages * size)
