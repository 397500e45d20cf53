"""Three-way merge of texts by lines (diff3), with nothing lost on either side.

The algorithm is that of Khanna, Kunal and Pierce, "A Formal Investigation of Diff3" (2007), with one
difference for notes that many hands append to: where both sides only added lines at the same
place, both additions are kept, one after the other, and that is no conflict.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from deepnb.core.diff import lines_of

OURS, MIDDLE, THEIRS = "<<<<<<< in the file", "=======", ">>>>>>> written now"
"""Markers round the two sides of a conflict, each on a line of its own."""


@dataclass(frozen=True)
class Merged:
    """The text with both sides' changes, and how many places hold both because they disagree."""

    text: str
    conflicts: int = 0


def merge(base: str, current: str, mine: str) -> Merged:
    """Put the changes from `base` to `mine` into `current`."""
    if current == mine or mine == base:
        return Merged(current)
    if current == base:
        return Merged(mine)
    out: list[str] = []
    conflicts = 0
    end = "\r\n" if all_crlf(base, current, mine) else "\n"
    for old, ours, theirs in _chunks(*(_ended(lines_of(text), end) for text in (base, current, mine))):
        if ours == theirs or theirs == old:
            chosen = ours
        elif ours == old:
            chosen = theirs
        elif (both := _both_added(old, ours, theirs)) is not None:
            chosen = both
        else:
            conflicts += 1
            chosen = [f"{OURS}{end}", *ours, f"{MIDDLE}{end}", *theirs, f"{THEIRS}{end}"]
        out += chosen
    text = "".join(out)
    ended = current.endswith("\n") or mine.endswith("\n")
    return Merged(text if ended else text.removesuffix(end), conflicts)


def _both_added(old: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Both changes where one side at least kept the old lines as one block and only added before or after it."""
    split_ours, split_theirs = _added(old, ours), _added(old, theirs)
    if split_ours and split_theirs:
        before, after = (a + [x for x in b if x not in a] for a, b in zip(split_ours, split_theirs, strict=True))
        return [*before, *old, *after]
    if split_ours:
        return [*split_ours[0], *theirs, *split_ours[1]]
    return [*split_theirs[0], *ours, *split_theirs[1]] if split_theirs else None


def _added(old: list[str], side: list[str]) -> tuple[list[str], list[str]] | None:
    """(added before, added after) the old lines; None where they were not kept as one block."""
    if side[: len(old)] == old:
        return [], side[len(old) :]
    if side[-len(old) :] == old:
        return side[: -len(old)], []
    return None


def _chunks(base: list[str], a: list[str], b: list[str]) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """(base, a, b) stretches in order; those where all three agree stand alone."""
    at = at_a = at_b = 0
    for start, start_a, start_b, size in _common(base, a, b):
        if start > at or start_a > at_a or start_b > at_b:
            yield base[at:start], a[at_a:start_a], b[at_b:start_b]
        if size:
            same = base[start : start + size]
            yield same, same, same
        at, at_a, at_b = start + size, start_a + size, start_b + size


def _common(base: list[str], a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Runs of lines that stand in all three, in order: (start in base, in a, in b, length); last an empty one."""
    blocks_a = difflib.SequenceMatcher(None, base, a, autojunk=False).get_matching_blocks()
    blocks_b = difflib.SequenceMatcher(None, base, b, autojunk=False).get_matching_blocks()
    i = j = 0
    while i < len(blocks_a) and j < len(blocks_b):
        x, y = blocks_a[i], blocks_b[j]
        start, end = max(x.a, y.a), min(x.a + x.size, y.a + y.size)
        if start < end:
            yield start, x.b + start - x.a, y.b + start - y.a, end - start
        if x.a + x.size < y.a + y.size:
            i += 1
        else:
            j += 1
    yield len(base), len(a), len(b), 0


def _ended(lines: list[str], end: str) -> list[str]:
    """The lines, the last one ended as the others are."""
    return [*lines[:-1], lines[-1] if lines[-1].endswith("\n") else lines[-1] + end] if lines else []


def all_crlf(*texts: str) -> bool:
    """Whether all line feeds there are come after a carriage return."""
    count = sum(text.count("\n") for text in texts)
    return 0 < count == sum(text.count("\r\n") for text in texts)
