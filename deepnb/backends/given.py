"""What is passed as `backend=`: where the files of the root are, and what is mounted into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol

from deepnb.backends.mounts import Mount, mount_prefix, parse_mount
from deepnb.backends.stores import ExactStore
from deepnb.backends.wrapper import ReadOnlyFiles
from deepnb.engine.files import store_of, with_store
from deepnb.engine.state_backend import KernelBackend
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError

_ALLOWED = 'pass "disk:DIR", a backend of deepagents such as StateBackend(), or None'


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
    """The places of a backend; an error in one line for a value that is not a backend. A relative directory is one of the current directory."""
    if isinstance(backend, str):
        mount = parse_mount(backend, base=Path.cwd(), store=store, assistant_id=assistant_id)
        return Given(mount.backend)
    if backend is None:
        return Given()
    parts = dict(_parts("/", backend))
    root = _usable(parts.pop("/"), store)
    mounts = {prefix: _mount(prefix, made) for prefix, part in parts.items() if (made := _usable(part, store))}
    state = tuple(prefix for prefix, part in parts.items() if prefix not in mounts and root is not None)
    for prefix in parts.keys() - mounts.keys():
        if outer := next((p for p in mounts if prefix.startswith(p)), None):
            raise RefusedError(f"{prefix} can't be state inside {outer}", "leave it out of the composite")
    return Given(root, mounts, state)


def _parts(prefix: str, backend: Any) -> Iterator[tuple[str, BackendProtocol]]:
    """Each backend of a composite of composites, by the prefix of its files."""
    if not isinstance(backend, BackendProtocol):
        where = "" if prefix == "/" else f" of {prefix}"
        what = f"the class {backend.__name__}" if isinstance(backend, type) else f"{backend!r:.60}"
        raise InvalidError(f"the backend{where} can't be {what}", _ALLOWED)
    if not isinstance(backend, CompositeBackend):
        yield prefix, backend
        return
    yield from _parts(prefix, backend.default)
    for route, part in backend.routes.items():
        yield from _parts(mount_prefix(f"{prefix}{route.strip('/')}"), part)


def _usable(backend: BackendProtocol, store: Any) -> BackendProtocol | None:
    """A backend that works outside a run, too; None for the kernel's state."""
    if isinstance(backend, StateBackend) and not isinstance(backend, KernelBackend):
        return None
    if isinstance(backend, StoreBackend):
        found = store_of(backend) or store
        if found is None:
            raise NotFoundError("the StoreBackend has no store", "StoreBackend(store=...), or Session(store=...)")
        return with_store(backend, found if isinstance(found, ExactStore) else ExactStore(found))
    return backend


def _mount(prefix: str, backend: BackendProtocol) -> Mount:
    return Mount(prefix, "given", type(backend).__name__, backend)
