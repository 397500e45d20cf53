"""What a change does to the cells of a notebook, cell by cell."""

from dataclasses import dataclass

from deepnb.values.files import FileDiff
from deepnb.values.text import short_repr


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
        """Each cell's title, then its lines as `diff -u` prints them."""
        return "\n".join(line for cell in self.cells for line in (cell.title, *_unified(cell)))


def _unified(cell: CellDiff) -> list[str]:
    return cell.lines.unified().rstrip("\n").split("\n")[2:]  # without the names of the files
