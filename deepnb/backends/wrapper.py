"""The base of every backend that stands in front of another: what it does not change is passed on, once, here."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from deepagents.backends import StoreBackend, protocol
from langgraph.store.memory import InMemoryStore

from deepnb.engine.files import SkippedEntries, append_text, folder_version, skipped_entries


class WrapperBackend(protocol.BackendProtocol):
    """Pass everything on to `inner`; the async methods are those of the protocol, which call these in a thread.

    A subclass overrides a method, or says what holds of all of them: which files are refused, which are
    shown in listings and searches, and which backend a file is in.
    """

    def __init__(self, inner: protocol.BackendProtocol) -> None:
        self.inner = inner

    def owner(self, path: str) -> protocol.BackendProtocol:
        """Return the backend that a file is in."""
        return self.inner

    def read_refusal(self, path: str) -> str | None:
        """Return why a file is not read; None if it is."""
        return None

    def write_refusal(self, path: str) -> str | None:
        """Return why a file is not written, changed or deleted; None if it is."""
        return None

    def shown(self, found: Sequence[Any]) -> list[Any]:
        """Return the entries or matches that listings and searches show."""
        return list(found)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        if problem := self.read_refusal(file_path):
            return protocol.ReadResult(error=problem.removeprefix("Error: "))
        return self.owner(file_path).read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        if problem := self.write_refusal(file_path):
            return protocol.WriteResult(error=problem)
        return self.owner(file_path).write(file_path, content)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of a file; return the error, if any."""
        return self.write_refusal(path) or append_text(self.owner(path), path, text)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        if problem := self.write_refusal(file_path):
            return protocol.EditResult(error=problem)
        return self.owner(file_path).edit(file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        if problem := self.write_refusal(file_path):
            return protocol.DeleteResult(error=problem)
        return self.owner(file_path).delete(file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [
            protocol.FileUploadResponse(path=path, error="permission_denied")
            if self.write_refusal(path)
            else self.owner(path).upload_files([(path, content)])[0]
            for path, content in files
        ]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """Return the files in the order that was asked for, fetched in one batch from each backend."""
        refused = [p for p in paths if self.read_refusal(p)]
        answers = {p: protocol.FileDownloadResponse(path=p, error="file_not_found") for p in refused}
        while left := [p for p in dict.fromkeys(paths) if p not in answers]:
            backend = self.owner(left[0])
            mine = [p for p in left if self.owner(p) is backend]
            answers.update(zip(mine, backend.download_files(mine), strict=True))
        return [answers[p] for p in paths]

    def ls(self, path: str) -> protocol.LsResult:
        found = self.inner.ls(path)
        return replace(found, entries=self.shown(found.entries)) if found.entries else found

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        found = self.inner.glob(pattern, path)
        return replace(found, matches=self.shown(found.matches)) if found.matches else found

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        found = self.inner.grep(pattern, path, glob, max_count=max_count)
        if not found.matches:
            return found
        shown = self.shown(found.matches)
        if max_count is None or len(shown) == len(found.matches):
            return replace(found, matches=shown)
        found = self.inner.grep(pattern, path, glob)  # what is not shown has taken the place of what is
        shown = self.shown(found.matches or ())
        return replace(found, matches=shown[:max_count], truncated=found.truncated or len(shown) > max_count)

    def folder_version(self, directory: str, name: str) -> Any:
        """Return what changes when the directory does; None if nobody knows."""
        return folder_version(self.inner, directory, name)

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return the entries that the backend leaves out."""
        return skipped_entries(self.inner, directory, name, most)


class ReadOnlyFiles(WrapperBackend):
    """Another backend whose files can be read and not changed.

    `why` is the error of every change; `note` is what the user should know of it, in one line.
    """

    def __init__(
        self,
        inner: protocol.BackendProtocol,
        why: str = "Error: nothing outside of the kernel is changed here",
        note: str = "",
    ) -> None:
        super().__init__(inner)
        self.why, self.note = why, note

    def write_refusal(self, path: str) -> str | None:
        return self.why


def no_files() -> ReadOnlyFiles:
    """Return the backend of a graph that has none: there is nothing to read, and nothing is written."""
    return ReadOnlyFiles(StoreBackend(store=InMemoryStore(), namespace=lambda _: ("none",)), "permission_denied")
