"""Edits of cells as a model gives them, and the cells they make; what is not edited is the same object afterwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.backends.refusals import credential_in
from deepnb.core.errors import InvalidError, NotFoundError, RefusedError
from deepnb.core.notebook_diff import CellDiff
from deepnb.core.secrets import redact

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
    """The edits of a notebook with so many cells, checked; a mistake in one is an error for all."""
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
    """The cells after the edits, and what changed; new cells get `ids` where the notebook's format has them."""
    at = {one.number: one for one in edits if one.action != "insert"}
    made: list[Any] = []
    diffs: list[CellDiff] = []
    for number in range(1, len(cells) + 2):
        for new in (one for one in edits if one.action == "insert" and _place(one, len(cells)) == number):
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


def _place(edit: CellEdit, count: int) -> int:
    """The cell that it stands before; past the last one is at the end."""
    return min(edit.number, count + 1)


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
    """A cell with another source: its id and metadata stay, its outputs go."""
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
    """What happens to one cell, masked; a credential that is new is an error."""
    old, new = (None if one is None else str(one["source"]) for one in (before, after))
    place = f"cell {number} of {name}"
    if new is not None and (problem := credential_in(old or "", new, place)):
        raise RefusedError(problem.removeprefix("Error: "))
    kinds = dict.fromkeys(str(one["cell_type"]) for one in (before, after) if one is not None)
    outputs = len(before.get("outputs") or ()) if before is not None else 0
    old, new = (None if one is None else redact(one) for one in (old, new))
    return CellDiff(number, redact(" to ".join(kinds)), old, new, outputs)
