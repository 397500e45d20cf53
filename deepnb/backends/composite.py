"""One tree of files out of several backends, where each path belongs to exactly one of them."""

from collections.abc import Iterator
from typing import Any

from deepagents.backends import CompositeBackend, protocol
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from deepnb.engine.files import SkippedEntries, append_text, folder_version, skipped_entries

_ALL = "{*,.*}"
"""Every file at any depth, those whose names begin with a dot too."""


class MountedBackend(CompositeBackend):
    """Upstream's composite, whose listings and searches show exactly what can be read.

    Upstream's own show what a mount hides (a file of the default under a mount's path), a mounted
    directory twice, and no mount that is not at the top. Deleting a directory leaves the mounts in it.
    """

    als = protocol.BackendProtocol.als
    awrite = protocol.BackendProtocol.awrite
    aglob = protocol.BackendProtocol.aglob
    agrep = protocol.BackendProtocol.agrep

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        """Make `content` the file, in the backend it belongs to."""
        if _folder(file_path) in self.routes:
            return protocol.WriteResult(error=f"Error writing file '{file_path}': it is a directory")
        return super().write(file_path, content)

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of a file, in the backend it belongs to; gives the error, if any."""
        prefix, backend = self._owner(path)
        return append_text(backend, path[len(prefix) - 1 :], text)

    def ls(self, path: str) -> protocol.LsResult:
        """What is directly in a directory, mounts included, by path."""
        base = _folder(path)
        prefix, backend = self._owner(base)
        inside = {base + p[len(base) :].split("/")[0] + "/" for p in self.routes if p.startswith(base) and p != base}
        listed = backend.ls(_inner(prefix, base, path))
        if listed.error and not inside:
            return listed
        entries: dict[str, protocol.FileInfo] = {info["path"]: info for info in self._owned(prefix, listed.entries)}
        for folder in inside:
            entries.setdefault(folder, protocol.FileInfo(path=folder, is_dir=True, size=0, modified_at=""))
        return protocol.LsResult(entries=[entries[p] for p in sorted(entries)])

    def folder_version(self, directory: str, name: str) -> Any:
        """That of the backend the directory belongs to; None where it is spread over several."""
        base = _folder(directory)
        prefix, backend = self._owner(base)
        if any(p.startswith(base) and p != base for p in self.routes):
            return None
        return folder_version(backend, _inner(prefix, base, directory), name)

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """The entries that the backend of the directory left out."""
        base = _folder(directory)
        prefix, backend = self._owner(base)
        return skipped_entries(backend, _inner(prefix, base, directory), name, most)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Files below `path` that match, in whichever backend, by path."""
        base = _folder(path or "/")
        try:
            fits = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        found: list[protocol.FileInfo] = []
        cut: list[protocol.GlobTruncationReason | None] = []
        for prefix, backend in self._parts(base):
            # a pattern with directories in it speaks of paths below `base`, which a mount down there does not know
            apart = len(prefix) > len(base) and "/" in pattern
            result = backend.glob(_ALL if apart else pattern, _inner(prefix, base, path))
            if result.error:
                return result
            cut += [result.truncation_reason] if result.truncated else []
            owned = self._owned(prefix, result.matches)
            found += [info for info in owned if not apart or fits(info["path"][len(base) :])]
        found.sort(key=lambda info: info["path"])
        reason: protocol.GlobTruncationReason | None = (
            "unreadable" if "unreadable" in cut else next(filter(None, cut), None)
        )
        return protocol.GlobResult(matches=found, truncated=bool(cut), truncation_reason=reason)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        """Lines that have the literal text in them, in whichever backend."""
        base = _folder(path or "/")
        try:
            fits = compile_grep_include_glob(glob) if glob else None
        except InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        matches: list[protocol.GrepMatch] = []
        errors: list[str] = []
        truncated = False
        for prefix, backend in self._parts(base):
            apart = len(prefix) > len(base) and "/" in (glob or "")
            sifted = apart or any(len(p) > len(prefix) and p.startswith(prefix) for p in self.routes)
            result = backend.grep(
                pattern,
                _inner(prefix, base, path),
                None if apart else glob,
                max_count=None if sifted else max_count,
            )
            if result.matches is None:
                return result
            errors += [result.error] if result.error else []
            truncated = truncated or result.truncated
            owned = self._owned(prefix, result.matches)
            matches += [m for m in owned if not apart or fits is None or fits(m["path"][len(base) :])]
        cut = max_count is not None and len(matches) > max_count
        return protocol.GrepResult(
            error="; ".join(errors) or None, matches=matches[:max_count] if cut else matches, truncated=truncated or cut
        )

    def _owned(self, prefix: str, found: list[Any] | None) -> Iterator[Any]:
        """What a backend found, under its paths out here, without what a mount in it hides."""
        for item in found or ():
            path = prefix[:-1] + item["path"]
            if self._owner(_folder(path))[0] == prefix:
                yield {**item, "path": path}

    def _owner(self, path: str) -> tuple[str, protocol.BackendProtocol]:
        """The mount a path belongs to, as prefix and backend; the default has the prefix "/"."""
        for prefix, backend in self.sorted_routes:
            if path.startswith(prefix):
                return prefix, backend
        return "/", self.default

    def _parts(self, base: str) -> Iterator[tuple[str, protocol.BackendProtocol]]:
        """Where the files of a search are: in the mount the path belongs to, and in the mounts below it.

        A path that is a file, too, means the file, as it does without mounts.
        """
        owner, backend = self._owner(base)
        yield owner, backend
        below = [(p, inner) for p, inner in sorted(self.routes.items()) if p.startswith(base) and p != base]
        if below and base != owner and not backend.read(f"/{base[len(owner) : -1]}", 0, 1).error:
            return
        yield from below


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"


def _inner(prefix: str, base: str, path: str | None) -> str:
    """Where a search of `path` begins in the backend mounted at `prefix`."""
    if len(prefix) > len(base):
        return "/"
    return (path or "/") if prefix == "/" else f"/{(path or '')[len(prefix) :]}"
