"""Some files of a directory on a disk: they alone are seen, searched and changed there."""

from collections.abc import Iterator, Sequence
from itertools import chain
from posixpath import dirname

from deepagents.backends import protocol
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal_file import FOLDER


class ChosenFiles(protocol.BackendProtocol):
    """The chosen files, there or not, and the journal beside them. No directory is walked, and none is deleted."""

    def __init__(self, disk: DiskBackend, files: Sequence[str]) -> None:
        """`files` are paths in the directory, such as `.deepagents/AGENTS.md`."""
        self.disk = disk
        self._files = frozenset(f"/{name}" for name in files)
        self._why = f"Error: only {', '.join(files)} can be changed here"

    # -- one file

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        if self._is_mine(file_path):
            return self.disk.read(file_path, offset, limit)
        return protocol.ReadResult(error=f"File '{file_path}' not found")

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return (
            self.disk.write(file_path, content) if self._is_mine(file_path) else protocol.WriteResult(error=self._why)
        )

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> protocol.EditResult:
        if self._is_mine(file_path):
            return self.disk.edit(file_path, old_string, new_string, replace_all)
        return protocol.EditResult(error=self._why)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        return self.disk.delete(file_path) if self._is_mine(file_path) else protocol.DeleteResult(error=self._why)

    # -- bytes, many files at once

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        return [self._upload(path, data) for path, data in files]

    def _upload(self, path: str, data: bytes) -> protocol.FileUploadResponse:
        if self._is_mine(path):
            return self.disk.upload_files([(path, data)])[0]
        return protocol.FileUploadResponse(path=path, error="permission_denied")

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> protocol.FileDownloadResponse:
        if self._is_mine(path):
            return self.disk.download_files([path])[0]
        return protocol.FileDownloadResponse(path=path, content=None, error="file_not_found")

    # -- many files

    def ls(self, path: str) -> protocol.LsResult:
        base, entries = _folder(path), dict[str, protocol.FileInfo]()
        for info in self._there(base):
            name, below, _ = info["path"][len(base) :].partition("/")
            found = protocol.FileInfo(path=f"{base}{name}/", is_dir=True, size=0, modified_at="") if below else info
            entries[found["path"]] = found
        return protocol.LsResult(entries=[entries[p] for p in sorted(entries)])

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        base = _folder(path or "/")
        try:
            fits = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        return protocol.GlobResult(matches=[info for info in self._there(base) if fits(info["path"][len(base) :])])

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        base = _folder(dirname(path) if path in self._files else path or "/")
        try:
            fits = compile_grep_include_glob(glob) if glob else None
        except InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        found = (info["path"] for info in self._there(base) if path not in self._files or info["path"] == path)
        results = [self.disk.grep(pattern, p) for p in found if fits is None or fits(p[len(base) :])]
        matches = list(chain.from_iterable(result.matches or () for result in results))
        errors = [result.error for result in results if result.error]
        cut = max_count is not None and len(matches) > max_count
        return protocol.GrepResult(error="; ".join(errors) or None, matches=matches[:max_count], truncated=cut)

    def _is_mine(self, path: str) -> bool:
        return path in self._files or path.startswith(f"/{FOLDER}/")

    def _there(self, base: str) -> Iterator[protocol.FileInfo]:
        """The chosen files that exist below a directory, by path."""
        listed = (self.disk.ls(folder).entries or () for folder in {dirname(p) for p in self._files})
        mine = (info for info in chain.from_iterable(listed) if info["path"] in self._files)
        return iter(sorted((i for i in mine if i["path"].startswith(base)), key=lambda info: info["path"]))


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
