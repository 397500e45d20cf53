"""Which entries of the daily notes are worth keeping for long: a proposal, of which the user confirms what is written."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from math import log2

from deepnb.memory.daily import NoteEntry, bare, entries
from deepnb.memory.recalls import NEVER, Recall

HALF_LIFE = 14
"""Days after which a note's age counts half as much for it."""
MOST = 10
"""Entries of one proposal."""

_COMMENT = re.compile(r"<!--.*?-->")


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
    """The entries of the notes (path -> text) that long-term memory does not hold yet, the best first.

    The score is log2(1 + times found) + log2(1 + different questions) + 2 ** (-age in days / HALF_LIFE), and a
    half more for each further note that has it. Of the same entry in several notes the newest counts for all.
    """
    known = {_folded(bare(line)) for line in long_term.splitlines()}
    same: dict[str, list[NoteEntry]] = {}
    for path in sorted(notes):
        for entry in entries(path, notes[path]):
            if entry.day and _folded(entry.text) not in known:
                same.setdefault(_folded(entry.text), []).append(entry)
    found = [_candidate(group, recalls, today) for group in same.values()]
    return tuple(sorted(found, key=lambda c: (-c.score, c.entry.note, c.entry.line)))


def _candidate(group: list[NoteEntry], recalls: Mapping[tuple[str, int], Recall], today: str) -> Candidate:
    newest = group[-1]
    seen = [recalls.get((e.note, e.line), NEVER) for e in group]
    recall = Recall(sum(r.count for r in seen), max(r.queries for r in seen), max(r.last for r in seen))
    score = log2(1 + recall.count) + log2(1 + recall.queries) + 2 ** (-_age(newest.day, today) / HALF_LIFE)
    notes = len({e.note for e in group})
    return Candidate(newest, recall, notes, score + 0.5 * (notes - 1))


def _age(day: str, today: str) -> int:
    try:
        return max(0, (date.fromisoformat(today) - date.fromisoformat(day)).days)
    except ValueError:  # 2026-13-40.md
        return HALF_LIFE * 10


def _folded(text: str) -> str:
    return " ".join(_COMMENT.sub("", text).casefold().split()).rstrip(".。")
