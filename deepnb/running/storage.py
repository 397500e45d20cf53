"""The files of some threads: the state of each, the home of their memory, and what is mounted, behind the guard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import file_data_to_string
from langgraph.store.memory import InMemoryStore

from deepnb.backends.disk import DiskBackend
from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.journal import JournalFile
from deepnb.backends.locks import Lock, backend_lock, directory_lock, process_lock, store_lock
from deepnb.backends.memory_store import label
from deepnb.backends.merge import merge
from deepnb.backends.mounts import Given, Mount, mount_all, mount_prefix, parse_mount
from deepnb.backends.record import Root
from deepnb.backends.wrapper import ChosenFiles, ReadOnlyFiles, SplitBackend, WrapperBackend, store_backend
from deepnb.backends.writer import writing
from deepnb.engine.files import ExactStore
from deepnb.engine.state_backend import CheckpointFiles, FilesInMemory, HomeBackend, KernelBackend
from deepnb.memory.searching import MemorySearch
from deepnb.persistence.database import Database
from deepnb.running.current import Current
from deepnb.running.sources import SourceMount, Sources
from deepnb.values.errors import RefusedError
from deepnb.values.files import ALL_FILES
from deepnb.values.lazy import nothing
from deepnb.wiring.options import Options


@dataclass(frozen=True)
class Place:
    """Where memory, notes, skills and their journal are kept: their one home, whichever thread reads or writes them."""

    backend: BackendProtocol
    lock: Lock
    files: CheckpointFiles | None = None
    directory: str | None = None


def place_in_memory(files: Mapping[str, Any] | None = None) -> Place:
    """Return a place in this process, which holds these files: path -> FileData."""
    held = FilesInMemory(files)
    return Place(HomeBackend(held), process_lock(held), held)


def place_of(options: Options, database: Database | None, name: str) -> Place:
    """Return where a session keeps memory that has no directory; `name` is that of a thread with a memory of its own."""
    if database is not None:
        space = ((options.assistant_id,) if options.assistant_id else ()) + ("filesystem",)
        own = (*space, "threads", label(name)) if name else space
        return Place(DatabaseFiles(database, own), database.lock)
    if options.checkpointer is not None:
        from deepnb.engine.checkpoints import HomeThread

        held = HomeThread(options.checkpointer, name)
        return Place(HomeBackend(held), store_lock(options.checkpointer), held)
    return place_in_memory()


class DatabaseFiles(WrapperBackend):
    def __init__(self, database: Database, namespace: tuple[str, ...]) -> None:
        super().__init__(store_backend(ExactStore(database.store), namespace))
        self._database, self._namespace = database, namespace
        self._versions: tuple[object, dict[str, Mapping[str, Any]]] = (None, {})

    def file_versions(self, directory: str) -> Mapping[str, Any]:
        """Return the versions; the same mapping while nobody has written to the store."""
        if self._versions[0] != (changes := self._database.changes()):
            self._versions = changes, {}
        versions = self._versions[1]
        if directory not in versions:
            versions[directory] = self._database.file_versions(self._namespace, directory)
        return versions[directory]


class Storage:
    """Builds the backend that some threads have their files behind, and mounts others into it."""

    def __init__(self, current: Current, state: Any, home: Place | None, base: Given | Storage) -> None:
        """`state` is a `ThreadFiles` of the workspace; without a `home` memory is among them, or in `base`. `base` is
        what was passed in as `backend`, or the storage beside which this one has a home of its own."""
        self.home = home
        self.mounts: dict[str, Mount] = {}
        self.given = given = base if isinstance(base, Given) else Given()
        self.user_mounts: dict[str, Mount] = dict(given.mounts)
        self._source_mounts: dict[SourceMount, Mount] = {}
        self._current, self._state = current, state
        self._main = base if isinstance(base, Storage) else None
        self._dependent: list[Storage] = []
        if self._main is not None:
            self._main._dependent.append(self)
        kernel, root = KernelBackend(state, state.whole), given.root
        self._base: Any = root or kernel
        if root is not None and given.state:
            self._base = SplitBackend(root, kernel, lambda path: path.startswith(given.state))
        stored = None if current.options.graph is None else current.options.graph.stored
        if stored is not None:
            self._base = SplitBackend(self._base, stored, current.is_guarded)
        if current.is_attached:
            records = store_backend(InMemoryStore(), ("deepnb",))  # they stay in this process
            self._base = SplitBackend(self._base, records, lambda path: path.startswith("/.deepnb/"), current.refusal)
        self.in_state = current.is_attached and stored is None and root is None
        """Whether memory is in the state of the thread that is meant: that of somebody else's graph."""
        self._lock: Lock = backend_lock(root) if root and not current.is_attached else process_lock(self)

        def indexed_in() -> str | None:  # the directory of the files, where all of them are there
            elsewhere = any(one.startswith("/memory/") or "/memory/".startswith(one) for one in self.mounts)
            return None if elsewhere else self.kept

        self.search = MemorySearch(indexed_in, lambda: (current.options.embeddings, current.options.namespace))
        self.guard = GuardedBackend(
            self._default, [self._root_of_home()], current.is_guarded, current.stamp, current.tell
        )
        if isinstance(root, ReadOnlyFiles) and root.note:
            self.guard.notices.append(root.note)
        self._rewire()

    @property
    def kept(self) -> str | None:
        return self.home.directory if self.home else None

    def in_kernel(self, path: str) -> bool:
        """Return whether a file or directory is in the kernel's state, as far as memory is not kept elsewhere."""
        folder = f"{path.rstrip('/')}/"
        away = any(folder.startswith(prefix) or prefix.startswith(folder) for prefix in self.mounts)
        given = self.given.root is None or folder.startswith(self.given.state)
        return not away and given and (self._main is None or self._main.in_kernel(path))

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
        return tuple(self._source_mounts)

    def join(self, sources: Sources) -> None:
        """Have these files of the disk joined in, and no others; no other file of their directories is seen."""
        if (graph := self._current.options.graph) is not None:
            graph.features.need("mounts")
        self._source_mounts = {
            one: self._source_mounts.get(one)
            or Mount(one.prefix, "disk", str(one.directory), ChosenFiles(DiskBackend(one.directory), one.files))
            for one in sources
        }
        self._rewire()

    def mount_as(self, other: Storage, *, read_only: bool = False) -> None:
        """Have the same directories and stores mounted as another session."""
        users, sources = other.user_mounts, other._source_mounts
        self.user_mounts = {prefix: one.read_only if read_only else one for prefix, one in users.items()}
        self._source_mounts = {source: one.read_only if read_only else one for source, one in sources.items()}
        self._rewire()

    def keep(self, directory: Path) -> int:
        """Keep memory in a directory from now on, joined with what is there; return how many files went there."""
        lock = partial(directory_lock, directory)
        return self.move(Place(DiskBackend(directory, private=True), lock, directory=str(directory)))

    def move(self, home: Place) -> int:
        """Keep memory at another place from now on, with what is there already; return how many files went there."""
        there = home.backend
        files = {m["path"] for m in self._default.glob(ALL_FILES, "/").matches or () if not m.get("is_dir")}
        texts = {p: self._default.download_files([p])[0].content for p in sorted(files) if self._current.is_guarded(p)}
        here = [(p, content) for p, content in texts.items() if content is not None]
        old = {r.path for r in there.download_files(list(texts)) if r.content is not None}
        there.upload_files([(p, content) for p, content in here if p not in old])
        both = [(p, content) for p, content in here if p in old]
        log = self.guard.root("/").journal.entries
        self.keep_at(home)
        journal = self.guard.root("/").journal
        journal.read()
        if not journal.entries:
            journal.rewrite(log)
        self.guard.upload_files(both)
        return len(texts)

    def keep_at(self, home: Place) -> None:
        self.home = home
        self._rewire(forget_home=True)

    def adopt(self, files: Mapping[str, Any]) -> None:
        """Take these files for what is in the home, with their journal: path -> FileData."""
        assert self.home is not None
        with self.home.lock():
            if self.home.files is not None:
                self.home.files.write(files)
            else:
                texts = ((path, file_data_to_string(data).encode()) for path, data in files.items())
                self.home.backend.upload_files(list(texts))
        self.guard.root("/").journal.read()

    def put_back(self, texts: Mapping[str, str], now: Mapping[str, str], note: str) -> None:
        """Make memory, notes and skills what they were, where they are `now`; what is written meanwhile is merged."""
        with writing(note=note):
            for path in sorted({*texts, *now}):
                if path not in texts:
                    self.guard.delete(path)
                elif texts[path] != now.get(path):
                    before, there = now.get(path, ""), self.texts([path]).get(path)
                    since = None if there is None else merge(before, texts[path], there)
                    if since is None or since.conflicts:
                        self.guard.merge(path, texts[path], before)
                    else:  # what came since stands behind what was there
                        self.guard.merge(path, since.text, there)

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        asked = list(paths)
        found = zip(asked, self.guard.download_files(asked), strict=True) if asked else ()
        return {p: r.content.decode("utf-8", "replace") for p, r in found if r.content is not None}

    @property
    def _default(self) -> Any:
        base = self._base if self._main is None else self._main.guard.inner
        if self.home is None:
            return base
        is_guarded, whole, state = self._current.is_guarded, self._has_all, self.given.state

        def is_home(path: str) -> bool:
            return (whole or path.startswith(state)) and (path.startswith("/.deepnb/") or is_guarded(path))

        return SplitBackend(base, self.home.backend, is_home)

    @property
    def _has_all(self) -> bool:
        """Whether all of memory is in the home: what was passed in as `backend` has its own, until it is kept elsewhere."""
        return self.home is not None and (self.home.files is None or self.given.root is None)

    def _rewire(self, *, forget_home: bool = False) -> None:
        self.mounts = {**self.user_mounts, **{m.prefix: m for m in self._source_mounts.values()}}
        inner = mount_all(self._default, self.mounts)
        roots = [self._root_of_home()]
        for mount in self.mounts.values():
            lock = self._held(backend_lock(mount.backend or self._default))
            roots.append(Root(mount.prefix, JournalFile(inner, mount.prefix), lock))
        own = self._held(self.home.lock if self.home else self._lock)
        roots += [Root(prefix, JournalFile(inner, prefix), own) for prefix in self.given.state]
        self.guard.rewire(inner, roots, forget_home=forget_home)
        for one in self._dependent:
            one._rewire()

    def _root_of_home(self) -> Root:
        lock = self.home.lock if self.home is not None and self._has_all else self._lock
        seen = self._state.refresh if self.in_state else nothing
        return Root("/", JournalFile(self._default), self._held(lock), self.in_state, seen)

    def _held(self, lock: Lock) -> Lock:
        """Return the lock, under which nobody is told: who looked between a write and its entry would take it for another's."""

        @contextmanager
        def held() -> Iterator[None]:
            with self._current.hold(), lock():
                yield

        return held
