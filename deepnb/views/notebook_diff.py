"""The cells of a notebook that change, each with its lines: all of them, since they may be run later."""

from deepnb.core.diff import FileDiff
from deepnb.core.notebook_diff import NotebookDiff
from deepnb.views import html as h
from deepnb.views.diff import diff_html


def change_html(change: FileDiff | NotebookDiff) -> h.Html:
    """What a call does to a file or notebook, below the name of it."""
    label = h.label(f"{change.path} · {change.kind}")
    if isinstance(change, FileDiff):
        return h.join(label, diff_html(change))
    return h.join(label, *(h.join(h.el("div", h.muted(c.title)), diff_html(c.lines)) for c in change.cells))


def notebook_lines(change: NotebookDiff) -> list[str]:
    """The same for a terminal."""
    return [f"{change.path} · {change.kind}", *change.unified().split("\n")]
