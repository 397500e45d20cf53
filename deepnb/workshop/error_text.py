"""An exception as text: its traceback with the user's own frames in full, libraries' in a line, then its message.

It is laid out as Python's own tracebacks, so that any model knows it. Values are described by `describe`: no code of
the user's objects runs but the exception's `str`, and credentials are not shown.
"""

import ast
import builtins
import difflib
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter
from textwrap import indent
from typing import Any

from deepnb.gate import redact
from deepnb.values.failures import failure_text, is_cell
from deepnb.values.lazy import nothing
from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.exact import attribute_names, class_name, cut, is_credential, is_from, own_attributes, pandas_name
from deepnb.workshop.frames import MISSING, Frame, frames, lines_of, own_file, parsed, value_at

HEAD = "Traceback (most recent call last):"
BUDGET = 8_000  # characters of a text

WIDTH = 160  # characters of a line of code
_AROUND = (6, 3)  # lines shown before and after the failing one
_LONGEST_LINE = 4_000
_LOCALS = (6, 700)
"""How many variables of the innermost frame are described, and the characters of one; fewer of the frames around it."""
_OUTER_LOCALS = (3, 300)
_OTHERS = 8
_LIBRARY = 2  # frames of libraries that are listed at each end of a run of them
_SHORTEST = 6  # characters of a credential that is looked for in the message
_CAUSES = 3
_GROUP = 5

Label = Callable[[str], str | None]  # what the front end calls a cell, by the name that its code has: `In[3]`


def error_text(error: BaseException, label: Label = nothing, budget: int = BUDGET) -> str:
    """Return what is known of an exception, in at most `budget` characters; never an exception, and never a credential."""
    try:
        text = _text(error, label, budget)
    except KeyboardInterrupt:
        raise
    except BaseException:  # of the exception's own `str`
        text = f"{HEAD}\n{class_name(error)}: its message can't be shown"
    text = redact(text)
    if len(text) <= budget:
        return text
    return f"{text[: budget // 3]}\n  (left out)\n{text[-(budget - budget // 3 - 15) :]}"


def innermost(found: Sequence[Frame]) -> Frame | None:
    """Return the user's frame that is nearest to the error."""
    return next((frame for frame in reversed(found) if frame.own), None)


def _text(error: BaseException, label: Label, budget: int) -> str:
    found = frames(error)
    last = innermost(found)
    lines = [HEAD]
    for own, run in groupby(found, key=attrgetter("own")):
        blocks = list(run)
        if own:
            shown = [frame for frame in blocks if frame.code or frame.variables]
            hidden = len(blocks) - len(shown)
            lines += [_own(frame, label, frame is last) for frame in shown[:2]]
            lines += [f"  ({hidden} more frames of this code)"] * bool(hidden)
            lines += [_own(frame, label, frame is last) for frame in shown[2:]]
        elif not all(frame.package == "IPython" for frame in blocks):
            places = [f"  File {_short(f.file)}, line {f.line}, in {f.name}" for f in blocks]
            if (hidden := len(places) - 2 * _LIBRARY) > 0:
                places[_LIBRARY:-_LIBRARY] = [f"  ({hidden} more frames of libraries)"]
            lines += places
    lines += _syntax(error, label)
    notes = own_attributes(error).get("__notes__")  # what was added by `add_note`
    noted = [cut(note, 200) for note in notes[:3] if type(note) is str] if type(notes) is list else []
    find = next((find for kind, find in _FINDERS.items() if isinstance(error, kind)), None)
    near = dict.fromkeys(islice(find(error, last), 3)) if find else ()
    tail = [_message(error), *near, *noted, *_members(error), *_causes(error, label)]
    size = sum(map(len, lines)) + sum(map(len, tail)) + len(lines) + len(tail)
    while size > budget - 60 and len(lines) > 3:  # the outermost frame and the innermost stay
        size -= len(lines.pop(2)) + 1
    text = "\n".join([*lines, *tail])
    scopes = [frame.scope[0].items() if frame.scope and not frame.is_module else () for frame in found]
    named = [pair for frame, scope in zip(found, scopes, strict=True) for pair in (*frame.variables, *scope)]
    secrets = {v for name, v in named if is_credential(name, v) and type(v) is str and len(v) >= _SHORTEST}
    for value in sorted(secrets, key=len, reverse=True):  # the message may repeat it without the name
        text = text.replace(value, "[redacted]")
    return text


def _own(frame: Frame, label: Label, is_last: bool) -> str:
    lines = [f"  {place(frame.file, frame.line, label)}, in {frame.name}", *_source(frame.code, frame.line)]
    if frame.failing and frame.failing != _line(frame.code, frame.line).strip():
        lines.append(f"    failing expression: {cut(redact(frame.failing), WIDTH)}")
    count, size = _LOCALS if is_last else _OUTER_LOCALS
    if named := frame.variables[:count]:
        lines.append("    variables:")
    for name, value in named:
        first, _, rest = describe(name, value, size).partition("\n")
        lines += [f"      {first}", *([indent(rest, " " * 8)] if rest else [])]
    if is_last and not frame.is_module and frame.scope:
        known = {name for name, _ in named}
        others = {name: value for name, value in frame.scope[0].items() if name not in known and name.isidentifier()}
        text = list_of_variables(others, _OTHERS)
        lines += ["    other variables of the function:", indent(cut(text, size), "      ")] if others else []
    return "\n".join(lines)


def place(file: str, line: int, label: Label) -> str:
    """`Cell In[3], line 2`, as IPython says it, or `File helpers.py, line 7`."""
    if name := label(file):
        return f"Cell {name}, line {line}"
    return f"{'Cell' if is_cell(file) or file.startswith('<') else f'File {_short(file)}'}, line {line}"


def _source(code: Sequence[str], line: int) -> list[str]:
    before, after = _AROUND
    first, last = max(1, line - before), min(len(code), line + after)
    shown = [text[:_LONGEST_LINE] for text in code[first - 1 : last]]
    clean = redact("\n".join(shown)).split("\n")  # before a cut could leave half of a credential
    if len(clean) != len(shown):
        clean = [redact(text) for text in shown]
    return [f"    {'>' if n == line else ' '} {n:>3} | {cut(t, WIDTH)}".rstrip() for n, t in enumerate(clean, first)]


def _line(code: Sequence[str], line: int) -> str:
    return code[line - 1] if 0 < line <= len(code) else ""


def _short(file: str) -> str:
    path = os.path.abspath(file)
    if path.startswith(os.path.join(os.getcwd(), "")) and own_file(file):
        return os.path.relpath(path)
    for folder in ("site-packages", "dist-packages"):
        if folder in file:
            return file.rpartition(folder)[2].lstrip("/\\")
    return "/".join(file.replace("\\", "/").split("/")[-2:])


def _syntax(error: BaseException, label: Label) -> list[str]:
    """Return where a text is no Python, which has no frame of its own."""
    if not isinstance(error, SyntaxError):
        return []
    file, line, text = (SyntaxError.__dict__[name].__get__(error) for name in ("filename", "lineno", "text"))
    if type(line) is not int:
        return []
    code = lines_of(file) if type(file) is str else ()
    if code:
        return ["\n".join([f"  {place(file, line, label)}", *_source(code, line)])]
    shown = [f"    > {line:>3} | {cut(text.rstrip(), WIDTH)}"] if type(text) is str else []
    return ["\n".join([f"  {place(str(file), line, label)}", *shown])]


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and type(words := SyntaxError.__dict__["msg"].__get__(error)) is str:
        return f"{class_name(error)}: {words}"
    return failure_text(error).removeprefix("Error: ")


def _members(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        members = BaseExceptionGroup.__dict__["exceptions"].__get__(error)
        for number, member in enumerate(members[:_GROUP], 1):
            yield f"  {number}. {cut(_message(member), 300)}{_where(member)}"
        if len(members) > _GROUP:
            yield f"  ({len(members) - _GROUP} more exceptions)"


def _causes(error: BaseException, label: Label) -> Iterator[str]:
    """Yield the exceptions behind one, a line each; none that a library raised with the same words."""
    known, said = {id(error)}, {_message(error)}
    at: BaseException | None = error
    for _ in range(_CAUSES):
        cause = at.__cause__ if at is not None else None
        at = cause or (at.__context__ if at is not None and not at.__suppress_context__ else None)
        if at is None or id(at) in known:
            return
        known.add(id(at))
        where, words = _where(at, label), cut(_message(at), 300)
        if where or words not in said:
            yield f"{'caused by' if cause else 'while handling'} {words}{where}"
        said.add(words)


def _where(error: BaseException, label: Label = nothing) -> str:
    if (frame := innermost(frames(error))) is None:
        return ""
    return f" ({place(frame.file, frame.line, label)}: {cut(_line(frame.code, frame.line).strip(), 100)})"


# -- a line for each name in the error that is like one there is: `'revnue' is near 'revenue', a column of sales`


_MOST = 5_000  # names that are compared
_ALIKE = 0.6


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
        value = value_at(node.value, frame.scope)
        value = (error.obj if type(error) is AttributeError else MISSING) if value is MISSING else value
        if value is None or value is MISSING:
            return
        names: Iterable[str] = (name for name in attribute_names(value) if not name.startswith("_"))
        sets = [(names, "an attribute")]
        if type(value) is types.ModuleType:
            sets = [(_of(vars(value)), "a name")]
        elif pandas_name(value) == "DataFrame":
            sets.insert(0, next(_held(value)))
        for one, kind in sets:
            if near := _nearest(found[1], one):
                yield f"{found[1]} is near {near}, {kind} of {ast.unparse(node.value)}"
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
    if found := re.match(r"cannot import name '(\w+)' from '([\w.]+)'", _words(error)):
        module = sys.modules.get(found[2])
        if type(module) is types.ModuleType and (near := _nearest(found[1], _of(vars(module)))):
            yield f"{found[1]} is near {near}, a name of {found[2]}"


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
    FileNotFoundError: _files,
}


def _held(value: object) -> Iterator[tuple[list[str], str]]:
    if is_from(value, "pandas.api.typing", ("DataFrameGroupBy",)):
        value = own_attributes(value).get("obj")
    kind = pandas_name(value)
    if type(value) is dict:
        yield _of(value), "a key"
    if kind == "DataFrame":
        yield _labels(value.columns), "a column"  # type: ignore[attr-defined]
    if kind in ("DataFrame", "Series"):
        yield _labels(value.index), "a row label"  # type: ignore[attr-defined]


def _labels(index: Any) -> list[str]:
    return [label for label in index[:_MOST].tolist() if type(label) is str] if pandas_name(index) else []


def _of(names: Mapping[Any, object]) -> list[str]:
    return [name for name in islice(names, _MOST) if type(name) is str and not name.startswith("_")]


def _nodes(frame: Frame | None, kind: type[ast.AST]) -> Iterator[Any]:
    """Return the parts of the failing expression that are of one kind; of its line where there is no expression."""
    tree = parsed(frame.failing) if frame else None
    if tree is None and frame is not None and 0 < frame.line <= len(frame.code):
        line = frame.code[frame.line - 1].strip()
        tree = parsed(line.rstrip(":").partition(" ")[2]) or parsed(line.partition("=")[2])
    return (node for node in ast.walk(tree) if isinstance(node, kind)) if tree is not None else iter(())


def _nearest(word: str, names: Iterable[str]) -> str:
    lower = {name.casefold(): name for name in names if name != word and class_name(name) == "str"}
    found = difflib.get_close_matches(word[:80].casefold(), list(lower), 1, _ALIKE)
    return lower[found[0]] if found else ""


def _words(error: BaseException) -> str:
    args: Sequence[object] = BaseException.__dict__["args"].__get__(error)
    return args[0] if args and type(args[0]) is str else ""
