"""Which files are memory, and what of them an agent may know: decided once, when its thread is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import pairwise
from posixpath import normpath

from deepnb.values.agent import FOLDER

LONG_TERM = "/MEMORY.md"
"""What is kept for long, and for the user alone: it is for main threads only."""

_KEPT = frozenset(("memory.md", ".deepnb"))
"""Names, in lower case, of files and directories that hold it: the file itself, and the journal of its changes."""

_HISTORY, _NESTED = "conversation_history", re.compile(r"session_[0-9a-f]{32}\.md")
"""Where the messages are that were compacted away, `NAME.md` for each thread: all that the agent of a main thread
read of it stands there, too. Those of a nested agent have a name by chance."""


@dataclass(frozen=True)
class Scope:
    """How a thread was made, and whether this is an agent nested in it."""

    empty: bool = False
    """Made with `--empty`: memory, notes and skills of its own, begun with none."""
    shared: bool = False
    """Made with `--shared`: others can read it."""
    nested: bool = False
    """A subagent."""
    readable: frozenset[str] = frozenset()
    """Names, in lower case, of the threads whose offloaded messages it may read, if not all."""

    @property
    def whole(self) -> bool:
        """Whether nothing is kept from it: the main agent of a thread that nobody else reads."""
        return not (self.shared or self.nested)

    def may_read(self, path: str) -> bool:
        """Return whether a file may be read, listed, found, searched or injected; what may not be read is not written either.

        A file of that name is kept back wherever it stands and however it is spelled: a directory can
        be mounted at a second path, and some disks tell no case apart.
        """
        if self.whole:
            return True
        parts = normpath(path).casefold().split("/")
        histories = (  # of threads that are kept back
            name.removesuffix(".md")
            for folder, name in pairwise(parts)
            if folder == _HISTORY and name.endswith(".md") and not _NESTED.fullmatch(name)
        )
        return _KEPT.isdisjoint(parts) and all(name in self.readable for name in histories)

    @property
    def words(self) -> str:
        """`empty`, `shared`: as it is kept with a thread; `scope_of` reads it."""
        return " ".join(name for name in ("empty", "shared") if getattr(self, name))

    @property
    def inside(self) -> Scope:
        """Return the scope of an agent nested in this one."""
        return replace(self, nested=True)


MAIN = Scope()


def scope_of(words: str) -> Scope:
    """Return the scope of a thread that is kept as these words."""
    return Scope("empty" in words.split(), "shared" in words.split())


# -- Which files are memory's layers: those always injected, long-term memory, and the notes of two days
# A layer is there only if its file is: one that does not exist costs nothing.

ALWAYS = ("/AGENTS.md", "/SOUL.md", "/IDENTITY.md", "/USER.md", "/TOOLS.md")
"""How to work, in which voice, as whom, for whom, and what is said of tools."""

NOTES = "/memory/"
_NOTE = re.compile(r"/memory/(\d{4}-\d\d-\d\d)\.md")
WEIGHTS = {"/SOUL.md": 2, "/IDENTITY.md": 1, "/USER.md": 3, "/TOOLS.md": 3, LONG_TERM: 5, NOTES: 4}
"""Shares of the memory budget, as far as it is short; all sources together have that of `SOURCES`."""
SOURCES = 6


def note_path(at: str) -> str:
    """Return the path of the daily note of a day, given by an ISO timestamp (or date) in the user's time zone."""
    return f"{NOTES}{at[:10]}.md"


def note_day(path: str) -> str | None:
    """Return the day of a daily note as YYYY-MM-DD; None for any other path, however a note's is spelled."""
    found = _NOTE.fullmatch(normpath(path).casefold().replace("//", "/"))
    return found[1] if found else None


def note_paths(day: str) -> tuple[str, ...]:
    """Return the notes that are injected on a day (YYYY-MM-DD): that day's, and the one's before."""
    today = date.fromisoformat(day)
    before = [] if today == date.min else [note_path((today - timedelta(days=1)).isoformat())]
    return (note_path(day), *before)


def layers(sources: Sequence[str], day: str) -> tuple[str, ...]:
    """Return what is injected on a day, in order: the user's sources, the other layers, long-term memory, the notes."""
    return tuple(dict.fromkeys((*sources, *ALWAYS, LONG_TERM, *note_paths(day))))


@lru_cache(64)
def guarded_paths(memory: tuple[str, ...], skills: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return (files, directories) that the guard stands before: memory, notes, subagents and these skills."""
    return frozenset((LONG_TERM, *ALWAYS, *memory)), (NOTES, FOLDER, *(f"{source.rstrip('/')}/" for source in skills))


def layer_of(path: str) -> str:
    """Return the layer a file shares its part of the budget with; "" for the sources, AGENTS.md among them."""
    if note_day(path):
        return NOTES
    return path if path in WEIGHTS else ""
