"""What an edit of a notebook would write, computed before anything is asked or written: its cells and their diff."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

from deepnb.backends.writer import credential_in
from deepnb.gate import credentials, redact
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.files import FileDiff, write_whole
from deepnb.values.text import short_repr
from deepnb.workshop import notebooks

# -- what a change does to the cells of a notebook, cell by cell


@dataclass(frozen=True)
class CellDiff:
    """One cell that is replaced, inserted or deleted."""

    number: int  # counted from 1: before the change, or of a new cell after it
    kind: str  # `code`, `markdown` or `raw`; `code to markdown` where that changes
    before: str | None  # the source; None of a new cell
    after: str | None
    outputs: int = 0  # how many outputs go

    @property
    def title(self) -> str:
        """`cell 3 · code · changed, 2 outputs cleared`."""
        gone = f", {self.outputs} output{'s' if self.outputs > 1 else ''} cleared" if self.outputs else ""
        return f"cell {self.number} · {self.kind} · {self.lines.kind}{gone}"

    @property
    def lines(self) -> FileDiff:
        """The lines that change; a source counts as ending in a line feed."""
        before, after = (None if one is None else f"{one}\n" for one in (self.before, self.after))
        return FileDiff(f"cell {self.number}", before, after)


@dataclass(frozen=True)
class NotebookDiff:
    """The cells of one notebook that change; the others stay as they are."""

    path: str
    cells: tuple[CellDiff, ...]
    new: bool = False  # whether there is no such file yet
    problem: str = ""  # why the change can't be made to the file as it is now

    def __repr__(self) -> str:
        return short_repr(self, f"{self.path} {self.kind}, {len(self.cells)} cells")

    @property
    def kind(self) -> str:
        """In a word or a line."""
        return self.problem or ("added" if self.new else "changed")

    def unified(self) -> str:
        """Return each cell's title, then its lines as `diff -u` prints them, without the names of the files."""
        diffs = ((cell.title, cell.lines.unified().rstrip("\n").split("\n")) for cell in self.cells)
        return "\n".join(line for title, lines in diffs for line in (title, *lines[2:]))


@dataclass(frozen=True)
class NotebookPlan:
    """One change of one notebook."""

    file: Path
    before: bytes | None  # the file that it was planned for
    after: bytes
    diff: NotebookDiff
    cells: int  # how many cells there are afterwards

    def write(self) -> str:
        """Write it whole, if the file is what it was; return a line that says what was done."""
        name = self.diff.path

        def check() -> None:
            if (notebooks.content_of(self.file, name) if self.file.exists() else None) != self.before:
                raise notebooks.outdated(name)

        with _WRITING:
            try:
                write_whole(self.file, self.after, check)
            except OSError as error:
                raise InvalidError(f"{name} can't be written ({error.strerror})") from None
        done = ", ".join(f"{_DONE[cell.lines.kind]} cell {cell.number}" for cell in self.diff.cells)
        version = notebooks.version_of(self.file, self.after)
        made = "made, " if self.diff.new else ""
        return f"{name}: {made}{done}; nothing was run. {self.cells} cells, version {version}"


_WRITING = Lock()
_DONE = {"added": "inserted", "removed": "deleted", "changed": "replaced"}


def notebook_plan(namespace: Mapping[str, Any], path: str, edits: Sequence[Any], version: str = "") -> NotebookPlan:
    """Return what these edits would make of a notebook as it is now; an error where they can't, or may not, be made."""
    from nbformat import versions

    if credentials(path):
        raise RefusedError("not written: the path itself holds a credential")
    file = notebooks.inside(notebooks.working_directory(), path)
    before = notebooks.content_of(file, path) if file.is_file() else None
    there = _notebook(file, before, path, version)
    ids = [str(cell.get("id")) for cell in there["cells"]]
    if notebooks.is_open(file, ids, namespace):
        raise RefusedError(f"{path} is open here, and is not written behind its back", "use propose_cell")
    cells, entries = edited_cells(there["cells"], cell_edits(edits, len(ids)), path)
    text = before.decode("utf-8") if before is not None else f"{versions[4].writes_json(there).rstrip()}\n"
    try:
        after = NotebookFile(text).with_cells(entries).encode()
    except UnicodeEncodeError:
        raise InvalidError(f"{path} holds half of a character that takes two", "remove it in Jupyter") from None
    if len(after) > notebooks.LARGEST:
        raise LimitError(f"{path} would have more than {notebooks.LARGEST // 1_000_000} MB", "it is not written")
    _check(notebooks.parsed(after, path), path)
    return NotebookPlan(file, before, after, NotebookDiff(path, cells, before is None), len(entries))


def notebook_diff(namespace: Mapping[str, Any], args: Mapping[str, Any]) -> NotebookDiff:
    """Return what a call of the tool would do to a notebook as it is now, or why it would do nothing."""
    try:
        return notebook_plan(namespace, args["path"], args["edits"], args.get("version", "")).diff
    except DeepnbError as error:
        return NotebookDiff(redact(args["path"]), (), problem=error.typed)


def _notebook(file: Path, content: bytes | None, name: str, version: str) -> Any:
    from nbformat import v4

    if content is not None:
        if file.suffix != ".ipynb":
            raise InvalidError(f"{name} is no notebook", "give the path of a .ipynb file")
        if not version:
            raise RefusedError(f"{name} exists", "read it with read_notebook and give its version")
        if version != notebooks.version_of(file, content):
            raise notebooks.outdated(name)
        there = notebooks.parsed(content, name)
        _check(there, name)
        return there
    if file.suffix != ".ipynb" or file.exists():
        raise InvalidError(f"{name} can't be a notebook", "give the path of a .ipynb file")
    if version or not file.parent.is_dir():
        what = f"no notebook {name}" if version else f"{name} would be in a directory that does not exist"
        raise NotFoundError(what, "read_notebook without a path lists them")
    python = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return v4.new_notebook(metadata={"kernelspec": python, "language_info": {"name": "python"}})


def _check(there: Any, name: str) -> None:
    from nbformat import validator

    try:
        named = ({"id": f"cell-{n}", **cell} for n, cell in enumerate(there["cells"]))  # where the format asks for ids
        has_ids = (there["nbformat"], there["nbformat_minor"]) >= (4, 5)
        whole = {**there, "cells": [*named]} if has_ids else there
        wrong = next((str(error.message) for error in validator.iter_validate(whole)), None)
    except Exception as error:  # a version that is no number, for example
        wrong = type(error).__name__
    if wrong is not None:
        raise InvalidError(f"{name} is not valid ({redact(wrong):.80})", "open it in Jupyter and save it")


# -- edits of cells as a model gives them, and the cells they make


ACTIONS = ("replace", "insert", "delete")
KINDS = ("code", "markdown", "raw")
_EXAMPLE = '{"replace": 3, "source": "..."}, {"insert": 4, "source": "...", "kind": "markdown"} or {"delete": 5}'


@dataclass(frozen=True)
class CellEdit:
    """What is done at one cell; cells are counted from 1, as they are before any edit."""

    action: str
    number: int
    source: str = ""
    kind: str = ""  # Empty: code for a new cell, else what the cell is


def cell_edits(given: Sequence[Any], count: int) -> tuple[CellEdit, ...]:
    """Return the edits of a notebook with so many cells, checked; a mistake in one is an error for all."""
    edits = list[CellEdit]()
    for one in given:
        actions = [name for name in ACTIONS if name in one] if isinstance(one, Mapping) else []
        if len(actions) != 1:
            raise InvalidError("an edit names one of replace, insert and delete", f"give {_EXAMPLE}")
        (action,) = actions
        if unknown := [key for key in one if key not in (action, "source", "kind")]:
            raise InvalidError(f"an edit has no {unknown[0]!r}", f"give {_EXAMPLE}")
        number, source, kind = one[action], one.get("source", ""), one.get("kind", "")
        if type(number) is not int or number < 1:
            raise InvalidError(f"{action} needs the number of a cell, not {number!r:.40}", "count from 1")
        if action != "insert" and number > count:
            raise NotFoundError(f"no cell {number}: the notebook has {count}", "count from 1")
        if kind not in ("", *KINDS):
            raise InvalidError(f"a cell can't be of kind {kind!r:.40}", f"use one of {', '.join(KINDS)}")
        if not isinstance(source, str) or ("source" in one) == (action == "delete"):
            takes = "takes no" if action == "delete" else "needs a"
            raise InvalidError(f"{action} {number} {takes} source", _EXAMPLE)
        if source.encode("utf-8", "ignore").decode() != source:
            raise InvalidError("a source holds half of a character that takes two (a lone surrogate)", "leave it out")
        edits.append(CellEdit(action, number, source, kind))
    if not edits:
        raise InvalidError("there are no edits", f"give {_EXAMPLE}")
    numbers = [one.number for one in edits if one.action != "insert"]
    if twice := next((n for n in numbers if numbers.count(n) > 1), None):
        raise InvalidError(f"cell {twice} is edited twice", "give one edit for each cell")
    return tuple(edits)


Entry = tuple[int, CellEdit | None]
"""A cell of the file afterwards: its number before, 0 of a new one, and what is done to it."""


def edited_cells(
    cells: Sequence[Any], edits: Sequence[CellEdit], name: str
) -> tuple[tuple[CellDiff, ...], list[Entry]]:
    """Return what changes in the cells of a notebook, and of what its cells are made afterwards."""
    at = {one.number: one for one in edits if one.action != "insert"}
    made: list[Entry] = []
    diffs: list[CellDiff] = []
    for number in range(1, len(cells) + 2):
        # a new cell stands before the one of its number; past the last one is at the end
        for new in (one for one in edits if one.action == "insert" and min(one.number, len(cells) + 1) == number):
            made.append((0, new))
            diffs.append(_diff(len(made), None, {"source": new.source, "cell_type": new.kind or "code"}, name))
        if number > len(cells):
            break
        cell, edit = cells[number - 1], at.get(number)
        after = None
        if edit is None or edit.action == "replace":
            if edit is not None:
                kind = edit.kind or cell["cell_type"]
                if (cell["source"], cell["cell_type"]) == (edit.source, kind):
                    raise InvalidError(f"cell {number} is that already", "leave it out of the edits")
                if kind not in KINDS:
                    what = f"cell {number} is of the unknown kind {kind!r:.40}"
                    raise InvalidError(what, "leave it out of the edits")
                edit, after = replace(edit, kind=kind), {"source": edit.source, "cell_type": kind}
            made.append((number, edit))
        if edit is not None:
            diffs.append(_diff(number, cell, after, name))
    return tuple(diffs), made


def _diff(number: int, before: Any, after: Any, name: str) -> CellDiff:
    """Return what happens to one cell, masked; a credential that is new is an error."""
    old, new = (None if one is None else str(one["source"]) for one in (before, after))
    if new is not None and (problem := credential_in(old or "", new, f"cell {number} of {name}")):
        raise RefusedError(problem.removeprefix("Error: "))
    kinds = dict.fromkeys(str(one["cell_type"]) for one in (before, after) if one is not None)
    outputs = len(before.get("outputs") or ()) if before is not None else 0
    old, new = (None if one is None else redact(one) for one in (old, new))
    return CellDiff(number, redact(" to ".join(kinds)), old, new, outputs)


# -- the file, however it is laid out: nothing of it changes but the cells that are edited


_BLANKS = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


def _parts(text: str, at: int) -> Iterator[tuple[Any, int, int]]:
    """Yield the key (None in an array), the beginning and the end of each value of an object or array of JSON."""
    is_object, at = text[at] == "{", _skip(text, at + 1)
    while text[at] not in "}]":
        key = None
        if is_object:
            key, at = _decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        _, end = _decode(text, at)
        yield key, at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


class NotebookFile:
    """The text of a notebook of format 4, and where its cells are in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        top = {key: start for key, start, _ in _parts(text, text.index("{"))}
        head = json.loads(text.removeprefix("\ufeff"))
        self.version: tuple[int, int] = (head.get("nbformat", 1), head.get("nbformat_minor", 0))
        if self.version < (4,) or "cells" not in top:
            raise InvalidError("the notebook has no list of cells of nbformat 4", "open it in Jupyter and save it")
        self.array = top["cells"]
        self.spans = [(start, end) for _, start, end in _parts(text, self.array)]
        given = [cell["source"] for cell in head["cells"] if "source" in cell]
        self.lists = not given or any(isinstance(one, list) for one in given)
        breaks = re.search(r"\r?\n", text[: _skip(text, text.index("{") + 1)])
        self.newline = breaks[0] if breaks else ""
        indents = re.match(r"[^\n]*\n([ \t]*)", text[text.index("{") :]) if self.newline else None
        self.indent = indents[1] if indents else ""
        self.escapes = text.isascii() and re.search(r"\\u[0-9a-fA-F]{4}", text) is not None
        self.colon = ": " if re.search(r'"nbformat": ', text) or self.newline else ":"

    def with_cells(self, entries: Sequence[Entry]) -> str:
        """Return the text whose cells are these."""
        text, spans = self.text, self.spans
        start, end = (spans[0][0], spans[-1][1]) if spans else (self.array + 1, _skip(text, self.array + 1))
        line = text[text.rfind("\n", 0, start) + 1 : start]
        base = line if spans and not line.strip() else self.indent * 2 if self.newline else ""
        gap = f",{self.newline}{base}" if self.newline else ", "
        between = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else gap
        out, before = "", None
        for number, edit in entries:
            own = spans[number - 1] if number else None
            if before is not None:
                is_next = before and before == number - 1
                out += text[spans[before - 1][1] : spans[number - 1][0]] if is_next else between
            old = json.loads(text[slice(*own)]) if own else {}
            out += text[slice(*own)] if own and edit is None else self._cell(old, edit, base) if edit else ""
            before = number
        if not spans and out:
            out = f"{self.newline}{base}{out}{self.newline}{self.indent}"
        return text[:start] + out + text[end:]

    def _cell(self, old: Mapping[str, Any], edit: CellEdit, base: str) -> str:
        """Return the JSON of a cell: of one that is replaced, id and metadata stay, and outputs go."""
        from nbformat import v4

        kind, given = edit.kind or "code", old.get("source", None if self.lists else "")
        made: dict[str, Any] = dict(old)
        if old.get("cell_type") != kind:
            made = {"id": old["id"]} if "id" in old else {}
            made |= {"metadata": old.get("metadata", {}), "cell_type": kind}
        if self.version >= (4, 5):
            made.setdefault("id", v4.new_code_cell()["id"])
        made |= {"outputs": [], "execution_count": None} if kind == "code" else {}
        made["source"] = edit.source if isinstance(given, str) else edit.source.splitlines(keepends=True)
        made = dict(sorted(made.items())) if list(old) == sorted(old) else made
        separators = (",", self.colon) if self.newline else (", " if self.colon == ": " else ",", self.colon)
        indent = self.indent if self.newline else None
        dumped = json.dumps(made, indent=indent, ensure_ascii=self.escapes, separators=separators)
        return dumped.replace("\n", f"{self.newline}{base}")
