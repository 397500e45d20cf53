"""Fitting memory into its budget: a share for each layer, whole sections within it, a line for what is left out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from deepnb.memory.layers import SOURCES, WEIGHTS, layer_of

Count = Callable[[str], int]

CAP = 4_000
SHARE = 0.15
"""The budget in tokens: the smaller of CAP and SHARE of the window."""

_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*<!--.*?-->[ \t]*(?:\n|\Z)|[ \t]*<!--.*?-->", re.DOTALL | re.MULTILINE)


def memory_budget(window: int | None) -> int:
    """Return tokens that injected memory may take."""
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
        tokens = f"{self.tokens_left_out} token{'' if self.tokens_left_out == 1 else 's'}"
        line = f"({self.left_out} {noun}, {tokens}, not shown: read_file {self.path})"
        return f"{self.text}\n{line}" if self.text else line


def fitted(contents: Mapping[str, str], sources: Sequence[str], budget: int, count: Count) -> tuple[Fitted, ...]:
    """Return the files in the order of their sources, within `budget` tokens together with their paths and notes.

    Where they are too long together, each layer has its share, and what one does not need is passed on to
    those that need more. Within a layer room is given out file by file and section by section from the
    top: what stands first is taken to matter most. A section that is longer than the room gives way to
    the next shorter one; one that is longer than the whole budget is cut at its paragraphs. Room that is
    left at the end goes to whatever still fits, in order.
    """
    texts = {p: plain(contents[p]) for p in sources if p in contents}
    texts = {p: t for p, t in texts.items() if t}
    room = budget - sum(count(f"{p}\n\n\n\n") + 1 for p in texts)
    if sum(map(count, texts.values())) <= room:
        return tuple(Fitted(p, t) for p, t in texts.items())
    cut = [_Cut(p, t, budget, count) for p, t in texts.items()]
    groups: dict[str, list[_Cut]] = {}
    for one in cut:
        groups.setdefault(layer_of(one.path), []).append(one)
    room -= sum(one.note for one in cut)
    rooms = shares({layer: sum(one.size for one in files) for layer, files in groups.items()}, room)
    left = min(room, 0) + sum(_take(files, rooms[layer]) for layer, files in groups.items())
    _take(cut, left)
    return tuple(one.fitted for one in cut)


def shares(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Return layer -> tokens: each its weight's part of the room; what one does not need is shared among the others."""
    out: dict[str, int] = {}
    hungry = dict(needs)
    while hungry:
        weights = {layer: WEIGHTS.get(layer, SOURCES) for layer in hungry}
        given = {layer: max(room, 0) * weight // sum(weights.values()) for layer, weight in weights.items()}
        fed = {layer: need for layer, need in hungry.items() if need <= given[layer]}
        if not fed:
            return {**out, **given}
        out.update(fed)
        room -= sum(fed.values())
        hungry = {layer: need for layer, need in hungry.items() if layer not in fed}
    return out


class _Cut:
    """A file while room is given out: which of its sections are shown, and what a `note` on the others takes."""

    def __init__(self, path: str, text: str, budget: int, count: Count) -> None:
        self.path, self.text, self.size = path, text, count(text)
        self.note = count(Fitted(path, "", 9999, 999_999).shown) + 1
        """Tokens of the line on what is missing; shown whole, it needs none."""
        self.sections = sections(text, budget, count)
        self.costs = [count(section) + 1 for section in self.sections]
        self.kept: set[int] = set()
        self.whole = False

    def take(self, room: int) -> int:
        """Show what fits into the room; gives what is left of it."""
        if self.whole:
            return room
        spent = sum(self.costs[i] for i in self.kept)
        if self.size <= room + spent + self.note:
            self.whole = True
            return room + spent + self.note - self.size
        for i, cost in enumerate(self.costs):
            if i not in self.kept and cost <= room:
                self.kept.add(i)
                room -= cost
        return room

    @property
    def fitted(self) -> Fitted:
        if self.whole:
            return Fitted(self.path, self.text)
        gone = [cost for i, cost in enumerate(self.costs) if i not in self.kept]
        return Fitted(self.path, "\n\n".join(self.sections[i] for i in sorted(self.kept)), len(gone), sum(gone))


def _take(files: Sequence[_Cut], room: int) -> int:
    return reduce(lambda left, file: file.take(left), files, room)


def plain(text: str) -> str:
    """Return the text without its HTML comments, which are for people, and without blank ends."""
    return _COMMENT.sub("", text).strip("\n").rstrip()


def sections(text: str, limit: int, count: Count) -> list[str]:
    """Return a text cut before its headings; a stretch of more than `limit / 4` tokens also at blank lines, then lines."""
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
