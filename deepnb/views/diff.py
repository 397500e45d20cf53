"""What changed in files: a unified diff as text, and in HTML with the words marked that differ."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, groupby
from operator import itemgetter
from typing import Literal

from deepnb.values.files import FileDiff, lines_of
from deepnb.views import html as h
from deepnb.views.text import page, title_line

_WORD = re.compile(r"\s*(?:\w+|[^\w\s])")
_MOST_PAIRS = 200_000
"""Above this many pairs of equal words difflib takes too long; a hunk like that is not looked into."""
_LEAST_LIKE = 0.3
"""Below this likeness the marks would cover nearly everything and say nothing."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one side, and whether it is on this side only."""

    text: str
    changed: bool


def word_diff(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces of `before` and those of `after`; one unmarked piece each where marks won't help."""
    old, new = words(before), words(after)
    # White space stays out of the comparison: it repeats too often, and costs difflib 100 times as long.
    old_words, new_words = [w.lstrip() for w in old], [w.lstrip() for w in new]
    if not old or not new or not (changes := _changes(old_words, new_words)):
        return [Piece(before, False)], [Piece(after, False)]
    left: list[Piece] = []
    right: list[Piece] = []
    for op, i1, i2, j1, j2 in changes:
        _add(left, "".join(old[i1:i2]), op != "equal")
        _add(right, "".join(new[j1:j2]), op != "equal")
    _add(left, before[sum(map(len, old)) :], False)
    _add(right, after[sum(map(len, new)) :], False)
    return left, right


def marks(texts: Sequence[str]) -> list[list[bool]]:
    """Return for each text and each of its `words`, whether it is missing in some other of the texts."""
    found = [[word.lstrip() for word in words(text)] for text in texts]
    marked = [[False] * len(one) for one in found]
    for i, j in combinations(range(len(texts)), 2):
        for op, i1, i2, j1, j2 in _changes(found[i], found[j]):
            if op != "equal":
                marked[i][i1:i2] = [True] * (i2 - i1)
                marked[j][j1:j2] = [True] * (j2 - j1)
    return marked


def words(text: str) -> list[str]:
    """Return the words of a text with the blanks before each; what follows the last is left out."""
    return _WORD.findall(text)


def pieces(text: str, marked: Sequence[bool]) -> list[Piece]:
    """Return the stretches of a text, by what is `marked` of its words."""
    out: list[Piece] = []
    found = words(text)
    for changed, run in groupby(zip(found, marked, strict=True), key=itemgetter(1)):
        _add(out, "".join(word for word, _ in run), changed)
    _add(out, text[sum(map(len, found)) :], False)
    return out


def _changes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the steps from one text to the other; none where they are too long or too unlike for marks to help."""
    counts = Counter(new)
    if sum(counts[word] for word in old) > _MOST_PAIRS:
        return []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return matcher.get_opcodes() if matcher.ratio() >= _LEAST_LIKE else []


def _add(pieces: list[Piece], text: str, changed: bool) -> None:
    """Add a piece; the blanks before a changed word are no part of the change."""
    if not text:
        return
    blank = len(text) - len(text.lstrip())
    if changed and blank:
        pieces.append(Piece(text[:blank], False))
        text = text[blank:]
    if text:
        pieces.append(Piece(text, changed))


def split_lines(pieces: list[Piece]) -> list[list[Piece]]:
    """Return the pieces of each line, line feeds left out; text that ends in one has no line after it."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        for i, part in enumerate(piece.text.split("\n")):
            if i:
                lines.append([])
            if part:
                lines[-1].append(Piece(part, piece.changed))
    if not lines[-1] and (len(lines) == 1 or pieces[-1].text.endswith("\n")):
        lines.pop()
    return lines


Sign = Literal["+", "-", " ", "@", "\\"]
"""`@` is the line before a group of changes, a backslash the missing line feed at an end."""

CONTEXT = 3
SHOWN = 400
"""Lines of a file's diff that are shown unfolded in HTML."""

_GROUND = {
    "+": f"background:{h.GREEN.format(0.13)}",
    "-": f"background:{h.RED.format(0.13)}",
    "@": h.MUTED,
    "\\": h.MUTED,
}
_MARKS = {
    "+": ("ins", f"background:{h.GREEN.format(0.32)};border-radius:3px;text-decoration:underline"),
    "-": ("del", f"background:{h.RED.format(0.32)};border-radius:3px;text-decoration:underline"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a diff: its sign, and its text in pieces."""

    sign: Sign
    pieces: tuple[Piece, ...]

    @property
    def line(self) -> str:
        """The text of the line, sign and line feed left out."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class DiffView:
    """Files that differ, under a title."""

    title: str
    diffs: tuple[FileDiff, ...]
    stamp: str = ""

    def text(self) -> str:
        body = [diff.unified().rstrip("\n") or f"{diff.path}: {diff.kind}, empty" for diff in self.diffs]
        return page([title_line(self.title, self.stamp), *(body or ["no changes"])])

    def html(self) -> str:
        body = []
        for diff in self.diffs:
            line = h.join(h.code(diff.path), h.muted(f" · {diff.kind} · {counts(rows(diff))}"))
            body.append(h.fold(line, diff_html(diff) if diff.hunks else h.muted("empty file"), opened=True))
        return h.box(h.heading(self.title, stamp=self.stamp), *(body or [h.muted("no changes")]))


def diff_view(diffs: Sequence[FileDiff], title: str, stamp: str = "") -> DiffView:
    return DiffView(title, tuple(diffs), stamp)


def rows(diff: FileDiff, context: int = CONTEXT) -> list[Row]:
    """Return the lines of the diff in order, with `context` unchanged lines round each group of changes."""
    old, new = lines_of(diff.before), lines_of(diff.after)
    out: list[Row] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        out.append(_row("@", f"@@ line {group[0][1] + 1} @@"))
        for op, i1, i2, j1, j2 in group:
            before = old[i1:i2]
            out += map(partial(_row, " "), before) if op == "equal" else _changed("".join(before), "".join(new[j1:j2]))
    return out


def diff_html(diff: FileDiff) -> h.Html:
    """Return the lines of one file's diff; what goes past 400 lines is folded."""
    lines = rows(diff)
    shown = h.pre(*(_line(row) for row in lines[:SHOWN]))
    if len(lines) <= SHOWN:
        return shown
    rest = h.pre(*(_line(row) for row in lines[SHOWN:]))
    return h.join(shown, h.fold(f"{len(lines) - SHOWN:,} more lines", rest, framed=False))


def counts(lines: Sequence[Row]) -> str:
    """Return `+2 −1`: how many lines came and went."""
    return f"+{sum(r.sign == '+' for r in lines):,} −{sum(r.sign == '-' for r in lines):,}"


def _line(row: Row) -> h.Html:
    """Return one line of HTML. It keeps its line feed inside, for where no style makes it a block."""
    tag, look = _MARKS.get(row.sign, ("span", ""))
    body = [h.el(tag, piece.text, style=look) if piece.changed else piece.text for piece in row.pieces]
    sign = None if row.sign in "@\\" else h.el("span", row.sign, style="padding:0 7px 0 3px")
    return h.el("span", sign, *body, "\n", style=f"display:block;{_GROUND.get(row.sign, '')}".rstrip(";"))


def _changed(before: str, after: str) -> Iterator[Row]:
    left, right = word_diff(before, after)
    for sign, text, pieces in (("-", before, left), ("+", after, right)):
        if text:
            yield from (Row(sign, tuple(line)) for line in split_lines(pieces))  # type: ignore[arg-type]
            if not text.endswith("\n"):
                yield _row("\\", "\\ No newline at end of file")


def _row(sign: Sign, line: str) -> Row:
    return Row(sign, (Piece(line.removesuffix("\n"), False),))
