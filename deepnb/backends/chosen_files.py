"""Some files of a directory on a disk: they alone are seen, searched and changed there."""

from collections.abc import Iterator, Sequence
from itertools import chain
from posixpath import dirname

from deepagents.backends import protocol
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal_file import FOLDER
from deepnb.backends.wrapper import WrapperBackend
from deepnb.engine.files import SkippedEntries


class ChosenFiles(WrapperBackend):
    """The chosen files, there or not, and the journal beside them. No directory is walked, and none is deleted."""

    def __init__(self, disk: DiskBackend, files: Sequence[str]) -> None:
        """`files` are paths in the directory, such as `.deepagents/AGENTS.md`."""
        super().__init__(disk)
        self._files = frozenset(f"/{name}" for name in files)
        self._why = f"Error: only {', '.join(files)} can be changed here"

    def read_refusal(self, path: str) -> str | None:
        return None if self._is_mine(path) else f"File '{path}' not found"

    def write_refusal(self, path: str) -> str | None:
        return None if self._is_mine(path) else self._why

    def folder_version(self, directory: str, name: str) -> None:
        """Return None: the directory is not looked at."""

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return nothing: the directory is not looked at."""
        return {}

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
        results = [self.inner.grep(pattern, p) for p in found if fits is None or fits(p[len(base) :])]
        matches = list(chain.from_iterable(result.matches or () for result in results))
        errors = [result.error for result in results if result.error]
        cut = max_count is not None and len(matches) > max_count
        return protocol.GrepResult(error="; ".join(errors) or None, matches=matches[:max_count], truncated=cut)

    def _is_mine(self, path: str) -> bool:
        return path in self._files or path.startswith(f"/{FOLDER}/")

    def _there(self, base: str) -> Iterator[protocol.FileInfo]:
        """The chosen files that exist below a directory, by path."""
        listed = (self.inner.ls(folder).entries or () for folder in {dirname(p) for p in self._files})
        mine = (info for info in chain.from_iterable(listed) if info["path"] in self._files)
        return iter(sorted((i for i in mine if i["path"].startswith(base)), key=lambda info: info["path"]))


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
