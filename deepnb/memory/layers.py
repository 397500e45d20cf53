"""Which files are memory's layers: those always injected, long-term memory, and the notes of two days.

A layer is there only if its file is: one that does not exist costs nothing.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from posixpath import normpath

from deepnb.memory.scope import LONG_TERM
from deepnb.values.subagents import FOLDER

ALWAYS = ("/AGENTS.md", "/SOUL.md", "/IDENTITY.md", "/USER.md", "/TOOLS.md")
"""How to work, in which voice, as whom, for whom, and what is said of tools."""

NOTES = "/memory/"
_NOTE = re.compile(r"/memory/(\d{4}-\d\d-\d\d)\.md")


def note_path(at: str) -> str:
    """The path of the daily note of a day, given by an ISO timestamp (or date) in the user's time zone."""
    return f"{NOTES}{at[:10]}.md"


def note_day(path: str) -> str | None:
    """The day of a daily note as YYYY-MM-DD; None for any other path, however a note's is spelled."""
    found = _NOTE.fullmatch(normpath(path).casefold().replace("//", "/"))
    return found[1] if found else None


def note_paths(day: str) -> tuple[str, ...]:
    """The notes that are injected on a day (YYYY-MM-DD): that day's, and the one's before."""
    today = date.fromisoformat(day)
    before = [] if today == date.min else [note_path((today - timedelta(days=1)).isoformat())]
    return (note_path(day), *before)


def layers(sources: Sequence[str], day: str) -> tuple[str, ...]:
    """What is injected on a day, in order: the user's sources, the other layers, long-term memory, the notes."""
    return tuple(dict.fromkeys((*sources, *ALWAYS, LONG_TERM, *note_paths(day))))


@lru_cache(64)
def guarded_paths(memory: tuple[str, ...], skills: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """(files, directories) that the guard stands before: memory, notes, subagents and these skills."""
    return frozenset((LONG_TERM, *ALWAYS, *memory)), (NOTES, FOLDER, *(f"{source.rstrip('/')}/" for source in skills))


WEIGHTS = {"/SOUL.md": 2, "/IDENTITY.md": 1, "/USER.md": 3, "/TOOLS.md": 3, LONG_TERM: 5, NOTES: 4}
"""Shares of the memory budget, as far as it is short; all sources together have that of `SOURCES`."""
SOURCES = 6


def layer_of(path: str) -> str:
    """The layer a file shares its part of the budget with; "" for the sources, AGENTS.md among them."""
    if note_day(path):
        return NOTES
    return path if path in WEIGHTS else ""


def weight(layer: str) -> int:
    """The share of a layer, in parts of the shares of those that are there."""
    return WEIGHTS.get(layer, SOURCES)
