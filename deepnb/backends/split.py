"""Two backends as one, chosen by a rule over paths: a few files on a disk, all others where they were."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from deepagents.backends import StoreBackend, protocol
from langgraph.store.memory import InMemoryStore

from deepnb.backends.wrapper import WrapperBackend
from deepnb.engine.files import SkippedEntries, folder_version, skipped_entries


class SplitBackend(WrapperBackend):
    """`there` holds the paths that `goes_there` says, `inner` all others; neither shows what is the other's."""

    def __init__(
        self, here: protocol.BackendProtocol, there: protocol.BackendProtocol, goes_there: Callable[[str], bool]
    ) -> None:
        super().__init__(here)
        self.there = there
        self._goes_there = goes_there

    def owner(self, path: str) -> protocol.BackendProtocol:
        return self.there if self._goes_there(path) else self.inner

    def _mine(self, backend: protocol.BackendProtocol, found: Iterable[Any] | None) -> list[Any]:
        """Return what a backend found, without what the other one owns; directories are kept."""
        return [f for f in found or () if f.get("is_dir") or self.owner(f["path"]) is backend]

    def ls(self, path: str) -> protocol.LsResult:
        both = [(b, b.ls(path)) for b in (self.inner, self.there)]
        entries = {e["path"]: e for b, result in both for e in self._mine(b, result.entries)}
        if not entries and (problem := both[0][1].error):
            return protocol.LsResult(error=problem)
        return protocol.LsResult(entries=sorted(entries.values(), key=lambda e: e["path"]))

    def delete(self, file_path: str) -> protocol.DeleteResult:
        results = [b.delete(file_path) for b in (self.inner, self.there) if self._has(b, file_path)]
        return next((r for r in results if not r.error), results[0] if results else self.inner.delete(file_path))

    def folder_version(self, directory: str, name: str) -> Any:
        """Return the versions that both backends tell; None if one can't tell."""
        both = [folder_version(b, directory, name) for b in (self.inner, self.there)]
        return None if None in both else both

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return the entries that either backend leaves out."""
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

    def _has(self, backend: protocol.BackendProtocol, path: str) -> bool:
        """Return whether a backend owns the file, or files below the directory."""
        below = backend.glob("**/*", path).matches or ()
        return self.owner(path) is backend or any(self.owner(m["path"]) is backend for m in below)


class AttachedFiles(SplitBackend):
    """The files of somebody else's graph: deepnb's records stay in this process, and nothing that nobody reads is written.

    `refusal` gives why a file at a path would be of no use to the graph, in one line; "" if it is of use.
    """

    def __init__(self, files: protocol.BackendProtocol, refusal: Callable[[str], str]) -> None:
        records = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("deepnb",))
        super().__init__(files, records, lambda path: path.startswith("/.deepnb/"))
        self._refusal = refusal

    def write_refusal(self, path: str) -> str | None:
        return None if self.owner(path) is self.there else self._refusal(path)
