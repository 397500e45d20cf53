"""Fitting memory into its budget: whole sections by priority, and a line for what is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Count = Callable[[str], int]

CAP = 4_000
SHARE = 0.15
"""The budget in tokens: the smaller of CAP and SHARE of the window."""

_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def memory_budget(window: int | None) -> int:
    """Tokens that injected memory may take."""
    return CAP if window is None else min(CAP, int(window * SHARE))


@dataclass(frozen=True)
class Fitted:
    """The text of one file as it is injected."""

    path: str
    text: str
    left_out: int = 0
    """Sections that are not shown."""
    tokens_left_out: int = 0

    @property
    def shown(self) -> str:
        """The text, and the line that says what is missing and how to read it."""
        if not self.left_out:
            return self.text
        noun = "section" if self.left_out == 1 else "sections"
        line = f"({self.left_out} {noun}, {self.tokens_left_out} tokens, not shown: read_file {self.path})"
        return f"{self.text}\n{line}" if self.text else line


def fitted(contents: Mapping[str, str], sources: Sequence[str], budget: int, count: Count) -> tuple[Fitted, ...]:
    """The files in the order of their sources, within `budget` tokens together with their paths and notes.

    Room is given out source by source and, within one, section by section from the top: what
    stands first is taken to matter most. A section that is longer than the room gives way to the
    next shorter one; one that is longer than the whole budget is cut at its paragraphs.
    """
    texts = {p: plain(contents[p]) for p in sources if p in contents}
    texts = {p: t for p, t in texts.items() if t}
    room = budget - sum(count(f"{p}\n\n\n\n") + 1 for p in texts)
    if sum(map(count, texts.values())) <= room:
        return tuple(Fitted(p, t) for p, t in texts.items())
    notes = {p: count(Fitted(p, "", 9999, 999_999).shown) + 1 for p in texts}
    room -= sum(notes.values())
    out = []
    for path, text in texts.items():
        if count(text) <= room + notes[path]:
            out.append(Fitted(path, text))
            room -= count(text) - notes[path]
            continue
        kept, left, tokens = [], 0, 0
        for section in sections(text, budget, count):
            cost = count(section) + 1
            if cost <= room:
                kept.append(section)
                room -= cost
            else:
                left, tokens = left + 1, tokens + cost
        out.append(Fitted(path, "\n\n".join(kept), left, tokens))
    return tuple(out)


def plain(text: str) -> str:
    """The text without its HTML comments, which are for people, and without blank ends."""
    return _COMMENT.sub("", text).strip("\n").rstrip()


def sections(text: str, limit: int, count: Count) -> list[str]:
    """A text cut before its headings; a stretch of more than `limit / 4` tokens also at blank lines, then lines."""
    starts = sorted({0, *(m.start() for m in _HEADING.finditer(text))})
    whole = [text[a:b].strip("\n") for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    out: list[str] = []
    for section in filter(None, whole):
        out += [section] if count(section) <= limit // 4 else _pieces(section, limit // 4, count)
    return out


def _pieces(section: str, most: int, count: Count) -> list[str]:
    """Neighbouring paragraphs, or lines of a long one, in pieces of at most `most` tokens where that can be."""
    parts: list[str] = []
    for paragraph in filter(None, re.split(r"\n\s*\n", section)):
        parts += [paragraph] if count(paragraph) <= most else [line for line in paragraph.split("\n") if line.strip()]
    out: list[str] = []
    size = most + 1
    for part in parts:
        cost = count(part) + 1
        if size + cost <= most:
            out[-1] += f"\n{part}"
            size += cost
        else:
            out.append(part)
            size = cost
    return out
