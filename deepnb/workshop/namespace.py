"""Tools over the user's variables, tables and notebooks; all but `edit_notebook` change nothing."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any

from deepnb.gate import redact
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError
from deepnb.workshop.describe import describe, is_table, list_of_variables
from deepnb.workshop.exact import cell, cell_of, class_name, csv_line, is_missing, is_readable, is_scalar
from deepnb.workshop.kinds import aggregated, compared
from deepnb.workshop.notebook_plan import notebook_plan
from deepnb.workshop.notebooks import read_notebook
from deepnb.workshop.tables import Columns, columns_of, conversion, held, nearest, said_twice

# -- A question about a table as plain data, and its answer; nothing in it is ever evaluated


AGGREGATES = ("sum", "mean", "median", "min", "max", "std", "count", "nunique")
PERIODS = (".year", ".quarter", ".month", ".week", ".weekday", ".day")
"""What may follow the name of a column of dates to group by its years, months, ..."""
MOST_JOINED = 5_000_000  # rows of a join


@dataclass(frozen=True)
class Question:
    """What is asked of a table, in the order in which it is done."""

    join: str = ""  # the name of another table
    on: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    aggregate: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()  # names of columns; `-units` sorts from high to low
    head: int = 20


@dataclass(frozen=True)
class Answer:
    """The first rows of the answer, and how much there is in all."""

    frame: Any
    rows: int
    matched: int  # rows of the table that the conditions keep
    missing: Mapping[str, int]
    twice: tuple[str, ...] = ()  # what is said of columns that are called alike


def answer(table: Columns, question: Question, other: Columns | None = None) -> Answer:
    """Return the answer to a question; errors name the nearest column. Neither table is changed."""
    if question.head < 0:
        raise InvalidError("head is negative", "give the number of rows to show")
    if other is not None:
        table = _joined(table, other, question.on)
    elif question.on:
        raise InvalidError("there are keys of a join, but no table", "name the table, too")
    if question.where:
        conditions = question.where.items()
        mask = reduce(and_, (_condition(table.readable(name), table.name(name), one) for name, one in conditions))
        names = table.names
        if question.by or question.aggregate:
            named = (*question.by, *question.aggregate)
            dated = [one.rpartition(".")[0] for one in question.by if one not in names and one.endswith(PERIODS)]
            plain = [one for one in named if one in names or not one.endswith(PERIODS)]
            names = list(dict.fromkeys(table.name(one) for one in (*dated, *plain)))
        table = replace(table, frame=table.frame.loc[mask.to_numpy(), names].reset_index(drop=True))
    matched = len(table.frame)
    if question.by or question.aggregate:
        table = _grouped(_with_periods(table, question.by), question)
    asked = [one for name in question.columns for one in table.twice.get(name, (name,))]
    shown = [_made_name(table, one) for one in asked] or table.names
    alike = [(one, names) for one, names in table.twice.items() if {*names} & {*shown}]
    twice = tuple(f"{said_twice(one, names)}: {', '.join(names)}" for one, names in alike)
    readable = (name for name in shown[:200] if is_readable(table.frame[name]))
    missing = {name: count for name in readable if (count := int(table.frame[name].isna().sum()))}
    return Answer(_sorted(table, question)[shown], len(table.frame), matched, missing, twice)


def _with_periods(table: Columns, by: Sequence[str]) -> Columns:
    """Return a table with a column more for each period that is asked for: `sold.month` of the dates in `sold`, as text."""
    import pandas as pd

    made: dict[str, Any] = {}
    for one in by:
        if one in table.names or not one.endswith(PERIODS):
            continue
        name, _, period = one.rpartition(".")
        column = table.readable(name)
        kinds = {class_name(value) for value in column if not is_missing(value)} if column.dtype == object else {""}
        if kinds <= {"date", "datetime", "Timestamp"}:
            with suppress(TypeError, ValueError):  # of several time zones
                column = column.astype("datetime64[us]")
        if getattr(column.dtype, "kind", "O") != "M":
            raise InvalidError(f"{held(column, name)[0]}, no dates", "group by the column itself")
        dates = column.dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column
        if period == "weekday":
            days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
            made[one] = pd.Series(pd.Categorical(dates.dt.day_name(), days, ordered=True))
        else:
            made[one] = dates.dt.to_period(period[0].upper()).astype(str).where(dates.notna(), None)
    return replace(table, frame=pd.DataFrame({**table.frame, **made}, copy=False))


def _condition(column: Any, name: str, wanted: Any) -> Any:
    """Return which rows equal a value, are one of a list, or lie within `min` and `max`; a missing one only equals None."""
    if isinstance(wanted, Mapping):
        if unknown := set(wanted) - {"min", "max"} or (not wanted and {"nothing"}):
            do = "use 'min' and 'max'"
            raise InvalidError(f"a range of {name!r} has {', '.join(map(repr, sorted(unknown)))}", do)
        mask = column.notna()
        for bound, how in (("min", "ge"), ("max", "le")):
            if wanted.get(bound) is not None:
                mask = mask & compared(column, name, how, wanted[bound])
        return mask
    values = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    if not all(is_scalar(value) for value in values):
        raise InvalidError(f"a condition on {name!r} is not plain data", "give a value, a list, or min and max")
    mask = column.isna() if None in values else column.isna() & False
    for value in values:
        if value is not None:
            mask = mask | compared(column, name, "eq", value)
    return mask


def _grouped(table: Columns, question: Question) -> Columns:
    """One row a group, missing keys a group of their own; without keys one row; without aggregates the rows counted."""
    import pandas as pd

    keys = [table.name(one) for one in question.by]
    given = question.aggregate.items()
    wanted = {table.name(one): (how,) if isinstance(how, str) else tuple(how) for one, how in given}
    if odd := [how for hows in wanted.values() for how in hows if how not in AGGREGATES]:
        raise InvalidError(f"there is no aggregate {odd[0]!r}", nearest(odd[0], AGGREGATES))
    for name in (*keys, *wanted):
        table.readable(name)
    grouping = [table.frame[name] for name in keys] or [pd.Series(0, table.frame.index)]  # all rows are one group
    made: dict[str, Any] = {}
    for name, hows in wanted.items():
        for how in hows:
            if (column := aggregated(table.frame[name], how)) is None:
                what = f"{''.join(held(table.frame[name], name))}, no numbers for {how}"
                raise InvalidError(what, "use count, nunique, min, max")
            groups = _groups(column, grouping)
            try:
                made[f"{name} ({how})"] = groups.sum(min_count=1) if how == "sum" else getattr(groups, how)()
            except (TypeError, ValueError):
                what = f"{''.join(held(table.frame[name], name))}, which have no {how}"
                raise InvalidError(what, "use count or nunique") from None
    if not wanted:
        made["rows"] = _groups(grouping[0], grouping).size()
    index = next(iter(made.values())).index
    columns = {key: index.get_level_values(i).to_series().reset_index(drop=True) for i, key in enumerate(keys)}
    columns |= {name: column.reset_index(drop=True) for name, column in made.items()}
    return Columns(pd.DataFrame(columns, copy=False))


def _groups(column: Any, keys: list[Any]) -> Any:
    groups = column.groupby(keys, sort=True, dropna=False, observed=True)
    with suppress(TypeError):
        groups.ngroups  # noqa: B018 - sorts the keys
        return groups
    return column.groupby(keys, sort=False, dropna=False, observed=True)


def _sorted(table: Columns, question: Question) -> Any:
    """Return the first rows, missing values last; equal ones keep their order."""
    names, ascending = [], []
    for one in question.sort:
        down = one.startswith("-") and one not in table.names
        names.append(_made_name(table, one[1:] if down else one))
        ascending.append(not down)
        table.readable(names[-1])
    try:
        keys = table.frame[names]
        order = keys.sort_values(names, ascending=ascending, kind="stable").index if names else keys.index
        return table.frame.iloc[order[: question.head]].reset_index(drop=True)
    except TypeError:
        what = "; ".join("".join(held(table.frame[name], name)) for name in names)
        raise InvalidError(f"{what}: values without an order", "sort by another column") from None


def _made_name(table: Columns, wanted: str) -> str:
    """Return the name of a column; `units` means `units (sum)` where that is the only aggregate of units."""
    made = [name for name in table.names if name.startswith(f"{wanted} (")]
    return made[0] if wanted not in table.names and len(made) == 1 else table.name(wanted)


def _joined(left: Columns, right: Columns, on: Sequence[str]) -> Columns:
    """Return the rows of both with equal keys; a column that both have keeps its name here, and there gets `_2`."""
    import pandas as pd

    if not on:
        shared = [name for name in left.names if name in right.names]
        do = f"the tables share {', '.join(shared[:3])}" if shared else "the tables share no column"
        raise InvalidError("a join needs keys", do)
    keys = [left.name(one) for one in on]
    for name in keys:
        left.readable(name)
        right.readable(name)
    here, there = (one.frame[keys].assign(**{"\0at": range(len(one.frame))}) for one in (left, right))
    sizes, others = (one.groupby(keys, observed=True).size() for one in (here, there))
    both = sizes.index.intersection(others.index)
    if (rows := int((sizes.loc[both].astype(float) * others.loc[both]).sum())) > MOST_JOINED:
        raise LimitError(f"the join would have {rows:,} rows", "join on more columns")
    pairs = here.dropna().merge(there.dropna(), on=keys)
    joined = left.frame.iloc[pairs["\0at_x"]].reset_index(drop=True)
    added = right.frame.drop(columns=keys).iloc[pairs["\0at_y"]].reset_index(drop=True)
    named: dict[str, Any] = {}
    for name in added.columns:
        free = name
        while free in joined.columns or free in named:
            free += "_2"
        named[free] = added[name]
    return Columns(pd.DataFrame({**joined, **named}, copy=False))


# -- an answer about a table as text for a model: CSV, and what it leaves out


BUDGET = 2000  # characters of an answer


def answer_text(name: str, question: Question, answer: Answer) -> str:
    """Return the answer in at most BUDGET characters, whole rows and columns; the last lines count what is left out."""
    frame = answer.frame
    of = f"{name} joined with {question.join}" if question.join else name
    head = f"{of}: {answer.matched} row{'' if answer.matched == 1 else 's'}{' match' if question.where else ''}"
    by = f", {answer.rows} group{'' if answer.rows == 1 else 's'} by {', '.join(question.by)}" if question.by else ""
    lines = [head + by]
    names: list[str] = []
    used = 0
    for column in frame.columns:
        used += len(cell(column, 60)) + 1
        if names and used > BUDGET // 4:
            break
        names.append(column)
    hidden = len(frame.columns) - len(names)
    notes = [f"{hidden} more columns not shown"] if hidden else []
    notes += [line[:200] for line in answer.twice[:3]]
    if answer.missing:
        counts = ", ".join(f"{cell(name, 60)} {count}" for name, count in list(answer.missing.items())[:10])
        notes.append(f"missing values: {counts}"[: BUDGET // 4])
    room = BUDGET - sum(len(line) + 1 for line in [*lines, *notes]) - 40
    table = [csv_line([cell(column, 60) for column in names])]
    columns = [frame.iloc[:, i] for i in range(len(names))]
    for row in range(len(frame)):
        line = csv_line([cell_of(name, column.iloc[row]) for name, column in zip(names, columns, strict=True)])
        if sum(len(one) + 1 for one in table) + len(line) > room:
            break
        table.append(line)
    left = answer.rows - (len(table) - 1)
    more = [f"{left} more row{'' if left == 1 else 's'} not shown"] if left else []
    return redact("\n".join(lines + table + more + notes))[:BUDGET]


def namespace_tools(namespace: Mapping[str, Any]) -> list[Callable[..., str]]:
    """Return the tools that look at a namespace, and those for notebooks; none runs any of the user's code."""
    from pydantic import Field

    made: Any = Field  # defaults that are not written into a tool's schema, where they would cost tokens
    no_items, no_names, no_text = (made(default_factory=kind) for kind in (dict, list, str))

    def list_variables() -> str:
        """List the variables of the user's notebook, one per line, with their types."""
        return list_of_variables(namespace)

    def inspect_variable(name: str) -> str:
        """Look at one variable of the user's notebook: of a DataFrame the columns, statistics and first rows.

        Args:
            name: The variable's name.
        """
        if name not in namespace:
            return f"Error: there is no variable {name!r}. There are:\n{list_of_variables(namespace)}"
        return describe(name, namespace[name])

    def query_table(
        table: str,
        where: dict[str, Any] = no_items,
        by: list[str] = no_names,
        aggregate: dict[str, Any] = no_items,
        columns: list[str] = no_names,
        sort: str = no_text,
        head: int = 20,
        join: dict[str, list[str]] = no_items,
    ) -> str:
        """Rows or totals of a pandas table, without code.

        where: {column: value, list or {"min": 1, "max": 9}}; by: group; aggregate: {column: sum|mean|
        median|min|max|std|count|nunique}; sort: "-x": down; join: {table: [keys]}.
        """
        try:
            asked = {"where": where, "by": by, "aggregate": aggregate, "columns": columns, "sort": sort, "join": join}
            return answer_text(table, *_answered(namespace, {"table": table, "head": head, **asked}))
        except DeepnbError as error:
            return f"Error: {error.typed}"
        except Exception as error:  # of pandas, on a type of column that nothing here knows
            return f"Error: {table} cannot be asked that ({type(error).__name__}): look with inspect_variable"

    def edit_notebook(path: str, edits: list[dict[str, Any]], version: str = no_text) -> str:
        """Change cells of a notebook in the working directory, or make one. Nothing is run.

        edits: {"replace": 3, "source"}, {"insert": 4, "source", "kind": code|markdown|raw} (before cell 4),
        {"delete": 5}; numbers as read, before any edit. version: as read; none for a new notebook.
        """
        try:
            return notebook_plan(namespace, path, edits, version).write()
        except DeepnbError as error:
            return f"Error: {error.typed}"

    return [list_variables, inspect_variable, query_table, read_notebook, edit_notebook]


def _answered(namespace: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[Question, Answer]:
    join = asked.get("join") or {}
    if len(join) > 1:
        raise InvalidError("join names several tables", "join one table at a time")
    named, on = next(iter(join.items()), ("", ()))
    where, aggregate = (asked.get(key) or {} for key in ("where", "aggregate"))
    by, columns = (tuple(asked.get(key) or ()) for key in ("by", "columns"))
    sort = (asked["sort"],) if asked.get("sort") else ()
    question = Question(named, tuple(on), where, by, aggregate, columns, sort, asked.get("head", 20))
    other = _columns(namespace, named) if named else None
    return question, answer(_columns(namespace, asked["table"]), question, other)


_MARKDOWN = re.compile(r"^(\|.*\|)\n\|[ :|-]+\|\n((?:\|.*\|\n?)+)", re.M)


def table_shown(namespace: Mapping[str, Any], args: Mapping[str, Any], text: str) -> Any:
    """Return the DataFrame of the table in an answer made of a call of `query_table`; None for an answer without one."""
    tables = _MARKDOWN.findall(text)
    if len(tables) != 1:
        return None
    names, *rows = ([one.strip() for one in row.strip("|").split(" | ")] for row in "\n".join(tables[0]).splitlines())
    try:
        frame = _answered(namespace, args)[1].frame
    except Exception:  # the table is gone, or another one
        return None
    if named := [name for name in names if name in frame.columns]:
        frame = frame[named]
    places = {tuple(map(cell, row)): at for at, row in reversed([*enumerate(frame.itertuples(index=False, name=None))])}
    at = [places.get(tuple(row)) for row in rows]
    return frame.head(len(rows)) if None in at else frame.iloc[at].reset_index(drop=True)


def _columns(namespace: Mapping[str, Any], name: str) -> Columns:
    tables = [one for one, value in namespace.items() if is_table(value) and not one.startswith("_")]
    if name not in namespace:
        raise NotFoundError(f"there is no variable {name!r}", nearest(name, tables))
    value = namespace[name]
    if not is_table(value):
        what = f"{name} is not a table but of type {class_name(value)}"
        raise InvalidError(what, conversion(value) or nearest(name, tables))
    return columns_of(value)
