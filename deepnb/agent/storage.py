"""The session's files: the kernel's state and what is mounted into it, behind the guard."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from deepnb.backends.guarded import GuardedBackend, Root
from deepnb.backends.journal_file import JournalFile
from deepnb.backends.kernel import KernelBackend
from deepnb.backends.locks import directory_lock, named_lock
from deepnb.backends.mounts import Mount, mount_prefix, mounted, parse_mount
from deepnb.engine.state_backend import Outside

Facts = Callable[[], Mapping[str, Any]]


class Storage:
    """Builds the backend of a session and mounts others into it."""

    def __init__(
        self,
        outside: Outside,
        given: Any,
        is_guarded: Callable[[str], bool],
        facts: Facts,
        may_save: Callable[[], bool],
    ) -> None:
        self.mounts: dict[str, Mount] = {}
        self._default = given if given is not None else KernelBackend(outside)
        self._shared = given is not None
        self._may_save = may_save
        self._lock = threading.RLock()
        self.guard = GuardedBackend(self._default, [self._home()], is_guarded, facts)

    def mount(self, path: str, spec: str, *, base: Path, store: Any, assistant_id: str | None) -> Mount:
        """Put the files below a path on a disk, in a store, or back into the kernel's state."""
        prefix = mount_prefix(path)
        mount = parse_mount(spec, base=base, store=store, assistant_id=assistant_id, prefix=prefix)
        kept = {p: m for p, m in self.mounts.items() if p != prefix}
        self.mounts = kept if mount.backend is None else {**kept, prefix: mount}
        inner = mounted(self._default, self.mounts)
        roots = [self._home(), *(self._root(m, inner) for m in self.mounts.values())]
        self.guard.rewire(inner, roots)
        return mount

    def _home(self) -> Root:
        return Root("/", JournalFile(self._default), lambda: self._lock, self._shared, self._may_save)

    def _root(self, mount: Mount, inner: Any) -> Root:
        return Root(mount.prefix, JournalFile(inner, mount.prefix), _lock_of(mount), shared=True)


def _lock_of(mount: Mount) -> Callable[[], AbstractContextManager[Any]]:
    """What keeps two kernels from writing to the same place at once."""
    if mount.kind == "disk":
        return lambda: directory_lock(mount.where)
    return (lambda: named_lock(f"store {mount.where}")) if mount.kind == "store" else nullcontext
