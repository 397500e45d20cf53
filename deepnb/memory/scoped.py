"""The files as an agent's tools may see them: what its scope keeps from it is not there, and daily notes only grow."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from deepagents.backends import protocol

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.engine.file_extras import SkippedEntries, append_text, folder_version, skipped_entries
from deepnb.memory.layers import NOTES, note_day
from deepnb.memory.scope import Scope


class ScopedBackend(protocol.BackendProtocol):
    """Shows `inner` without the files that the scope of the moment keeps back."""

    def __init__(self, inner: GuardedBackend | MemoryStoreBackend, scope: Callable[[], Scope]) -> None:
        self.inner = inner
        self._scope = scope

    def ls(self, path: str) -> protocol.LsResult:
        found = self.inner.ls(path)
        return replace(found, entries=self._mine(found.entries)) if found.entries else found

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        if problem := self._kept_back(file_path):
            return protocol.ReadResult(error=problem.removeprefix("Error: "))
        return self.inner.read(file_path, offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        if self._scope().whole:
            return self.inner.grep(pattern, path, glob, max_count=max_count)
        found = self.inner.grep(pattern, path, glob)
        return replace(found, matches=self._mine(found.matches)[:max_count]) if found.matches else found

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        found = self.inner.glob(pattern, path)
        return replace(found, matches=self._mine(found.matches)) if found.matches else found

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        problem = self._kept_back(file_path) or _only_grows(file_path)
        return protocol.WriteResult(error=problem) if problem else self.inner.write(file_path, content)

    def append_text(self, path: str, text: str) -> str | None:
        """Add to the end of one of the engine's own records; gives the error, if any."""
        return self._kept_back(path) or append_text(self.inner, path, text)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        problem = self._kept_back(file_path) or _only_grows(file_path)
        return (
            protocol.EditResult(error=problem)
            if problem
            else self.inner.edit(file_path, old_string, new_string, replace_all)
        )

    def delete(self, file_path: str) -> protocol.DeleteResult:
        gone = [file_path, *(m["path"] for m in self.inner.glob("**/*", file_path).matches or ())]
        problem = next((p for path in gone if (p := self._kept_back(path) or _only_grows(path))), None)
        return protocol.DeleteResult(error=problem) if problem else self.inner.delete(file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        denied = {path for path, _ in files if self._kept_back(path) or _only_grows(path)}
        done = iter(self.inner.upload_files([(path, content) for path, content in files if path not in denied]))
        return [
            protocol.FileUploadResponse(path=path, error="permission_denied") if path in denied else next(done)
            for path, _ in files
        ]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """One batch; what is kept back is not found."""
        done = iter(self.inner.download_files([p for p in paths if not self._kept_back(p)]))
        return [
            protocol.FileDownloadResponse(path=path, content=None, error="file_not_found")
            if self._kept_back(path)
            else next(done)
            for path in paths
        ]

    def folder_version(self, directory: str, name: str) -> Any:
        """That of the guard, for the scope of the moment."""
        version = folder_version(self.inner, directory, name)
        return None if version is None else (self._scope(), version)

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """The entries that the guard left out."""
        return skipped_entries(self.inner, directory, name, most)

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, as the guard does; gives the error, if any."""
        return self._kept_back(path) or self.inner.append(path, line, typed=typed)

    def mark_read(self, texts: Mapping[str, str]) -> None:
        """Told on to the guard: the model has been shown these texts."""
        self.inner.mark_read(texts)

    def may_read(self, path: str) -> bool:
        """Whether the scope of the moment lets a file be read."""
        return self._scope().may_read(path)

    def _mine(self, found: Iterable[Any]) -> list[Any]:
        scope = self._scope()
        return [f for f in found if scope.may_read(f["path"])]

    def _kept_back(self, path: str) -> str | None:
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
