"""Which words of two texts differ. The pieces of each side, joined, are that side again."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from operator import itemgetter

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
    """The pieces of `before` and those of `after`; one unmarked piece each where marks won't help."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    # White space stays out of the comparison: it repeats too often, and costs difflib 100 times as long.
    old_words, new_words = [w.lstrip() for w in old], [w.lstrip() for w in new]
    if not old or not new or _pairs(old_words, new_words) > _MOST_PAIRS:
        return [Piece(before, False)], [Piece(after, False)]
    matcher = difflib.SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.ratio() < _LEAST_LIKE:
        return [Piece(before, False)], [Piece(after, False)]
    left: list[Piece] = []
    right: list[Piece] = []
    for op, i1, i2, j1, j2 in matcher.get_opcodes():
        _add(left, "".join(old[i1:i2]), op != "equal")
        _add(right, "".join(new[j1:j2]), op != "equal")
    _add(left, before[sum(map(len, old)) :], False)
    _add(right, after[sum(map(len, new)) :], False)
    return left, right


def marks(texts: Sequence[str]) -> list[list[bool]]:
    """For each text and each of its `words`, whether it is missing in some other of the texts."""
    found = [[word.lstrip() for word in words(text)] for text in texts]
    marked = [[False] * len(one) for one in found]
    for i, j in combinations(range(len(texts)), 2):
        if _pairs(found[i], found[j]) > _MOST_PAIRS:
            continue
        matcher = difflib.SequenceMatcher(None, found[i], found[j], autojunk=False)
        if matcher.ratio() < _LEAST_LIKE:
            continue
        for op, i1, i2, j1, j2 in matcher.get_opcodes():
            if op != "equal":
                marked[i][i1:i2] = [True] * (i2 - i1)
                marked[j][j1:j2] = [True] * (j2 - j1)
    return marked


def words(text: str) -> list[str]:
    """The words of a text with the blanks before each; what follows the last is left out."""
    return _WORD.findall(text)


def pieces(text: str, marked: Sequence[bool]) -> list[Piece]:
    """The stretches of a text, by what is `marked` of its words."""
    out: list[Piece] = []
    found = words(text)
    for changed, run in groupby(zip(found, marked, strict=True), key=itemgetter(1)):
        _add(out, "".join(word for word, _ in run), changed)
    _add(out, text[sum(map(len, found)) :], False)
    return out


def _pairs(old: list[str], new: list[str]) -> int:
    counts = Counter(new)
    return sum(counts[word] for word in old)


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
    """The pieces of each line, line feeds left out; text that ends in one has no line after it."""
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
