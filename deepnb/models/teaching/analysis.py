"""What is asked of a table, as plain data: which rows, grouped by what, which figure of each group, in which order."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

_AVERAGED = re.compile(
    r"temp|price|mass|length|depth|width|diameter|size|distance|rate|ratio|share|percent|pct|mean|avg|average|median|age$|height|weight|gravity|density|score|speed|_c$"
)


@dataclass(frozen=True)
class Condition:
    """Rows of which a column compares so with a value; `in` with one of several."""

    column: str
    sign: str
    value: Any

    @property
    def text(self) -> str:
        """The value as one writes it."""
        if isinstance(self.value, tuple):
            return ", ".join(map(str, self.value))
        return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


@dataclass(frozen=True)
class Analysis:
    """A question about a table as plain data. An empty text stands for what is not asked."""

    table: str
    where: tuple[Condition, ...] = ()
    by: str = ""
    also: str = ""
    """A second column to group by."""
    over: str = ""
    """The column along which a line goes: time. The same as `by` where nothing says that a line is meant."""
    column: str = ""
    against: str = ""
    """A second measure."""
    how: str = ""
    """One of pandas' aggregates, or `corr` for two measures."""
    sort: str = ""
    descending: bool = False
    head: int = 0
    join: str = ""
    on: str = ""
    single: bool = False
    """Whether each group has one row, so that nothing has to be gathered."""
    unknown: str = ""
    """What it is to be grouped by, where that is like no column."""
    known: frozenset[str] = field(default=frozenset())
    """The columns that were seen."""

    @property
    def is_clear(self) -> bool:
        """Whether there is anything to compute."""
        return not self.unknown and bool(
            self.column or self.where or self.by or self.join or self.head or self.sort or self.how == "count"
        )

    @property
    def unseen(self) -> tuple[str, ...]:
        """The columns named here that no table that was seen has: taken as they were typed."""
        named = (self.by, self.over, self.column, self.against, self.sort, self.on, *(one.column for one in self.where))
        return tuple(dict.fromkeys(name for name in named if name and name not in self.known))


def default_how(column: str) -> str:
    """How the rows of a group are gathered where the request does not say: prices are averaged, units added up."""
    return "mean" if _AVERAGED.search(column.lower()) else "sum"


def nearest(typed: str, columns: Iterable[str]) -> str:
    """The column whose name is most like a word; empty where none is like it."""
    known = {one.lower(): one for one in sorted(columns)}
    near = difflib.get_close_matches(typed.lower(), list(known), 1, cutoff=0.7)
    return known[near[0]] if near else ""


def slip(asked: Analysis, error: str) -> tuple[str, str] | None:
    """(column as it was typed, nearest one that there is), where that is what an error is about."""
    for name in asked.unseen:
        near = nearest(name, asked.known)
        if near and name in error and ("KeyError" in error or "no column" in error):
            return name, near
    return None


def renamed(asked: Analysis, typed: str, name: str) -> Analysis:
    """Give the plan with another name for a column."""

    def right(column: str) -> str:
        return name if column == typed else column

    return replace(
        asked,
        where=tuple(replace(one, column=right(one.column)) for one in asked.where),
        by=right(asked.by),
        over=right(asked.over),
        column=right(asked.column),
        against=right(asked.against),
        sort=right(asked.sort),
        on=right(asked.on),
    )
