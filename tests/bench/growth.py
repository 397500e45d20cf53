"""A kept turn at 1,000 turns in a window of 16,000 tokens, beside the 100th; a bare graph's in the same run; minutes."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage

from deepnb import Session
from deepnb.memory.flush import OPENING
from deepnb.persistence.database import Database
from deepnb.persistence.sqlite import SqliteDatabase
from tests.bench.agents import MESSAGES, Looker, Turn, bare_graph, bare_turn, fill
from tests.bench.row import Row, below, held

QUICK = False
TURNS = int(os.environ.get("DEEPNB_BENCH_TURNS", "1000"))
EARLY = 100
SOME = 40  # turns of the beginning and of the end that are averaged: two compactions at least are among them
GROWTH, BYTES, SECONDS = 2.0, 1.1, 2.0
_FILLER = "Tell me of the folders as well, and of what each of them holds. " * 8

Cost = tuple[float, float, float]  # seconds on the processor, seconds on the clock, bytes of the database


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, HOME=folder):
        session = Session(_model(), persist=Path(folder) / "ours.db")
        fill(session)
        kept = session.workspace.persistence

        prompts = _prompts()

        def turn() -> None:
            session.run(next(prompts))

        costs = list(_costs(turn, kept.database, TURNS))
        compactions = sum(turn.compacted for turn in session.turns)
        yield Row(f"kept session, compactions in {TURNS:,} turns", compactions, "")
        yield from _beside("kept session", costs[-SOME:], costs[EARLY - SOME : EARLY], bounded=True)
        session.close()
        begin = perf_counter()
        session = Session(_model(), persist=Path(folder) / "ours.db")
        assert len(session.turns) == TURNS
        yield below(f"kept session, opening {TURNS:,} turns", perf_counter() - begin, None, "s", SECONDS)
        session.close()
        database = SqliteDatabase(Path(folder) / "bare.db")
        bare = bare_turn(database.saver, _model(), _prompts())
        costs = list(_costs(bare, database, EARLY))
        _fill_up(database.saver, TURNS - SOME)
        bare()  # sums up all that was filled in
        costs += _costs(bare, database, SOME)
        yield from _beside("bare graph", costs[-SOME:], costs[EARLY - SOME : EARLY], bounded=False)
        database.close()


def _prompts() -> Iterator[str]:
    """Each with facts of its own, as people give them: key facts that a summary loses are a part of the state."""
    for n in count(1):
        yield f"What files are there? Run {n} is in /data/run-{n}.csv: {37 * n:,} units, paid with {n}.50 EUR. {_FILLER}"


class _Quiet(Looker):
    """Puts nothing into the daily note before a compaction: what memory costs is not measured here."""

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        return AIMessage("NO_REPLY") if OPENING in messages[-1].text else super()._next(messages)


def _model() -> Looker:
    return _Quiet(profile=ModelProfile(max_input_tokens=16_000))


def _beside(name: str, late: list[Cost], early: list[Cost], *, bounded: bool) -> Iterator[Row]:
    means = ([sum(one) / SOME for one in zip(*some, strict=True)] for some in (late, early))
    for unit, most, scale, last, first in zip(
        ("ms of CPU", "ms", "kB"), (GROWTH, GROWTH, BYTES), (1e3, 1e3, 1e-3), *means, strict=True
    ):
        what = f"{name}, turns to {TURNS:,} beside turns to {EARLY}"
        row = held(what, last * scale, first * scale, unit, most)
        yield row if bounded else replace(row, bound="", ok=None)


def _fill_up(saver: Any, turns: int) -> None:
    """Give the bare graph's thread as many turns, written at once: played, they would take most of an hour."""
    graph, config = bare_graph(saver, _model()), {"configurable": {"thread_id": "main"}}
    messages = graph.get_state(config).values["messages"]
    turn = messages[-MESSAGES:]
    more = [m.model_copy(update={"id": str(uuid4())}) for _ in range(len(messages) // MESSAGES, turns) for m in turn]
    graph.update_state(config, {"messages": more}, as_node="model")


def _costs(turn: Turn, database: Database, turns: int) -> Iterator[Cost]:
    for _ in range(turns):
        size, cpu, wall = _size(database), process_time(), perf_counter()
        turn()
        yield process_time() - cpu, perf_counter() - wall, _size(database) - size


def _size(database: Database) -> float:
    (pages,), (size,) = (database.execute(f"PRAGMA {name}")[0] for name in ("page_count", "page_size"))
    return float(pages * size)
