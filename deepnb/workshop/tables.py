"""Tables of polars and pyarrow as `describe` reads them, column by column, and columns found by name in any table.

Both libraries are found among the loaded modules. A column becomes a pandas Series only when it is shown. Values of
nested types, bytes and types that a program adds are not read: their size is unknown, or their code is not the
library's. Of the texts of a large column only the first characters are copied.
"""

import difflib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from deepnb.values.errors import InvalidError, LimitError, NotFoundError
from deepnb.workshop.exact import class_name, is_from, is_readable, pandas_name, short

SCANNED = 100_000  # rows of a longer table are sampled
BLOCK = 100  # neighbouring rows in a sample: single ones are slow to gather, and may have a period in common
LARGE = 50_000_000  # bytes of a column of texts that are cut before they are copied
TEXT = 1000  # characters that are then read of each
_TABLES = (("polars", ("DataFrame", "Series")), ("pyarrow", ("Table", "RecordBatch")))
_NUMBERS = frozenset({f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)})
_READ = _NUMBERS | {"float16", "float32", "float64", "str", "bool", "date", "time", "timedelta", "decimal", "null"}
_POLARS = {
    **dict.fromkeys(("String", "Utf8"), "str"),
    **dict.fromkeys(("Categorical", "Enum"), "category"),
    "Boolean": "bool",
    "Duration": "timedelta",
    "Binary": "bytes",
}
_ARROW = {
    "DictionaryType": "category",
    "DurationType": "timedelta",
    "Time32Type": "time",
    "Time64Type": "time",
    **dict.fromkeys(("Decimal32Type", "Decimal64Type", "Decimal128Type", "Decimal256Type"), "decimal"),
    **dict.fromkeys(("LargeListType", "FixedSizeListType", "ListViewType", "LargeListViewType"), "list"),
    **dict.fromkeys(("string", "large_string", "string_view"), "str"),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), "bytes"),
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "date32[day]": "date",
    "date64[ms]": "date",
}


def columnar_name(value: object) -> str:
    """`polars DataFrame`, `polars Series`, `pyarrow Table`, `pyarrow RecordBatch`, or nothing."""
    library = next((module for module, names in _TABLES if is_from(value, module, names)), "")
    return library and f"{library} {class_name(value)}"


def arrow_kind(kind: Any) -> str:
    """Return the plain name of a pyarrow type; of a nested one only `list`, `struct`, `map`."""
    name = class_name(kind)
    if not is_from(kind, "pyarrow.lib", (name,)):
        return "extension"
    if name == "TimestampType":
        return _zoned(kind.tz)
    if name == "DataType":
        name = str(kind)
    return _ARROW.get(name) or name.removesuffix("Type").lower()


class ColumnarTable(ABC):
    """What both libraries have in common."""

    def __init__(self, value: Any, table: Any) -> None:
        self.table = table
        self.rows, self.width = table.shape
        self.step = max(2 * self.rows // SCANNED, 1) if self.rows > SCANNED else 1
        """1, or 1 row in so many is in the sample of a column."""
        size = f"{self.rows} rows" if class_name(value) == "Series" else f"{self.rows} rows x {self.width} columns"
        self.title = f"{columnar_name(value)}, {size}"

    @abstractmethod
    def name(self, i: int) -> object:
        """Return the name of a column."""

    @abstractmethod
    def kind(self, i: int) -> str:
        """Its type, by the name it has for pandas where there is one."""

    @abstractmethod
    def present(self, i: int) -> str:
        """Return how many rows of the whole table have a value."""

    def column(self, i: int) -> Any:
        """Return the sample of a column, as a Series; decimals as floats."""
        sample = self._sample(i)
        return self._series(i, sample).astype("float64") if self.kind(i) == "decimal" else self._series(i, sample)

    def first_rows(self, rows: int, columns: int) -> Any:
        """Return the first rows of the first columns, as a DataFrame with dots for what is not read."""
        import pandas as pd

        return pd.DataFrame({i: self._first(i, min(rows, self.rows)) for i in range(columns)})

    def index_labels(self) -> Any:
        """Return None: there is no index."""
        return None

    def _first(self, i: int, rows: int) -> Any:
        try:
            return self._series(i, self._part(i, rows))
        except Exception:
            return ["..."] * rows

    @abstractmethod
    def _part(self, i: int, rows: int) -> Any:
        """Return the first rows of a column, in the library's own type."""

    @abstractmethod
    def _sample(self, i: int) -> Any:
        """Return the column, or blocks from all over it in one."""

    def _starts(self) -> range:
        return range(0, self.rows, BLOCK * self.step)

    @abstractmethod
    def _series(self, i: int, part: Any) -> Any:
        """Return a part of a column as a pandas Series."""


class PolarsTable(ColumnarTable):
    """A polars DataFrame, or a Series as one of one column."""

    def __init__(self, value: Any) -> None:
        super().__init__(value, value.to_frame() if class_name(value) == "Series" else value)
        self.kinds = [_polars_kind(kind) for kind in self.table.dtypes]

    def name(self, i: int) -> object:
        return self.table.columns[i] or ("value" if self.width == 1 else "")

    def kind(self, i: int) -> str:
        return self.kinds[i]

    def present(self, i: int) -> str:
        return str(self.rows - self.table.to_series(i).null_count())

    def _part(self, i: int, rows: int) -> Any:
        return self.table.to_series(i).head(rows)

    def _sample(self, i: int) -> Any:
        column = self.table.to_series(i)
        if self.step == 1:
            return column
        return vars(sys.modules["polars"])["concat"]([column.slice(at, BLOCK) for at in self._starts()])

    def _series(self, i: int, part: Any) -> Any:
        kind = self.kinds[i]
        if kind == "category":
            part, kind = part.cast(vars(sys.modules["polars"])["String"]), "str"
        if kind == "str" and part.estimated_size() > LARGE:
            part = part.str.slice(0, TEXT)
        elif kind.startswith("datetime ("):
            part = part.dt.replace_time_zone(None)
        return _series(kind, part, part.to_list)


class ArrowTable(ColumnarTable):
    """A pyarrow Table, or a RecordBatch as one of one batch."""

    def __init__(self, value: Any) -> None:
        table = vars(sys.modules["pyarrow"])["Table"]
        super().__init__(value, table.from_batches([value]) if class_name(value) == "RecordBatch" else value)

    def name(self, i: int) -> object:
        return self.table.field(i).name

    def kind(self, i: int) -> str:
        return arrow_kind(self.table.field(i).type)

    def present(self, i: int) -> str:
        return str(self.rows - self.table.column(i).null_count)

    def _part(self, i: int, rows: int) -> Any:
        return self.table.column(i).slice(0, rows)

    def _sample(self, i: int) -> Any:
        import pyarrow as pa

        column = self.table.column(i)
        if self.step == 1:
            return column
        blocks = [chunk for at in self._starts() for chunk in column.slice(at, BLOCK).chunks]
        return pa.chunked_array(blocks, column.type)

    def _series(self, i: int, part: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self.kind(i)
        if kind == "category":
            kind = arrow_kind(part.type.value_type)
            part = part.cast(part.type.value_type) if kind in _READ else part
        if kind == "str" and part.nbytes > LARGE:
            part = pc.utf8_slice_codeunits(part.cast(pa.large_string()), 0, TEXT)
        elif kind.startswith("datetime ("):
            part = pc.local_timestamp(part)
        return _series(kind, part, part.to_pylist)


def columnar_table(value: Any) -> ColumnarTable:
    """Return the table of a value that has a `columnar_name`."""
    return PolarsTable(value) if columnar_name(value).startswith("polars") else ArrowTable(value)


def _series(kind: str, part: Any, values: Callable[[], list[Any]]) -> Any:
    """Return a column of either library as a pandas Series: whole numbers stay exact where some are missing."""
    import pandas as pd

    if kind not in _READ and not kind.startswith("datetime"):
        raise TypeError(kind)
    if kind == "bool" or kind in _NUMBERS:
        array = pd.arrays.BooleanArray if kind == "bool" else pd.arrays.IntegerArray
        filled = part.fill_null(False if kind == "bool" else 0).to_numpy()
        return pd.Series(array(filled.copy(), part.is_null().to_numpy().copy()))
    if kind.startswith(("float", "datetime", "date", "timedelta")):
        return pd.Series(part.to_numpy())
    return pd.Series(values(), dtype=object)


def _polars_kind(kind: Any) -> str:
    made = kind if issubclass(type(kind), type) else type(kind)  # polars 1.20 has the class itself for some
    name = str(type.__dict__["__name__"].__get__(made))
    if vars(sys.modules["polars"]).get(name) is not made:
        return "extension"
    return _zoned(kind.time_zone) if name == "Datetime" else _POLARS.get(name) or name.lower()


def _zoned(zone: object) -> str:
    return f"datetime ({zone})" if zone else "datetime"


def conversion(value: object) -> str:
    """Return what to type to read a table of another library with pandas; empty for any other value."""
    if columnar_name(value):
        return "convert it with .to_pandas()"
    if is_from(value, "polars", ("LazyFrame",)):
        return "it is lazy: .collect() gives a table that can be shown"
    loaded = sys.modules.get("pandas")
    tables = [vars(loaded).get(name) for name in ("DataFrame", "Series")] if loaded else []
    if any(kind is table for kind in type.__dict__["__mro__"].__get__(type(value)) for table in tables):
        return f"{class_name(value)} is a subclass: pandas.DataFrame(...) of it is read"
    return ""


# -- A table's columns by name, taken from a DataFrame or Series one by one; the user's own is only read


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
        """Return the name of a column as it is; an error names the nearest."""
        if isinstance(wanted, str) and wanted in self.parts:
            return wanted
        raise NotFoundError(f"there is no column {wanted!r}", nearest(wanted, self.names))

    def column(self, name: str) -> Any:
        return self.parts[name]

    def readable(self, wanted: object) -> Any:
        """Return a column whose values may be compared without running code of theirs."""
        name = self.name(wanted)
        if not is_readable(self.parts[name]):
            kinds = sorted({class_name(value) for value in self.parts[name].iloc[:100].to_numpy()})[:3]
            raise InvalidError(f"{name!r} holds {', '.join(kinds)}, which is not compared", "use another column")
        return self.parts[name]

    def summable(self, name: str) -> Any:
        """Return a column whose sum is exact: whole numbers near the limit of 64 bits as Python's own."""
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
        """Return the rows that a mask keeps."""
        keep = mask.to_numpy()
        parts = {name: column[keep].reset_index(drop=True) for name, column in self.parts.items()}
        return Columns(parts, int(keep.sum()))

    def only(self, names: Sequence[str]) -> "Columns":
        return Columns({name: self.parts[name] for name in names}, self.length)

    def sorted(self, names: Sequence[str], ascending: Sequence[bool], head: int) -> "Columns":
        """Return the first rows in the order of some columns, missing values last; equal ones keep their order."""
        import pandas as pd

        order = pd.RangeIndex(self.length)
        for name, up in reversed(list(zip(names, ascending, strict=True))):
            keys = self.parts[name].reset_index(drop=True).iloc[order]
            order = keys.sort_values(ascending=up, kind="stable").index
        first = order[:head]
        parts = {name: column.iloc[first].reset_index(drop=True) for name, column in self.parts.items()}
        return Columns(parts, len(first))

    def frame(self, head: int) -> Any:
        """Return the first rows as a DataFrame."""
        import pandas as pd

        parts = [column.iloc[:head].rename(name) for name, column in self.parts.items()]
        return pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(min(head, self.length)))

    def constant(self) -> Any:
        """Return a column with one value: all rows are one group."""
        import pandas as pd

        return pd.Series(0, index=range(self.length))

    def made(self, keys: Sequence[str], aggregates: Mapping[str, Any]) -> "Columns":
        """Groups as columns: their keys, then an aggregate each."""
        index = next(iter(aggregates.values())).index
        columns = {key: index.get_level_values(i).to_series().reset_index(drop=True) for i, key in enumerate(keys)}
        columns |= {name: column.reset_index(drop=True) for name, column in aggregates.items()}
        return Columns(columns, len(index))

    def join_size(self, other: "Columns", keys: Sequence[str]) -> int:
        """Return how many rows a join has, counted before it is made."""
        here, there = self._counts(keys), other._counts(keys)
        both = here.index.intersection(there.index)
        return int((here.loc[both].astype(float) * there.loc[both]).sum())

    def joined(self, other: "Columns", keys: Sequence[str]) -> "Columns":
        """Return the rows of both with equal keys; a column that both have keeps its name here, and there gets `_2`."""
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


def columns_of(value: Any) -> Columns:
    """Return the columns of a table, the named levels of its index, or its dates, first; a name used twice gets `_2`.

    Of a table of another library they are copied: one that is too long for that is refused.
    """
    if columnar_name(value):
        table = columnar_table(value)
        if table.step > 1:
            raise LimitError(f"the table has {table.rows:,} rows", f"only {SCANNED:,} of another library are copied")
        copied: dict[str, Any] = {}
        for i in range(table.width):
            with suppress(TypeError):  # of a nested type
                copied[_label(table.name(i))] = table.column(i)
        return Columns(copied, table.rows)
    frame = value
    if pandas_name(value) == "Series":
        frame = value.to_frame("value" if value.name is None else value.name)
    parts: dict[str, Any] = {}
    own = ((_label(frame.columns[i]), frame.iloc[:, i]) for i in range(frame.shape[1]))
    for name, part in (*_index_parts(frame.index), *own):
        free = name
        while free in parts:
            free += "_2"
        parts[free] = part.reset_index(drop=True)
    return Columns(parts, len(frame))


def nearest(name: object, names: Sequence[str]) -> str:
    """Return what to type instead of a name: the nearest one, or the first of those there are."""
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


def _label(label: object) -> str:
    if type(label) is tuple:
        return ", ".join(_label(one) for one in label)
    return label if type(label) is str else short(label)
