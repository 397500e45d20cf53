"""Three-way merge of texts by lines (diff3), with nothing lost on either side and nothing blended.

After Khanna, Kunal and Pierce, "A Formal Investigation of Diff3" (2007), with two differences for notes that many hands
write. Where both sides only added lines at the same place, both additions are kept, and that is no conflict. Where both
changed the same lines, both texts are kept as they are, one below the other: plain Markdown that merges again without
growing. That it is a conflict is a value beside the text.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from deepnb.values.files import Hunk, lines_of

_BEGINS = re.compile(r"\s*($|[-*+>|#]|\d+[.)])")
"""A line that begins something of its own: empty, `- item`, `> quotation`, `| row |`, `# heading`, `1. item`."""
_SHOWN = 160
"""Characters of each side in a sentence."""


@dataclass(frozen=True)
class Conflict:
    """Two writers' texts for the same lines, without the last line end; "" where a side deleted them."""

    line: int
    """Where they begin in the merged text, from 1."""
    kept: str
    written: str

    def is_in(self, text: str) -> bool:
        """Return whether a text still has every line of both sides."""
        lines = {line.removesuffix("\r") for line in text.split("\n")}
        sides = filter(None, (self.kept, self.written))
        return all(line.removesuffix("\r") in lines for side in sides for line in side.split("\n"))

    def __str__(self) -> str:
        kept, written = _quoted(self.kept), _quoted(self.written)
        if not self.kept:
            return f"line {self.line}: {written} was written after its line had been deleted; it stays"
        if not self.written:
            return f"line {self.line}: {kept} was changed meanwhile and is not deleted"
        return f"line {self.line}: {kept} was written first, {written} second; the file has both"


@dataclass(frozen=True)
class Merged:
    """The text with both sides' changes, and the places where these disagree."""

    text: str
    conflicts: tuple[Conflict, ...] = ()
    seen: str = ""
    """What its writer knows now: its own text, and the other side of each conflict, which it is told of."""


def merge(base: str, current: str, mine: str) -> Merged:
    """Put the changes from `base` to `mine` into `current`."""
    if current == mine or mine == base:
        return Merged(current, seen=mine)
    if current == base:
        return Merged(mine, seen=mine)
    end = "\r\n" if all_crlf(base, current, mine) else "\n"
    texts = (text if text.endswith("\n") or not text else text + end for text in (base, current, mine))
    old, ours, theirs = map(lines_of, texts)
    out: list[str] = []
    seen: list[str] = []
    conflicts: list[Conflict] = []
    at = 0
    for start, stop, a, b, view in _in_blocks(_changes(old, _hunks(old, ours), _hunks(old, theirs))):
        both, disagree = _joined(start, stop, a, b)
        out += old[at:start]
        seen += old[at:start]
        if disagree:
            conflicts.append(Conflict(len(out) + 1, _text(a), _text(b)))
        out += both
        seen += _one_below_the_other(a or [], view) if disagree else view
        at = stop
    text, known = ("".join([*lines, *old[at:]]) for lines in (out, seen))
    ended = current.endswith("\n") or mine.endswith("\n")
    return Merged(text if ended else text.removesuffix(end), tuple(conflicts), known)


_Side = list[str] | None
"""The lines that a side has in the place of others; None where it changed nothing."""

_Change = tuple[int, int, _Side, _Side, list[str]]
"""First line of the base, the line after the last, what each side wrote there, and all that the second has there."""


def _joined(start: int, stop: int, a: _Side, b: _Side) -> tuple[list[str], bool]:
    """Return the lines of both sides in the place of `start` to `stop`, and whether they disagree."""
    if a is None or b is None:
        return (a if b is None else b) or [], False
    if start == stop:  # both only added
        return [*a, *(line for line in b if line not in a)], False
    for one, other in ((a, b), (b, a)):
        if one == other or (one and {*one} <= {*other}):
            return other, False
    return _one_below_the_other(a, b), True


def _one_below_the_other(a: list[str], b: list[str]) -> list[str]:
    return [*a, *(line for line in b if line not in a or not line.strip())]


def _changes(old: list[str], a: Sequence[Hunk], b: Sequence[Hunk]) -> Iterator[_Change]:
    left = sorted([(h.start, h.stop, 0, h) for h in a] + [(h.start, h.stop, 1, h) for h in b], key=itemgetter(0, 1, 2))
    at = 0
    while at < len(left):
        start, stop = left[at][:2]
        sides: tuple[list[Hunk], list[Hunk]] = ([], [])
        while at < len(left) and (left[at][0] < stop or left[at][:2] == (start, stop) == (stop, stop)):
            sides[left[at][2]].append(left[at][3])
            stop = max(stop, left[at][1])
            at += 1
        lines = [[line for hunk in side for line in hunk.lines] if side else None for side in sides]
        view: list[str] = []
        done = start
        for hunk in sides[1]:
            view += [*old[done : hunk.start], *hunk.lines]
            done = hunk.stop
        yield start, stop, lines[0], lines[1], [*view, *old[done:stop]]


def _in_blocks(changes: Iterable[_Change]) -> Iterator[_Change]:
    """Yield the changes; lines that go on from one another, as in a paragraph, disagree as one."""
    last: _Change | None = None
    for change in changes:
        begins = any(_BEGINS.match(side[0]) for side in change[2:4] if side)
        if last and last[1] == change[0] and not begins and _joined(*last[:4])[1] and _joined(*change[:4])[1]:
            a, b = ([*(one or ()), *(other or ())] for one, other in zip(last[2:4], change[2:4], strict=True))
            last = (last[0], change[1], a, b, last[4] + change[4])
            continue
        if last:
            yield last
        last = change
    if last:
        yield last


def _hunks(old: list[str], new: list[str]) -> list[Hunk]:
    """Return what was changed; as many lines for as many others are a change of each line."""
    out: list[Hunk] = []
    for op, i, k, j, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "replace" and k - i == m - j:
            out += [Hunk(i + n, i + n + 1, (new[j + n],)) for n in range(k - i)]
        elif op != "equal":
            out.append(Hunk(i, k, tuple(new[j:m])))
    return out


def _text(lines: _Side) -> str:
    return "".join(lines or ()).removesuffix("\n").removesuffix("\r")


def _quoted(text: str) -> str:
    line = " / ".join(part.strip() for part in text.splitlines())
    return f'"{line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."}"'


def all_crlf(*texts: str) -> bool:
    """Return whether all line feeds there are come after a carriage return."""
    count = sum(text.count("\n") for text in texts)
    return 0 < count == sum(text.count("\r\n") for text in texts)
