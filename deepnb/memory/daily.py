"""Daily notes: one file a day, only ever added to. A heading gives the time, each line below it is one entry.

    ## 09:30

    - The outage was ERR_CONN_1042, an expired certificate.

The day is that of your time zone. `%memory promote` proposes entries for `/MEMORY.md`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from math import log2

from deepnb.memory.layers import note_day

_HEADING = re.compile(r"##\s+(\d\d:\d\d)\s*$")
_BULLET = re.compile(r"\s*[-*•+]\s+(?P<text>\S.*)")
_BULLET_SIGN = re.compile(r"^\s*(?:[-*•+](?:\s+|\Z))*")
_COMMENT = re.compile(r"<!--.*?-->")


@dataclass(frozen=True)
class NoteEntry:
    """One line of a daily note."""

    note: str
    line: int
    """Counted from 1."""
    text: str
    """Without its bullet."""

    @property
    def day(self) -> str:
        """YYYY-MM-DD."""
        return note_day(self.note) or ""

    @property
    def place(self) -> str:
        """`memory/2026-02-16.md:3`."""
        return f"{self.note.lstrip('/')}:{self.line}"


def addition(note: str, at: str, lines: Iterable[str]) -> str:
    """Return what is put behind the text of a note for these entries: a heading with the time, unless it is the last one."""
    entries = "\n".join(f"- {bare(line)}" for line in lines if bare(line))
    if not entries:
        return ""
    headings = [line for line in note.splitlines() if line.startswith("#")]
    last = _HEADING.fullmatch(headings[-1].rstrip()) if headings else None
    if last and last[1] == at[11:16]:
        return entries
    gap = "\n" if note.strip() else ""
    return f"{gap}## {at[11:16]}\n{entries}"


def entries(path: str, text: str) -> Iterator[NoteEntry]:
    """Yield the entries of a note, in order."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _BULLET.fullmatch(line)
        said = _COMMENT.sub("", found["text"]).strip() if found else ""
        if said:
            yield NoteEntry(path, number, said)


def bare(line: str) -> str:
    """Return a line without its bullet and the blanks round it."""
    return _BULLET_SIGN.sub("", line).strip()


# -- How often a line of the daily notes was found by a search: by which it is known to be worth more than a day


@dataclass(frozen=True)
class Recall:
    """How a line was found: `count` times, by `queries` different questions."""

    count: int = 0
    queries: int = 0


class Recalls:
    """Recalls as they happen, in this process. Neither the line nor the question is kept, but a hash of each."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, int], Counter[int]] = {}
        """(note, hash of the line) -> hash of a question -> how often that found it."""

    def add(self, found: Iterable[NoteEntry], query: str) -> None:
        """These entries were found by a question."""
        asked = hash(" ".join(query.casefold().split()))
        for entry in found:
            self._asked.setdefault((entry.note, hash(entry.text)), Counter())[asked] += 1

    def of(self, notes: Mapping[str, str]) -> dict[tuple[str, int], Recall]:
        """Return (note, line) -> how it was found, of the entries of these notes (path -> text) that ever were."""
        out = {}
        for path, text in notes.items():
            for entry in entries(path, text):
                if asked := self._asked.get((path, hash(entry.text))):
                    out[path, entry.line] = Recall(asked.total(), len(asked))
        return out


# -- Which entries of the daily notes are worth keeping for long: a proposal, of which the user confirms what is written

HALF_LIFE = 14
"""Days after which a note's age counts half as much for it."""
MOST = 10
"""Entries of one proposal."""


@dataclass(frozen=True)
class Candidate:
    """An entry that could be promoted, and what speaks for it."""

    entry: NoteEntry
    recall: Recall
    notes: int
    """How many notes have it."""
    score: float

    @property
    def line(self) -> str:
        """As it is written to long-term memory: with where it comes from, in a comment that no prompt is given."""
        return f"- {self.entry.text} <!-- from {self.entry.place}, {self.entry.day} -->"

    @property
    def reason(self) -> str:
        """`found 3 times by 2 questions, in 2 notes`."""
        count, queries = self.recall.count, self.recall.queries
        times = "once" if count == 1 else f"{count:,} times"
        parts = [f"found {times} by {queries} question{'s' * (queries != 1)}" if count else "never searched for"]
        return ", ".join([*parts, f"in {self.notes} notes"] if self.notes > 1 else parts)


def candidates(
    notes: Mapping[str, str], recalls: Mapping[tuple[str, int], Recall], long_term: str, today: str
) -> tuple[Candidate, ...]:
    """Return the entries of the notes (path -> text) that long-term memory does not hold yet, the best first.

    The score is log2(1 + times found) + log2(1 + different questions) + 2 ** (-age in days / HALF_LIFE), and a
    half more for each further note that has it. Of the same entry in several notes the newest counts for all.
    """
    known = {_folded(bare(line)) for line in long_term.splitlines()}
    same: dict[str, list[NoteEntry]] = {}
    for path in sorted(notes):
        for entry in entries(path, notes[path]):
            if entry.day and _folded(entry.text) not in known:
                same.setdefault(_folded(entry.text), []).append(entry)
    found = []
    for group in same.values():
        newest, seen = group[-1], [recalls.get((e.note, e.line), Recall()) for e in group]
        recall = Recall(sum(r.count for r in seen), max(r.queries for r in seen))
        age = HALF_LIFE * 10
        with suppress(ValueError):  # 2026-13-40.md
            age = max(0, (date.fromisoformat(today) - date.fromisoformat(newest.day)).days)
        score = log2(1 + recall.count) + log2(1 + recall.queries) + 2 ** (-age / HALF_LIFE)
        held = len({e.note for e in group})
        found.append(Candidate(newest, recall, held, score + 0.5 * (held - 1)))
    return tuple(sorted(found, key=lambda c: (-c.score, c.entry.note, c.entry.line)))


def _folded(text: str) -> str:
    return " ".join(_COMMENT.sub("", text).casefold().split()).rstrip(".。")
