"""What a mistyped name was most likely meant as: a key, a column, a variable, an attribute, a module, a file.

Names are read from values of exactly known types, so that no code of theirs runs.
"""

import ast
import builtins
import difflib
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from deepnb.workshop.exact import class_name, cut, is_from, pandas_name
from deepnb.workshop.frames import MISSING, Frame, parsed, value_at
from deepnb.workshop.opaque import attribute_names, is_class, own_attributes

_MOST = 5_000
"""Names that are compared."""
_ALIKE = 0.6


def near_names(error: BaseException, frame: Frame | None) -> list[str]:
    """A line for each name in the error that is like one there is: `'revnue' is near 'revenue', a column of sales`."""
    for kind, find in _FINDERS.items():
        if isinstance(error, kind):
            return list(dict.fromkeys(islice(find(error, frame), 3)))
    return []


def _keys(error: BaseException, frame: Frame | None) -> Iterator[str]:
    args = BaseException.__dict__["args"].__get__(error)
    wanted = [args[0]] if len(args) == 1 and type(args[0]) is str else []
    wanted += [node.value for node in _nodes(frame, ast.Constant) if type(node.value) is str]
    for name, value in frame.variables if frame else ():
        for names, kind in _held(value):
            for word in dict.fromkeys(wanted):
                if word not in names and (near := _nearest(word, names)):
                    yield f"{word!r} is near {near!r}, {kind} of {name}"


def _attributes(error: BaseException, frame: Frame | None) -> Iterator[str]:
    found = re.search(r"has no attribute '(\w+)'", _words(error))
    for node in _nodes(frame, ast.Attribute):
        if found is None or frame is None or node.attr != found[1]:
            continue
        name = ast.unparse(node.value)
        value = value_at(node.value, frame.scope)
        value = _object_of(error) if value is MISSING else value
        if value is None or value is MISSING:
            return
        for names, kind in _attribute_sets(value):
            if near := _nearest(found[1], names):
                yield f"{found[1]} is near {near}, {kind} of {name}"
                return


def _variables(error: BaseException, frame: Frame | None) -> Iterator[str]:
    found = re.search(r"'(\w+)'", _words(error))
    if found is None or frame is None:
        return
    word = found[1]
    if isinstance(error, UnboundLocalError):
        if len(frame.scope) > 1 and word in frame.scope[1]:
            yield f"{word} is a variable of the notebook, too, and this function assigns one of its own"
        return
    modules = [name for scope in frame.scope for name, value in scope.items() if type(value) is types.ModuleType]
    for names, kind in (
        (_of(frame.scope[0]) if frame.scope and not frame.is_module else (), "a variable of the function"),
        (_of(frame.scope[-1]) if frame.scope else (), "a variable"),
        (dir(builtins), "a function of Python"),
    ):
        if near := _nearest(word, names):
            yield f"{word} is near {near}, {'a module' if near in modules else kind}"
            return


def _imports(error: BaseException, frame: Frame | None) -> Iterator[str]:
    words = _words(error)
    if found := re.match(r"No module named '([\w.]+)'", words):
        word = found[1].partition(".")[0]
        known = {*sys.stdlib_module_names, *(name.partition(".")[0] for name in tuple(sys.modules))}
        if word not in known and (near := _nearest(word, known)):
            yield f"{word} is near {near}, a module"
    elif found := re.match(r"cannot import name '(\w+)' from '([\w.]+)'", words):
        module = sys.modules.get(found[2])
        if type(module) is types.ModuleType and (near := _nearest(found[1], _of(vars(module)))):
            yield f"{found[1]} is near {near}, a name of {found[2]}"


def _parameters(error: BaseException, frame: Frame | None) -> Iterator[str]:
    found = re.search(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", _words(error))
    for name, value in frame.variables if found and frame else ():
        made = vars(value).get("__init__") if is_class(value) else value
        made = made.__func__ if type(made) is types.MethodType else made
        if found and type(made) is types.FunctionType:
            code = made.__code__
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if found[2] not in names and (near := _nearest(found[2], names)):
                yield f"{found[2]} is near {near}, a parameter of {name}"


def _files(error: BaseException, frame: Frame | None) -> Iterator[str]:
    name = OSError.__dict__["filename"].__get__(error)
    if type(name) is not str:
        return
    folder, word = os.path.split(name)
    try:
        with os.scandir(folder or ".") as entries:
            names = [entry.name for entry in islice(entries, _MOST)]
    except (OSError, ValueError):
        yield f"there is no folder {cut(folder, 100)!r}"
        return
    if near := _nearest(word, names):
        yield f"{word!r} is near {near!r}, a file of the same folder"


_FINDERS: Mapping[type[BaseException], Any] = {
    KeyError: _keys,
    AttributeError: _attributes,
    NameError: _variables,
    ImportError: _imports,
    TypeError: _parameters,
    FileNotFoundError: _files,
}


def _held(value: object) -> Iterator[tuple[list[str], str]]:
    """The names by which a value's parts are asked for, and what they are called."""
    if is_from(value, "pandas.api.typing", ("DataFrameGroupBy",)):
        value = own_attributes(value).get("obj")
    kind = pandas_name(value)
    if type(value) is dict:
        yield _of(value), "a key"
    if kind == "DataFrame":
        yield _labels(value.columns), "a column"  # type: ignore[attr-defined]
    if kind in ("DataFrame", "Series"):
        yield _labels(value.index), "a row label"  # type: ignore[attr-defined]


def _attribute_sets(value: object) -> Iterator[tuple[Iterable[str], str]]:
    if pandas_name(value) == "DataFrame":
        yield next(_held(value))
    if type(value) is types.ModuleType:
        yield _of(vars(value)), "a name"
    else:
        yield [name for name in attribute_names(value) if not name.startswith("_")], "an attribute"


def _labels(index: Any) -> list[str]:
    """The labels of a pandas index that are text."""
    return [label for label in index[:_MOST].tolist() if type(label) is str] if pandas_name(index) else []


def _object_of(error: BaseException) -> object:
    return error.obj if type(error) is AttributeError else MISSING


def _of(names: Mapping[Any, object]) -> list[str]:
    return [name for name in islice(names, _MOST) if type(name) is str and not name.startswith("_")]


def _nodes(frame: Frame | None, kind: type[ast.AST]) -> Iterator[Any]:
    """The parts of the failing expression that are of one kind; of its line where there is no expression."""
    tree = parsed(frame.failing) if frame else None
    if tree is None and frame is not None and 0 < frame.line <= len(frame.code):
        line = frame.code[frame.line - 1].strip()
        tree = parsed(line.rstrip(":").partition(" ")[2]) or parsed(line.partition("=")[2])
    return (node for node in ast.walk(tree) if isinstance(node, kind)) if tree is not None else iter(())


def _nearest(word: str, names: Iterable[str]) -> str:
    """The name most like a word, whatever its case; empty where none is."""
    lower = {name.casefold(): name for name in names if name != word and class_name(name) == "str"}
    found = difflib.get_close_matches(word[:80].casefold(), list(lower), 1, _ALIKE)
    return lower[found[0]] if found else ""


def _words(error: BaseException) -> str:
    """The message that Python gave an exception."""
    args: Sequence[object] = BaseException.__dict__["args"].__get__(error)
    return args[0] if args and type(args[0]) is str else ""
