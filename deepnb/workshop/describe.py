"""A variable in a few lines that a model can reason from: its shape, its columns, its first rows.

Tables and arrays are known by what they answer to, never by importing pandas or NumPy. Figures have at most four
significant digits and types the same names under pandas 2 and 3, so that a prompt is the same everywhere.
"""

import csv
import inspect
import io
import reprlib
import types
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from numbers import Integral
from typing import Any

ROWS = 5  # sample rows of a table
LABELS = 50  # first columns in which a text column is looked for
ITEMS = 8  # first items of a collection
LINE = 100  # characters of one item
CELL = 30  # characters of one cell of a table
FROM_IPYTHON = frozenset({"In", "Out", "exit", "quit", "get_ipython"})
COLLECTIONS = (dict, list, tuple, set, frozenset)


def describe(name: str, value: object, budget: int = 1500) -> str:
    """What a value is, in at most `budget` characters; never an exception, whatever the value does when asked."""
    try:
        text = _description(name, value, budget)
    except Exception:
        text = f"{name}: {type(value).__name__}, {unprintable(value)}"
    return cut(text, budget)


def list_of_variables(namespace: Mapping[str, object], limit: int = 100) -> str:
    """One line a variable, `name: type, short`, in the order of definition; no modules, nothing of IPython's own."""
    names = [name for name, value in namespace.items() if _is_the_users(name, value)]
    lines = [f"{name}: {_brief(namespace[name])}" for name in names[:limit]]
    if len(names) > limit:
        lines.append(f"{len(names) - limit} more variables not shown")
    return "\n".join(lines) or "(no variables)"


def is_table(value: object) -> bool:
    """Whether a value is a pandas DataFrame or Series, or made from one."""
    return _pandas_name(value) != ""


def unprintable(value: object) -> str:
    """What stands for a value that cannot be shown."""
    return f"<unprintable {type(value).__name__}>"


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters, with dots where some are missing."""
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


def figure(number: Any) -> str:
    """A whole number as it is; any other with at most four significant digits, without an exponent where it can be."""
    if isinstance(number, Integral) and abs(int(number)) < 10**15:
        return str(int(number))
    return f"{float(f'{float(number):.4g}'):.15g}"


def _description(name: str, value: Any, budget: int) -> str:
    pandas_name = _pandas_name(value)
    if pandas_name == "Series":
        frame = value.to_frame("value" if value.name is None else value.name)
        return _table(f"{name}: {type(value).__name__}, {len(value)} rows", frame, budget)
    if pandas_name:
        rows, columns = value.shape
        return _table(f"{name}: {type(value).__name__}, {rows} rows x {columns} columns", value, budget)
    lines = [f"{name}: {_brief(value)}"]
    if _is_array(value):
        lines += _array_lines(value)
    elif type(value) is dict:
        lines += [f"  {_repr(key, 40)}: {_repr(item)}" for key, item in islice(value.items(), ITEMS)]
    elif type(value) in COLLECTIONS:
        lines += [f"  {_repr(item)}" for item in islice(value, ITEMS)]
    elif type(value) is str and len(value) > LINE:
        lines = [f"{name}: str, {len(value)} characters", cut(repr(value), budget - len(lines[0]))]
    elif inspect.isroutine(value) or inspect.isclass(value):
        doc = (inspect.getdoc(value) or "").strip().partition("\n")[0]
        lines += [f"  {doc}"] * bool(doc)
    if type(value) in COLLECTIONS and len(value) > ITEMS:
        lines.append(f"  {len(value) - ITEMS} more items not shown")
    if len(lines) == 1 and lines[0].endswith("..."):
        lines = [f"{name}: {type(value).__name__}", _repr(value, budget)]
    return "\n".join(lines)


def _brief(value: Any) -> str:
    """The type of a value and, after a comma, the little that fits on its line."""
    kind = type(value).__name__
    try:
        pandas_name = _pandas_name(value)
        if pandas_name == "DataFrame":
            return f"{kind}, {value.shape[0]} rows x {value.shape[1]} columns"
        if pandas_name == "Series":
            return f"{kind}, {len(value)} rows"
        if _is_array(value):
            return f"{kind}, shape {tuple(value.shape)}, {value.dtype}"
        if type(value) in COLLECTIONS:
            return f"{kind}, {len(value)} item{'' if len(value) == 1 else 's'}"
        if isinstance(value, types.ModuleType):
            doc = (value.__doc__ or "").strip().partition("\n")[0]
            return f"module, {value.__name__}" + (f": {cut(doc, LINE)}" if doc else "")
        if inspect.isroutine(value) or inspect.isclass(value):
            return f"{'class' if inspect.isclass(value) else 'function'}, {value.__name__}{_signature(value)}"
        return f"{kind}, {_repr(plain(value))}"
    except Exception:
        return f"{kind}, {unprintable(value)}"


def _table(head: str, frame: Any, budget: int) -> str:
    """Head, one line a column, first rows, and how many columns had no room."""
    count = frame.shape[1]
    columns = (frame.iloc[:, i] for i in range(count))
    first = (frame.iloc[:, i] for i in range(min(count, LABELS)))
    labels = next((column for column in first if _kind(column) in ("str", "category")), None)
    if labels is None and len(frame) and _is_text(frame.index):
        labels = frame.index.to_series()
    lines, used = [head, "column | type | non-null | summary"], len(head) + 35
    shown = 0
    for name, column in zip(frame.columns, columns, strict=False):
        line = f"{_flat(name, 2 * CELL)} | {_kind(column)} | {column.count()} | {_summary_or_none(column, labels)}"
        # Two fifths are kept for the rows; the first column is shown in any case.
        if shown and used + len(line) + 1 > budget * 0.6:
            break
        lines.append(line)
        used += len(line) + 1
        shown += 1
    last = [f"{count - shown} more columns not shown"] if shown < count else []
    room = budget - used - sum(len(line) + 1 for line in last) - len("\nfirst rows:")
    rows = _first_rows(frame.iloc[:ROWS, :shown], room)
    return "\n".join(lines + rows + last)


def _first_rows(head: Any, room: int) -> list[str]:
    """The rows that fit, as CSV with their heading; none where not even one does."""
    with_index = type(head.index).__name__ != "RangeIndex"
    heading = [_flat(name, CELL) for name in head.columns]
    lines = [_csv([str(head.index.name or "index"), *heading] if with_index else heading)]
    for i in range(len(head)):
        cells = [_cell(head.iloc[i, j]) for j in range(len(heading))]
        lines.append(_csv([_cell(head.index[i]), *cells] if with_index else cells))
    while len(lines) > 1 and sum(len(line) + 1 for line in lines) > room:
        lines.pop()
    return ["first rows:", *lines] if len(lines) > 1 and heading else []


def _kind(column: Any) -> str:
    """The type of a column by one name under every version of pandas."""
    dtype = column.dtype
    name, kind = str(dtype), getattr(dtype, "kind", "O")
    if _is_text(column):
        return "str"
    if name == "category":
        return name
    if kind == "M":
        zone = getattr(dtype, "tz", None)
        return f"datetime ({zone})" if zone else "datetime"
    return {"m": "timedelta", "b": "bool"}.get(kind, name)


def _is_text(column: Any) -> bool:
    """Whether a column or an index holds text; of a column of objects the first hundred values are asked."""
    name = str(column.dtype)
    if name == "object":
        values = column.iloc[:1000] if hasattr(column, "iloc") else column[:1000]
        first = list(islice((v for v in values if not _is_missing(v)), 100))
        return bool(first) and all(isinstance(v, str) for v in first)
    return name == "str" or "string" in name


def _summary_or_none(column: Any, labels: Any) -> str:
    """The summary, or dots for a column whose type of values cannot be counted or compared."""
    try:
        return _summary(column, labels)
    except Exception:
        return "..."


def _summary(column: Any, labels: Any) -> str:
    """What a column holds, in half a line."""
    present = column.dropna()
    if not len(present):
        return "all missing" if len(column) else "no rows"
    kind = getattr(column.dtype, "kind", "O")
    if kind == "b":
        trues = int(present.sum())
        return f"{trues} True, {len(present) - trues} False"
    if kind in "iuf":
        at = column.reset_index(drop=True)
        low, high = at.idxmin(), at.idxmax()
        return (
            f"min {figure(column.iloc[low])}{_label(labels, low)}, mean {figure(present.mean())},"
            f" max {figure(column.iloc[high])}{_label(labels, high)}"
        )
    if kind in "Mm":
        return f"min {_cell(present.min())}, max {_cell(present.max())}"
    try:
        distinct = present.unique()
    except TypeError:
        return f"values of type {', '.join(sorted({type(v).__name__ for v in present.iloc[:100]}))}"
    first = ", ".join(_cell(v) for v in distinct[:3])
    return f"{len(distinct)} distinct: {first}{', ...' if len(distinct) > 3 else ''}"


def _label(labels: Any, row: int) -> str:
    if labels is None or _is_missing(labels.iloc[row]):
        return ""
    return f" ({_flat(labels.iloc[row], CELL)})"


def _cell(value: Any) -> str:
    """One value of a table: floats with four digits, integers in full (they may be names), no time at midnight."""
    value = plain(value)
    if _is_missing(value):
        return ""
    if type(value) is tuple:
        return cut(", ".join(_cell(v) for v in value), CELL)
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    return _flat(value, CELL)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(value, float) and value != value


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it holds; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and not _is_array(value):
        return value.item()
    return value


def _array_lines(array: Any) -> list[str]:
    lines = []
    if array.size and array.dtype.kind in "iuf":
        numbers = array[array == array]  # NaN is not equal to itself
        if numbers.size:
            lines.append(f"  min {figure(numbers.min())}, mean {figure(numbers.mean())}, max {figure(numbers.max())}")
    if array.size:
        more = ", ..." if array.size > ITEMS else ""
        lines.append("  first values: " + ", ".join(_cell(v) for v in array.flat[:ITEMS]) + more)
    return lines


def _is_array(value: object) -> bool:
    return any(c.__name__ == "ndarray" and c.__module__ == "numpy" for c in type(value).__mro__)


def _pandas_name(value: object) -> str:
    """`DataFrame`, `Series`, or nothing, also for subclasses made elsewhere."""
    for c in type(value).__mro__:
        if c.__name__ in ("DataFrame", "Series") and str(c.__module__).split(".")[0] == "pandas":
            return c.__name__
    return ""


def _is_the_users(name: str, value: object) -> bool:
    if name.startswith("_") or name in FROM_IPYTHON or issubclass(type(value), types.ModuleType):
        return False
    module = value.__module__ if type(value) is types.FunctionType else type(value).__module__
    return str(module).split(".")[0] != "IPython"


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"


class _Short(reprlib.Repr):
    """A repr that asks a big collection for its first items only, and a hostile one for nothing more."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = ITEMS
        self.maxstring = self.maxother = self.maxlong = 4000

    def repr_instance(self, x: Any, level: int) -> str:
        try:
            return cut(repr(x), self.maxother)
        except Exception:
            return unprintable(x)


def _repr(value: object, limit: int = LINE) -> str:
    return cut(" ".join(_Short().repr(value).split()), limit)


def _flat(value: object, limit: int) -> str:
    try:
        return cut(" ".join(str(value).split()), limit)
    except Exception:
        return unprintable(value)


def _csv(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(cells))
    return line.getvalue()
