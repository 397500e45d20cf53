"""Two maps of files -> what changed between them. Applying a diff to its before gives its after."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deepnb.values.listing import Listing
from deepnb.values.short_repr import short_repr

Op = Literal["equal", "replace", "delete", "insert"]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `before[start:stop]` became `lines` (line ends kept)."""

    start: int
    stop: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class FileDiff:
    """How one file came from `before` to `after`; None where it did not exist."""

    path: str
    before: str | None
    after: str | None

    def __repr__(self) -> str:
        return short_repr(self, f"{self.path} {self.kind}")

    @property
    def kind(self) -> Literal["added", "removed", "changed"]:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        old, new = lines_of(self.before), lines_of(self.after)
        ops = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        return tuple(Hunk(i1, i2, tuple(new[j1:j2])) for op, i1, i2, j1, j2 in ops if op != "equal")

    def unified(self, context: int = 3) -> str:
        """The diff as `diff -u` prints it, ending in a line feed."""
        old, new = lines_of(self.before), lines_of(self.after)
        name = self.path.lstrip("/")
        heads = (
            "/dev/null" if self.before is None else f"a/{name}",
            "/dev/null" if self.after is None else f"b/{name}",
        )
        lines = difflib.unified_diff(old, new, *heads, n=context)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


class FileDiffs(Listing[FileDiff]):
    """What changed in some files, by path."""

    __slots__ = ()


def file_diffs(before: Mapping[str, str], after: Mapping[str, str]) -> FileDiffs:
    """One FileDiff for each path whose text differs, by path."""
    paths = sorted({*before, *after})
    return FileDiffs(FileDiff(p, before.get(p), after.get(p)) for p in paths if before.get(p) != after.get(p))


def apply(before: str | None, hunks: tuple[Hunk, ...]) -> str:
    """`before` with the hunks of its diff put in: the text of `after`."""
    old = lines_of(before)
    out: list[str] = []
    at = 0
    for hunk in hunks:
        out += old[at : hunk.start]
        out += hunk.lines
        at = hunk.stop
    return "".join(out + old[at:])


def lines_of(text: str | None) -> list[str]:
    """Lines with their ends, split at line feeds alone (a form feed is not a line end)."""
    if not text:
        return []
    return [line + "\n" for line in text.split("\n")[:-1]] + ([tail] if (tail := text.rsplit("\n", 1)[-1]) else [])
