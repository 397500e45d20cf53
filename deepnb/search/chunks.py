"""A Markdown text as chunks along its headings and paragraphs, and as the finer units that are scored.

A unit is a line, some sentences of a long one, or the lines of a paragraph that was wrapped at a column. A chunk is
some 800 characters of a section. A passage that is returned is put together from units when it is asked for, around
those that fit the query.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deepnb.search.words import CJK, label

CHUNK = 800
UNIT = 400
"""Characters: about as many as a chunk has, and at most as many as a unit has."""
MOST = 1 << 18
"""Chunks of one file at most; what is past them is not indexed."""

COLUMN = 50
"""Characters that the longest line of a wrapped paragraph has at least; half as many of Chinese."""
FULL = 0.75
"""How long the lines of a paragraph that was wrapped by hand are, on an average, as a part of the longest."""
LONG = 120
"""Characters of a line that is a paragraph by itself."""

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*)|#*)")  # ## Title
_FENCE = re.compile(r" {0,3}(```+|~~~+)")  # ```
_ITEM = re.compile(r"\s*(?:[-*+•>|#]|\d+[.)]\s|\[)|\s*[-=~_*`]{3,}\s*$")  # - x, | x |, 1. x, ---
_OWN = re.compile(rf"{_ITEM.pattern}|\s*\W{{0,6}}[^\W\d_][^:：]{{0,30}}+[:：]")  # Ana: x
"""The beginning of a line that is a thing by itself: an item, a row, a quotation, somebody's words."""
_ENDS, _AFTER = frozenset(".!?:;。！？：；…"), "\"'”’」』)）]*_"
"""The characters that end a sentence, and those that may stand behind one."""
_SENTENCE = re.compile(r"[.!?;]\s+|[。！？；]")  # done. Then, 完成。
_ASCII_SENTENCE = re.compile(r"[.!?;]\s+")


class Unit(NamedTuple):
    """A piece of text: lines from 1, characters from `a` to before `b`. Neighbours in a section count on by one."""

    ordinal: int
    chunk: int
    start: int
    end: int
    a: int
    b: int


class Chunk(NamedTuple):
    """Units that stand together below one heading. Neighbours in a section count on by one."""

    number: int
    heading: str
    start: int
    end: int
    a: int
    b: int


@dataclass(frozen=True)
class Cut:
    chunks: tuple[Chunk, ...]
    units: tuple[Unit, ...]
    prose: float
    """The part of the text that is in paragraphs of prose, 0 to 1."""
    whole: bool = True
    """Whether all of the text is in there."""


class Piece(NamedTuple):
    """Lines of a text, or a part of one: what a unit is made of."""

    start: int
    end: int
    a: int
    b: int
    prose: bool = False
    """Whether it is of a paragraph: wrapped lines, or a long one that is no item and nobody's words."""


_BLANK = Piece(0, 0, 0, 0)
"""Stands for a blank line."""


def cut(text: str) -> Cut:
    """Return the chunks and units of a text; numbers skip one between sections, so that neighbours are of one section."""
    chunks: list[Chunk] = []
    units: list[Unit] = []
    number = ordinal = 0
    prose = every = 0
    for heading, pieces in _sections(text):
        for group in _groups(pieces):
            if number >= MOST - 2 or ordinal + len(group) >= MOST * 4 - 2:
                return Cut(tuple(chunks), tuple(units), prose / max(every, 1), whole=False)
            first, last = group[0], group[-1]
            chunks.append(Chunk(number, heading, first.start, last.end, first.a, last.b))
            for start, end, a, b, of_prose in group:
                units.append(Unit(ordinal, number, start, end, a, b))
                ordinal += 1
                every += b - a
                prose += b - a if of_prose else 0
            number += 1
        number += 1
        ordinal += 1
    return Cut(tuple(chunks), tuple(units), prose / max(every, 1))


def _groups(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces of a section in chunks, parted at blank lines where that can be."""
    held: list[Piece] = []
    for piece in pieces:
        if piece is _BLANK:  # a good place to part
            if held and held[-1].b - held[0].a > CHUNK * 0.6:
                yield held
                held = []
            continue
        if held and piece.b - held[0].a > CHUNK:
            yield held
            held = []
        held.append(piece)
    if held:
        yield held


def _sections(text: str) -> Iterator[tuple[str, list[Piece]]]:
    """Yield each heading with those above it, and its pieces; the heading's line is the first of them."""
    above: list[tuple[int, str]] = []
    pieces: list[Piece] = []
    paragraph: list[Piece] = []
    said: list[str] = []
    fence = ""
    at = 0
    fences = "```" in text or "~~~" in text
    lines = text.split("\n")
    # Who speaks does so again; "Methods:" is there once.
    labels = Counter(map(label, lines) if ":" in text or "：" in text else ())
    for number, line in enumerate(lines, 1):
        if not (bare := line.rstrip()):
            if paragraph:
                pieces += _unwrapped(paragraph, said)
                paragraph, said = [], []
            pieces.append(_BLANK)
            at += len(line) + 1
            continue
        if opened := fences and _FENCE.match(bare):
            fence = "" if fence and opened[1].startswith(fence) else fence or opened[1]
        found = None if fence or "#" not in bare[:4] or len(bare) > UNIT else _HEADING.fullmatch(bare)
        prose = not (found or fence or opened) and len(bare) <= UNIT
        if paragraph and (not prose or _OWN.match(bare)):
            pieces += _unwrapped(paragraph, said)
            paragraph, said = [], []
        if found:
            if pieces:
                yield " > ".join(title for _, title in above), pieces
            level = len(found[1])
            title = (found[2] or "").rstrip("#").rstrip(" \t")[:200]
            above = [*(one for one in above if one[0] < level), (level, title)]
            pieces = [Piece(number, number, at, at + len(bare))]
        elif len(bare) <= UNIT:
            long = prose and len(bare) >= LONG and _is_paragraph(bare, labels)
            piece = Piece(number, number, at + len(bare) - len(bare.lstrip()), at + len(bare), long)
            if prose:
                paragraph.append(piece)
                said.append(bare)
            else:
                pieces.append(piece)
        else:
            long = not fence and _is_paragraph(bare, labels)
            pieces += [Piece(number, number, at + a, at + b, long) for a, b in _sentences(bare)]
        at += len(line) + 1
    pieces += _unwrapped(paragraph, said)
    if pieces:
        yield " > ".join(title for _, title in above), pieces


def _is_paragraph(line: str, labels: Mapping[str, int]) -> bool:
    return not _OWN.match(line) or (not _ITEM.match(line) and labels.get(label(line)) == 1)


def _unwrapped(lines: list[Piece], said: list[str]) -> list[Piece]:
    """Return lines (`said` has their indents) as one piece, or some of at most UNIT characters if they were wrapped."""
    if len(lines) < 2 or not _wrapped(said):
        return lines
    size = lines[-1].b - lines[0].a
    share = size / -(-size // UNIT)
    found: list[Piece] = []
    for line in lines:
        last = found[-1] if found else None
        if last and (line.b - last.a <= min(share, UNIT) or (line is lines[-1] and line.b - last.a <= UNIT)):
            found[-1] = Piece(last.start, line.end, last.a, line.b, prose=True)
        else:
            found.append(line._replace(prose=True))
    return found


def _wrapped(lines: list[str]) -> bool:
    """Return whether lines were broken at a column: nowhere is there room for the next word, and sentences run over.
    Lines that somebody broke by hand are nearly as long as the longest, and most sentences run over."""
    widths = list(map(len, lines))
    width, breaks = max(widths), len(lines) - 1
    if width < (COLUMN // 2 if CJK.match(lines[1].lstrip()) else COLUMN):
        return False
    over = fit = 0
    for before, line, size in zip(lines, lines[1:], widths, strict=False):
        first = line.split(None, 1)[0]
        over += before.rstrip(_AFTER)[-1:] not in _ENDS and not first[0].isupper()
        fit += size + (1 + len(first) if first.isascii() or not CJK.match(first) else 2) > width
    if fit == breaks:
        return over * 5 >= 2 * breaks
    return breaks > 1 and over * 5 >= 3 * breaks and sum(widths[:-1]) >= FULL * width * breaks


def _sentences(line: str) -> Iterator[tuple[int, int]]:
    """Yield a long line in parts of at most UNIT characters, between sentences where that can be."""
    a = len(line) - len(line.lstrip())
    pattern = _ASCII_SENTENCE if line.isascii() else _SENTENCE
    ends = [found.end() for found in pattern.finditer(line)]
    i = 0
    while len(line) - a > UNIT:
        while i < len(ends) and ends[i] <= a:
            i += 1
        b = a
        while i < len(ends) and ends[i] <= a + UNIT:
            b = ends[i]
            i += 1
        if b == a:
            space = line.rfind(" ", a + UNIT // 2, a + UNIT)
            b = space + 1 if space > 0 else a + UNIT
        yield a, b
        a = b
    if a < len(line):
        yield a, len(line)
