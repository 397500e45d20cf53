"""What can be said of functions, classes, modules and objects without running a line of theirs."""

import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

from deepnb.workshop.columnar import columnar_name
from deepnb.workshop.exact import LINE, class_name, cut, is_from, is_one_of, short

NAMES = 12  # names of an object
_ROUTINES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def is_routine(value: object) -> bool:
    """Whether a value is a function or a method, of Python or built in."""
    return is_one_of(value, _ROUTINES)


def is_class(value: object) -> bool:
    """Whether a value is a class, also one whose metaclass is not `type`."""
    return any(kind is type for kind in _mro(type(value)))


def signature(value: Any) -> str:
    """`name(a, b=1)`, read from the code; defaults that are not read are shown by their class."""
    if is_class(value):
        made = _in_class(value, "__init__")
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
    """The first line of a docstring; empty if it has no docstring."""
    if is_class(value):
        doc = type.__dict__["__dict__"].__get__(value).get("__doc__")
    else:
        doc = vars(value).get("__doc__") if type(value) is types.ModuleType else getattr(value, "__doc__", None)
    return cut(doc.strip()[: 2 * LINE].partition("\n")[0], LINE) if type(doc) is str else ""


def module_line(module: types.ModuleType) -> str:
    """`module, csv: CSV parsing and writing.`"""
    name, doc = vars(module).get("__name__"), first_doc_line(module)
    return f"module, {name if type(name) is str else '?'}" + (f": {doc}" if doc else "")


def module_name(kind: type) -> object:
    """Where a class was written, as far as its own metaclass has no say in it."""
    return type.__dict__["__module__"].__get__(kind)


def static_names(value: object) -> str:
    """`names: area(), width, height`: the public names of an object, its own first; methods with brackets."""
    names = list(dict.fromkeys(name for name in attribute_names(value) if not name.startswith("_")))
    shown = [name + "()" * callable_statically(value, name) for name in names[:NAMES]]
    more = [f"{len(names) - NAMES} more"] if len(names) > NAMES else []
    return "names: " + ", ".join([*shown, *more]) if names else ""


def own_attributes(value: object) -> dict[str, object]:
    """What an object keeps under names of its own; empty for one without, and for one that would answer itself."""
    for kind in _mro(type(value)):
        descriptor = type.__dict__["__dict__"].__get__(kind).get("__dict__")
        if type(descriptor) is types.GetSetDescriptorType:
            own = descriptor.__get__(value)
            return {k: v for k, v in dict.items(own) if type(k) is str} if type(own) is dict else {}
    return {}


def attribute_names(value: object) -> Iterator[str]:
    """The names that an object's own dictionary and its classes have, its own first; some twice."""
    yield from own_attributes(value)
    for kind in _mro(type(value)):
        if kind is not object:
            yield from (name for name in type.__dict__["__dict__"].__get__(kind) if type(name) is str)


def callable_statically(value: object, name: str) -> bool:
    """Whether a name is a method, a class method or a function, by its definition."""
    try:
        found = inspect.getattr_static(value, name)
    except AttributeError:
        return False
    return is_one_of(found, (*_ROUTINES, classmethod, staticmethod, types.MethodDescriptorType))


def conversion(value: object) -> str:
    """What to type to read a table of another library with pandas; empty for any other value."""
    if columnar_name(value):
        return "convert it with .to_pandas()"
    if is_from(value, "polars", ("LazyFrame",)):
        return "it is lazy: .collect() gives a table that can be shown"
    loaded = sys.modules.get("pandas")
    tables = [vars(loaded).get(name) for name in ("DataFrame", "Series")] if loaded else []
    if any(kind is table for kind in _mro(type(value)) for table in tables):
        return f"{class_name(value)} is a subclass: pandas.DataFrame(...) of it is read"
    return ""


def _mro(kind: type) -> tuple[type, ...]:
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def _in_class(kind: type, name: str) -> object:
    holders = (type.__dict__["__dict__"].__get__(one) for one in _mro(kind))
    return next((names[name] for names in holders if name in names), None)


def _parameters(function: types.FunctionType, skip: int) -> str:
    code = function.__code__
    names = code.co_varnames
    count, kwonly = code.co_argcount, code.co_kwonlyargcount
    defaults = function.__defaults__ or ()
    first_default = count - len(defaults)
    parts = [
        names[i] + (f"={short(defaults[i - first_default], 30)}" if i >= first_default else "") for i in range(count)
    ]
    if code.co_posonlyargcount > skip:
        parts.insert(code.co_posonlyargcount, "/")
    rest = count + kwonly
    if code.co_flags & inspect.CO_VARARGS:
        parts.append("*" + names[rest])
        rest += 1
    elif kwonly:
        parts.append("*")
    given: dict[str, Any] = function.__kwdefaults__ or {}
    parts += [name + (f"={short(given[name], 30)}" if name in given else "") for name in names[count : count + kwonly]]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append("**" + names[rest])
    return ", ".join(parts[skip:])
