"""Truths that the questions of `table_questions_unseen` need beyond those of `table_slots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from tests.support import table_slots as q
from tests.support.question_tables import tables
from tests.support.table_slots import Slots, UnfitError, count, groups, winner
from tests.support.table_verdicts import Kind, Truth

Group = tuple[Callable[[Slots], Truth], Sequence[str]]


def ways(s: Slots, *numbers: float, kind: Kind = "number", shape: bool = False) -> Truth:
    """Any of these numbers answers; with `yes`, it is yes unless they are 0."""
    said = ("yes" if any(numbers) else "no",) if kind == "yes" else ()
    return Truth(kind, tuple(map(float, numbers)), said, echoes=s.echoes, shape=shape)


def between(s: Slots, values: Any, low: Any, high: Any) -> Truth:
    """How many values lie between two, the ends counted or not."""
    kinds = ("both", "neither", "left", "right")
    return ways(s, *(count(s, values.between(low, high, inclusive=one)).numbers[0] for one in kinds))


def agree(s: Slots) -> Truth:
    """The group that has the highest n, be it the sum, the mean or the maximum."""
    read = [winner(s, groups(s, how), True) for how in ("sum", "mean", "max")]
    if len({one.labels for one in read}) > 1:
        raise UnfitError
    return Truth("label", tuple(one.numbers[0] for one in read), read[0].labels, read[0].wrong, echoes=s.echoes)


def sort(s: Slots, up: bool) -> Truth:
    """The first three rows of the sorted table; how many more are shown is free."""
    frame = s.f.dropna(subset=s.n).sort_values(s.n, ascending=up)
    if frame[s.n].head(4).duplicated().any():
        raise UnfitError
    return Truth("rows", tuple(float(one) for one in frame[s.table.id or s.n].head(3)), ordered=True)


def newest(s: Slots) -> Truth:
    """The k latest rows, by a column of dates."""
    order = s.time[s.time.notna() & bool(s.d)].sort_values(ascending=False)
    if order.iloc[s.k - 1] == order.iloc[s.k]:
        raise UnfitError
    return q.rows(s, s.f.loc[order.index[: s.k]], s.f.loc[order.index[s.k :]])


def day(s: Slots, *ends: str) -> Truth:
    """The first day, the last, or both."""
    return Truth("time" if len(ends) == 1 else "labels", labels=tuple(pd.Period(s.time.agg(one), "D") for one in ends))


def gaps(s: Slots) -> Truth:
    each = s.f.isna().sum()[lambda one: one > 0]
    return Truth("series", tuple(map(float, each)), tuple(map(str, each.index))) if len(each) else ways(s, 0)


def table(s: Slots, fits: bool) -> Truth:
    if not fits:
        raise UnfitError
    return Truth("label", labels=(s.t,), wrong=tuple(one for one in tables() if one != s.t))


def home(s: Slots, column: str) -> Truth:
    """The table with this column, where no other has one of a like name."""
    taken = [str(name).lower() for one in tables().values() if one.name != s.t for name in one.frame.columns]
    return table(s, not any(column.lower() in name or name in column.lower() for name in taken))


def undated(s: Slots) -> Truth:
    return table(s, s.table.time is None)
