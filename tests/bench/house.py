"""The shape of the package: lines, rooms, longest functions, and callables that constructors of the upper rooms take."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import deepnb
from tests.bench.row import Row, below

QUICK = True
LINES = 31_028
"""Of the package at b6be862."""
UPPER = ("session", "running", "wiring")
_ROOT = Path(deepnb.__file__).parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


def rows() -> Iterator[Row]:
    """Counted in the source: nothing is imported or run."""
    sources = {path.relative_to(_ROOT): path.read_text(encoding="utf-8") for path in _ROOT.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = Counter[str]()
    for path, text in sources.items():
        lines[path.parts[0] if len(path.parts) > 1 else "(top)"] += text.count("\n")
    yield Row("lines of the package", lines.total(), "lines", LINES, lines.total() / LINES)
    yield Row("files", len(sources), "files")
    shares = {room: 100 * count / lines.total() for room, count in lines.most_common()}
    largest = next(room for room in shares if room != "views")
    yield below(f"largest room but views: {largest}", shares[largest], None, "%", 15)
    for room, share in shares.items():
        yield Row(f"  {room}, {lines[room]:,} lines", share, "%", detail=True)
    spans = sorted(((_span(f), f"{path}: {f.name}") for path, tree in trees.items() for f in _functions(tree)))
    yield below(f"longest function: {spans[-1][1]}", spans[-1][0], None, "lines", 50)
    for span, name in spans[-6:-1]:
        yield Row(f"  {name}", span, "lines", detail=True)
    taken = [name for path, tree in trees.items() if path.parts[0] in UPPER for name in _callables(path, tree)]
    yield below("callables that constructors in session, running, wiring take", len(taken), None, "of them", 4)
    for name in taken:
        yield Row(f"  {name}", 1, "", detail=True)


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _span(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _callables(path: Path, tree: ast.Module) -> Iterator[str]:
    """Parameters of `__init__`, and fields of dataclasses, whose type is a Callable or an alias of one."""
    aliases = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and "Callable" in ast.unparse(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        init = next((f for f in kind.body if isinstance(f, Function) and f.name == "__init__"), None)
        fields = [] if init else [(a.target, a.annotation) for a in kind.body if isinstance(a, ast.AnnAssign)]
        named = [(a.arg, a.annotation) for a in (*init.args.args, *init.args.kwonlyargs)] if init else fields
        for name, annotation in named:
            words = set(ast.unparse(annotation).replace("[", " ").replace("|", " ").split()) if annotation else set()
            if words & {"Callable", *aliases}:
                yield f"{path}: {kind.name}({name if isinstance(name, str) else ast.unparse(name)})"
