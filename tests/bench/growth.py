"""A kept turn at 1,000 turns in a window of 16,000 tokens, beside the 100th; a bare graph's in the same run; minutes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time

from langchain_core.language_models import ModelProfile

from deepnb import Session
from deepnb.persistence.sqlite import SqliteDatabase
from tests.bench.agents import Looker, Turn, bare_turn, fill
from tests.bench.row import Row, held

QUICK = False
TURNS = int(os.environ.get("DEEPNB_BENCH_TURNS", "1000"))
EARLY = 100
SOME = 40
"""Turns of the beginning and of the end that are averaged: two compactions at least are among them."""
GROWTH, BYTES = 2.0, 1.1
_PROMPT = f"What files are there? {'Tell me of the folders as well, and of what each of them holds. ' * 10}"

Cost = tuple[float, float, float]
"""Seconds on the processor, seconds on the clock, bytes of the database."""


def rows() -> Iterator[Row]:
    """Time and bytes of a turn, ours and the bare graph's, early and late, and how many compactions there were."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        ours, bare = Path(folder) / "ours.db", SqliteDatabase(Path(folder) / "bare.db")
        session = Session(Looker(profile=ModelProfile(max_input_tokens=16_000)), persist=ours)
        fill(session)
        kept = session.workspace.persistence
        assert kept is not None
        for name, turn, database in (
            ("kept session", lambda: session.run(_PROMPT), kept.database),
            ("bare graph", bare_turn(bare.saver, Looker(profile=ModelProfile(max_input_tokens=16_000)), _PROMPT), bare),
        ):
            costs = list(_costs(turn, database))
            (cpu, wall, size), (cpu_early, wall_early, size_early) = (
                [sum(one) / SOME for one in zip(*some, strict=True)]
                for some in (costs[-SOME:], costs[EARLY - SOME : EARLY])
            )
            what = f"{name}, turn {TURNS:,} beside turn {EARLY}"
            bounded = name == "kept session"
            for unit, late, early, most in (
                ("ms of CPU", cpu * 1000, cpu_early * 1000, GROWTH),
                ("ms", wall * 1000, wall_early * 1000, GROWTH),
                ("kB", size / 1000, size_early / 1000, BYTES),
            ):
                yield held(what, late, early, unit, most) if bounded else Row(what, late, unit, early, late / early)
        compactions = sum(turn.compacted for turn in session.turns)
        yield Row(f"kept session, compactions in {len(session.turns):,} turns", compactions, "")


def _costs(turn: Turn, database: SqliteDatabase) -> Iterator[Cost]:
    for _ in range(TURNS):
        size, cpu, wall = _size(database), process_time(), perf_counter()
        turn()
        yield process_time() - cpu, perf_counter() - wall, _size(database) - size


def _size(database: SqliteDatabase) -> float:
    """Bytes of a database, what is only in its log included."""
    (pages,), (size,) = (database.execute(f"PRAGMA {name}")[0] for name in ("page_count", "page_size"))
    return float(pages * size)
