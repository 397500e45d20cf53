"""What an edit of a notebook would write, computed before anything is asked or written: its cells and their diff."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnb.backends.writer import credential_in
from deepnb.gate import credentials, redact
from deepnb.values.errors import DeepnbError, InvalidError, LimitError, NotFoundError, RefusedError
from deepnb.values.files import FileDiff
from deepnb.values.text import short_repr
from deepnb.workshop.notebooks import (
    LARGEST,
    content_of,
    inside,
    is_open,
    outdated,
    parsed,
    replace_content,
    version_of,
    working_directory,
)

# -- what a change does to the cells of a notebook, cell by cell


@dataclass(frozen=True)
class CellDiff:
    """One cell that is replaced, inserted or deleted."""

    number: int
    """Counted from 1: before the change, or of a new cell after it."""
    kind: str
    """`code`, `markdown` or `raw`; `code to markdown` where that changes."""
    before: str | None
    """The source; None of a new cell."""
    after: str | None
    outputs: int = 0
    """How many outputs go."""

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
    new: bool = False
    """Whether there is no such file yet."""
    problem: str = ""
    """Why the change can't be made to the file as it is now."""

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
    before: bytes | None
    """The file that it was planned for."""
    after: bytes
    diff: NotebookDiff
    cells: int
    """How many cells there are afterwards."""

    def write(self) -> str:
        """Write it, if the file is what it was; return a line that says what was done."""
        replace_content(self.file, self.diff.path, self.before, self.after)
        done = ", ".join(f"{_DONE[cell.lines.kind]} cell {cell.number}" for cell in self.diff.cells)
        version = version_of(self.file, self.after)
        made = "made, " if self.diff.new else ""
        return f"{self.diff.path}: {made}{done}; nothing was run. {self.cells} cells, version {version}"


_DONE = {"added": "inserted", "removed": "deleted", "changed": "replaced"}


def notebook_plan(namespace: Mapping[str, Any], path: str, edits: Sequence[Any], version: str = "") -> NotebookPlan:
    """Return what these edits would make of a notebook as it is now; an error where they can't, or may not, be made."""
    if credentials(path):
        raise RefusedError("not written: the path itself holds a credential")
    root = working_directory()
    file = inside(root, path)
    before = content_of(file, path) if file.is_file() else None
    there = _new_notebook(file, path, version) if before is None else _notebook(file, before, path, version)
    ids = [str(cell.get("id")) for cell in there["cells"]]
    if is_open(file, ids, namespace):
        raise RefusedError(f"{path} is open here, and is not written behind its back", "use propose_cell")
    has_ids = (there["nbformat"], there["nbformat_minor"]) >= (4, 5)
    chosen = cell_edits(edits, len(ids))
    there["cells"], cells = edited_cells(there["cells"], chosen, path, ids=has_ids)
    after = _written(there, path)
    return NotebookPlan(file, before, after, NotebookDiff(path, cells, before is None), len(there["cells"]))


def notebook_diff(namespace: Mapping[str, Any], args: Mapping[str, Any]) -> NotebookDiff:
    """Return what a call of the tool would do to a notebook as it is now, or why it would do nothing."""
    try:
        return notebook_plan(namespace, args["path"], args["edits"], args.get("version", "")).diff
    except DeepnbError as error:
        return NotebookDiff(redact(args["path"]), (), problem=error.typed)


def _notebook(file: Path, content: bytes, name: str, version: str) -> Any:
    """Return the notebook of a file, if it is the version that was read."""
    if file.suffix != ".ipynb":
        raise InvalidError(f"{name} is no notebook", "give the path of a .ipynb file")
    if not version:
        raise RefusedError(f"{name} exists", "read it with read_notebook and give its version")
    if version != version_of(file, content):
        raise outdated(name)
    there = parsed(content, name, convert=False)
    if there.get("nbformat") != 4:
        raise InvalidError(f"{name} is in an old format of notebooks", "open it in Jupyter and save it")
    _check(there, name)
    return there


def _new_notebook(file: Path, name: str, version: str) -> Any:
    from nbformat import v4

    if file.suffix != ".ipynb" or file.exists():
        raise InvalidError(f"{name} can't be a notebook", "give the path of a .ipynb file")
    if version or not file.parent.is_dir():
        what = f"no notebook {name}" if version else f"{name} would be in a directory that does not exist"
        raise NotFoundError(what, "read_notebook without a path lists them")
    python = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return v4.new_notebook(metadata={"kernelspec": python, "language_info": {"name": "python"}})


def _written(there: Any, name: str) -> bytes:
    """Return the file as nbformat writes it; one that is not valid is an error."""
    import nbformat

    _check(there, name)
    try:
        content = f"{nbformat.versions[4].writes_json(there).rstrip()}\n".encode()
    except UnicodeEncodeError:
        raise InvalidError(f"{name} holds half of a character that takes two", "remove it in Jupyter") from None
    if len(content) > LARGEST:
        raise LimitError(f"{name} would have more than {LARGEST // 1_000_000} MB", "it is not written")
    return content


def _check(there: Any, name: str) -> None:
    from nbformat import validator

    try:
        wrong = next((str(error.message) for error in validator.iter_validate(there)), None)
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
    kind: str = ""
    """Empty: code for a new cell, else what the cell is."""


def cell_edits(given: Sequence[Mapping[str, Any]], count: int) -> tuple[CellEdit, ...]:
    """Return the edits of a notebook with so many cells, checked; a mistake in one is an error for all."""
    edits = tuple(_edit(one, count) for one in given)
    if not edits:
        raise InvalidError("there are no edits", f"give {_EXAMPLE}")
    numbers = [one.number for one in edits if one.action != "insert"]
    if twice := next((n for n in numbers if numbers.count(n) > 1), None):
        raise InvalidError(f"cell {twice} is edited twice", "give one edit for each cell")
    return edits


def edited_cells(
    cells: Sequence[Any], edits: Sequence[CellEdit], name: str, *, ids: bool
) -> tuple[list[Any], tuple[CellDiff, ...]]:
    """Return the cells after the edits, and what changed; new cells get `ids` where the notebook's format has them."""
    at = {one.number: one for one in edits if one.action != "insert"}
    made: list[Any] = []
    diffs: list[CellDiff] = []
    for number in range(1, len(cells) + 2):
        # a new cell stands before the one of its number; past the last one is at the end
        for new in (one for one in edits if one.action == "insert" and min(one.number, len(cells) + 1) == number):
            made.append(_new_cell(new.kind or "code", new.source, ids))
            diffs.append(_diff(len(made), None, made[-1], name))
        if number > len(cells):
            break
        cell, edit = cells[number - 1], at.get(number)
        if edit is None:
            made.append(cell)
            continue
        after = _replaced(cell, edit, ids) if edit.action == "replace" else None
        made += [] if after is None else [after]
        diffs.append(_diff(number, cell, after, name))
    return made, tuple(diffs)


def _edit(given: Any, count: int) -> CellEdit:
    actions = [name for name in ACTIONS if name in given] if isinstance(given, Mapping) else []
    if len(actions) != 1:
        raise InvalidError("an edit names one of replace, insert and delete", f"give {_EXAMPLE}")
    (action,) = actions
    if unknown := [key for key in given if key not in (action, "source", "kind")]:
        raise InvalidError(f"an edit has no {unknown[0]!r}", f"give {_EXAMPLE}")
    number, source, kind = given[action], given.get("source", ""), given.get("kind", "")
    if type(number) is not int or number < 1:
        raise InvalidError(f"{action} needs the number of a cell, not {number!r:.40}", "count from 1")
    if action != "insert" and number > count:
        raise NotFoundError(f"no cell {number}: the notebook has {count}", "count from 1")
    if kind not in ("", *KINDS):
        raise InvalidError(f"a cell can't be of kind {kind!r:.40}", f"use one of {', '.join(KINDS)}")
    if not isinstance(source, str) or ("source" in given) == (action == "delete"):
        raise InvalidError(f"{action} {number} {'takes no' if action == 'delete' else 'needs a'} source", _EXAMPLE)
    if source.encode("utf-8", "ignore").decode() != source:
        raise InvalidError("a source holds half of a character that takes two (a lone surrogate)", "leave it out")
    return CellEdit(action, number, source, kind)


def _new_cell(kind: str, source: str, ids: bool) -> Any:
    from nbformat import v4

    cell = getattr(v4, f"new_{kind}_cell")(source)
    if not ids:
        del cell["id"]
    return cell


def _replaced(cell: Any, edit: CellEdit, ids: bool) -> Any:
    """Return a cell with another source: its id and metadata stay, its outputs go."""
    kind = edit.kind or cell["cell_type"]
    if (cell["source"], cell["cell_type"]) == (edit.source, kind):
        raise InvalidError(f"cell {edit.number} is that already", "leave it out of the edits")
    if kind not in KINDS:
        raise InvalidError(f"cell {edit.number} is of the unknown kind {kind!r:.40}", "leave it out of the edits")
    made = _new_cell(kind, edit.source, ids)
    kept = ("id", "metadata", *(("attachments",) if kind == "markdown" == cell["cell_type"] else ()))
    made.update({key: cell[key] for key in kept if key in cell})
    return made


def _diff(number: int, before: Any, after: Any, name: str) -> CellDiff:
    """Return what happens to one cell, masked; a credential that is new is an error."""
    old, new = (None if one is None else str(one["source"]) for one in (before, after))
    place = f"cell {number} of {name}"
    if new is not None and (problem := credential_in(old or "", new, place)):
        raise RefusedError(problem.removeprefix("Error: "))
    kinds = dict.fromkeys(str(one["cell_type"]) for one in (before, after) if one is not None)
    outputs = len(before.get("outputs") or ()) if before is not None else 0
    old, new = (None if one is None else redact(one) for one in (old, new))
    return CellDiff(number, redact(" to ".join(kinds)), old, new, outputs)
