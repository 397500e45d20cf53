"""Backends by what is typed or passed for them: mounts such as `disk:DIR`, one tree out of several, and `backend=`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from deepagents.backends import CompositeBackend, StateBackend, StoreBackend, protocol
from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob

from deepnb.backends.disk import DiskBackend
from deepnb.backends.tree import is_control, names
from deepnb.backends.wrapper import ReadOnlyFiles, as_folder, store_backend
from deepnb.engine.file_extras import SkippedEntries, append_text, file_versions, skipped_entries
from deepnb.engine.files import ExactStore, store_of, with_store
from deepnb.engine.state_backend import KernelBackend
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError
from deepnb.values.files import ALL_FILES, disk_path

# -- one tree of files out of several backends, where each path belongs to exactly one of them


class MountedBackend(CompositeBackend):
    """Upstream's composite, whose listings and searches show exactly what can be read. Deleting leaves mounts where they are.

    Upstream's own show what a mount hides, a mounted directory twice, and no mount that is not at the top.
    """

    als = protocol.BackendProtocol.als
    awrite = protocol.BackendProtocol.awrite
    aglob = protocol.BackendProtocol.aglob
    agrep = protocol.BackendProtocol.agrep

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        if as_folder(file_path) in self.routes:
            return protocol.WriteResult(error=f"Error writing file '{file_path}': it is a directory")
        return super().write(file_path, content)

    def append_text(self, path: str, text: str) -> str | None:
        _, backend, inside = self._owner(path)
        return append_text(backend, inside, text)

    def ls(self, path: str) -> protocol.LsResult:
        base = as_folder(path)
        prefix, backend, inside = self._owner(path)
        mounts = {base + p[len(base) :].split("/")[0] + "/" for p, _ in self._below(base)}
        listed = backend.ls(inside)
        if listed.error and not mounts:
            return listed
        entries: dict[str, protocol.FileInfo] = {info["path"]: info for info in self._owned(prefix, listed.entries)}
        for folder in mounts:
            entries.setdefault(folder, protocol.FileInfo(path=folder, is_dir=True, size=0, modified_at=""))
        return protocol.LsResult(entries=[entries[p] for p in sorted(entries)])

    def file_versions(self, directory: str) -> Mapping[str, Any] | None:
        """Return those of the backend the directory belongs to, and of the mounts in it; None if one can't tell."""
        prefix, backend, inside = self._owner(directory)
        if not (below := self._below(as_folder(directory))) and prefix == "/":
            return file_versions(backend, inside)
        found: dict[str, Any] = {}
        every = [(prefix, file_versions(backend, inside)), *((p, file_versions(b, "/")) for p, b in below)]
        for owner, versions in every:
            if versions is None:
                return None
            owned = ((owner[:-1] + path, version) for path, version in versions.items())
            found.update((path, version) for path, version in owned if self._owner(path)[0] == owner)
        return found

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        _, backend, inside = self._owner(directory)
        return skipped_entries(backend, inside, name, most)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        base = as_folder(path or "/")
        try:
            fits = compile_grep_include_glob(pattern)
        except InvalidGlobPatternError as error:
            return protocol.GlobResult(error=str(error))
        found: list[protocol.FileInfo] = []
        cut: list[protocol.GlobTruncationReason | None] = []
        for prefix, backend, inside, apart in self._search(path, pattern):
            result = backend.glob(ALL_FILES if apart else pattern, inside)
            if result.error:
                return result
            cut += [result.truncation_reason] if result.truncated else []
            owned = self._owned(prefix, result.matches)
            found += [info for info in owned if not apart or fits(info["path"][len(base) :])]
        found.sort(key=itemgetter("path"))
        reason: protocol.GlobTruncationReason | None
        reason = "unreadable" if "unreadable" in cut else next(filter(None, cut), None)
        return protocol.GlobResult(matches=found, truncated=bool(cut), truncation_reason=reason)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> protocol.GrepResult:
        base = as_folder(path or "/")
        try:
            fits = compile_grep_include_glob(glob or ALL_FILES)
        except InvalidGlobPatternError as error:
            return protocol.GrepResult(error=str(error))
        matches: list[protocol.GrepMatch] = []
        errors: list[str] = []
        truncated = False
        for prefix, backend, inside, apart in self._search(path, glob):
            sifted = apart or any(len(p) > len(prefix) and p.startswith(prefix) for p in self.routes)
            most = None if sifted else max_count
            result = backend.grep(pattern, inside, None if apart else glob, max_count=most)
            if result.matches is None:
                return result
            errors += [result.error] if result.error else []
            truncated = truncated or result.truncated
            owned = self._owned(prefix, result.matches)
            matches += [m for m in owned if not apart or fits(m["path"][len(base) :])]
        truncated = truncated or (max_count is not None and len(matches) > max_count)
        return protocol.GrepResult(error="; ".join(errors) or None, matches=matches[:max_count], truncated=truncated)

    def _owned(self, prefix: str, found: list[Any] | None) -> Iterator[Any]:
        """Yield what a backend found, under its paths out here, without what a mount in it hides."""
        for item in found or ():
            path = prefix[:-1] + item["path"]
            if self._owner(path)[0] == prefix:
                yield {**item, "path": path}

    def _owner(self, path: str) -> tuple[str, protocol.BackendProtocol, str]:
        """Return the mount a path belongs to: prefix ("/" of the default), backend, and the path in there."""
        base = as_folder(path)
        for prefix, backend in self.sorted_routes:
            if base.startswith(prefix):
                return prefix, backend, path[len(prefix) - 1 :] or "/"
        return "/", self.default, path

    def _below(self, base: str) -> list[tuple[str, protocol.BackendProtocol]]:
        return [(p, inner) for p, inner in sorted(self.routes.items()) if p.startswith(base) and p != base]

    def _search(
        self, path: str | None, pattern: str | None
    ) -> Iterator[tuple[str, protocol.BackendProtocol, str, bool]]:
        """Yield (prefix, backend, where in it, whether the pattern means nothing there) of the places a search comes to.

        A pattern with directories in it speaks of paths below `path`, which a mount down there does not know. A path that
        is a file, too, means the file, as it does without mounts.
        """
        prefix, backend, inside = self._owner(path or "/")
        yield prefix, backend, inside, False
        base = as_folder(path or "/")
        below = self._below(base)
        if not below or base == prefix or backend.read(inside.rstrip("/"), 0, 1).error:
            yield from ((p, inner, "/", "/" in (pattern or "")) for p, inner in below)


_NAMESPACE_PART = re.compile(r"[A-Za-z0-9\-_@+:~]+")
"""What StoreBackend allows in one part of a namespace, without the dot, which stores refuse."""


@dataclass(frozen=True)
class Mount:
    """Where the files below a path live."""

    prefix: str
    """The path, as /memory/; empty where it is not known yet."""
    kind: Literal["disk", "store", "state", "given"]
    where: str
    """The directory, or the namespace with / between its parts; empty for `state`; the class of a backend that was given."""
    backend: BackendProtocol | None
    """None for `state`: back to where the other files are."""

    @property
    def note(self) -> str:
        """Give what the user should know of it, in one line."""
        return self.backend.note if isinstance(self.backend, ReadOnlyFiles) else ""

    @property
    def read_only(self) -> Mount:
        return self if self.backend is None else replace(self, backend=ReadOnlyFiles(self.backend))


def parse_mount(
    spec: str, *, base: Path, store: Any = None, assistant_id: str | None = None, prefix: str = "", whole: bool = False
) -> Mount:
    """Return the mount that a text asks for; nothing is written until a file is. `whole` allows the root of the disk."""
    at = mount_prefix(prefix) if prefix else ""
    kind, colon, rest = spec.strip().partition(":")
    if kind == "state" and not colon:
        return Mount(at, "state", "", None)
    if kind == "disk":
        if not rest.strip() or any(map(is_control, rest)):
            raise InvalidError("disk: needs a directory", "type one, such as disk:./memory")
        root = (base / disk_path(rest.strip(), "can't be mounted")).resolve()
        there = next(path for path in (root, *root.parents) if path.exists())
        if not there.is_dir():
            raise InvalidError(f"{there.name} is a file", "type its directory, such as disk:./memory")
        if root == root.parent and not whole:
            do = f"%agent mount --yes {prefix} {spec.strip()} if you mean that" if prefix else "type a directory"
            raise RefusedError(f"{root} is all files of this machine", do)
        disk = DiskBackend(root)
        if os.name == "nt" or not root.exists() or not others_can_write(root.stat()):
            return Mount(at, "disk", str(root), disk)
        who = "others than its owner can write to"  # they may put a link there at any time
        note = f"{root} is mounted read-only: {who} it (`chmod go-w` takes that from them)"
        why = f"Error: not changed: {who} the directory {root.name}, so it is mounted read-only"
        return Mount(at, "disk", str(root), ReadOnlyFiles(disk, why, note))
    if kind == "store":
        space = tuple(rest.strip().split("/")) if colon else (*filter(None, [assistant_id]), "filesystem")
        if strange := [p for p in space if not _NAMESPACE_PART.fullmatch(p) or space[0] == "langgraph"]:
            do = "type store:NAMESPACE with letters, digits and any of -_@+:~, and / between its parts"
            raise InvalidError(f"{strange[0]!r} can't be part of a store's namespace", do)
        if store is None:
            raise NotFoundError("there is no store", "pass one to Session(store=...), or type disk:DIR")
        return Mount(at, "store", "/".join(space), store_backend(ExactStore(store), space))
    raise InvalidError(f"{spec!r} is not a place to keep files", "type disk:DIR, store, store:NAMESPACE or state")


def mount_all(default: BackendProtocol, mounts: Mapping[str, Mount]) -> BackendProtocol:
    """Return the default with other backends at these paths; the default itself where there are none."""
    placed = {mount_prefix(path): mount for path, mount in mounts.items()}
    routes = {prefix: mount.backend for prefix, mount in placed.items() if mount.backend is not None}
    for prefix in placed.keys() - routes.keys():
        for outer in routes:
            if prefix.startswith(outer):
                do = f"mount {outer} state, or leave it where it is"
                raise RefusedError(f"{prefix} can't be state inside {outer}", do)
    return MountedBackend(default, routes) if routes else default


def mount_prefix(path: str) -> str:
    """Return a path in the form /memory/; an error where nothing can be mounted."""
    try:
        at = names(path, folder=True)
    except OSError as error:
        raise InvalidError(f"{path!r} can't be mounted at ({error.strerror})", "type a path such as /memory") from None
    if not at:
        raise InvalidError("nothing can be mounted at /", "type a path such as /memory, or Session(backend=...)")
    return "/" + "/".join(at) + "/"


def others_can_write(found: os.stat_result) -> bool:
    """Return whether others than its owner can write to a directory; a group of the owner's number has nobody else in it."""
    return bool(found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != found.st_uid))


# -- what is passed as `backend=`: where the files of the root are, and what is mounted into it


@dataclass(frozen=True)
class Given:
    """The places for files that were passed in."""

    root: BackendProtocol | None = None
    """The backend that is the root; None means the kernel's state."""
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    state: tuple[str, ...] = ()
    """Prefixes that are the kernel's state, below a root that is not."""

    @property
    def read_only(self) -> Given:
        """Give the backend with its files read-only, but for those in the kernel's state."""
        root = None if self.root is None else ReadOnlyFiles(self.root)
        return Given(root, {prefix: mount.read_only for prefix, mount in self.mounts.items()}, self.state)


def given_backend(backend: Any, store: Any = None, assistant_id: str | None = None) -> Given:
    """Return the places of a backend; an error in one line for a value that is not a backend. A relative directory is one of the current directory."""
    if isinstance(backend, str):
        return Given(parse_mount(backend, base=Path.cwd(), store=store, assistant_id=assistant_id).backend)
    if backend is None:
        return Given()
    parts = dict(_parts("/", backend))
    root = _usable(parts.pop("/"), store)
    usable = ((prefix, _usable(part, store)) for prefix, part in parts.items())
    mounts = {prefix: Mount(prefix, "given", type(made).__name__, made) for prefix, made in usable if made}
    state = tuple(prefix for prefix, part in parts.items() if prefix not in mounts and root is not None)
    for prefix in parts.keys() - mounts.keys():
        if outer := next((p for p in mounts if prefix.startswith(p)), None):
            raise RefusedError(f"{prefix} can't be state inside {outer}", "leave it out of the composite")
    return Given(root, mounts, state)


def _parts(prefix: str, backend: Any) -> Iterator[tuple[str, BackendProtocol]]:
    if not isinstance(backend, BackendProtocol):
        where = "" if prefix == "/" else f" of {prefix}"
        what = f"the class {backend.__name__}" if isinstance(backend, type) else f"{backend!r:.60}"
        do = 'pass "disk:DIR", a backend of deepagents such as StateBackend(), or None'
        raise InvalidError(f"the backend{where} can't be {what}", do)
    if not isinstance(backend, CompositeBackend):
        yield prefix, backend
        return
    yield from _parts(prefix, backend.default)
    for route, part in backend.routes.items():
        yield from _parts(mount_prefix(f"{prefix}{route.strip('/')}"), part)


def _usable(backend: BackendProtocol, store: Any) -> BackendProtocol | None:
    """Return a backend that works outside a run, too; None for the kernel's state."""
    if isinstance(backend, StateBackend) and not isinstance(backend, KernelBackend):
        return None
    if isinstance(backend, StoreBackend):
        if (found := store_of(backend) or store) is None:
            raise NotFoundError("the StoreBackend has no store", "StoreBackend(store=...), or Session(store=...)")
        return with_store(backend, found if isinstance(found, ExactStore) else ExactStore(found))
    return backend
