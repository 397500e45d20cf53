"""Entries that answer some words, best first: those of that name, then what a search finds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from deepnb.search import Index
from deepnb.wings.course.entry import Entry

MOST = 8
"""Entries that are found."""
_PASSAGE = 600
"""Characters of a passage of a long entry."""
_PICTURE = re.compile(r"^!\[.*\]\(.*\)\n+", re.MULTILINE)
"""A picture of the document, which is not shown elsewhere."""
_KINDS = ("topic", "%agent", "%memory", "%skills", "setting", "option", "error", "file", "Python")
"""Which goes first, of entries with the same name."""


@dataclass(frozen=True)
class Found:
    """An entry, and the passage of it that answers the words: all of its text where that is short."""

    entry: Entry
    passage: str


def look_up(words: str, entries: Sequence[Entry], magic: str = "agent") -> list[Found]:
    """The best entries; those of `magic` before those of the other magics, where a name is the same."""
    asked = " ".join(words.replace("%", " ").split())
    pieces, index = _indexed(tuple(entries))
    hits = [hit.path for hit in index.search(asked, 4 * MOST, legs=("exact", "words"))]
    best = {int(path.partition("/")[0]): pieces[path] for path in reversed(hits)}
    ranks = {n: rank for rank, n in enumerate(reversed(best))}
    named = [n for n, one in enumerate(entries) if _has_name(one, asked)]
    order = sorted(
        {*named, *best}, key=lambda n: (*_nearness(entries[n], asked, magic), _rank(entries[n], ranks.get(n)))
    )
    return [_found(entries[n], asked, best.get(n, "")) for n in order[:MOST]]


@lru_cache(maxsize=1)
def _indexed(entries: tuple[Entry, ...]) -> tuple[dict[str, str], Index]:
    """(path -> passage, the index of them) of entries, made once: the second question costs no more than the search."""
    pieces = {f"{n}/{i}": piece for n, one in enumerate(entries) for i, piece in enumerate(_pieces(one.text))}
    index = Index()
    index.update({path: f"# {_head(entries, path)}\n\n{piece}" for path, piece in pieces.items()})
    return pieces, index


def _head(entries: Sequence[Entry], path: str) -> str:
    one = entries[int(path.partition("/")[0])]
    return f"{one.usage} {one.name}"


def _pieces(text: str) -> list[str]:
    """The paragraphs of a long text, a block of code with the one before it."""
    text = _PICTURE.sub("", text)
    if len(text) <= _PASSAGE:
        return [text]
    pieces = [""]
    for paragraph in text.split("\n\n"):
        joins = pieces[-1].count("```") % 2 or paragraph.startswith(("```", "    ", "|", "- ")) or not pieces[-1]
        pieces = [*pieces[:-1], f"{pieces[-1]}\n\n{paragraph}".strip("\n")] if joins else [*pieces, paragraph]
    return pieces


def _rank(one: Entry, rank: int | None) -> int:
    """A Python name comes later than a search finds it: there are most of these."""
    return 4 * MOST if rank is None else rank + (MOST if one.kind == "Python" else 0)


def _has_name(one: Entry, asked: str) -> bool:
    """Whether it is called that, alone or at the end: `fork` is the name of `session.fork`, too."""
    names = {one.name, one.name.rpartition(".")[2], f"{one.kind} {one.name}".lstrip("%")}
    return asked.casefold() in {name.casefold() for name in names}


def _nearness(one: Entry, asked: str, magic: str) -> tuple[int, bool, int]:
    """Sorts what has that name first, then what has the word in its name, what says the words side by side, all else."""
    words = asked.casefold()
    if words in (one.name.casefold(), f"{one.kind} {one.name}".lstrip("%").casefold()):
        place = 0
    elif _has_name(one, asked):
        place = 1
    elif words in re.findall(r"\w+", one.name.casefold()):
        place = 2
    else:
        has_phrase = " " in words and words in " ".join(one.text.casefold().split())
        return 3 if has_phrase else 4, False, 0
    return place, one.kind != f"%{magic}", _KINDS.index(one.kind)


def _found(one: Entry, asked: str, piece: str) -> Found:
    """An entry with all of its text where it was asked for by its name; else with the piece that was found."""
    is_named = one.name.casefold() == asked.casefold()
    return Found(one, _PICTURE.sub("", one.text) if is_named else piece or _pieces(one.text)[0])
