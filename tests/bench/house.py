"""The shape of the package: how much there is to read, in which rooms, and in how many crumbs."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import deepnb
from tests.bench.row import Row, below

QUICK = True
FIRST = {"lines": 65_822, "code": 46_234, "files": 522, "functions": 5_235, "tests": 61_732}
"""Before the round that takes away, at 3701001."""
WINGS = "wings"
"""The folder of those that can be left out, each a room of its own; `search` stands apart, too, from the main house."""
_ROOT = Path(deepnb.__file__).parent
_CRUMB = 3

Function = ast.FunctionDef | ast.AsyncFunctionDef


def rows() -> Iterator[Row]:
    sources = {path.relative_to(_ROOT): path.read_text(encoding="utf-8") for path in _ROOT.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    total = sum(text.count("\n") for text in sources.values())
    docstrings = sum(_docstring_lines(tree) for tree in trees.values())
    code = sum(_code_lines(text) for text in sources.values()) - docstrings
    functions = [f for tree in trees.values() for f in ast.walk(tree) if isinstance(f, Function)]
    lambdas = sum(isinstance(node, ast.Lambda) for tree in trees.values() for node in ast.walk(tree))
    yield below("lines of the package", total, FIRST["lines"], "lines", 60_000)
    yield below("  of code: no blanks, docstrings, comments", code, FIRST["code"], "lines", 43_000)
    yield below("files", len(sources), FIRST["files"], "files", 390)
    yield below("functions", len(functions), FIRST["functions"], "of them", 4_200)
    yield below("lambdas", lambdas, None, "of them", 330)
    yield Row("private functions of 3 lines with one caller", _crumbs(trees), "of them")
    yield Row("share of docstrings", 100 * docstrings / total, "%")
    rooms = Counter[str]()
    for path, text in sources.items():
        folders = path.parts[:-1] or ("(top)",)
        rooms["/".join(folders[: 2 if folders[0] == WINGS else 1])] += text.count("\n")
    main = total - sum(lines for room, lines in rooms.items() if room.startswith(WINGS) or room == "search")
    yield below("main house: without wings and search", main, None, "lines", 44_500)
    largest = next(room for room, _ in rooms.most_common() if room != "views")
    yield below(f"largest room but views: {largest}", 100 * rooms[largest] / total, None, "%", 12)
    for room, lines in rooms.most_common():
        yield Row(f"  {room}, {lines:,} lines", 100 * lines / total, "%", detail=True)
    every = ((path, node) for path, tree in trees.items() for node in ast.walk(tree))
    span, name = max((_span(node), f"{path}: {node.name}") for path, node in every if isinstance(node, Function))
    yield Row(f"longest function: {name}", span, "lines")
    tests = sum(path.read_text(encoding="utf-8").count("\n") for path in (_ROOT.parent / "tests").rglob("*.py"))
    yield below("lines of the tests", tests, FIRST["tests"], "lines", 55_000)


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _docstring_lines(tree: ast.Module) -> int:
    """Lines of all texts that stand as statements: docstrings, and what is said of a constant below it."""
    stated = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    return sum(
        _span(node) for node in stated if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )


def _code_lines(text: str) -> int:
    none = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    held = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in none:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held)


def _crumbs(trees: dict[Path, ast.Module]) -> int:
    """Private functions, not methods, that stand for at most three lines in one place of their own file."""
    found = 0
    for tree in trees.values():
        used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        for node in tree.body:
            if isinstance(node, Function) and node.name.startswith("_") and used[node.name] == 1:
                texts = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
                found += sum(map(_span, texts)) <= _CRUMB
    return found
