"""A Markdown text as chunks along its headings and paragraphs, and as the finer units that are scored.

A unit is a line, or some sentences of a long one. A chunk is some 800 characters of a section. A passage
that is returned is put together from units when it is asked for, around those that fit the query.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

CHUNK = 800
UNIT = 400
"""Characters: about as many as a chunk has, and at most as many as a unit has."""
MOST = 1 << 18
"""Chunks of one file at most; what is past them is not indexed."""

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


@dataclass(frozen=True)
class Unit:
    """A piece of text: lines from 1, characters from `a` to before `b`. Neighbours in a section count on by one."""

    ordinal: int
    chunk: int
    start: int
    end: int
    a: int
    b: int


@dataclass(frozen=True)
class Chunk:
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
    whole: bool = True
    """Whether all of the text is in there."""


def cut(text: str) -> Cut:
    """The chunks and units of a text; numbers skip one between sections, so that neighbours are of one section."""
    chunks: list[Chunk] = []
    units: list[Unit] = []
    number = ordinal = 0
    for heading, pieces in _sections(text):
        held: list[tuple[int, int, int]] = []
        groups: list[list[tuple[int, int, int]]] = []
        for line, a, b in pieces:
            if a == b:  # a blank line: a good place to part
                if held and held[-1][2] - held[0][1] > CHUNK * 0.6:
                    groups.append(held)
                    held = []
                continue
            if held and b - held[0][1] > CHUNK:
                groups.append(held)
                held = []
            held.append((line, a, b))
        groups += [held] if held else []
        for group in groups:
            if number >= MOST - 2 or ordinal + len(group) >= MOST * 4 - 2:
                return Cut(tuple(chunks), tuple(units), whole=False)
            chunks.append(Chunk(number, heading, group[0][0], group[-1][0], group[0][1], group[-1][2]))
            for line, a, b in group:
                units.append(Unit(ordinal, number, line, line, a, b))
                ordinal += 1
            number += 1
        number += 1
        ordinal += 1
    return Cut(tuple(chunks), tuple(units))


def _sections(text: str) -> Iterator[tuple[str, list[tuple[int, int, int]]]]:
    """Each heading with those above it, and its pieces as line, a, b; the heading's line is the first of them."""
    above: list[tuple[int, str]] = []
    pieces: list[tuple[int, int, int]] = []
    fence = ""
    at = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.rstrip()
        if opened := _FENCE.match(bare):
            fence = "" if fence and opened[1].startswith(fence) else fence or opened[1]
        found = None if fence or "#" not in bare[:4] or len(bare) > UNIT else _HEADING.fullmatch(bare)
        if found:
            if pieces:
                yield " > ".join(title for _, title in above), pieces
            level = len(found[1])
            above = [*((n, title) for n, title in above if n < level), (level, (found[2] or "")[:200])]
            pieces = [(number, at, at + len(bare))]
        elif len(bare) <= UNIT:
            pieces.append((number, at + len(bare) - len(bare.lstrip()), at + len(bare)))
        else:
            pieces += [(number, at + a, at + b) for a, b in _sentences(bare)]
        at += len(line) + 1
    if pieces:
        yield " > ".join(title for _, title in above), pieces


def _sentences(line: str) -> Iterator[tuple[int, int]]:
    """A long line in parts of at most UNIT characters, between sentences where that can be."""
    a = len(line) - len(line.lstrip())
    ends = [found.end() for found in _SENTENCE.finditer(line)]
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
