"""The user's own frames in a traceback: where each is, its lines round the one that failed, the variables on that line.

Variables are found by name and along attributes and items of exactly known types: no code of theirs runs.
"""

import ast
import linecache
import os
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from deepnb.values.failures import ENGINE, is_cell, is_library
from deepnb.workshop.exact import class_name, is_class, is_one_of, is_routine, is_scalar, module_name, own_attributes

MISSING = object()
_STATEMENT = 8  # lines of it in which names are looked for
_PATH = re.compile(r"(?<![\w.'\"])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_EXPRESSIONS = (ast.Name, ast.Attribute, ast.Subscript)


@dataclass(frozen=True)
class Frame:
    """One frame of a traceback; where it is no code of the user's, its place alone."""

    file: str
    line: int
    name: str  # of the function; `<module>` outside of any
    package: str  # the top package of its module
    own: bool
    code: tuple[str, ...] = ()  # all lines of its file or cell
    failing: str = ""  # the expression that failed, where Python knows it
    variables: tuple[tuple[str, object], ...] = ()  # what the failing line names, the failing expression first
    scope: tuple[Mapping[str, object], ...] = ()  # the variables of its function and those of its module

    @property
    def is_module(self) -> bool:
        """Whether its variables are those of the notebook."""
        return self.name == "<module>"


def frames(error: BaseException) -> list[Frame]:
    """Return the frames of an exception, the outermost first; of a deep recursion the first and the last of the user's."""
    walked: list[types.TracebackType] = []
    at = error.__traceback__
    while at is not None:
        walked.append(at)
        at = at.tb_next
    frame_of = {one.tb_frame.f_code: one.tb_frame for one in walked}
    is_own = {code: _is_own(frame) for code, frame in frame_of.items()}  # a deep recursion has few
    own = [i for i, one in enumerate(walked) if is_own[one.tb_frame.f_code]]
    runs = [list(run) for _, run in groupby(own, key=lambda i: (walked[i].tb_frame.f_code, walked[i].tb_lineno))]
    ends = [i for run in runs for i in dict.fromkeys((run[0], run[-1]))]
    found: list[Frame] = []
    for i, one in enumerate(walked):
        code = one.tb_frame.f_code
        plain = Frame(code.co_filename, one.tb_lineno, code.co_name, _package(one.tb_frame), is_own[code])
        if i in {*ends[:2], *ends[-4:]}:
            plain = replace(plain, code=lines_of(plain.file) or _magic_body(plain.file, found))
            plain = _detailed(plain, one.tb_frame, one.tb_lasti)
        found.append(plain)
    return found


def lines_of(file: str) -> tuple[str, ...]:
    """Return the lines of a cell, or of a file on disk; none of what can't be read as Python's own tracebacks do."""
    if file not in linecache.cache and not os.path.isfile(file):
        return ()
    return tuple(line.rstrip("\n") for line in linecache.getlines(file))


def own_file(file: str) -> bool:
    """Return whether a file is a cell, or lies below the working directory and is of no library."""
    if is_cell(file):
        return True
    path = os.path.abspath(file)
    return os.path.isfile(path) and not is_library(path) and path.startswith(os.path.join(os.getcwd(), ""))


def value_at(node: ast.AST, scope: Sequence[Mapping[str, object]]) -> object:
    """Return the value of a name, and of attributes and items along it; MISSING where code of a value's own would have to run."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return next((names[node.id] for names in scope if node.id in names), MISSING)
    if isinstance(node, ast.Attribute):
        return own_attributes(value_at(node.value, scope)).get(node.attr, MISSING)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = value_at(node.operand, scope)
        return -number if type(number) is int else MISSING
    if isinstance(node, ast.Subscript):
        held, key = value_at(node.value, scope), value_at(node.slice, scope)
        if type(held) is dict and is_scalar(key) and key is not MISSING:
            return held.get(key, MISSING)
        if is_one_of(held, (list, tuple)) and type(key) is int and -len(held) <= key < len(held):  # type: ignore[arg-type]
            return held[key]  # type: ignore[index]
    return MISSING


def parsed(text: str) -> ast.expr | None:
    """Return an expression as a tree; None if the text is not one."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _detailed(plain: Frame, frame: types.FrameType, lasti: int) -> Frame:
    lines, failing, last = plain.code, "", plain.line
    positions: Any = next(islice(frame.f_code.co_positions(), lasti // 2, None), (None,) * 4)
    if None not in positions and 0 < positions[0] <= positions[1] <= len(lines):
        first, last, start, end = positions
        parts = [line.encode("utf-8", "replace") for line in lines[first - 1 : last]]
        parts[-1] = parts[-1][:end]
        parts[0] = parts[0][start:]
        failing = " ".join(part.decode("utf-8", "replace").strip() for part in parts)
    scope = tuple(names for names in (frame.f_locals, frame.f_globals) if _is_plain(names))
    statement = "\n".join(lines[plain.line - 1 : min(last, plain.line + _STATEMENT)])
    unset = {*frame.f_code.co_varnames, *frame.f_code.co_cellvars}.difference(frame.f_locals if scope else ())
    variables = _variables(failing, statement, scope)
    named = tuple(found for found in variables if not unset.intersection(re.split(r"\W", found[0])))
    return replace(plain, failing=failing, variables=named, scope=scope)


def _variables(failing: str, statement: str, scope: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of what a line names, each once; modules are left out, an object where an attribute of it is there."""
    found: dict[str, object] = {}
    for node in ast.walk(parsed(failing) or ast.Pass()):
        if isinstance(node, _EXPRESSIONS) and (value := value_at(node, scope)) is not MISSING:
            found.setdefault(ast.unparse(node), value)
    for match in _PATH.finditer(statement):
        path = parsed(match[0])
        while path is not None and (value := value_at(path, scope)) is MISSING:
            path = path.value if isinstance(path, ast.Attribute) else None
        if path is not None:
            found.setdefault(ast.unparse(path), value)
    for name, value in found.items():
        function = value.__func__ if type(value) is types.MethodType else value
        if is_class(value):
            shown = module_name(value) == "__main__"  # type: ignore[arg-type]
        elif is_routine(value):
            shown = type(function) is types.FunctionType and own_file(function.__code__.co_filename)
        else:
            shown = type(value) is not types.ModuleType
        if shown and not any(other.startswith(f"{name}.") for other in found):
            yield name, value


def _magic_body(file: str, before: Sequence[Frame]) -> tuple[str, ...]:
    """Return the lines that a magic such as `%%time` was handed by the cell before it, which has them as a text."""
    caller = next((frame for frame in reversed(before) if frame.own), None)
    if caller is None or not file.startswith("<timed"):
        return ()
    call = parsed("\n".join(caller.code[caller.line - 1 :]))
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant)] if isinstance(call, ast.Call) else []
    return tuple(texts[-1].splitlines()) if texts and isinstance(texts[-1], str) else ()


def _is_own(frame: types.FrameType) -> bool:
    """Return whether a frame runs the user's code: of a cell, of a text that a cell ran, of a file in the working directory."""
    file, package = frame.f_code.co_filename, _package(frame)
    if file.startswith("<") and not is_cell(file):
        return package == "__main__" and not file.startswith("<frozen")
    return package not in ENGINE and own_file(file)


def _package(frame: types.FrameType) -> str:
    name = frame.f_globals.get("__name__") if _is_plain(frame.f_globals) else ""
    return name.partition(".")[0] if type(name) is str else ""


def _is_plain(names: object) -> bool:
    """Return whether a scope is Python's own mapping: what was handed to `exec` may be one of the user's."""
    return type(names) is dict or class_name(names) == "FrameLocalsProxy"
