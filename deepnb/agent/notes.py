"""What the user does with the agent's memory: read, add, write, compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deepnb.agent.files import check_path
from deepnb.core.diff import FileDiff, file_diffs
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Snapshot

if TYPE_CHECKING:
    from deepnb.agent.session import Session


class SessionMemory:
    """The memory files of a session. Writes go through the same backend as the agent's own."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths of the memory files, in the order in which they are injected."""
        return self._session.options.memory

    def text(self) -> str:
        """The memory files that exist, each under its path."""
        files = self._session.files
        return "\n\n".join(f"{path}\n\n{files[path]}" for path in self.sources if path in files)

    def add(self, text: str, path: str | None = None) -> str:
        """Append a line to a memory file (the first source, if not given), as a bullet; gives its path."""
        path = check_path(path or self.sources[0])
        line = " ".join(text.split())
        if not line.startswith(("- ", "* ", "#")):
            line = f"- {line}"
        old = self._session.files.get(path, "")
        gap = "" if not old or old.endswith("\n") else "\n"
        self._session.files[path] = f"{old}{gap}{line}\n"
        return path

    def read(self, path: str) -> str:
        """The text of a memory file."""
        files = self._session.files
        if path not in files:
            raise DeepnbError(f"no file {path}", f"%%memory {path} above a text writes it, %memory shows what there is")
        return files[path]

    def write(self, path: str, text: str) -> None:
        """Write a memory file whole."""
        self._session.files[check_path(path)] = text

    def diff(self, a: int | None = None, b: int | None = None) -> tuple[FileDiff, ...]:
        """What changed in memory from just after turn `a` to just after turn `b`.

        Without `b`, until now; without either, in the last turn. Turn 0 is before the first.
        """
        turns = self._session.turns
        if a is None and b is None:
            now = self._session.snapshot
            return self.between(turns[-1].before, turns[-1].after) if turns else self.between(Snapshot(""), now)
        return file_diffs(self._after(a or 0), self._after(b))

    def between(self, before: Snapshot, after: Snapshot) -> tuple[FileDiff, ...]:
        """What changed in memory from one snapshot to another."""
        return file_diffs(self._kept(before.files), self._kept(after.files))

    def _after(self, number: int | None) -> Mapping[str, str]:
        if number is None:
            return self._kept(self._session.snapshot.files)
        if number == 0:
            turns = self._session.turns
            return self._kept(turns[0].before.files) if turns else {}
        return self._kept(self._session.turn(number).after.files)

    def _kept(self, files: Mapping[str, str]) -> dict[str, str]:
        return {p: t for p, t in files.items() if p in self.sources or p.startswith("/memory/")}
