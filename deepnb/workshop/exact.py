"""The types whose values are read, each known exactly: of any other only the class is named, its code never called.

Libraries are found among the loaded modules, never imported.
"""

import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from pathlib import PosixPath, PurePosixPath, WindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

ITEMS = 8  # first items of a collection
LINE = 100  # characters of one item
COLLECTIONS = (dict, list, tuple, set, frozenset)
_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...), range, Decimal, Fraction, UUID)
_TIMES = (date, datetime, time, timedelta)
_PATHS = (PosixPath, PurePosixPath, WindowsPath)
_FRAMES = ("DataFrame", "Series")
_INDEXES = [
    "Index",
    "RangeIndex",
    "MultiIndex",
    "DatetimeIndex",
    "TimedeltaIndex",
    "PeriodIndex",
    "IntervalIndex",
    "CategoricalIndex",
]
_MOMENTS = ("Timestamp", "Timedelta", "Period", "Interval")


def class_name(value: object) -> str:
    """The name of a value's class, also where its metaclass would answer otherwise."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def is_from(value: object, module: str, names: Iterable[str]) -> bool:
    """Whether a value's class is exactly one of those that a loaded module has under these names."""
    loaded = sys.modules.get(module)
    return loaded is not None and any(type(value) is vars(loaded).get(name) for name in names)


def is_one_of(value: object, kinds: Iterable[type]) -> bool:
    """Whether a value's class is exactly one of these: `in` would ask the `==` of its metaclass."""
    return any(type(value) is kind for kind in kinds)


def pandas_name(value: object) -> str:
    """`DataFrame`, `Series`, `Index` (for every kind of index), or nothing."""
    if is_from(value, "pandas", _FRAMES):
        return class_name(value)
    return "Index" if is_from(value, "pandas", _INDEXES) else ""


def is_array(value: object) -> bool:
    """Whether a value is a NumPy array, no subclass of one."""
    return is_from(value, "numpy", ("ndarray",))


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if value is None or class_name(value) in ("NaTType", "NAType"):
        return True
    return type(value) is float and value != value


def is_scalar(value: object) -> bool:
    """Whether a value is a number, a text, a time or a path of an exactly known type: to compare it runs no user code."""
    kind = type(value)
    if is_one_of(value, _TIMES) or is_from(value, "pandas", _MOMENTS):
        zone = getattr(value, "tzinfo", None)
        return zone is None or type(zone) in (timezone, ZoneInfo) or not _is_main(zone)
    return id(kind) in _scalar_ids(len(sys.modules)) or is_missing(value)


def all_scalars(values: Iterable[object]) -> bool:
    """Whether all values are scalars; only their types are asked."""
    kinds = {id(kind): kind for kind in map(type, values)}
    known = _scalar_ids(len(sys.modules))
    times = {id(kind) for kind in _TIMES}
    moments = {id(vars(sys.modules["pandas"]).get(name)) for name in _MOMENTS} if "pandas" in sys.modules else set()
    return all(key in known | times | moments or _is_nothing(kind) for key, kind in kinds.items())


def is_readable(column: Any) -> bool:
    """Whether the values of a pandas column or index may be compared, counted and hashed."""
    array, arrays = column.array, sys.modules.get("pandas.arrays")
    if arrays is None or not is_from(array, "pandas.arrays", vars(arrays)):
        return False
    name = class_name(array)
    if name == "Categorical":
        return is_readable(array.categories)
    if name in ("PandasArray", "NumpyExtensionArray"):
        kind = array.dtype.kind
        return all_scalars(column.to_numpy()) if kind == "O" else kind in "biufcMmSU"
    return name != "SparseArray"


def short(value: object, limit: int = LINE) -> str:
    """A value on one line, as Python writes it: `<Name>` for what is not read."""
    return cut(" ".join(_text(value, limit, 0).split()), limit)


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters, with dots where some are missing."""
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


def plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it holds; anything else as it is."""
    numpy = sys.modules.get("numpy")
    if (
        numpy is not None
        and id(type(value)) in _scalar_ids(len(sys.modules))
        and issubclass(type(value), numpy.generic)
    ):
        return value.item()
    return value


def _text(value: Any, limit: int, depth: int) -> str:
    value = plain(value)
    kind = type(value)
    if kind is str or kind is bytes:
        return repr(value[: limit + 1])
    if kind is int and value.bit_length() > 4000:
        return f"<int of {value.bit_length()} bits>"
    if is_one_of(value, COLLECTIONS):
        return _collection(value, limit, depth)
    if is_one_of(value, _PATHS) or is_scalar(value):
        return repr(value)
    return f"<{class_name(value)}>"


def _collection(value: Any, limit: int, depth: int) -> str:
    kind = type(value)
    brackets: dict[type, Sequence[str]] = {
        dict: "{}",
        list: "[]",
        tuple: "()",
        set: "{}",
        frozenset: ("frozenset({", "})"),
    }
    left, right = brackets[kind]
    if not len(value):
        return "set()" if kind is set else f"{left}{right}"
    if depth > 3:
        return f"{left}...{right}"
    if kind is dict:
        items = [f"{_text(k, limit, depth + 1)}: {_text(v, limit, depth + 1)}" for k, v in islice(value.items(), ITEMS)]
    else:
        items = [_text(item, limit, depth + 1) for item in islice(value, ITEMS)]
    more = ["..."] * (len(value) > ITEMS)
    return left + ", ".join(items + more) + "," * (kind is tuple and len(value) == 1) + right


def _is_main(zone: object) -> bool:
    """Whether a time zone's class was written outside the packages that pandas and dateutil bring."""
    module = type.__dict__["__module__"].__get__(type(zone))
    return str(module).split(".")[0] not in ("pytz", "dateutil", "pandas")


def _is_nothing(kind: type) -> bool:
    return str(type.__dict__["__name__"].__get__(kind)) in ("NaTType", "NAType")


@lru_cache(maxsize=2)
def _scalar_ids(modules: int) -> frozenset[int]:
    """The ids of the types that hold one value; looked up again when more modules are loaded."""
    known = list(_SCALARS)
    if numpy := sys.modules.get("numpy"):
        known += [
            kind for kind in vars(numpy).get("sctypeDict", {}).values() if kind not in (numpy.void, numpy.object_)
        ]
    return frozenset(map(id, known))
