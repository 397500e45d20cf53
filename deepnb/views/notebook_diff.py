"""The cells of a notebook that change, each with its lines: none is cut, and what can't be seen is marked."""

from deepnb.core.code import review, shown
from deepnb.core.diff import FileDiff
from deepnb.core.notebook_diff import CellDiff, NotebookDiff
from deepnb.views import html as h
from deepnb.views.diff import diff_html


def change_html(change: FileDiff | NotebookDiff) -> h.Html:
    """What a call does to a file or notebook, below the name of it."""
    label = h.label(_head(change))
    if isinstance(change, FileDiff):
        return h.join(label, diff_html(change))
    cells = (h.join(h.el("div", h.muted(cell.title)), diff_html(_marked(cell).lines)) for cell in change.cells)
    return h.join(label, *cells)


def notebook_lines(change: NotebookDiff) -> list[str]:
    """The changed cells for a terminal."""
    marked = NotebookDiff(change.path, tuple(map(_marked, change.cells)))
    return [_head(change), *(marked.unified().split("\n") if change.cells else ())]


def _head(change: FileDiff | NotebookDiff) -> str:
    problem = change.problem if isinstance(change, NotebookDiff) else ""
    return problem or f"{change.path} · {change.kind}"


def _marked(cell: CellDiff) -> CellDiff:
    """A cell whose hidden and lookalike characters are written out, as on the card of code."""
    before, after = (
        None if source is None else "\n".join(map(shown, review(source).lines)) for source in (cell.before, cell.after)
    )
    return CellDiff(cell.number, cell.kind, before, after, cell.outputs)
