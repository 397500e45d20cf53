"""What the parts of a session that a user holds in hand have in common."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from deepnb.running.workspace import Workspace
from deepnb.values.errors import DeepnbError, InvalidError, RefusedError
from deepnb.values.files import ALL_FILES, check_path, utf8
from deepnb.values.text import short_repr
from deepnb.values.turn import Snapshot


class Part:
    """One part of a session, such as its memory: it speaks of the thread that is current when it is asked."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __repr__(self) -> str:
        return short_repr(self, f"of {self.stamp}")

    @property
    def _files(self) -> BackendFiles:
        return BackendFiles(self._workspace.backend)

    @property
    def snapshot(self) -> Snapshot:
        """The state of the current thread."""
        return self._workspace.snapshot

    @property
    def stamp(self) -> str:
        """`thread main, turn 2`: what a picture of it is stamped with."""
        turns = len(self._workspace.turns)
        return f"thread {self._workspace.thread.name}, {f'turn {turns}' if turns else 'before turn 1'}"

    def count(self, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self._workspace.built.meter.count(text)


# -- the agent's files as a mapping path -> text


class BackendFiles(MutableMapping[str, str]):
    """Files of a deepagents backend; setting and deleting write through."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getitem__(self, path: str) -> str:
        found = self._backend.download_files([path])[0]
        if found.error is not None or found.content is None:
            raise KeyError(path)
        if (text := utf8(found.content)) is None:
            raise InvalidError(f"{path} is not UTF-8 text", "session.backend.download_files gives its bytes")
        return text

    def __contains__(self, path: object) -> bool:
        """Whether there is such a file, of text or not."""
        return isinstance(path, str) and self._backend.download_files([path])[0].content is not None

    def __setitem__(self, path: str, text: str) -> None:
        check_path(path)
        result = self._backend.write(path, text)
        if result.error:
            raise refused(path, result.error)

    def __delitem__(self, path: str) -> None:
        if self._backend.delete(path).error:
            raise KeyError(path)

    def __iter__(self) -> Iterator[str]:
        found = self._backend.glob(ALL_FILES, "/")
        return iter(sorted(f["path"] for f in found.matches or () if not f.get("is_dir")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return short_repr(self, ", ".join(self) or "(none)")


class Files(BackendFiles):
    """Files behind the guard: what is read here was shown to the user, who writes next on top of it."""

    def __getitem__(self, path: str) -> str:
        try:
            text = super().__getitem__(path)
        except KeyError:
            self._backend.mark_shown({path: None})
            raise
        self._backend.mark_shown({path: text})
        return text


def refused(path: str, error: str) -> DeepnbError:
    """The error for a write that was not made; the guard's own words are kept as they are."""
    words = error.removeprefix("Error: ")
    return RefusedError(words if words.startswith("not written") else f"{path} can't be written ({words})")
