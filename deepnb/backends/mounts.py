"""`disk:DIR`, `store[:NAMESPACE]`, `state`: what is typed after `%agent mount PATH`, as a backend."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from deepagents.backends import StoreBackend
from deepagents.backends.protocol import BackendProtocol

from deepnb.backends.composite import MountedBackend
from deepnb.backends.disk import DiskBackend
from deepnb.backends.stores import ExactStore
from deepnb.backends.tree import is_control, names
from deepnb.backends.wrapper import ReadOnlyFiles
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError

_KINDS = "disk:DIR, store, store:NAMESPACE or state"
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
        """Give the mount with its files read-only."""
        return self if self.backend is None else replace(self, backend=ReadOnlyFiles(self.backend))


def parse_mount(
    spec: str,
    *,
    base: Path,
    store: Any = None,
    assistant_id: str | None = None,
    prefix: str = "",
    whole: bool = False,
) -> Mount:
    """The mount that a text asks for; nothing is written until a file is. `whole` allows the root of the disk."""
    at = mount_prefix(prefix) if prefix else ""
    kind, colon, rest = spec.strip().partition(":")
    if kind == "state" and not colon:
        return Mount(at, "state", "", None)
    if kind == "disk":
        root = _directory(rest, base)
        if root == root.parent and not whole:
            do = f"%agent mount --yes {prefix} {spec.strip()} if you mean that" if prefix else "type a directory"
            raise RefusedError(f"{root} is all files of this machine", do)
        return Mount(at, "disk", str(root), _disk(root))
    if kind == "store":
        space = _namespace(rest if colon else None, assistant_id)
        if store is None:
            raise NotFoundError("there is no store", "pass one to Session(store=...), or type disk:DIR")
        backend = StoreBackend(store=ExactStore(store), namespace=lambda _runtime: space)
        return Mount(at, "store", "/".join(space), backend)
    raise InvalidError(f"{spec!r} is not a place to keep files", f"type {_KINDS}")


def mount_all(default: BackendProtocol, mounts: Mapping[str, Mount]) -> BackendProtocol:
    """The default with other backends at these paths; the default itself where there are none."""
    placed = {mount_prefix(path): mount for path, mount in mounts.items()}
    routes = {prefix: mount.backend for prefix, mount in placed.items() if mount.backend is not None}
    for prefix in placed.keys() - routes.keys():
        for outer in routes:
            if prefix.startswith(outer):
                raise RefusedError(
                    f"{prefix} can't be state inside {outer}", f"mount {outer} state, or leave it where it is"
                )
    return MountedBackend(default, routes) if routes else default


def mount_prefix(path: str) -> str:
    """A path in the form /memory/; an error where nothing can be mounted."""
    try:
        at = names(path, folder=True)
    except OSError as error:
        raise InvalidError(f"{path!r} can't be mounted at ({error.strerror})", "type a path such as /memory") from None
    if not at:
        raise InvalidError("nothing can be mounted at /", "type a path such as /memory, or Session(backend=...)")
    return "/" + "/".join(at) + "/"


def _directory(text: str, base: Path) -> Path:
    if not text.strip() or any(map(is_control, text)):
        raise InvalidError("disk: needs a directory", "type one, such as disk:./memory")
    try:
        root = (base / Path(text.strip()).expanduser()).resolve()
        there = next(path for path in (root, *root.parents) if path.exists())
        if not there.is_dir():
            raise InvalidError(f"{there.name} is a file", "type its directory, such as disk:./memory")
        return root
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidError(
            f"{text.strip()!r} can't be mounted ({why})", "type a directory, such as disk:./memory"
        ) from None


def _disk(root: Path) -> BackendProtocol:
    """Return the backend of a directory; read-only if others can write to it, who may put a link there at any time."""
    if os.name == "nt" or not root.exists() or not others_can_write(root.stat()):
        return DiskBackend(root)
    note = f"{root} is mounted read-only: others than its owner can write to it (`chmod go-w` takes that from them)"
    why = (
        f"Error: not changed: others than its owner can write to the directory {root.name}, so it is mounted read-only"
    )
    return ReadOnlyFiles(DiskBackend(root), why, note)


def others_can_write(found: os.stat_result) -> bool:
    """Return whether others than its owner can write to a directory.

    A group whose number is the owner's has nobody else in it, as Linux distributions make them.
    """
    return bool(found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != found.st_uid))


def _namespace(text: str | None, assistant_id: str | None) -> tuple[str, ...]:
    if text is not None:
        space = tuple(text.strip().split("/"))
    elif assistant_id:
        space = (assistant_id, "filesystem")
    else:
        space = ("filesystem",)
    for part in space:
        if not _NAMESPACE_PART.fullmatch(part) or space[0] == "langgraph":
            raise InvalidError(
                f"{part!r} can't be part of a store's namespace",
                "type store:NAMESPACE with letters, digits and any of -_@+:~, and / between its parts",
            )
    return space
