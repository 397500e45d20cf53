"""A question about a table as plain data, and its answer; nothing in it is ever evaluated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepnb.values.errors import InvalidError, LimitError
from deepnb.workshop.columns import Columns, nearest
from deepnb.workshop.exact import class_name, is_scalar

AGGREGATES = ("sum", "mean", "median", "min", "max", "std", "count", "nunique")
NUMERIC = frozenset({"sum", "mean", "median", "std"})
PERIODS = (".year", ".quarter", ".month", ".week", ".weekday", ".day")
"""What may follow the name of a column of dates to group by its years, months, ..."""
MOST_JOINED = 5_000_000
"""Rows of a join at most."""


@dataclass(frozen=True)
class Question:
    """What is asked of a table, in the order in which it is done."""

    join: str = ""
    """The name of another table."""
    on: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    aggregate: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    """Names of columns; `-units` sorts from high to low."""
    head: int = 20


@dataclass(frozen=True)
class Answer:
    """The first rows of the answer, and how much there is in all."""

    frame: Any
    rows: int
    matched: int
    """Rows of the table that the conditions keep."""
    missing: Mapping[str, int]


def answer(table: Columns, question: Question, other: Columns | None = None) -> Answer:
    """The answer to a question; errors name the nearest column. Neither table is changed."""
    if question.head < 0:
        raise InvalidError("head is negative", "give the number of rows to show")
    if other is not None:
        table = _joined(table, other, question.on)
    elif question.on:
        raise InvalidError("there are keys of a join, but no table", "name the table, too")
    if question.where:
        mask = _mask(table, question.where)
        table = (table.only(_needed(table, question)) if question.by or question.aggregate else table).kept(mask)
    matched = len(table)
    if question.by or question.aggregate:
        table = _grouped(_with_periods(table, question.by), question)
    shown = [_made_name(table, one) for one in question.columns] or table.names
    missing = {name: count for name in shown[:200] if (count := table.missing(name))}
    rows = _sorted(table, question)
    return Answer(rows.only(shown).frame(question.head), len(table), matched, missing)


def _needed(table: Columns, question: Question) -> list[str]:
    dated = [one.rpartition(".")[0] for one in question.by if one not in table.names and one.endswith(PERIODS)]
    plain = [one for one in (*question.by, *question.aggregate) if one in table.names or not one.endswith(PERIODS)]
    return list(dict.fromkeys(table.name(one) for one in (*dated, *plain)))


def _with_periods(table: Columns, by: Sequence[str]) -> Columns:
    """A table with a column more for each period that is asked for: `sold.month` of the dates in `sold`."""
    made: dict[str, Any] = {}
    for one in by:
        if one in table.names or not one.endswith(PERIODS):
            continue
        name, _, period = one.rpartition(".")
        column = table.readable(name)
        if getattr(column.dtype, "kind", "O") != "M":
            raise InvalidError(f"{name!r} holds {column.dtype}, no dates", "group by the column itself")
        made[one] = _periods(column, period)
    return Columns({**table.parts, **made}, len(table))


def _periods(column: Any, period: str) -> Any:
    """The year, month, ... of each date as text; weekdays in their order."""
    import pandas as pd

    dates = column.astype("datetime64[ns]") if class_name(column.dtype) == "ArrowDtype" else column
    dates = dates.dt.tz_localize(None) if getattr(dates.dt, "tz", None) is not None else dates
    if period == "weekday":
        days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
        return pd.Series(pd.Categorical(dates.dt.day_name(), days, ordered=True))
    return dates.dt.to_period(period[0].upper()).astype(str).where(dates.notna(), None)


def _mask(table: Columns, where: Mapping[str, Any]) -> Any:
    mask = None
    for name, wanted in where.items():
        one = _condition(table.readable(name), table.name(name), wanted)
        mask = one if mask is None else mask & one
    return mask


def _condition(column: Any, name: str, wanted: Any) -> Any:
    """Which rows equal a value, are one of a list, or lie within `min` and `max`; a missing one only equals None."""
    if isinstance(wanted, Mapping):
        return _range(column, name, wanted)
    values = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if not all(is_scalar(value) for value in values):
        raise InvalidError(f"a condition on {name!r} is not plain data", "give a value, a list, or min and max")
    mask = column.isna() if None in values else column.isna() & False
    for value in values:
        if value is not None:
            mask = mask | _compared(column, name, "eq", value)
    return mask


def _range(column: Any, name: str, wanted: Mapping[str, Any]) -> Any:
    if unknown := set(wanted) - {"min", "max"} or (not wanted and {"nothing"}):
        raise InvalidError(f"a range of {name!r} has {', '.join(map(repr, sorted(unknown)))}", "use 'min' and 'max'")
    mask = column.notna()
    for bound, how in (("min", "ge"), ("max", "le")):
        if wanted.get(bound) is not None:
            mask = mask & _compared(column, name, how, wanted[bound])
    return mask


def _compared(column: Any, name: str, how: str, value: Any) -> Any:
    """The rows that compare so; categories are compared as the values they are, times with a text that is one."""
    if class_name(column.dtype) == "CategoricalDtype":
        column = column.astype(column.dtype.categories.dtype)
    try:
        mask = getattr(column, how)(value)
    except (TypeError, ValueError):
        shown = type(value).__name__
        raise InvalidError(f"{name!r} holds {column.dtype}, not {shown}", "give a value of its type") from None
    return mask.fillna(False).astype(bool)


def _grouped(table: Columns, question: Question) -> Columns:
    """One row a group, missing keys a group of their own; without keys one row; without aggregates the rows counted."""
    keys = [table.name(one) for one in question.by]
    wanted = {table.name(one): _aggregates(how) for one, how in question.aggregate.items()}
    for name in (*keys, *wanted):
        table.readable(name)
    for name, hows in wanted.items():
        _check_numeric(table.column(name), name, hows)
    grouping = [table.column(name) for name in keys] or [table.constant()]
    made: dict[str, Any] = {}
    for name, hows in wanted.items():
        groups = table.summable(name).groupby(grouping, sort=True, dropna=False, observed=True)
        for how in hows:
            made[f"{name} ({how})"] = groups.sum(min_count=1) if how == "sum" else getattr(groups, how)()
    if not wanted:
        made["rows"] = grouping[0].groupby(grouping, sort=True, dropna=False, observed=True).size()
    return table.made(keys, made)


def _aggregates(how: Any) -> tuple[str, ...]:
    hows = (how,) if isinstance(how, str) else tuple(how)
    for one in hows:
        if one not in AGGREGATES:
            raise InvalidError(f"there is no aggregate {one!r}", nearest(one, AGGREGATES))
    return hows


def _check_numeric(column: Any, name: str, hows: Sequence[str]) -> None:
    kind = getattr(column.dtype, "kind", "O")
    refused = [how for how in hows if how in NUMERIC and kind not in "biufc" and not (kind == "m" and how != "std")]
    if refused:
        raise InvalidError(
            f"{name!r} holds {column.dtype}, no numbers for {refused[0]}", "use count, nunique, min, max"
        )


def _sorted(table: Columns, question: Question) -> Columns:
    """The first rows, in the order that is asked for."""
    names, ascending = [], []
    for one in question.sort:
        down = one.startswith("-") and one not in table.names
        names.append(_made_name(table, one[1:] if down else one))
        ascending.append(not down)
        table.readable(names[-1])
    try:
        return table.sorted(names, ascending, question.head) if names else table
    except TypeError:
        raise InvalidError(f"{', '.join(names)} holds values of several types", "sort by another column") from None


def _made_name(table: Columns, wanted: str) -> str:
    """The name of a column; `units` means `units (sum)` where that is the only aggregate of units."""
    made = [name for name in table.names if name.startswith(f"{wanted} (")]
    return made[0] if wanted not in table.names and len(made) == 1 else table.name(wanted)


def _joined(left: Columns, right: Columns, on: Sequence[str]) -> Columns:
    """The rows of both tables with equal keys (an inner join)."""
    if not on:
        shared = [name for name in left.names if name in right.names]
        raise InvalidError(
            "a join needs keys", f"the tables share {', '.join(shared[:3])}" if shared else "the tables share no column"
        )
    keys = [left.name(one) for one in on]
    for name in keys:
        left.readable(name)
        right.readable(name)
    rows = left.join_size(right, keys)
    if rows > MOST_JOINED:
        raise LimitError(f"the join would have {rows:,} rows", "join on more columns")
    return left.joined(right, keys)
