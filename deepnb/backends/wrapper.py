"""The base of every backend that stands in front of another: what it does not change is passed on, once, here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepagents.backends import StoreBackend, protocol
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from deepnb.backends.disk import DiskBackend
from deepnb.backends.journal import FOLDER
from deepnb.engine.file_extras import SkippedEntries, append_text, file_versions, skipped_entries
from deepnb.values.files import ALL_FILES

_OUTSIDE = "Error: nothing outside of the kernel is changed here"


class WrapperBackend(protocol.BackendProtocol):
    """Pass everything on to `inner`; a subclass says which files are refused or shown, and which backend a file is in."""

    def __init__(self, inner: protocol.BackendProtocol) -> None:
        self.inner = inner

    def owner(self, path: str) -> protocol.BackendProtocol:
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
        answers: dict[str, protocol.FileDownloadResponse] = {}
        batches: dict[int, tuple[protocol.BackendProtocol, list[str]]] = {}
        for path in dict.fromkeys(paths):
            if self.read_refusal(path):
                answers[path] = protocol.FileDownloadResponse(path=path, error="file_not_found")
            else:
                owner = self.owner(path)
                batches.setdefault(id(owner), (owner, []))[1].append(path)
        for owner, mine in batches.values():
            answers.update(zip(mine, owner.download_files(mine), strict=True))
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

    def file_versions(self, directory: str) -> Mapping[str, Any] | None:
        """Return the versions of the files below a directory, also of those that are not shown; None if nobody knows."""
        return file_versions(self.inner, directory)

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        return skipped_entries(self.inner, directory, name, most)


class ReadOnlyFiles(WrapperBackend):
    """Another backend whose files can't be changed: `why` is the error of every change, `note` what the user is told of it."""

    def __init__(self, inner: protocol.BackendProtocol, why: str = _OUTSIDE, note: str = "") -> None:
        super().__init__(inner)
        self.why, self.note = why, note

    def write_refusal(self, path: str) -> str | None:
        return self.why


def store_backend(store: BaseStore, namespace: tuple[str, ...]) -> StoreBackend:
    return StoreBackend(store=store, namespace=lambda _: namespace)


def no_files() -> ReadOnlyFiles:
    """Return the backend of a graph that has none: there is nothing to read, and nothing is written."""
    return ReadOnlyFiles(store_backend(InMemoryStore(), ("none",)), "permission_denied")


# -- two backends as one, chosen by a rule over paths: a few files on a disk, all others where they were


class SplitBackend(WrapperBackend):
    """`there` holds the paths that `goes_there` says, `inner` all others; neither shows what is the other's.

    `refusal` gives why a file is not written to `inner`, in one line; "" if it is.
    """

    def __init__(
        self,
        here: protocol.BackendProtocol,
        there: protocol.BackendProtocol,
        goes_there: Callable[[str], bool],
        refusal: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(here)
        self.there = there
        self._goes_there, self._refusal = goes_there, refusal

    def owner(self, path: str) -> protocol.BackendProtocol:
        return self.there if self._goes_there(path) else self.inner

    def write_refusal(self, path: str) -> str | None:
        return self._refusal(path) if self._refusal and not self._goes_there(path) else None

    def _mine(self, backend: protocol.BackendProtocol, found: Iterable[Any] | None) -> list[Any]:
        return [f for f in found or () if f.get("is_dir") or self.owner(f["path"]) is backend]

    def ls(self, path: str) -> protocol.LsResult:
        both = [(b, b.ls(path)) for b in (self.inner, self.there)]
        entries = {e["path"]: e for b, result in both for e in self._mine(b, result.entries)}
        if not entries and (problem := both[0][1].error):
            return protocol.LsResult(error=problem)
        return protocol.LsResult(entries=[entries[path] for path in sorted(entries)])

    def delete(self, file_path: str) -> protocol.DeleteResult:
        results = []
        for one in (self.inner, self.there):
            below = (m["path"] for m in one.glob(ALL_FILES, file_path).matches or ())
            if any(self.owner(path) is one for path in (file_path, *below)):
                results.append(one.delete(file_path))
        return next((r for r in results if not r.error), results[0] if results else self.inner.delete(file_path))

    def file_versions(self, directory: str) -> Mapping[str, Any] | None:
        """Return those of `there` alone where the directory is there: a rule that holds of it holds of all below it."""
        if self._goes_there(directory):
            return file_versions(self.there, directory)
        here, there = (file_versions(b, directory) for b in (self.inner, self.there))
        if here is None or there is None:
            return None
        mine = {path: version for path, version in here.items() if not self._goes_there(path)}
        return {**mine, **{path: version for path, version in there.items() if self._goes_there(path)}}

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        return skipped_entries(self.inner, directory, name, most) | skipped_entries(self.there, directory, name, most)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        both = [(b, b.glob(pattern, path)) for b in (self.inner, self.there)]
        first = both[0][1]
        matches = [m for b, result in both for m in self._mine(b, result.matches)]
        return replace(first, matches=matches, error=None if matches else first.error)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        both = [(b, b.grep(pattern, path, glob, max_count=max_count)) for b in (self.inner, self.there)]
        matches = [m for b, result in both for m in self._mine(b, result.matches)]
        first = both[0][1]
        return replace(first, matches=matches[:max_count], error=None if matches else first.error)


# -- some files of a directory on a disk: they alone are seen, searched and changed there


class ChosenFiles(WrapperBackend):
    """The chosen files, there or not, and the journal beside them. No other directory is walked, and none is deleted."""

    def __init__(self, disk: DiskBackend, files: Sequence[str]) -> None:
        """`files` are paths in the directory, such as `.deepagents/AGENTS.md`; the disk lists nothing else from now on."""
        super().__init__(disk)
        disk.tree.listed = frozenset(tuple(name.split("/")) for name in files)
        self._files = frozenset(f"/{name}" for name in files)
        self._why = f"Error: only {', '.join(files)} can be changed here"

    def read_refusal(self, path: str) -> str | None:
        return None if path in self._files or path.startswith(f"/{FOLDER}/") else f"File '{path}' not found"

    def write_refusal(self, path: str) -> str | None:
        return self.read_refusal(path) and self._why

    def shown(self, found: Sequence[Any]) -> list[Any]:
        return [
            f
            for f in found
            if f["path"] in self._files or (f.get("is_dir") and self.glob(ALL_FILES, f["path"]).matches)
        ]

    def file_versions(self, directory: str) -> None:
        """Return None: the directory is not looked at."""

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return nothing: the directory is not looked at."""
        return {}


def as_folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
