"""Signatures and docstrings of public names: what Python knows of them, and what the source says beside it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import deepnb

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FACTORY = re.compile(r" = [Ff]ield\(.*\)$")  # calls: tuple[Call, ...] = field(default=())
_LONG = 40
"""Characters of a default that is shown."""


@dataclass(frozen=True)
class Member:
    name: str
    signature: str
    doc: str


def public_names(module: str) -> list[str]:
    """Return `__all__`, or else what is defined there; modules below it are left out."""
    real = importlib.import_module(module)
    own = (n for n, value in vars(real).items() if getattr(value, "__module__", "") == module and n[0] != "_")
    return sorted(n for n in getattr(real, "__all__", None) or own if not inspect.ismodule(getattr(real, n)))


def describe(module: str, name: str) -> Member:
    real = _real(module, name)
    is_class = inspect.isclass(real)
    if not is_class and not callable(real):  # another name for types
        home = next(home for home, names in deepnb._HOMES.items() if name in names)
        body = ast.parse(inspect.getsource(importlib.import_module(home))).body
        made = next(n for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name)
        return Member(name, ast.unparse(made), _text_after(body, made))
    doc = ast.get_docstring(_node(real)) or ""
    if not is_class:
        return Member(name, _signature(real), doc)
    if "__init__" not in {getattr(n, "name", "") for n in _node(real).body}:
        names = ", ".join(field.name for field in fields(module, name))
        return Member(name, f"{name}({names})" if names else name, doc)
    begin = real.__init__
    doc = "\n\n".join(filter(None, (doc, ast.get_docstring(_node(begin)))))
    return Member(name, name + _signature(begin).removeprefix("__init__").removesuffix(" -> None"), doc)


def fields(module: str, name: str) -> list[Member]:
    """Return what a class keeps: its annotated names, each with the text below it; nothing for what is no class."""
    real = _real(module, name)
    is_class = inspect.isclass(real)
    body = _node(real).body if is_class else []
    found = [n for n in body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")]
    return [Member(ast.unparse(n.target), _FACTORY.sub("", ast.unparse(n)), _text_after(body, n)) for n in found]


def methods(module: str, name: str) -> list[Member]:
    """Return the public methods and properties of a class that have a docstring; those of its base classes in deepnb,
    too, unless these are public themselves."""
    real = _real(module, name)
    return list(_all_methods(real).values()) if inspect.isclass(real) else []


def _all_methods(real: type) -> dict[str, Member]:
    found = {m.name: m for m in _own_methods(real)}
    for base in real.__bases__:
        if base.__module__.startswith("deepnb.") and base.__name__ not in public_names("deepnb"):
            found = _all_methods(base) | found
    return found


def _own_methods(real: type) -> Iterator[Member]:
    for one in _node(real).body:
        if not isinstance(one, Function) or one.name.startswith("_") or not (doc := ast.get_docstring(one)):
            continue
        if isinstance(vars(real)[one.name], property | cached_property):
            if not any(ast.unparse(mark).endswith(".setter") for mark in one.decorator_list):
                yield Member(one.name, f"{one.name}: {ast.unparse(one.returns)}" if one.returns else one.name, doc)
        else:
            yield Member(one.name, _signature(getattr(real, one.name)), doc)


def parameters(module: str, name: str) -> dict[str, str]:
    """Return parameter -> its default as it is written, empty if it has none; a constant as the value it has."""
    real = _real(module, name)
    args = _arguments(real.__init__ if inspect.isclass(real) else real)
    defaults = [None] * (len(args.args) - len(args.defaults)) + [*args.defaults, *args.kw_defaults]
    named = zip((*args.args, *args.kwonlyargs), defaults, strict=True)
    return {arg.arg: ast.unparse(default) if default else "" for arg, default in named}


def _signature(real: Callable[..., Any]) -> str:
    """Return `run(prompt, *, model=None) -> Turn`.

    The many options that stay as they are if they are not given are `**options`.
    """
    node, args = _node(real), _arguments(real)
    given = list(zip(args.kwonlyargs, args.kw_defaults, strict=True))
    kept = [(arg, value) for arg, value in given if value is None or ast.unparse(value) != "UNCHANGED"]
    if len(kept) < len(given):
        args.kwonlyargs, args.kw_defaults, args.kwarg = [a for a, _ in kept], [v for _, v in kept], ast.arg("options")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{start}{node.name}({ast.unparse(args)}){returns}"


def _arguments(real: Callable[..., Any]) -> ast.arguments:
    """Return the parameters of a function without `self` and their types, constants as the values they have."""
    args: ast.arguments = deepcopy(_node(real).args)
    first = args.posonlyargs or args.args
    if first and first[0].arg in ("self", "cls"):
        del first[0]
    if args.kwarg and args.kwarg.annotation and ast.unparse(args.kwarg.annotation).endswith("Never"):
        args.kwarg = None  # it is there to name the mistake
    for arg in filter(None, (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)):
        arg.annotation = None
    values = {name: one.default for name, one in inspect.signature(real).parameters.items()}
    plain = (*args.posonlyargs, *args.args)
    args.defaults = [_value(d, values[a.arg]) for d, a in zip(args.defaults[::-1], plain[::-1], strict=False)][::-1]
    args.kw_defaults = [d and _value(d, values[a.arg]) for d, a in zip(args.kw_defaults, args.kwonlyargs, strict=True)]
    return args


def _value(default: ast.expr, value: Any) -> ast.expr:
    """Return a default as it is written; `Options.keep` and the name of a constant as their value."""
    text = ast.unparse(default)
    if not text.startswith("Options.") and (not text.isupper() or text == "UNCHANGED"):
        return default
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError):  # made by a call
        return ast.Name("...")
    return ast.Name(repr(value) if len(repr(value)) < _LONG else "...")


def _text_after(body: list[ast.stmt], node: ast.stmt) -> str:
    """Return the string below a statement, which says what it is."""
    after = body[body.index(node) + 1 : body.index(node) + 2]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return re.sub(r"\s*\n\s*", " ", str(after[0].value.value)).strip()
    return ""


def _real(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


@cache
def _node(real: Any) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(real))).body[0]
