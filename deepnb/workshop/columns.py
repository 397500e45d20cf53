"""A table's columns by name, taken from a DataFrame or Series one by one; the user's own is only read."""

import difflib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from deepnb.values.errors import InvalidError, LimitError, NotFoundError
from deepnb.workshop.columnar import SCANNED, ColumnarTable, columnar_name, columnar_table
from deepnb.workshop.exact import class_name, is_readable, pandas_name, short

_SAFE_SUM = 2**63


@dataclass(frozen=True)
class Columns:
    """Columns of equal length under distinct names, each a Series with a plain index."""

    parts: Mapping[str, Any]
    length: int

    @property
    def names(self) -> list[str]:
        return list(self.parts)

    def __len__(self) -> int:
        return self.length

    def name(self, wanted: object) -> str:
        """The name of a column as it is; an error names the nearest."""
        if isinstance(wanted, str) and wanted in self.parts:
            return wanted
        raise NotFoundError(f"there is no column {wanted!r}", nearest(wanted, self.names))

    def column(self, name: str) -> Any:
        return self.parts[name]

    def readable(self, wanted: object) -> Any:
        """A column whose values may be compared without running code of theirs."""
        name = self.name(wanted)
        if not is_readable(self.parts[name]):
            kinds = sorted({class_name(value) for value in self.parts[name].iloc[:100].to_numpy()})[:3]
            raise InvalidError(f"{name!r} holds {', '.join(kinds)}, which is not compared", "use another column")
        return self.parts[name]

    def summable(self, name: str) -> Any:
        """A column whose sum is exact: whole numbers near the limit of 64 bits as Python's own."""
        column = self.parts[name]
        if class_name(column.dtype) == "CategoricalDtype":
            return column.astype(column.dtype.categories.dtype)
        if getattr(column.dtype, "kind", "O") in "iu" and len(column) and column.notna().any():
            largest = max(abs(int(column.max())), abs(int(column.min())))
            return column.astype(object) if largest * len(column) >= _SAFE_SUM else column
        return column

    def missing(self, name: str) -> int:
        column = self.parts[name]
        return int(column.isna().sum()) if is_readable(column) else 0

    def kept(self, mask: Any) -> "Columns":
        """The rows that a mask keeps."""
        keep = mask.to_numpy()
        return self._each(lambda column: column[keep].reset_index(drop=True), int(keep.sum()))

    def only(self, names: Sequence[str]) -> "Columns":
        return Columns({name: self.parts[name] for name in names}, self.length)

    def sorted(self, names: Sequence[str], ascending: Sequence[bool], head: int) -> "Columns":
        """The first rows in the order of some columns, missing values last; equal ones keep their order."""
        import pandas as pd

        order = pd.RangeIndex(self.length)
        for name, up in reversed(list(zip(names, ascending, strict=True))):
            keys = self.parts[name].reset_index(drop=True).iloc[order]
            order = keys.sort_values(ascending=up, kind="stable").index
        first = order[:head]
        return self._each(lambda column: column.iloc[first].reset_index(drop=True), len(first))

    def frame(self, head: int) -> Any:
        """The first rows as a DataFrame."""
        import pandas as pd

        parts = [column.iloc[:head].rename(name) for name, column in self.parts.items()]
        return pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(min(head, self.length)))

    def constant(self) -> Any:
        """A column with one value: all rows are one group."""
        import pandas as pd

        return pd.Series(0, index=range(self.length))

    def made(self, keys: Sequence[str], aggregates: Mapping[str, Any]) -> "Columns":
        """Groups as columns: their keys, then an aggregate each."""
        index = next(iter(aggregates.values())).index
        columns = {key: index.get_level_values(i).to_series().reset_index(drop=True) for i, key in enumerate(keys)}
        columns |= {name: column.reset_index(drop=True) for name, column in aggregates.items()}
        return Columns(columns, len(index))

    def join_size(self, other: "Columns", keys: Sequence[str]) -> int:
        """How many rows a join has, counted before it is made."""
        here, there = self._counts(keys), other._counts(keys)
        both = here.index.intersection(there.index)
        return int((here.loc[both].astype(float) * there.loc[both]).sum())

    def joined(self, other: "Columns", keys: Sequence[str]) -> "Columns":
        """The rows of both with equal keys; a column that both have keeps its name here, and there gets `_2`."""
        import pandas as pd

        left = pd.DataFrame({key: self.parts[key] for key in keys}).assign(**{"\0left": range(self.length)})
        right = pd.DataFrame({key: other.parts[key] for key in keys}).assign(**{"\0right": range(other.length)})
        pairs = left.dropna().merge(right.dropna(), on=list(keys))
        parts = {name: column.iloc[pairs["\0left"]].reset_index(drop=True) for name, column in self.parts.items()}
        for name, column in other.parts.items():
            if name not in keys:
                free = name
                while free in parts:
                    free += "_2"
                parts[free] = column.iloc[pairs["\0right"]].reset_index(drop=True)
        return Columns(parts, len(pairs))

    def _counts(self, keys: Sequence[str]) -> Any:
        import pandas as pd

        return pd.DataFrame({key: self.parts[key] for key in keys}).groupby(list(keys), observed=True).size()

    def _each(self, change: Any, length: int) -> "Columns":
        return Columns({name: change(column) for name, column in self.parts.items()}, length)


def columns_of(value: Any) -> Columns:
    """The columns of a table, the named levels of its index, or its dates, first; a name used twice gets `_2`.

    Of a table of another library they are copied: one that is too long for that is refused.
    """
    if columnar_name(value):
        return _copied(columnar_table(value))
    frame = value
    if pandas_name(value) == "Series":
        frame = value.to_frame("value" if value.name is None else value.name)
    parts: dict[str, Any] = {}
    for name, part in [*_index_parts(frame.index), *_frame_parts(frame)]:
        free = name
        while free in parts:
            free += "_2"
        parts[free] = part.reset_index(drop=True)
    return Columns(parts, len(frame))


def nearest(name: object, names: Sequence[str]) -> str:
    """What to type instead of a name: the nearest one, or the first of those there are."""
    lower = {one.casefold(): one for one in reversed(names)}
    near = difflib.get_close_matches(str(name)[:80].casefold(), list(lower), 1, cutoff=0.5)
    if near:
        return f"did you mean {lower[near[0]]!r}?"
    return f"use one of {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" if names else "there is none"


def _index_parts(index: Any) -> list[tuple[str, Any]]:
    if not pandas_name(index):
        return []
    if class_name(index) == "DatetimeIndex" and index.name is None:
        return [("index", index.to_series())]
    levels = index.names if class_name(index) == "MultiIndex" else [index.name]
    return [(_label(name), index.get_level_values(i).to_series()) for i, name in enumerate(levels) if name is not None]


def _copied(table: ColumnarTable) -> Columns:
    if table.step > 1:
        raise LimitError(f"the table has {table.rows:,} rows", f"only {SCANNED:,} of another library are copied")
    parts: dict[str, Any] = {}
    for i in range(table.width):
        with suppress(TypeError):  # of a nested type
            parts[_label(table.name(i))] = table.column(i)
    return Columns(parts, table.rows)


def _frame_parts(frame: Any) -> list[tuple[str, Any]]:
    return [(_label(frame.columns[i]), frame.iloc[:, i]) for i in range(frame.shape[1])]


def _label(label: object) -> str:
    if type(label) is tuple:
        return ", ".join(_label(one) for one in label)
    return label if type(label) is str else short(label)
