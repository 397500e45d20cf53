"""A pandas DataFrame or Series as `describe` reads it: types by the same names in every version, a sample of a long one."""

from itertools import islice
from typing import Any

from deepnb.workshop.columnar import arrow_kind
from deepnb.workshop.exact import class_name, is_missing, is_readable, pandas_name

SCANNED = 200_000  # rows of a longer table are sampled


class PandasTable:
    """A DataFrame, or a Series as one of one column."""

    def __init__(self, value: Any) -> None:
        series = pandas_name(value) == "Series"
        self.frame = value.to_frame("value" if value.name is None else value.name) if series else value
        self.rows, self.width = self.frame.shape
        self.step = 1 if self.rows <= SCANNED else 2 * self.rows // SCANNED
        size = f"{self.rows} rows" if series else f"{self.rows} rows x {self.width} columns"
        self.title = f"{class_name(value)}, {size}"

    def name(self, i: int) -> object:
        label: object = self.frame.columns[i]
        return label

    def kind(self, i: int) -> str:
        return type_name(self.column(i))

    def present(self, i: int) -> str:
        """How many rows have a value: `7`, or `7/10` of a sample; `?` where that would run code of the values."""
        column = self.column(i)
        if not is_readable(column):
            return "?"
        count = int(column.count())
        return f"{count}/{len(column)}" if self.step > 1 else str(count)

    def column(self, i: int) -> Any:
        """The sample of a column."""
        return self.frame.iloc[:: self.step, i] if self.step > 1 else self.frame.iloc[:, i]

    def first_rows(self, rows: int, columns: int) -> Any:
        return self.frame.iloc[:rows, :columns]

    def index_labels(self) -> Any:
        """The index of the sample, where it is text."""
        index = self.frame.index
        if self.rows and pandas_name(index) and is_text(index[:SCANNED]):
            return index[:: self.step].to_series()
        return None


def type_name(column: Any) -> str:
    """The type of a column by one name under every version of pandas, with and without pyarrow."""
    dtype = column.dtype
    name, code = str(dtype), getattr(dtype, "kind", "O")
    if is_text(column):
        return "str"
    if class_name(dtype) == "ArrowDtype":
        return arrow_kind(dtype.pyarrow_dtype)
    if name == "category":
        return name
    if code == "M":
        zone = getattr(dtype, "tz", None)
        return f"datetime ({zone})" if zone else "datetime"
    return {"m": "timedelta", "b": "bool"}.get(code, name)


def is_text(column: Any) -> bool:
    """Whether a column or an index holds text; of a column of objects the first hundred values are asked."""
    name = str(column.dtype)
    if name == "object":
        values = column.iloc[:1000] if pandas_name(column) == "Series" else column[:1000]
        first = list(islice((v for v in values.to_numpy() if not is_missing(v)), 100))
        return bool(first) and all(type(v) is str for v in first)
    return name == "str" or "string" in name
