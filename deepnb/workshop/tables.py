"""Tables of pandas, polars and pyarrow, read column by column as pandas Series, and columns found by name in any of them.

The libraries are found among the loaded modules. Of the user's own DataFrame no method is called: names may be shadowed,
and pandas copies `attrs` with each result. Of another library values of nested types, bytes and types that a program adds
are not read: their size is unknown, or their code is not the library's. Of the texts of a large column only the first
characters are copied.
"""

import difflib
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from deepnb.values.errors import InvalidError, LimitError, NotFoundError
from deepnb.workshop import exact
from deepnb.workshop.exact import class_name, is_from, is_missing, is_readable, is_scalar, is_stored, pandas_name, plain

SCANNED = 100_000  # rows of a longer table are sampled
BLOCK = 100  # neighbouring rows in a sample: single ones are slow to gather, and may have a period in common
LARGE = 50_000_000  # bytes of a column of texts that are cut before they are copied
TEXT = 1000  # characters that are then read of each
_TABLES = (("polars", ("DataFrame", "Series")), ("pyarrow", ("Table", "RecordBatch")))
_COLUMNS = (("polars", ("Series",)), ("pyarrow", ("ChunkedArray",)))
_NUMBERS = frozenset({f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)})
_READ = _NUMBERS | {"float16", "float32", "float64", "str", "bool", "date", "time", "timedelta", "decimal", "null"}
_NAMED = {"Timestamp": "datetime", "Decimal": "decimal", "Timedelta": "timedelta"}
_POLARS = {"String": "str", "Utf8": "str", "Categorical": "category", "Enum": "category"}
_POLARS |= {"Boolean": "bool", "Duration": "timedelta", "Binary": "bytes"}
_ARROW = {"DictionaryType": "category", "DurationType": "timedelta", "Time32Type": "time", "Time64Type": "time"}
_ARROW |= {"halffloat": "float16", "float": "float32", "double": "float64", "date32[day]": "date", "date64[ms]": "date"}
_ARROW |= dict.fromkeys(("Decimal32Type", "Decimal64Type", "Decimal128Type", "Decimal256Type"), "decimal")
_ARROW |= dict.fromkeys(("LargeListType", "FixedSizeListType", "ListViewType", "LargeListViewType"), "list")
_ARROW |= dict.fromkeys(("string", "large_string", "string_view"), "str")
_ARROW |= dict.fromkeys(("binary", "large_binary", "binary_view"), "bytes")


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


class Table:
    """What is read of a table; a Series is one of one column."""

    def __init__(self, value: Any) -> None:
        self.names: list[Any]
        self.arrays: list[Any]
        self.index: Any = None
        """The index of pandas, where it is no mere count of rows, and can be read."""
        self.levels: list[tuple[str, Any]] = []
        """Its named levels, or its dates: name and array."""
        library, longest = columnar_name(value), SCANNED
        if not library:
            longest = 2 * SCANNED
            self._read_pandas(value)
        elif library.startswith("polars"):
            self.arrays = [value] if class_name(value) == "Series" else value.get_columns()
            self.names = [one.name or ("value" if len(self.arrays) == 1 else "") for one in self.arrays]
            self.rows = len(value)
        else:
            table = vars(sys.modules["pyarrow"])["Table"].from_batches([value]) if "Batch" in library else value
            self.names, self.arrays, self.rows = table.column_names, table.columns, table.num_rows
        self.width = len(self.arrays)
        self.step = max(2 * self.rows // longest, 1) if self.rows > longest else 1
        """1, or 1 row in so many is in the sample of a column."""
        size = f"{self.rows} rows" if class_name(value) == "Series" else f"{self.rows} rows x {self.width} columns"
        self.title = f"{library or class_name(value)}, {size}"

    def _read_pandas(self, value: Any) -> None:
        if not pandas_name(value.index):
            raise TypeError(class_name(value.index))
        if class_name(value) == "Series":
            self.names = ["value" if value.name is None else value.name]
            self.arrays = [value.array]
        else:
            import pandas as pd

            # What pandas offers for a column takes a view of it: `__getitem__` of an array that a program adds.
            raw = [vars(value)["_mgr"].iget_values(i) for i in range(len(value.columns))]
            self.arrays = [pd.arrays.NumpyExtensionArray(one) if exact.is_array(one) else one for one in raw]
            plain = pandas_name(value.columns) and _is_stored(value.columns)
            self.names = list(value.columns) if plain else [f"column {i}" for i in range(len(raw))]
        self.rows = len(value.index)
        if _is_stored(value.index):
            index = value.index
            names = index.names if class_name(index) == "MultiIndex" else [index.name]
            named = [(i, name) for i, name in enumerate(names) if name is not None]
            self.levels = [(_label(name), index.get_level_values(i).array) for i, name in named]
            if class_name(index) == "DatetimeIndex" and index.name is None:
                self.levels = [("index", index.array)]
            self.index = value.index if class_name(value.index) != "RangeIndex" else None

    def present(self, i: int) -> str:
        """Return how many rows have a value: `7`, or `7/10` of a sample; `?` where it would run code of the values."""
        array = self.arrays[i]
        if _library(array):
            return str(self.rows - (array.null_count() if _library(array) == "polars" else array.null_count))
        if not is_stored(array) or not is_readable(column := self.column(i)):
            return "?"
        count = int(column.count())
        return f"{count}/{len(column)}" if self.step > 1 else str(count)

    def column(self, i: int) -> Any:
        """Return the sample of a column as it is described: of another library decimals as floats, times as the zone has them."""
        array, library = self.arrays[i], _library(self.arrays[i])
        if self.step > 1 and library:
            parts = [array[at : at + BLOCK] for at in range(0, self.rows, BLOCK * self.step)]
            module = vars(sys.modules[library])
            if library == "polars":
                array = module["concat"](parts)
            else:
                array = module["chunked_array"]([chunk for part in parts for chunk in part.chunks], parts[0].type)
        elif self.step > 1:
            array = array[:: self.step] if is_stored(array) else array
        column = series_of(array)
        if library and type_name(array) == "decimal":
            return column.astype("float64")
        return column.dt.tz_localize(None) if library and type_name(array).startswith("datetime (") else column

    def first(self, i: int, rows: int) -> Sequence[Any]:
        """Return the first values of a column, dots for what is not read."""
        array = self.arrays[i]
        try:
            shown: Sequence[Any] = series_of(array[:rows] if _library(array) or is_stored(array) else array).array
        except Exception:
            return ["..."] * min(rows, self.rows)
        return shown

    def labels(self) -> Any:
        """Return the index of the sample, where it is text; None if it is not."""
        if self.index is None or class_name(self.index) == "MultiIndex" or not is_text(self.index.array):
            return None
        return series_of(self.index.array[:: self.step])


def _library(array: Any) -> str:
    return next((module for module, names in _COLUMNS if is_from(array, module, names)), "")


def _is_stored(index: Any) -> bool:
    levels = index.levels if class_name(index) == "MultiIndex" else [index]
    return all(pandas_name(level) and is_stored(exact.array_of(level)) for level in levels)


def series_of(array: Any) -> Any:
    """Return a column of any library as a Series with a plain index; raise TypeError for one that is not read."""
    import pandas as pd

    if _library(array) == "polars":
        kind, dtype, part = _polars_kind(array.dtype), array.dtype, array
        if kind == "category":
            part, kind = part.cast(vars(sys.modules["polars"])["String"]), "str"
            if class_name(dtype) == "Enum":
                return pd.Series(pd.Categorical(part.to_list(), dtype.categories.to_list(), ordered=True))
        if kind == "str" and part.estimated_size() > LARGE:
            part = part.str.slice(0, TEXT)
        elif kind.startswith("datetime ("):
            part = part.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _series(kind, part, part.to_list)
    if _library(array):
        return _arrow_series(array)
    if not is_stored(array):
        raise TypeError(class_name(array))
    if (name := class_name(array)) == "ArrowExtensionArray":
        return _arrow_series(array.__arrow_array__())
    if name == "SparseArray":
        return pd.Series(array.to_dense())
    if name == "NumpyExtensionArray":
        values = array.to_numpy()
        return pd.Series(values, dtype=values.dtype, copy=False)
    return pd.Series(array, copy=False)


def _arrow_series(part: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if (kind := arrow_kind(part.type)) == "category":
        kind = arrow_kind(part.type.value_type)
        part = part.cast(part.type.value_type) if kind in _READ else part
    if kind == "str" and part.nbytes > LARGE:
        part = pc.utf8_slice_codeunits(part.cast(pa.large_string()), 0, TEXT)
    elif kind.startswith("datetime ("):
        part = part.cast(pa.timestamp(part.type.unit))
    return _series(kind, part, part.to_pylist)


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
        column = pd.Series(part.to_numpy())
        zone = kind[len("datetime (") : -1]
        return column.dt.tz_localize("UTC").dt.tz_convert(zone) if zone and kind.startswith("datetime (") else column
    return pd.Series(values(), dtype=object)


def _polars_kind(kind: Any) -> str:
    made = kind if issubclass(type(kind), type) else type(kind)  # polars 1.20 has the class itself for some
    name = str(type.__dict__["__name__"].__get__(made))
    if vars(sys.modules["polars"]).get(name) is not made:
        return "extension"
    return _zoned(kind.time_zone) if name == "Datetime" else _POLARS.get(name) or name.lower()


def _zoned(zone: object) -> str:
    return f"datetime ({zone})" if zone else "datetime"


def type_name(array: Any) -> str:
    """Return the type of a column by one name in all libraries and under every version of pandas.

    Of objects it is their type, where they have one in common.
    """
    if library := _library(array):
        return _polars_kind(array.dtype) if library == "polars" else arrow_kind(array.type)
    if not is_stored(array):
        return class_name(array)
    dtype = array.dtype
    code, name = getattr(dtype, "kind", "O"), class_name(array)
    if is_text(array):
        return "str"
    if name == "ArrowExtensionArray":
        return arrow_kind(dtype.pyarrow_dtype)
    if code == "M":
        return _zoned(getattr(dtype, "tz", None))
    if name == "NumpyExtensionArray" and code == "O":
        held = {id(type(v)): v for v in array.to_numpy()[:1000] if not is_missing(v)}
        one = next(iter(held.values())) if len(held) == 1 else None
        return _NAMED.get(class_name(one), class_name(one)) if one is not None and is_scalar(one) else "object"
    return {"m": "timedelta", "b": "bool"}.get(code, str(dtype))


def is_text(array: Any) -> bool:
    """Return whether an array holds text; of one of objects the first hundred values are asked."""
    if (name := class_name(array)) == "NumpyExtensionArray":
        first = list(islice((v for v in array.to_numpy()[:1000] if not is_missing(v)), 100))
        return bool(first) and all(type(v) is str for v in first)
    if name == "ArrowExtensionArray":
        return arrow_kind(array.dtype.pyarrow_dtype) == "str"
    return name.endswith(("StringArray", "StringArrayNumpySemantics"))


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


# -- A table's columns by name, taken from it one by one into a DataFrame of our own


@dataclass(frozen=True)
class Columns:
    """The columns of a table under distinct names, in a DataFrame with a plain index."""

    frame: Any
    twice: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of the columns that are called alike in their table."""
    unread: Mapping[str, str] = field(default_factory=dict)  # the types of the columns that are not read, by name

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def name(self, wanted: object) -> str:
        """Return the name of a column as it is; an error names the nearest."""
        if isinstance(wanted, str) and wanted in self.names:
            return wanted
        if isinstance(wanted, str) and wanted in self.twice:
            raise InvalidError(said_twice(wanted, self.twice[wanted]), f"use {' or '.join(self.twice[wanted])}")
        if isinstance(wanted, str) and wanted in self.unread:
            raise InvalidError(f"{wanted!r} holds {self.unread[wanted]}, which is not read", "use another column")
        raise NotFoundError(f"there is no column {wanted!r}", nearest(wanted, self.names))

    def readable(self, wanted: object) -> Any:
        """Return a column whose values may be compared without running code of theirs."""
        name = self.name(wanted)
        column = self.frame[name]
        if not is_readable(column):
            raise InvalidError(f"{''.join(held(column, name))}, which is not compared", "use another column")
        return column


def columns_of(value: Any) -> Columns:
    """Return the columns of a table, the named levels of its index, or its dates, first.

    Columns that are called alike get numbers: `max_1`, `max_2`. Of a table of another library they are copied: one that
    is too long for that is refused.
    """
    import pandas as pd

    table = Table(value)
    if table.step > 1 and columnar_name(value):
        raise LimitError(f"the table has {table.rows:,} rows", f"only {SCANNED:,} of another library are copied")
    own = [(_label(name), array) for name, array in zip(table.names, table.arrays, strict=True)]
    counts = Counter(name for name, _ in (*table.levels, *own))
    parts: dict[str, Any] = {}
    unread: dict[str, str] = {}
    twice: dict[str, tuple[str, ...]] = {}
    for name, array in (*table.levels, *own):
        free = name
        if counts[name] > 1:
            free = f"{name}_{len(twice.get(name, ())) + 1}"
            while free in counts or free in parts:
                free += "_"
            twice[name] = (*twice.get(name, ()), free)
        try:
            parts[free] = series_of(array)
        except TypeError:
            unread[free] = type_name(array)
    return Columns(pd.DataFrame(parts, pd.RangeIndex(table.rows), copy=False), twice, unread)


def held(column: Any, name: str, join: str = " (such as {})") -> tuple[str, str]:
    """Return `'units' holds int64` and ` (such as 3)`: the type of a column's values, and some as a question has them."""
    grouped = class_name(column.dtype) == "CategoricalDtype"
    values = [v for v in (column.cat.categories if grouped else column.iloc[:1000]).tolist() if not is_missing(v)]
    kind = type_name(column.array)
    if grouped or kind == "object":
        classes = ", ".join(list(dict.fromkeys(class_name(plain(value)) for value in values))[:3])
        kind = f"category of {classes}" if grouped else classes or kind
    shown = []
    for value in map(plain, values[: 5 if grouped else 1]):
        bare = type(value) in (bool, int, float) or not is_scalar(value)
        shown.append(exact.short(value, 40) if bare else repr(exact.cell_of(name, value)))
    return f"{name!r} holds {kind}", join.format(", ".join(shown)) if shown and shown[0][0] != "<" else ""


def said_twice(name: str, names: Sequence[str]) -> str:
    """Return `2 columns are called 'max'`."""
    return f"{len(names)} columns are called {name!r}"


def nearest(name: object, names: Sequence[str]) -> str:
    """Return what to type instead of a name: the nearest one, or the first of those there are."""
    lower = {one.casefold(): one for one in reversed(names)}
    if near := difflib.get_close_matches(str(name)[:80].casefold(), list(lower), 1, cutoff=0.5):
        return f"did you mean {lower[near[0]]!r}?"
    return f"use one of {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" if names else "there is none"


def _label(label: object) -> str:
    if type(label) is tuple:
        return ", ".join(_label(one) for one in label)
    return label if type(label) is str else exact.short(label)
