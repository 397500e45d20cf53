"""Faults made on purpose: which of them do the tests notice?

    python -m tests.support.mutants draw           # draw 300 mutants with a seed into tests/data/mutants.json
    python -m tests.support.mutants reach FILE [PLACE...]  # run the tests by folder, and note which functions each runs
    python -m tests.support.mutants run FILE OUT   # run each mutant against the tests that reach it
    python -m tests.support.mutants compare A B    # what was caught in A and is not in B

A mutant is one function of five lines or more with one change: an operator, a constant, or a statement that is dropped.
It is known by its function and the text that changes, so that it is found again after its file has moved.
It runs against the tests that run its function (its own room's first, then the fastest), each mutant in a process of
its own on a copy of the tree, up to the first failure. `reach` needs Python 3.12 or newer (`sys.monitoring`).
"""

import ast
import copy
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

TREE = Path(__file__).parents[2]
DRAWN = TREE / "tests" / "data" / "mutants.json"
COUNT, SEED, LINES = 300, 20261125, 5
JOBS = 2
MOST_SECONDS = 60.0  # of the tests that reach a mutant, so many seconds' worth are run
UNITS = "not kernel and not browser and not nightly"

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutant:
    """One change: the `at`-th place in a function whose text is `before`."""

    file: str
    function: str
    before: str
    after: str
    at: int


# -- drawing


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def _parts(function: Function) -> Iterator[ast.AST]:
    """What may be changed: the statements and expressions of the body, less docstrings, nested functions, f-strings."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, (Function, ast.ClassDef, ast.JoinedStr, ast.AnnAssign)):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        yield node
        todo = [*ast.iter_child_nodes(node), *todo]


def changed(node: ast.AST) -> str | None:
    """The text that stands for a node in a mutant, or None where nothing is changed."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op, *_]) if type(op) in _COMPARE:
            new.ops[0] = _COMPARE[type(op)]()
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        case ast.BinOp(op=op) if type(op) in _BINARY and not isinstance(new.left, (ast.Constant, ast.JoinedStr)):
            new.op = _BINARY[type(op)]()
        case ast.UnaryOp(op=ast.Not()):
            return f"({ast.unparse(new.operand)})"
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value)):
            new.value = value + 1
        case ast.Constant(value=str(value)) if value:
            new.value = f"{value}x" if len(value) < 3 else value[:-1]
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            return "pass"
        case ast.Return(value=ast.expr()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "pass"
        case _:
            return None
    text = ast.unparse(new)
    return text if isinstance(new, ast.Constant) else f"({text})"


def draw(root: Path = TREE, seed: int = SEED, count: int = COUNT) -> list[Mutant]:
    """Mutants of as many functions, each function once."""
    found = []
    for path in sorted((root / "deepnb").rglob("*.py")):
        for name, node in functions(ast.parse(path.read_text(encoding="utf-8"))):
            if (node.end_lineno or 0) - node.lineno + 1 >= LINES:
                found.append((path.relative_to(root).as_posix(), name, node))
    chance = random.Random(seed)
    chance.shuffle(found)
    drawn: list[Mutant] = []
    for file, name, function in found:
        places = [node for node in _parts(function) if changed(node) is not None]
        if places and len(drawn) < count:
            place = chance.choice(places)
            before = ast.unparse(place)
            at = [ast.unparse(one) for one in places[: places.index(place)]].count(before)
            drawn.append(Mutant(file, name, before, changed(place) or "", at))
    return drawn


def mutated(mutant: Mutant, root: Path) -> tuple[Path, str, str] | None:
    """(file, function, the file's text with the change) where the function stands now, or else the one that has its text; None if that is gone."""
    elsewhere: list[tuple[Path, str, str, Any]] = []
    for path in sorted((root / "deepnb").rglob("*.py"), key=lambda path: path != root / mutant.file):
        text = path.read_text(encoding="utf-8")
        for name, places in _places(text):
            same = places.get(mutant.before, [])
            if name == mutant.function and len(same) > mutant.at:
                return path, name, _replaced(text, same[mutant.at], mutant.after)
            elsewhere += [(path, name, text, one) for one in same]
    if len(elsewhere) != 1:
        return None
    path, name, text, one = elsewhere[0]
    return path, name, _replaced(text, one, mutant.after)


@cache
def _places(text: str) -> list[tuple[str, dict[str, list[ast.AST]]]]:
    """Return each function of a module with what may be changed in it, by its text."""
    found = []
    for name, function in functions(ast.parse(text)):
        places = defaultdict[str, list[ast.AST]](list)
        for node in _parts(function):
            if changed(node):
                places[ast.unparse(node)].append(node)
        found.append((name, dict(places)))
    return found


def _replaced(text: str, node: Any, new: str) -> str:
    lines = text.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    whole = b"".join(lines)
    # as many lines as before, so that what a test says of lines stays
    fill = "\n" * whole[start:end].count(b"\n") if new == "pass" else ""
    return (whole[:start] + (new + fill).encode() + whole[end:]).decode()


# -- which test runs which function


class Reach:
    """A plugin of pytest: the functions of `deepnb` that each test runs, and its seconds if it passes."""

    def __init__(self) -> None:
        self.ran: dict[str, set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)
        self._test = ""
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        monitoring.use_tool_id(monitoring.PROFILER_ID, "reach")
        monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START, self._began)
        monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)

    def _began(self, code: CodeType, offset: int) -> Any:
        if code.co_filename.startswith(f"{TREE / 'deepnb'}{os.sep}"):
            self.ran[self._test].add(f"{Path(code.co_filename).relative_to(TREE).as_posix()}:{code.co_qualname}")
        return sys.monitoring.DISABLE  # type: ignore[attr-defined]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._test = nodeid
        sys.monitoring.restart_events()  # type: ignore[attr-defined]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += float("nan") if report.failed else report.duration

    def record(self) -> dict[str, Any]:
        passed = {test: round(seconds, 3) for test, seconds in self.seconds.items() if seconds == seconds}
        return {"seconds": passed, "ran": {test: sorted(self.ran[test]) for test in passed}}


def reach(out: Path, places: list[str]) -> None:
    import pytest

    plugin = Reach()
    pytest.main(["-n", "0", "-p", "no:cacheprovider", "-q", "-m", UNITS, *places], plugins=[plugin])
    out.write_text(json.dumps(plugin.record()), encoding="utf-8")


def reach_in_parts(out: Path) -> None:
    parts = Path(tempfile.mkdtemp())
    tests = TREE / "tests"
    places = sorted({str(tests / path.relative_to(tests).parts[0]) for path in tests.rglob("test_*.py")})

    def part(at: int) -> Any:
        command = [sys.executable, "-m", "tests.support.mutants", "reach", str(parts / str(at)), places[at]]
        subprocess.run(command, cwd=TREE, stdout=subprocess.DEVNULL)
        return json.loads((parts / str(at)).read_text(encoding="utf-8"))

    with ThreadPoolExecutor(JOBS) as pool:
        read = list(pool.map(part, range(len(places))))
    joined = {key: {test: value for one in read for test, value in one[key].items()} for key in ("seconds", "ran")}
    out.write_text(json.dumps(joined), encoding="utf-8")
    print(f"{len(joined['seconds'])} tests, {sum(joined['seconds'].values()):.0f} s")


# -- running


class _Chosen:
    def __init__(self, tests: list[str]) -> None:
        self.order = {test: at for at, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


def chosen(function: str, place: str, known: dict[str, Any]) -> list[str]:
    """The tests that run a function, its own room's first, each kind by time."""
    key, room = f"{place}:{function}", f"tests/{Path(place).parts[1]}/"
    tests = [test for test, ran in known["ran"].items() if key in ran]
    if not tests:  # run while a module is imported
        tests = [test for test in known["seconds"] if test.startswith(room)]
    seconds, taken, spent = known["seconds"], [], 0.0
    for test in sorted(tests, key=lambda t: (not t.startswith(room), seconds[t])):
        if spent <= MOST_SECONDS:
            taken.append(test)
            spent += seconds[test]
    return taken


def _child(arguments: list[str], plugins: list[Any], seconds: float) -> str:
    """Run pytest in a fork of this process: `passed`, `failed`, or `hangs`."""
    if (pid := os.fork()) == 0:
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        import pytest

        code = 3
        try:
            code = int(pytest.main([*arguments, "-x", "-n", "0", "-p", "no:cacheprovider", "--no-header"], plugins))
        finally:
            os._exit(code)
    watch = threading.Timer(seconds, os.killpg, (pid, signal.SIGKILL))
    watch.start()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    watch.cancel()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return "hangs" if code == -signal.SIGKILL else "passed" if code in (0, 5) else "failed"


def _begin(place: Path) -> None:
    """Go to a copy of the tree of this process's own, with the large packages loaded, and nothing of `deepnb`."""
    tree = place / str(os.getpid())
    shutil.copytree(TREE, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache"))
    os.chdir(tree)
    sys.path[:] = [str(tree), *(p for p in sys.path if Path(p or ".").resolve() != TREE)]
    os.environ["PYTHONPATH"], os.environ["PYTHONDONTWRITEBYTECODE"] = str(tree), "1"
    sys.dont_write_bytecode = True
    for name in ("deepagents", "hypothesis", "ipywidgets", "nbformat", "pandas", "polars", "tiktoken"):
        with suppress(ImportError):
            import_module(name)
    for name in [name for name in sys.modules if name.split(".")[0] in ("deepnb", "tests")]:
        del sys.modules[name]


def _tried(mutant: Mutant, known: dict[str, Any]) -> str:
    tree = Path.cwd()
    if (found := mutated(mutant, tree)) is None:
        return "gone"
    path, function, text = found
    tests = chosen(function, path.relative_to(tree).as_posix(), known)
    if not tests:
        return "passed"
    before = path.read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    try:
        files = sorted({test.split("::")[0] for test in tests})
        return _child(files, [_Chosen(tests)], 60 + 5 * sum(known["seconds"][test] for test in tests))
    finally:
        path.write_text(before, encoding="utf-8")


def run(reached: Path, out: Path) -> None:
    """Run all mutants, and write how each ended; those that are done already in `out` are not run again."""
    mutants = [Mutant(**one) for one in json.loads(DRAWN.read_text(encoding="utf-8"))]
    known = json.loads(reached.read_text(encoding="utf-8"))
    results: dict[str, str] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    place, context = Path(tempfile.mkdtemp()), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(JOBS, context, _begin, (place,)) as pool:
        todo = {pool.submit(_tried, one, known): at for at, one in enumerate(mutants) if str(at) not in results}
        for done in as_completed(todo):
            at = todo[done]
            results[str(at)] = done.result()
            out.write_text(json.dumps(results), encoding="utf-8")
            print(f"{at:3} {results[str(at)]:6} {mutants[at]}", flush=True)
    shutil.rmtree(place)
    print(share(results.values()))


def share(results: Iterable[str]) -> str:
    there = [one for one in results if one != "gone"]
    caught = sum(one != "passed" for one in there)
    return f"{caught} of {len(there)} mutants caught ({100 * caught / max(len(there), 1):.1f} %)"


def compare(before: Path, after: Path) -> int:
    first, second, mutants = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after, DRAWN))
    lost = [at for at, result in first.items() if result not in ("passed", "gone") and second.get(at) == "passed"]
    print(f"before: {share(first.values())}; after: {share(second.values())}; no longer caught: {len(lost)}")
    for at in lost:
        print(f"{at:>3} {Mutant(**mutants[int(at)])}")
    return len(lost)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["draw"]:
            drawn = json.dumps([asdict(one) for one in draw()], indent=0, ensure_ascii=False)
            DRAWN.write_text(drawn, encoding="utf-8")
        case ["reach", out]:
            reach_in_parts(Path(out))
        case ["reach", out, *places]:
            reach(Path(out), places)
        case ["run", reached, out]:
            run(Path(reached), Path(out))
        case ["compare", before, after]:
            sys.exit(bool(compare(Path(before), Path(after))))
        case _:
            sys.exit(__doc__)
