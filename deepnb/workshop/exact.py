"""The types whose values are read, each known exactly: of any other only the class is named, its code never called.

Libraries are found among the loaded modules, never imported.
"""

import csv
import inspect
import io
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from numbers import Integral
from pathlib import PosixPath, PurePosixPath, WindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from deepnb.gate import redact_value

ITEMS = 8  # first items of a collection
LINE = 100  # characters of one item
_BRACKETS: Mapping[type, Sequence[str]]
_BRACKETS = {dict: "{}", list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})")}
COLLECTIONS = tuple(_BRACKETS)
_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(...), range)
_OTHERS = (Decimal, Fraction, UUID, date, timedelta)
_TIMES = (datetime, time)
_PATHS = (PosixPath, PurePosixPath, WindowsPath)
_INDEXES = ("", "Range", "Multi", "Datetime", "Timedelta", "Period", "Interval", "Categorical")
_PANDAS = ("DataFrame", "Series", *(f"{kind}Index" for kind in _INDEXES))


def class_name(value: object) -> str:
    """Return the name of a value's class, also where its metaclass would answer otherwise."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def is_from(value: object, module: str, names: Iterable[str]) -> bool:
    """Return whether a value's class is exactly one of those that a loaded module has under these names."""
    loaded = sys.modules.get(module)
    return loaded is not None and any(type(value) is vars(loaded).get(name) for name in names)


def is_one_of(value: object, kinds: Iterable[type]) -> bool:
    """Return whether a value's class is exactly one of these: `in` would ask the `==` of its metaclass."""
    return any(type(value) is kind for kind in kinds)


def pandas_name(value: object) -> str:
    """`DataFrame`, `Series`, the class of an index such as `RangeIndex`, or nothing."""
    return class_name(value) if is_from(value, "pandas", _PANDAS) else ""


def is_array(value: object) -> bool:
    """Return whether a value is a NumPy array, no subclass of one."""
    return is_from(value, "numpy", ("ndarray",))


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or NA."""
    if value is None or (is_one_of(value, (float, complex)) and value != value):
        return True
    loaded = sys.modules.get("pandas")
    return loaded is not None and any(value is vars(loaded).get(name) for name in ("NaT", "NA"))


def is_scalar(value: object) -> bool:
    """Return whether a value is a number, a text, a time or a path of an exactly known type: to compare it runs no user code."""
    if is_one_of(value, _TIMES) or is_from(value, "pandas", ("Timestamp",)):
        return is_zone(getattr(value, "tzinfo", None))
    if is_from(value, "pandas", ("Interval",)):
        return is_scalar(value.left) and is_scalar(value.right)  # type: ignore[attr-defined]
    if is_from(value, "pandas", ("Timedelta", "Period")):
        return _is_pandas(getattr(value, "freq", None))
    return id(type(value)) in _scalar_ids(len(sys.modules)) or is_missing(value)


def is_zone(zone: object) -> bool:
    """Return whether a time zone runs no code of the user: it is Python's, or of the packages that pandas and dateutil bring."""
    if zone is None or type(zone) is ZoneInfo:
        return True
    if type(zone) is timezone:
        return type(zone.tzname(None)) is str
    return str(module_name(type(zone))).split(".")[0] in ("pytz", "dateutil", "pandas")


def _is_pandas(value: object) -> bool:
    return value is None or str(module_name(type(value))).split(".")[0] == "pandas"


def all_scalars(values: Iterable[object]) -> bool:
    """Return whether all values are scalars; of most only the type is asked, once."""
    known = _scalar_ids(len(sys.modules))
    return all(id(type(value)) in known or is_scalar(value) for value in values)


def array_of(column: Any) -> Any:
    """Return the array of a Series or an index: pandas takes a view of that of an index, which may be a program's own."""
    own = vars(column).get("_data") if class_name(column) == "Index" else None
    return column.array if own is None or is_array(own) else own


def is_stored(array: Any) -> bool:
    """Return whether an array of a pandas column is of its own classes throughout: to take a part of it runs no user code."""
    arrays = sys.modules.get("pandas.arrays")
    if arrays is None or not is_from(array, "pandas.arrays", vars(arrays)):
        return False
    if (name := class_name(array)) == "Categorical":
        return is_stored(array_of(array.categories))
    if name == "IntervalArray":
        return is_stored(array_of(array.left))
    if name == "DatetimeArray":
        return is_zone(getattr(array.dtype, "tz", None))
    return name != "PeriodArray" or _is_pandas(array.dtype.freq)


def is_readable(column: Any) -> bool:
    """Return whether the values of a pandas column or index may be compared, counted and hashed."""
    array = array_of(column)
    name = class_name(array)
    if not is_stored(array) or name == "SparseArray":
        return False
    if name == "Categorical":
        return is_readable(array.categories)
    if name == "NumpyExtensionArray":
        kind = array.dtype.kind
        return all_scalars(array.to_numpy()) if kind == "O" else kind in "biufcMmSU"
    return True


def short(value: object, limit: int = LINE) -> str:
    """Return a value on one line, as Python writes it: `<Name>` for what is not read."""
    return cut(" ".join(_text(value, limit, 0).split()), limit)


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with dots where some are missing."""
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


def plain(value: Any) -> Any:
    """Return a NumPy scalar as the Python value it holds; anything else as it is."""
    numpy: Any = sys.modules.get("numpy")
    known = numpy is not None and id(type(value)) in _scalar_ids(len(sys.modules))
    return value.item() if known and issubclass(type(value), numpy.generic) else value


def _text(value: Any, limit: int, depth: int) -> str:
    value = plain(value)
    if (kind := type(value)) is str or kind is bytes:
        return repr(value[: limit + 1])
    if kind is int and value.bit_length() > 4000:
        return f"<int of {value.bit_length()} bits>"
    if not is_one_of(value, COLLECTIONS):
        return repr(value) if is_scalar(value) else f"<{class_name(value)}>"
    left, right = _BRACKETS[kind]
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


@lru_cache(maxsize=2)
def _scalar_ids(modules: int) -> frozenset[int]:
    """Return the ids of the types that hold one value; looked up again when more modules are loaded."""
    known = [*_SCALARS, *_OTHERS, *_PATHS]
    if numpy := sys.modules.get("numpy"):
        known += [t for t in vars(numpy).get("sctypeDict", {}).values() if t not in (numpy.void, numpy.object_)]
    return frozenset(map(id, known))


# -- one value of a table as text, the same on every machine; a credential is not shown


CELL = 30  # characters of one cell of a table


def cell(value: Any, limit: int = CELL) -> str:
    """One value of a table: floats with four digits, integers in full (they may be names), no time at midnight."""
    value = plain(value)
    if is_missing(value):
        return ""
    if type(value) is str:
        return cut(" ".join(value[: 4 * limit].split()), limit)
    if type(value) is tuple:
        return cut(", ".join(cell(v, limit) for v in value[:ITEMS]), limit)
    if type(value) is float:
        return figure(value)
    if not is_scalar(value):
        return short(value, limit)
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    if type(value) in (int, bytes):
        return short(value, limit)
    return cut(" ".join(str(value).split()), limit)


def cell_of(name: str, value: Any) -> str:
    """One value of a column; a credential is not shown."""
    return "[redacted]" if is_credential(name, value) else cell(value)


def figure(number: Any) -> str:
    """Return a whole number as it is; any other with at most four significant digits, without an exponent where it can be."""
    if isinstance(number, Integral) and abs(int(number)) < 10**15:
        return str(int(number))
    return f"{float(f'{float(number):.4g}'):.15g}"


def is_credential(name: object, value: object) -> bool:
    """Return whether a text is, or is named like, a credential; of a longer one the first characters are asked."""
    if type(name) is not str or type(value) is not str:
        return False
    given = {name: value[:4000]}
    return redact_value(given) is not given


def csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(cells))
    return line.getvalue()


# -- what can be said of functions, classes, modules and objects without running a line of theirs


NAMES = 12  # names of an object
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_METHODS = (classmethod, staticmethod, types.MethodDescriptorType)


def is_routine(value: object) -> bool:
    """Return whether a value is a function or a method, of Python or built in."""
    return is_one_of(value, _ROUTINES)


def is_class(value: object) -> bool:
    """Return whether a value is a class, also one whose metaclass is not `type`."""
    return any(kind is type for kind in _mro(type(value)))


def signature(value: Any) -> str:
    """`name(a, b=1)`, read from the code; defaults that are not read are shown by their class."""
    if is_class(value):
        holders = (type.__dict__["__dict__"].__get__(one) for one in _mro(value))
        made = next((names["__init__"] for names in holders if "__init__" in names), None)
        return f"{type.__dict__['__name__'].__get__(value)}({_parameters(made, 1) if type(made) is types.FunctionType else ''})"
    if type(value) is types.MethodType and type(value.__func__) is types.FunctionType:
        return f"{value.__func__.__name__}({_parameters(value.__func__, 1)})"
    if type(value) is types.FunctionType:
        return f"{value.__name__}({_parameters(value, 0)})"
    if type(value) is types.BuiltinFunctionType:
        try:
            return f"{value.__name__}{inspect.signature(value)}"
        except (TypeError, ValueError):
            return f"{value.__name__}(...)"
    return "(...)"


def first_doc_line(value: Any) -> str:
    """Return the first line of a docstring; empty if it has no docstring."""
    if is_class(value):
        doc = type.__dict__["__dict__"].__get__(value).get("__doc__")
    else:
        doc = vars(value).get("__doc__") if type(value) is types.ModuleType else getattr(value, "__doc__", None)
    return cut(doc.strip()[: 2 * LINE].partition("\n")[0], LINE) if type(doc) is str else ""


def module_name(kind: type) -> object:
    """Return where a class was written, as far as its own metaclass has no say in it."""
    return type.__dict__["__module__"].__get__(kind)


def static_names(value: object) -> str:
    """`names: area(), width, height`: the public names of an object, its own first; methods with brackets."""
    names = list(dict.fromkeys(name for name in attribute_names(value) if not name.startswith("_")))
    found = {name: inspect.getattr_static(value, name, None) for name in names[:NAMES]}
    shown = [name + "()" * is_one_of(one, (*_ROUTINES, *_METHODS)) for name, one in found.items()]
    more = [f"{len(names) - NAMES} more"] if len(names) > NAMES else []
    return "names: " + ", ".join([*shown, *more]) if names else ""


def own_attributes(value: object) -> dict[str, object]:
    """Return what an object keeps under names of its own; empty for one without, and for one that would answer itself."""
    for kind in _mro(type(value)):
        descriptor = type.__dict__["__dict__"].__get__(kind).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType:
            own = descriptor.__get__(value)
            return {k: v for k, v in dict.items(own) if type(k) is str} if type(own) is dict else {}
    return {}


def attribute_names(value: object) -> Iterator[str]:
    """Yield the names that an object's own dictionary and its classes have, its own first; some twice."""
    yield from own_attributes(value)
    for kind in _mro(type(value)):
        if kind is not object:
            yield from (name for name in type.__dict__["__dict__"].__get__(kind) if type(name) is str)


def _mro(kind: type) -> tuple[type, ...]:
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def _parameters(function: types.FunctionType, skip: int) -> str:
    code = function.__code__
    names, rest, more = inspect.getargs(code)  # those that take a name alone are the last
    given = dict(zip(names[: code.co_argcount][::-1], (function.__defaults__ or ())[::-1], strict=False))
    given |= function.__kwdefaults__ or {}
    parts = [name + (f"={short(given[name], 30)}" if name in given else "") for name in names]
    if rest or len(names) > code.co_argcount:
        parts.insert(code.co_argcount, f"*{rest or ''}")
    if code.co_posonlyargcount > skip:
        parts.insert(code.co_posonlyargcount, "/")
    parts += [f"**{more}"] if more else []
    return ", ".join(parts[skip:])
