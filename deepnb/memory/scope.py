"""What an agent may know of the session's memory: decided once, when its thread is made."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from posixpath import normpath

LONG_TERM = "/MEMORY.md"
"""What is kept for long, and for the user alone: it is for main threads only."""

_KEPT = ("memory.md", ".deepnb")
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
        """Whether a file may be read, listed, found, searched or injected; what may not be read is not written either.

        A file of that name is kept back wherever it stands and however it is spelled: a directory can
        be mounted at a second path, and some disks tell no case apart.
        """
        if self.whole:
            return True
        parts = normpath(path).casefold().split("/")
        return not (any(part in _KEPT for part in parts) or any(map(self._is_history_of_others, pairwise(parts))))

    @property
    def words(self) -> str:
        """`empty`, `shared`: as it is kept with a thread; `scope_of` reads it."""
        return " ".join(name for name in ("empty", "shared") if getattr(self, name))

    @property
    def inside(self) -> Scope:
        """That of an agent nested in this one."""
        return replace(self, nested=True)

    def _is_history_of_others(self, parts: tuple[str, str]) -> bool:
        """Whether two neighbouring parts of a path name the history of a thread that is kept back."""
        folder, name = parts
        is_history = folder == _HISTORY and name.endswith(".md") and not _NESTED.fullmatch(name)
        return is_history and name.removesuffix(".md") not in self.readable


MAIN = Scope()


def scope_of(words: str) -> Scope:
    """The scope of a thread that is kept as these words."""
    return Scope("empty" in words.split(), "shared" in words.split())
