"""The files of some threads: the kernel's state and what is mounted into it, behind the guard."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.backends.chosen_files import ChosenFiles
from deepnb.backends.disk import DiskBackend
from deepnb.backends.given import Given
from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.journal_file import JournalFile
from deepnb.backends.locks import Lock, backend_lock, directory_lock
from deepnb.backends.mounts import Mount, mount_all, mount_prefix, parse_mount
from deepnb.backends.record import Root
from deepnb.backends.split import AttachedFiles, SplitBackend
from deepnb.backends.wrapper import ReadOnlyFiles
from deepnb.backends.writer import writing
from deepnb.core.errors import InvalidError, RefusedError
from deepnb.engine.state_backend import CheckpointFiles, KernelBackend
from deepnb.memory.searching import MemorySearch
from deepnb.running.current import Current
from deepnb.running.paths import Paths
from deepnb.running.sources import SourceMount, Sources

if TYPE_CHECKING:
    from deepnb.persistence.database import Database


class Storage:
    """Builds the backend of a pool's files, and mounts others into it."""

    def __init__(
        self,
        current: Current,
        paths: Paths,
        outside: CheckpointFiles,
        given: Given | None = None,
        *,
        split: SplitBackend | None = None,
    ) -> None:
        """`given` is what was passed in, which others may write into, too; `split` one beside it."""
        given = given or Given()
        self.mounts: dict[str, Mount] = {}
        """All of them by prefix: the user's own, and those of memory sources."""
        self.user_mounts: dict[str, Mount] = dict(given.mounts)
        self._source_mounts: dict[SourceMount, Mount] = {}
        self.kept: str | None = None
        """The directory in which memory, notes, skills and the journal are kept; None for the kernel or a database."""
        self.database: Database | None = None
        """The database in whose store they are kept."""
        self._current, self._paths, self._outside = current, paths, outside
        self._given = given
        kernel, root = KernelBackend(outside), given.root
        self._shared = split is None and root is not None
        self._default: Any = split or root or kernel
        if self._shared and given.state:
            self._default = SplitBackend(self._default, kernel, lambda path: path.startswith(given.state))
        self._stored = stored = None if current.options.graph is None else current.options.graph.stored
        if stored is not None:
            self._default, self._shared = SplitBackend(self._default, stored, paths.is_guarded), True
        if paths.is_attached:
            self._default = AttachedFiles(self._default, paths.refusal)
        self._beside: list[SplitBackend] = []
        self.search = MemorySearch(self._indexed_in, lambda: current.options.embeddings)
        """The index over memory and notes."""
        lock = threading.RLock()
        self._own_lock: Lock = lambda: lock
        self._lock = backend_lock(root) if root and self._shared and not paths.is_attached else self._own_lock
        self.guard = GuardedBackend(self._default, [self._root_of_home()], paths.is_guarded, current.stamp)
        if isinstance(root, ReadOnlyFiles) and root.note:
            self.guard.notices.append(root.note)
        self._rewire()

    def beside(self) -> Storage:
        """One with the same ordinary files, but memory, notes, skills and a journal of its own, in the kernel."""
        split = SplitBackend(self.guard.inner, KernelBackend(self._outside), self._is_remembered)
        self._beside.append(split)
        return Storage(self._current, self._paths, self._outside, self._given, split=split)

    @property
    def is_elsewhere(self) -> bool:
        """Whether any file may be outside of the kernel's state."""
        return bool(self.mounts or self.is_moved or self._given.root)

    def in_kernel(self, path: str) -> bool:
        """Whether a file or directory is in the kernel's state, as far as memory is not kept elsewhere."""
        folder = f"{path.rstrip('/')}/"
        away = any(folder.startswith(prefix) or prefix.startswith(folder) for prefix in self.mounts)
        return not away and (self._given.root is None or folder.startswith(self._given.state))

    def mount(
        self, path: str, spec: str, *, base: Path, store: Any, assistant_id: str | None, whole: bool = False
    ) -> Mount:
        """Put the files below a path on a disk, in a store, or back into the kernel's state."""
        prefix = mount_prefix(path)
        if any(one.prefix == prefix for one in self.sources):
            raise RefusedError(f"memory sources from disk are mounted at {prefix}", "%memory sources remove PATH")
        mount = parse_mount(spec, base=base, store=store, assistant_id=assistant_id, prefix=prefix, whole=whole)
        kept = {p: m for p, m in self.user_mounts.items() if p != prefix}
        self.user_mounts = kept if mount.backend is None else {**kept, prefix: mount}
        self._rewire()
        return mount

    @property
    def sources(self) -> Sources:
        """The files of the disk that are joined in as memory."""
        return tuple(self._source_mounts)

    def join(self, sources: Sources) -> None:
        """Have these files of the disk joined in, and no others; no other file of their directories is seen."""
        if (graph := self._current.options.graph) is not None:
            graph.features.need("mounts")
        self._source_mounts = {one: self._source_mounts.get(one) or _source_mount(one) for one in sources}
        self._rewire()

    def keep(self, directory: Path) -> int:
        """Keep memory, notes, skills and journal in a directory from now on; gives how many files went there.

        What is there already stays, and is joined with what the kernel holds.
        """
        return self._move(DiskBackend(directory, private=True), lambda disk: self._keep_in(directory, disk))

    def keep_in_database(self, database: Database) -> int:
        """Keep memory, notes, skills and journal in a database's store from now on, as `keep` does; not what a directory has."""
        if self.kept is not None or self._paths.is_attached:
            return 0
        store = parse_mount(
            "store", base=Path.cwd(), store=database.store, assistant_id=self._current.options.assistant_id
        )
        return self._move(store.backend, lambda there: self._keep_in_store(database, there))

    def put_back(self, texts: Mapping[str, str], now: Mapping[str, str], note: str) -> None:
        """Make memory, notes and skills what they were, where they are `now`; what is written meanwhile is merged."""
        with writing(note=note):
            for path in sorted({*texts, *now}):
                if path not in texts:
                    self.guard.delete(path)
                elif texts[path] != now.get(path):
                    self.guard.merge(path, texts[path], now.get(path, ""))

    @property
    def is_moved(self) -> bool:
        """Whether memory is not in the kernel's state."""
        return self.kept is not None or self.database is not None or self._stored is not None

    def _move(self, there: Any, settle: Callable[[Any], None]) -> int:
        files = {m["path"] for m in self._default.glob("**/*", "/").matches or () if not m.get("is_dir")}
        texts = {p: self._default.download_files([p])[0].content for p in sorted(files) if self._paths.is_guarded(p)}
        here = [(p, content) for p, content in texts.items() if content is not None]
        old = {r.path for r in there.download_files(list(texts)) if r.content is not None}
        there.upload_files([(p, content) for p, content in here if p not in old])
        both = [(p, content) for p, content in here if p in old]
        log = self.guard.root("/").journal.entries
        settle(there)
        self._rewire(forget_home=True)
        home = self.guard.root("/")
        home.journal.read()
        if not home.journal.entries:
            home.journal.rewrite(log)
        self.guard.upload_files(both)
        return len(texts)

    def join_places(self, other: Storage) -> None:
        """Have the same directories and stores mounted, and memory kept in the same directory, as another session."""
        self.user_mounts, self._source_mounts = dict(other.user_mounts), dict(other._source_mounts)
        if other.kept is not None:
            self._keep_in(Path(other.kept), DiskBackend(Path(other.kept), private=True))
        elif other.database is not None:
            self.keep_in_database(other.database)
        self._rewire(forget_home=other.is_moved)

    def join_read_only(self, other: Storage) -> None:
        """Have the same directories and stores mounted as another session, to be read only."""
        self.user_mounts = {prefix: mount.read_only for prefix, mount in other.user_mounts.items()}
        self._source_mounts = {one: mount.read_only for one, mount in other._source_mounts.items()}
        self._rewire()

    def check_directories(self) -> None:
        """Raise an error where a directory that files are kept in has become something else."""
        for where in filter(None, (self.kept, *(m.where for m in self.mounts.values() if m.kind == "disk"))):
            if os.path.lexists(where) and not os.path.isdir(where):
                raise InvalidError(f"{where} is not a directory any more", "make it one again, or %memory keep DIR")

    def elsewhere(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> text of the files among these that are not in the kernel's state."""
        away = [p for p in paths if self.is_moved or not self.in_kernel(p)]
        found = zip(away, self.guard.download_files(away), strict=True) if away else ()
        texts = {}
        for path, response in found:
            if response.content is not None:
                texts[path] = response.content.decode("utf-8", "replace")
        return texts

    def _keep_in(self, directory: Path, disk: DiskBackend) -> None:
        self._default = SplitBackend(self._default, disk, self._is_remembered)
        self._shared, self.kept = True, str(directory)
        self.search.recalls.keep(self.kept)
        self._lock = lambda: directory_lock(directory)

    def _keep_in_store(self, database: Database, there: Any) -> None:
        self._default = SplitBackend(self._default, there, self._is_remembered)
        self._shared, self.database = True, database
        self._lock = database.lock

    def _rewire(self, *, forget_home: bool = False) -> None:
        self.mounts = {**self.user_mounts, **{m.prefix: m for m in self._source_mounts.values()}}
        inner = mount_all(self._default, self.mounts)
        roots = [self._root_of_home(), *(self._root(m, inner) for m in self.mounts.values())]
        roots += [self._in_state(prefix, JournalFile(inner, prefix), self._own_lock) for prefix in self._given.state]
        self.guard.rewire(inner, roots, forget_home=forget_home)
        for split in self._beside:
            split.inner = inner

    def _indexed_in(self) -> str | None:
        """Where the index is: beside the files, if these are kept on a disk, all of them there."""
        elsewhere = any(prefix.startswith("/memory/") or "/memory/".startswith(prefix) for prefix in self.mounts)
        return None if elsewhere else self.kept

    def _is_remembered(self, path: str) -> bool:
        return self._paths.is_guarded(path) or path.startswith("/.deepnb/")

    def _root_of_home(self) -> Root:
        ours = JournalFile(self._default)
        if self._shared:
            return Root("/", ours, self._held(self._lock), shared=True)
        return self._in_state("/", ours, self._lock)

    def _in_state(self, prefix: str, journal: JournalFile, lock: Lock) -> Root:
        return Root(
            prefix,
            journal,
            self._held(lock),
            shared=False,
            may_save=lambda: self._current.is_idle,
            refresh=self._outside.refresh,
        )

    def _root(self, mount: Mount, inner: Any) -> Root:
        lock = self._held(backend_lock(mount.backend or self._default))
        return Root(mount.prefix, JournalFile(inner, mount.prefix), lock, shared=True)

    def _held(self, lock: Lock) -> Lock:
        """The lock, under which nobody is told: who looked between a write and its entry would take it for another's."""

        @contextmanager
        def held() -> Iterator[None]:
            with self._current.hold(), lock():
                yield

        return held


def _source_mount(source: SourceMount) -> Mount:
    files = ChosenFiles(DiskBackend(source.directory), source.files)
    return Mount(source.prefix, "disk", str(source.directory), files)
