"""Where the files of each thread are, and which thread's are meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from deepnb.core.merge import Conflict
from deepnb.core.values import Snapshot
from deepnb.memory.layers import ALWAYS, NOTES
from deepnb.memory.scope import LONG_TERM
from deepnb.running.current import Current
from deepnb.running.paths import Paths
from deepnb.running.sources import Sources, paths
from deepnb.running.thread import Pool, Thread

if TYPE_CHECKING:
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.engine.state_backend import CheckpointFiles
    from deepnb.persistence.database import Database
    from deepnb.running.storage import Storage


class Home:
    """The files of the thread that is meant: each pool has a storage of its own, made when it is first needed."""

    def __init__(self, current: Current) -> None:
        self.paths = Paths(current)
        self.thread_files: CheckpointFiles | None = None
        """How the kernel's state is read and written while no run is going on."""
        self._current = current
        self._common = current.thread.pool
        self._storages: dict[Pool, Storage] = {}
        self._read_only = False
        """Whether files outside of the kernel's state can't be changed here."""

    def close(self) -> None:
        """Close the indexes over memory."""
        for storage in self._storages.values():
            storage.search.close()

    @property
    def storage(self) -> Storage:
        """Where the files of the thread that is meant are, and what is mounted into them."""
        return self._of(self._current.files_thread.pool)

    @property
    def backend(self) -> GuardedBackend:
        """The agent's files as a deepagents `BackendProtocol` that also works outside a run."""
        return self.storage.guard

    def _of(self, pool: Pool) -> Storage:
        """Where the files of a pool are: those of the session, or beside them."""
        if pool not in self._storages:
            from deepnb.running.storage import Storage

            assert self.thread_files is not None  # the workspace has tied it
            if pool is self._common:
                from deepnb.backends.given import given_backend

                options = self._current.options
                given = given_backend(options.backend, options.store, options.assistant_id)
                given = given.read_only if self._read_only else given
                made = Storage(self._current, self.paths, self.thread_files, given)
            else:
                made = self._of(self._common).beside()
            self._storages[pool] = made
        return self._storages[pool]

    def join_places(self, other: Home) -> None:
        """Have the same directories and stores in the same places as another session has."""
        self._of(self._common).join_places(other._of(other._common))

    def join_read_only(self, other: Home) -> None:
        """Have the same files as another session has, those outside of the kernel to be read only, and memory in it."""
        self._read_only = True
        self._of(self._common).join_read_only(other._of(other._common))

    def moved_memory(self, pool: Pool) -> dict[str, str] | None:
        """path -> text of a pool's memory, notes, skills and subagents; None where they are in the kernel's state."""
        if (storage := self._storages.get(pool)) is None or not storage.is_moved:
            return None
        with self._current.on(Thread("", pool=pool)):
            mounted = tuple(storage.mounts)
            return storage.elsewhere(p for p in self._remembered(storage) if not p.startswith(mounted))

    def keep_in_database(self, database: Database) -> None:
        """Keep the memory that threads have in common in a database's store from now on, whichever thread is current."""
        with self._current.on(Thread("", pool=self._common)):
            self._of(self._common).keep_in_database(database)

    def kept(self, thread: Thread) -> str | None:
        """The directory in which a thread's memory is kept from now on; None for the kernel."""
        storage = self._storages.get(thread.pool)
        return storage.kept if storage else None

    def newest(self, pool: Pool, path: str, text: str | None) -> str | None:
        """A text of a file of a pool, or the one that was written in its place in this run."""
        storage = self._storages.get(pool)
        return storage.guard.newest(path, text) if storage else text

    def disagree(self, pool: Pool, path: str, conflicts: tuple[Conflict, ...]) -> None:
        """Two threads changed the same lines of a file of their pool, which has both texts: the journal is to name it."""
        if storage := self._storages.get(pool):
            storage.guard.disagree(path, conflicts)

    def put_back(self, thread: Thread, to: Snapshot, note: str) -> Callable[[], None] | None:
        """Make a thread's memory what it was in a state, where it is kept outside the kernel's; gives what undoes it.

        None where it is in the kernel's state.
        """
        if (storage := self._storages.get(thread.pool)) is None or not storage.is_moved:
            return None
        is_shared = self.paths.shared()
        with self._current.on(thread):
            paths = self._remembered(storage)
            now = storage.elsewhere(paths)
            then = {p: text for p, text in to.files.items() if is_shared(p)}
            storage.put_back(then, now, note)

        def undo() -> None:
            with self._current.on(thread):
                storage.put_back(now, then, f"undo of {note}")

        return undo

    def _remembered(self, storage: Storage) -> list[str]:
        """The paths of memory, notes, skills and subagents."""
        found = storage.guard.glob("**/*", "/").matches or ()
        return [m["path"] for m in found if not m.get("is_dir") and self.paths.is_guarded(m["path"])]

    @property
    def sources(self) -> Sources:
        """The files of the disk that are joined in as memory, where the thread's files are that are meant."""
        storage = self._storages.get(self._current.files_thread.pool)
        return storage.sources if storage else ()

    def join(self, sources: Sources) -> tuple[str, ...]:
        """Have memory read from these, in the place of those joined in before; gives all paths of memory files then.

        A path that is joined in where threads have another memory stays one.
        """
        others = {p for one in self._storages.values() if one is not self.storage for p in paths(one.sources)}
        gone = set(paths(self.sources)) - set(paths(sources)) - others
        self.storage.join(sources)
        kept = (path for path in self._current.options.memory if path not in gone)
        return tuple(dict.fromkeys((*kept, *paths(sources))))

    def elsewhere(self, thread: Thread) -> Mapping[str, str]:
        """path -> text of the thread's memory files that are not in the kernel's state."""
        storage = self._storages.get(thread.pool)
        if storage is None or not storage.is_elsewhere:
            return {}
        with self._current.on(thread):
            paths = self._remembered(storage) if storage.database else self.memory_paths()
            return storage.elsewhere(filter(thread.scope.may_read, paths))

    def reread(self) -> Mapping[str, str] | None:
        """path -> text of memory now, for a graph of somebody else's that reads it once in a thread; None for any other."""
        options = self._current.options
        if options.graph is None or options.memory_refresh != "thread":
            return None
        found = self.backend.download_files(list(options.memory))
        return {r.path: r.content.decode("utf-8", "replace") for r in found if r.content is not None}

    def memory_paths(self) -> tuple[str, ...]:
        """The memory files and notes that exist."""
        backend = self.backend
        named = list(dict.fromkeys((*self._current.options.memory, *ALWAYS, LONG_TERM)))
        there = [r.path for r in backend.download_files(named) if r.content is not None]
        below = sorted(m["path"] for m in backend.glob("**/*", NOTES).matches or () if not m.get("is_dir"))
        return tuple(dict.fromkeys((*there, *(p for p in below if p.endswith(".md")))))

    def undoable(self, path: str) -> bool:
        """Whether what is done to a file or directory can be undone: by going back in the thread, or by the journal."""
        plain = _plain(path)
        return plain is None or self.paths.is_guarded(plain) or self.storage.in_kernel(plain)

    def in_kernel(self, path: str) -> bool:
        """Whether a file or directory is in the kernel's state, memory too."""
        plain = _plain(path)
        return plain is None or self.storage.in_kernel(plain)


def _plain(path: str) -> str | None:
    """What the file tools make of a path; None for one that they refuse."""
    from deepagents.backends.utils import validate_path

    try:
        return validate_path(path)
    except ValueError:
        return None
