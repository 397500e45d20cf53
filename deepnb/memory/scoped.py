"""The files as an agent's tools may see them: what its scope keeps from it is not there, and daily notes only grow."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deepagents.backends import protocol

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.backends.wrapper import WrapperBackend
from deepnb.memory.layers import NOTES, note_day
from deepnb.memory.scope import Scope


class ScopedBackend(WrapperBackend):
    """Shows `inner` without the files that the scope of the moment keeps back."""

    inner: GuardedBackend | MemoryStoreBackend

    def __init__(self, inner: GuardedBackend | MemoryStoreBackend, scope: Callable[[], Scope]) -> None:
        super().__init__(inner)
        self._scope = scope

    def shown(self, found: Sequence[Any]) -> list[Any]:
        scope = self._scope()
        return [one for one in found if scope.may_read(one["path"])]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return self.inner.download_files(paths) if self._scope().whole else super().download_files(paths)

    def write_refusal(self, path: str) -> str | None:
        return self.read_refusal(path) or _only_grows(path)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        gone = [file_path, *(m["path"] for m in self.inner.glob("**/*", file_path).matches or ())]
        problem = next(filter(None, map(self.write_refusal, gone)), None)
        return protocol.DeleteResult(error=problem) if problem else self.inner.delete(file_path)

    def folder_version(self, directory: str, name: str) -> Any:
        """Return the guard's version, for the scope of the moment."""
        version = super().folder_version(directory, name)
        return None if version is None else (self._scope(), version)

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, as the guard does; gives the error, if any."""
        return self.read_refusal(path) or self.inner.append(path, line, typed=typed)

    def mark_read(self, texts: Mapping[str, str]) -> None:
        """Told on to the guard: the model has been shown these texts."""
        self.inner.mark_read(texts)

    def memory(self) -> Mapping[str, Any]:
        """Return the files of memory that are not in the state: path -> FileData."""
        return self.inner.memory()

    def may_read(self, path: str) -> bool:
        """Whether the scope of the moment lets a file be read."""
        return self._scope().may_read(path)

    def read_refusal(self, path: str) -> str | None:
        scope = self._scope()
        if scope.may_read(path):
            return None
        who = "a subagent" if scope.nested else "a thread that others can read"
        return f"Error: {path} is kept from {who}. Do not try it again; go on without it."


def _only_grows(path: str) -> str | None:
    """Why a daily note is not written whole, changed or deleted by an agent."""
    if note_day(path) is None:
        return None
    return f"Error: not written: daily notes below {NOTES} are only ever added to; the tool note adds to today's"
