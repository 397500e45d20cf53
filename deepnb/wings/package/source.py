"""The source of a function that a notebook defines, and the names it takes from outside of itself."""

import __future__

import ast
import inspect
import symtable
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from deepnb.wings.package.literals import CantWriteError, texts

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One definition, with its decorators."""

    name: str
    text: str
    names: tuple[str, ...]
    """What it refers to outside of itself, builtins too, in the order of the alphabet."""
    chains: tuple[str, ...]
    """The dotted names in it: `os.path.join`."""
    imports: tuple[str, ...]
    texts: tuple[str, ...]
    """The texts in it, without quotes and escapes."""
    decorators: tuple[str, ...]
    """What stands behind each @, less its arguments."""
    values: Mapping[str, Any]
    """What the names of its surroundings hold: of its closure, then of its module."""
    future: bool = False
    """Whether its annotations are not evaluated."""


def function_source(function: Any) -> Source:
    """Return the source of a function; raise CantWriteError where it has none that can stand alone."""
    function = inspect.unwrap(function)
    if (code := getattr(function, "__code__", None)) is None or inspect.ismethod(function):
        raise CantWriteError(f"is a {type(function).__name__}, not a function")
    if code.co_name == "<lambda>":
        raise CantWriteError("is a lambda")
    try:
        text = dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise CantWriteError("has no source that can be found") from None
    closure: dict[str, Any] = dict.fromkeys(code.co_freevars)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            closure[name] = cell.cell_contents
    try:
        tree = ast.parse(text)
        table = symtable.symtable(text, "<notebook>", "exec")
    except (SyntaxError, ValueError):
        raise CantWriteError("changes variables of the function around it, or is part of a longer line") from None
    if len(tree.body) != 1 or not isinstance(node := tree.body[0], _Definition):
        raise CantWriteError("is not defined by a def of its own")
    attributes = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
    constants = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    modules = [alias.name for one in ast.walk(node) if isinstance(one, ast.Import) for alias in one.names]
    parts = (one for one in ast.walk(node) if isinstance(one, ast.ImportFrom))
    return Source(
        name=node.name,
        text=text.strip("\n"),
        names=tuple(sorted({*_referenced(table), *_quoted(node)} - {node.name, "__name__"})),
        chains=tuple(sorted({ast.unparse(one) for one in attributes if _is_chain(one)})),
        imports=(*modules, *("." * one.level + (one.module or "") for one in parts)),
        texts=tuple(one for value in constants for one in texts(value)),
        decorators=tuple(ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list),
        values={**function.__globals__, **closure},
        future=bool(code.co_flags & __future__.annotations.compiler_flag),
    )


def _referenced(table: symtable.SymbolTable, *, top: bool = True) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _referenced(child, top=False)


def _quoted(node: _Definition) -> Iterator[str]:
    for one in ast.walk(node):
        wanted = getattr(one, "annotation", None), getattr(one, "returns", None)
        for text in (w.value for w in wanted if isinstance(w, ast.Constant) and isinstance(w.value, str)):
            try:
                inside = ast.parse(text, mode="eval")
            except SyntaxError:
                continue
            yield from (name.id for name in ast.walk(inside) if isinstance(name, ast.Name))


def _is_chain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_chain(node.value))
