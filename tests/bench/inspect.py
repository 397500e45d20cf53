"""What a look at a large variable takes, in time and characters, beside what pandas, polars or `repr` take for it.

A list of ten million numbers has no `describe`: its baseline is `repr`. An object whose `repr` takes an hour has none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from deepnb.workshop.describe import describe
from tests.bench.row import Row, below

QUICK = False
MOST_MS, BUDGET = 1000, 1500
REGIONS = ("north", "south", "east", "west")
_calls: list[str] = []


class Long:
    """A `repr` of 100 MB."""

    def __repr__(self) -> str:
        _calls.append("repr")
        return "x" * 100_000_000


class Slow:
    """A `repr` that takes an hour."""

    def __repr__(self) -> str:
        _calls.append("repr")
        time.sleep(3600)
        return ""


def rows(size: int = 10_000_000) -> Iterator[Row]:
    """A value at a time, each freed before the next; `size` is the rows of the long ones."""
    shown, wide = f"{size:,}", size // 2000
    yield from _look(f"pandas, {shown} rows x 8", pd.DataFrame(_columns(size)), lambda frame: frame.describe())
    yield from _look(f"pandas, 10 rows x {wide:,}", pd.DataFrame(np.zeros((10, wide))), lambda frame: frame.describe())
    yield from _look(f"polars, {shown} rows x 8", pl.DataFrame(_columns(size)), lambda frame: frame.describe())
    table = pl.DataFrame(_columns(size)).to_arrow()
    yield from _look(f"pyarrow, {shown} rows x 8, beside pandas", table, lambda table: table.to_pandas().describe())
    del table
    lazy = pl.DataFrame(_columns(size)).lazy().sort("c0")
    yield from _look(f"a lazy sort of {shown} rows, beside collect()", lazy, lambda lazy: lazy.collect())
    del lazy
    yield from _look(f"a list of {shown} ints", list(range(size)), repr)
    yield from _look(f"a dict of {size // 10:,} items", {f"key {i}": i for i in range(size // 10)}, repr)
    _calls.clear()
    yield from _look("an object, repr takes an hour", Slow(), None)
    yield from _look("an object, repr is 100 MB", Long(), repr)


def _look(what: str, value: Any, baseline: Callable[[Any], Any] | None) -> Iterator[Row]:
    """The first look at a value, then its baseline."""
    took, text = _timed(lambda value: describe("value", value), value)
    calls = len(_calls)
    beside, plain = _timed(baseline, value) if baseline else (None, None)
    yield below(what, took, beside, "ms", MOST_MS)
    yield below("  its text", len(text), len(plain) if type(plain) is str else None, "chars", BUDGET)
    if type(value) in (Slow, Long):
        yield Row("  calls of its own code", calls, "calls", bound="0 calls", ok=calls == 0)


def _columns(size: int) -> dict[str, Any]:
    """Six columns of floats, one of whole numbers, one of text."""
    chance = np.random.default_rng(0)
    floats = {f"c{i}": chance.random(size) for i in range(6)}
    return {**floats, "n": np.arange(size), "region": np.array(REGIONS, dtype=object)[chance.integers(0, 4, size)]}


def _timed(act: Callable[[Any], Any], value: Any) -> tuple[float, Any]:
    """Milliseconds, and what it gave."""
    begin = time.perf_counter()
    found = act(value)
    return (time.perf_counter() - begin) * 1000, found
