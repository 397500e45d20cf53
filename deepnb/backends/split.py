"""Two backends as one, chosen by a rule over paths: a few files on a disk, all others where they were."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from deepagents.backends import protocol

from deepnb.engine.file_extras import SkippedEntries, append_text, folder_version, skipped_entries


class SplitBackend(protocol.BackendProtocol):
    """`there` holds the paths that `goes_there` says, `here` all others; neither shows what is the other's."""

    def __init__(
        self, here: protocol.BackendProtocol, there: protocol.BackendProtocol, goes_there: Callable[[str], bool]
    ) -> None:
        self.here = here
        self.there = there
        self._goes_there = goes_there

    def _of(self, path: str) -> protocol.BackendProtocol:
        return self.there if self._goes_there(path) else self.here

    def _mine(self, backend: protocol.BackendProtocol, found: Iterable[Any] | None) -> list[Any]:
        """What a backend found, without what the other one owns; directories are kept."""
        return [f for f in found or () if _is_dir(f) or self._of(f["path"]) is backend]

    def ls(self, path: str) -> protocol.LsResult:
        both = [(b, b.ls(path)) for b in (self.here, self.there)]
        entries = {e["path"]: e for b, result in both for e in self._mine(b, result.entries)}
        if not entries and (problem := both[0][1].error):
            return protocol.LsResult(error=problem)
        return protocol.LsResult(entries=sorted(entries.values(), key=lambda e: e["path"]))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        return self._of(file_path).read(file_path, offset, limit)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return self._of(file_path).write(file_path, content)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of a file, in the backend it belongs to; gives the error, if any."""
        return append_text(self._of(path), path, text)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        return self._of(file_path).edit(file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        results = [b.delete(file_path) for b in (self.here, self.there) if self._has(b, file_path)]
        return next((r for r in results if not r.error), results[0] if results else self.here.delete(file_path))

    def folder_version(self, directory: str, name: str) -> Any:
        """The versions that both backends tell; None where one can't tell."""
        both = [folder_version(b, directory, name) for b in (self.here, self.there)]
        return None if None in both else both

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """The entries that either backend left out."""
        return skipped_entries(self.here, directory, name, most) | skipped_entries(self.there, directory, name, most)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        both = [(b, b.glob(pattern, path)) for b in (self.here, self.there)]
        first = both[0][1]
        matches = [m for b, result in both for m in self._mine(b, result.matches)]
        return replace(first, matches=matches, error=None if matches else first.error)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        both = [(b, b.grep(pattern, path, glob, max_count=max_count)) for b in (self.here, self.there)]
        matches = [m for b, result in both for m in result.matches or () if self._of(m["path"]) is b]
        first = both[0][1]
        return replace(first, matches=matches[:max_count], error=None if matches else first.error)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [self._of(path).upload_files([(path, content)])[0] for path, content in files]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """One batch for each backend, answers in the order that was asked for."""
        answers: dict[str, protocol.FileDownloadResponse] = {}
        for backend in (self.here, self.there):
            if mine := [p for p in dict.fromkeys(paths) if self._of(p) is backend]:
                answers.update(zip(mine, backend.download_files(mine), strict=True))
        return [answers[p] for p in paths]

    def _has(self, backend: protocol.BackendProtocol, path: str) -> bool:
        """Whether a backend owns the file, or files below the directory."""
        below = backend.glob("**/*", path).matches or ()
        return self._of(path) is backend or any(self._of(m["path"]) is backend for m in below)


def _is_dir(found: Any) -> bool:
    return bool(found.get("is_dir"))
