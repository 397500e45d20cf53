"""A polars or pyarrow table as `describe` reads it: column by column, a sample of a long one, no code of its values.

Both libraries are found among the loaded modules. A column becomes a pandas Series only when it is shown. Values of
nested types, bytes and types that a program adds are not read: their size is unknown, or their code is not the
library's. Of the texts of a large column only the first characters are copied.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from deepnb.workshop.exact import class_name, is_from

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
    """The plain name of a pyarrow type; of a nested one only `list`, `struct`, `map`."""
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
        size = f"{self.rows} rows" if class_name(value) == "Series" else f"{self.rows} rows x {self.width} columns"
        self.title = f"{columnar_name(value)}, {size}"

    @abstractmethod
    def name(self, i: int) -> object:
        """The name of a column."""

    @abstractmethod
    def kind(self, i: int) -> str:
        """Its type, by the name it has for pandas where there is one."""

    @abstractmethod
    def present(self, i: int) -> str:
        """How many rows of the whole table have a value."""

    def column(self, i: int) -> Any:
        """The sample of a column, as a Series; decimals as floats."""
        sample = self._sample(i)
        return self._series(i, sample).astype("float64") if self.kind(i) == "decimal" else self._series(i, sample)

    def first_rows(self, rows: int, columns: int) -> Any:
        """The first rows of the first columns, as a DataFrame with dots for what is not read."""
        import pandas as pd

        return pd.DataFrame({i: self._first(i, min(rows, self.rows)) for i in range(columns)})

    def index_labels(self) -> None:  # noqa: B027 (None is the answer)
        """There is no index."""

    def _first(self, i: int, rows: int) -> Any:
        try:
            return self._series(i, self._part(i, rows))
        except Exception:
            return ["..."] * rows

    @abstractmethod
    def _part(self, i: int, rows: int) -> Any:
        """The first rows of a column, in the library's own type."""

    @abstractmethod
    def _sample(self, i: int) -> Any:
        """The column, or blocks from all over it in one."""

    def _starts(self) -> range:
        return range(0, self.rows, BLOCK * self.step)

    @abstractmethod
    def _series(self, i: int, part: Any) -> Any:
        """A part of a column as a pandas Series."""


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
    """The table of a value that has a `columnar_name`."""
    return PolarsTable(value) if columnar_name(value).startswith("polars") else ArrowTable(value)


def _series(kind: str, part: Any, values: Callable[[], list[Any]]) -> Any:
    """A column of either library as a pandas Series: whole numbers stay exact where some are missing."""
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
