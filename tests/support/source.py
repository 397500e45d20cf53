"""Signatures and docstrings, read from source text: nothing heavy is imported for it, and every Python gives the same.

`inspect` would import `deepnb.middleware` and `deepnb.testing`, and the engine with them, for a word of help.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import deepnb
from deepnb.values import wings

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function
_PACKAGE = Path(deepnb.__file__).parent
_FACTORY = re.compile(r" = [Ff]ield\(.*\)$")  # calls: tuple[Call, ...] = field(default=())
_LONG = 40
"""Characters of a default that is shown."""


@dataclass(frozen=True)
class Member:
    """What a class or a module has: a function, a property, a field, another name for a type."""

    name: str
    signature: str
    doc: str


@cache
def tree(module: str) -> ast.Module:
    """Return the source of a module of deepnb, parsed."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    package = place / "__init__.py"
    file = package if package.exists() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def public_names(module: str) -> list[str]:
    """Return `__all__` if it is a list of words; else what is defined there, and imported there for others (`X as X`).

    Modules below it are left out.
    """
    body = tree(module).body
    listed = [ast.unparse(node) for node in body if ast.unparse(node).startswith("__all__")]
    if len(listed) == 1:
        return sorted(ast.literal_eval(listed[0].partition("=")[2].strip()))
    names = [node.name for node in body if isinstance(node, Definition) and not node.name.startswith("_")]
    names += [a.name for node in _imports(body) if node.module != module for a in node.names if a.name == a.asname]
    return sorted([*names, *(name.removeprefix(f"{module}.") for name in wings.names(f"{module}."))])


def find(module: str, name: str) -> tuple[str, Definition | ast.Assign]:
    """Return the module that defines a name, wherever it is imported from, and its definition."""
    body = tree(module).body
    for node in body:
        if isinstance(node, Definition) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return module, node
    if where := wings.home(f"{module}.{name}"):
        return find(*where)
    home = next(n.module for n in _imports(body) if n.module and any((a.asname or a.name) == name for a in n.names))
    return find(home, name)


def describe(module: str, name: str) -> Member:
    """Return the signature and the docstring of a public name."""
    home, node = find(module, name)
    if isinstance(node, ast.Assign):
        return Member(name, ast.unparse(node), _text_after(tree(home).body, node))
    doc = ast.get_docstring(node) or ""
    if not isinstance(node, ast.ClassDef):
        return Member(name, _signature(home, node), doc)
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if made is None:
        names = ", ".join(field.name for field in fields(module, name))
        return Member(name, f"{name}({names})" if names else name, doc)
    doc = "\n\n".join(filter(None, (doc, ast.get_docstring(made))))
    return Member(name, name + _signature(home, made).removeprefix("__init__").removesuffix(" -> None"), doc)


def fields(module: str, name: str) -> list[Member]:
    """Return what a class keeps: its annotated names, each with the text below it; nothing for what is no class."""
    _, node = find(module, name)
    if not isinstance(node, ast.ClassDef):
        return []
    found = [n for n in node.body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")]
    return [Member(ast.unparse(n.target), _FACTORY.sub("", ast.unparse(n)), _text_after(node.body, n)) for n in found]


def methods(module: str, name: str) -> list[Member]:
    """Return the public methods and properties of a class that have a docstring; those of its base classes in deepnb,
    too, unless these are public themselves."""
    home, node = find(module, name)
    if not isinstance(node, ast.ClassDef):
        return []
    found = {m.name: m for m in _own_methods(home, node)}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id not in public_names("deepnb") and _is_ours(home, base.id):
            found = {m.name: m for m in methods(home, base.id)} | found
    return list(found.values())


def _own_methods(home: str, node: ast.ClassDef) -> Iterator[Member]:
    for one in node.body:
        if not isinstance(one, Function) or one.name.startswith("_"):
            continue
        doc, marks = ast.get_docstring(one), {ast.unparse(mark) for mark in one.decorator_list}
        if doc and not any(mark.endswith(".setter") for mark in marks):
            is_property = bool(marks & {"property", "cached_property"})
            typed = f"{one.name}: {ast.unparse(one.returns)}" if is_property and one.returns else _signature(home, one)
            yield Member(one.name, typed, doc)


def parameters(module: str, name: str) -> dict[str, str]:
    """Return parameter -> its default as it is written, empty if it has none; a constant as the value it has."""
    home, node = find(module, name)
    made = next(n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n.name in ("__init__", name))
    args = _arguments(home, made)
    defaults = [None] * (len(args.args) - len(args.defaults)) + [*args.defaults, *args.kw_defaults]
    named = zip((*args.args, *args.kwonlyargs), defaults, strict=True)
    return {arg.arg: ast.unparse(default) if default else "" for arg, default in named}


def _signature(home: str, node: Function) -> str:
    """Return `run(prompt, *, model=None) -> Turn`.

    The many options that stay as they are if they are not given are `**options`.
    """
    args = _arguments(home, node)
    given = list(zip(args.kwonlyargs, args.kw_defaults, strict=True))
    kept = [(arg, value) for arg, value in given if value is None or ast.unparse(value) != "UNCHANGED"]
    if len(kept) < len(given):
        args.kwonlyargs, args.kw_defaults, args.kwarg = [a for a, _ in kept], [v for _, v in kept], ast.arg("options")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{start}{node.name}({ast.unparse(args)}){returns}"


def _arguments(home: str, node: Function) -> ast.arguments:
    """Return the parameters of a function without `self` and their types, constants as the values they have."""
    args = deepcopy(node.args)
    first = args.posonlyargs or args.args
    if first and first[0].arg in ("self", "cls"):
        del first[0]
    if args.kwarg and args.kwarg.annotation and ast.unparse(args.kwarg.annotation).endswith("Never"):
        args.kwarg = None  # it is there to name the mistake
    for arg in filter(None, (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)):
        arg.annotation = None
    args.defaults = [_value(home, default) for default in args.defaults]
    args.kw_defaults = [default and _value(home, default) for default in args.kw_defaults]
    return args


def _value(home: str, default: ast.expr) -> ast.expr:
    """Return a default as it is written; `Options.keep` and the name of a constant as their value."""
    text = ast.unparse(default)
    if text.startswith("Options."):
        home, node = find(home, "Options")
        field = next(n for n in ast.walk(node) if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == text[8:])
        return _value(home, field.value) if field.value else default
    if text.isupper() and text != "UNCHANGED":
        _, node = find(home, text)
        with suppress(ValueError):  # made by a call
            text = repr(ast.literal_eval(node.value)) if isinstance(node, ast.Assign) else text
        return ast.Name(text if len(text) < _LONG and not text.isupper() else "...")
    return default


def _text_after(body: list[ast.stmt], node: ast.stmt) -> str:
    """Return the string below a statement, which says what it is."""
    after = body[body.index(node) + 1 : body.index(node) + 2]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return re.sub(r"\s*\n\s*", " ", str(after[0].value.value)).strip()
    return ""


def _imports(body: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """Yield each `from x import y` at the top of a module, also those for type checkers."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _imports(node.body)


def _is_ours(module: str, name: str) -> bool:
    body = tree(module).body
    homes = [n.module for n in _imports(body) if any((a.asname or a.name) == name for a in n.names)]
    defined = any(isinstance(n, ast.ClassDef) and n.name == name for n in body)
    return defined or any(home and home.startswith("deepnb.") for home in homes)
