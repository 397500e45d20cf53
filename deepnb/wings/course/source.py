"""Signatures and docstrings, read from source text: nothing is imported for it, and every Python gives the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_PACKAGE = Path(__file__).parents[2]
_FACTORY = re.compile(r" = [Ff]ield\(.*\)$")
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
    """The source of a module of deepnb, parsed."""
    place = _PACKAGE.joinpath(*module.split(".")[1:])
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def module_doc(module: str) -> str:
    """The docstring of a module."""
    return ast.get_docstring(tree(module)) or ""


def public_names(module: str) -> list[str]:
    """`__all__` where it is a list of words; else what is defined there, and imported there for others (`X as X`).

    Modules below it are left out.
    """
    body = tree(module).body
    listed = [ast.unparse(node) for node in body if ast.unparse(node).startswith("__all__")]
    if len(listed) == 1:
        return sorted(ast.literal_eval(listed[0].partition("=")[2].strip()))
    names = [node.name for node in body if isinstance(node, Definition) and not node.name.startswith("_")]
    names += [a.name for node in _imports(body) if node.module != module for a in node.names if a.name == a.asname]
    return sorted(names)


def find(module: str, name: str) -> tuple[str, Definition | ast.Assign]:
    """The module that defines a name, wherever it was imported from, and its definition."""
    body = tree(module).body
    for node in body:
        if isinstance(node, Definition) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return module, node
    home = next(n.module for n in _imports(body) if n.module and any((a.asname or a.name) == name for a in n.names))
    return find(home, name)


def describe(module: str, name: str) -> Member:
    """The signature and the docstring of a public name."""
    home, node = find(module, name)
    if isinstance(node, ast.Assign):
        return Member(name, ast.unparse(node), _text_after(tree(home).body, node))
    if not isinstance(node, ast.ClassDef):
        return Member(name, signature(home, node), ast.get_docstring(node) or "")
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if made is None:
        names = ", ".join(field.name for field in fields(module, name))
        return Member(name, f"{name}({names})" if names else name, ast.get_docstring(node) or "")
    doc = "\n\n".join(filter(None, (ast.get_docstring(node), ast.get_docstring(made))))
    return Member(name, signature(home, made, name).removesuffix(" -> None"), doc)


def fields(module: str, name: str) -> list[Member]:
    """What a class keeps: its annotated names, each with the text below it; empty for what is no class."""
    _, node = find(module, name)
    if not isinstance(node, ast.ClassDef):
        return []
    found = [n for n in node.body if isinstance(n, ast.AnnAssign) and not ast.unparse(n.target).startswith("_")]
    return [Member(ast.unparse(n.target), _FACTORY.sub("", ast.unparse(n)), _text_after(node.body, n)) for n in found]


def methods(module: str, name: str) -> list[Member]:
    """The public methods and properties of a class that have a docstring; those of its base classes in deepnb, too,
    unless these are public themselves."""
    home, node = find(module, name)
    if not isinstance(node, ast.ClassDef):
        return []
    found = {m.name: m for m in _own_methods(home, node)}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id not in public_names("deepnb") and _is_ours(home, base.id):
            found = {m.name: m for m in methods(home, base.id)} | found
    return list(found.values())


def parameters(module: str, name: str) -> dict[str, str]:
    """Parameter -> its default as it is written, empty where it has none; a constant as the value it has."""
    home, node = find(module, name)
    made = next(n for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n.name in ("__init__", name))
    return {arg.arg: "" if default is None else _value(home, default) for arg, default in _arguments(made)}


def signature(home: str, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str = "") -> str:
    """`run(prompt, *, model=None) -> Turn`; the many options that stay as they are where not given as `**options`."""
    words, stars = [], len(node.args.posonlyargs) + len(node.args.args)
    given = _arguments(node)
    for place, (arg, default) in enumerate(given, _first(node)):
        if place == stars:
            words.append(f"*{node.args.vararg.arg}" if node.args.vararg else "*")
        if place == len(node.args.posonlyargs) and node.args.posonlyargs:
            words.append("/")
        words.append(arg.arg if default is None else f"{arg.arg}={_value(home, default)}")
    kept = [word for word in words if not word.endswith("=UNCHANGED")]
    if len(kept) < len(words):
        kept = [*(kept[:-1] if kept[-1] == "*" else kept), "**options"]
    elif node.args.kwarg is not None and not ast.unparse(node.args.kwarg).endswith("Never"):  # that one is for mistakes
        kept.append(f"**{node.args.kwarg.arg}")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{start}{name or node.name}({', '.join(kept)}){returns}"


def _own_methods(home: str, node: ast.ClassDef) -> Iterator[Member]:
    for one in node.body:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) or one.name.startswith("_"):
            continue
        doc, marks = ast.get_docstring(one), {ast.unparse(mark) for mark in one.decorator_list}
        if doc and not any(mark.endswith(".setter") for mark in marks):
            is_property = bool(marks & {"property", "cached_property"})
            typed = f"{one.name}: {ast.unparse(one.returns)}" if is_property and one.returns else signature(home, one)
            yield Member(one.name, typed, doc)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    """Each parameter with its default, `self` left out."""
    by_place = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(by_place) - len(node.args.defaults)) + [*node.args.defaults]
    pairs = [*zip(by_place, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    return pairs[_first(node) :]


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many parameters come before those that are given: `self`."""
    return int([a.arg for a in (*node.args.posonlyargs, *node.args.args)][:1] in (["self"], ["cls"]))


def _value(home: str, default: ast.expr) -> str:
    """A default as it is written; `Options.keep` and the name of a constant as their value."""
    text = ast.unparse(default)
    if text.startswith("Options."):
        home, node = find(home, "Options")
        field = next(n for n in ast.walk(node) if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == text[8:])
        return _value(home, field.value) if field.value else ""
    if text.isupper() and text != "UNCHANGED":
        _, node = find(home, text)
        with suppress(ValueError):  # made by a call
            text = repr(ast.literal_eval(node.value)) if isinstance(node, ast.Assign) else text
        return text if len(text) < _LONG and not text.isupper() else "..."
    return text


def _text_after(body: list[ast.stmt], node: ast.stmt) -> str:
    """The string below a statement, which says what it is."""
    after = body[body.index(node) + 1 : body.index(node) + 2]
    if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
        return re.sub(r"\s*\n\s*", " ", str(after[0].value.value)).strip()
    return ""


def _imports(body: list[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """`from x import y` at the top of a module, also those for type checkers."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _imports(node.body)


def _is_ours(module: str, name: str) -> bool:
    body = tree(module).body
    if any(isinstance(n, ast.ClassDef) and n.name == name for n in body):
        return True
    homes = [n.module for n in _imports(body) if any((a.asname or a.name) == name for a in n.names)]
    return any(home and home.startswith("deepnb.") for home in homes)
