"""Where the files of each thread are: its own in its state, and those of memory in the home that it has in common with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deepnb.memory.layers import ALWAYS, LONG_TERM, NOTES
from deepnb.running.current import Current
from deepnb.running.sources import Sources, paths
from deepnb.running.thread import Thread
from deepnb.values.files import ALL_FILES
from deepnb.values.lazy import Memo
from deepnb.values.turn import Snapshot

if TYPE_CHECKING:
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.backends.mounts import Given
    from deepnb.persistence.database import Database
    from deepnb.running.storage import Place, Storage


class Home:
    """The files of the thread that is meant: each memory has a storage of its own, made when it is first needed."""

    def __init__(self, current: Current) -> None:
        self.thread_files: Any = None
        """How the state of the thread that is meant is read and written while no run is going on."""
        self.database: Database | None = None
        self.found: Callable[[str], Mapping[str, Any]] = lambda name: {}
        """Returns the memory that threads of a checkpointer have in their states: path -> FileData."""
        self.place: Callable[[str], Place | None] = self._place
        """Returns where a memory of a name is kept; None if it is in what was passed in as `backend`."""
        self._current = current
        self._storages: dict[str, Storage] = {}
        self._read_only = False
        """Whether files outside of the kernel's state can't be changed here."""
        self._file_texts = Memo(self._texts_in)

    def close(self) -> None:
        for storage in self._storages.values():
            storage.search.close()

    @property
    def storage(self) -> Storage:
        return self.of(self._current.files_thread.home)

    @property
    def backend(self) -> GuardedBackend:
        """The agent's files as a deepagents `BackendProtocol` that also works outside a run."""
        return self.storage.guard

    def of(self, name: str) -> Storage:
        """Return where the files of the threads are that have the memory of this name."""
        if name not in self._storages:
            from deepnb.backends.mounts import given_backend
            from deepnb.running.storage import Storage

            base: Given | Storage
            if name and not self._current.is_apart:
                base = self.of("")
            else:
                options = self._current.options
                given = given_backend(options.backend, options.store, options.assistant_id)
                base = given.read_only if self._read_only else given
            # what was passed in as `backend` has a memory of its own, until it is kept elsewhere
            own = getattr(base, "root", None) is not None and not getattr(base, "state", ())
            own = own and self.database is None and self.place == self._place
            home = None if self._current.is_attached or own else self.place(name)
            self._storages[name] = made = Storage(self._current, self.thread_files, home, base)
            if home is not None and not made.guard.root("/").journal.entries and (held := self.found(name)):
                made.adopt(held)
        return self._storages[name]

    def _place(self, name: str) -> Place:
        from deepnb.running.storage import place_of

        return place_of(self._current.options, self.database, name)

    def share(self, other: Home) -> None:
        """Have the memory of another session, and what it has mounted."""
        self.place = lambda name: other.of(name).home
        self.of("").mount_as(other.of(""))

    def copy(self, other: Home, name: str) -> None:
        """Have a copy of a memory of another session, and what it has mounted to be read only."""
        from deepnb.running.storage import place_in_memory

        self._read_only = True
        self.of("").mount_as(other.of(""), read_only=True)
        if other.of(name).home is not None:
            self.of(name).keep_at(place_in_memory(other.files(name)))

    def files(self, name: str) -> dict[str, Any]:
        from deepagents.backends.utils import create_file_data

        if (home := self.of(name).home) is None:
            return {}
        if home.files is not None:
            return dict(home.files.read())
        below = (m["path"] for m in home.backend.glob(ALL_FILES, "/").matches or ())
        found = home.backend.download_files([path for path in below if self._current.is_guarded(path)])
        texts = {r.path: r.content.decode("utf-8", "replace") for r in found if r.content is not None}
        return {path: create_file_data(text) for path, text in texts.items()}

    def keep_in_database(self, database: Database) -> None:
        """Keep all memory in the store of a database from now on, but for what a directory has."""
        self.of("")
        self.database = database
        for name, storage in () if self._current.is_attached else self._storages.items():
            if storage.kept is None:
                with self._current.on(Thread("", home=name)):
                    storage.move(self._place(name))

    def kept(self, thread: Thread) -> str | None:
        """Return the directory in which a thread's memory is kept from now on; None for the kernel."""
        storage = self._storages.get(thread.home)
        return storage.kept if storage else None

    def put_back(self, thread: Thread, to: Snapshot, note: str) -> Callable[[], None] | None:
        """Make a thread's memory what it was in a state; return what undoes it, None if memory is in the state itself."""
        storage, is_shared = self.of(thread.home), self._current.is_shared
        if storage.in_state:
            return None
        with self._current.on(thread):
            now = self.texts(thread)[0]
            then = {p: text for p, text in to.files.items() if is_shared(p)}
            storage.put_back(then, now, note)

        def undo() -> None:
            with self._current.on(thread):
                storage.put_back(now, then, f"undo of {note}")

        return undo

    @property
    def sources(self) -> Sources:
        storage = self._storages.get(self._current.files_thread.home)
        return storage.sources if storage else ()

    def join(self, sources: Sources) -> tuple[str, ...]:
        """Have memory read from these in the place of those before; return all paths of memory files then."""
        others = {p for one in self._storages.values() if one is not self.storage for p in paths(one.sources)}
        gone = set(paths(self.sources)) - set(paths(sources)) - others
        self.storage.join(sources)
        kept = (path for path in self._current.options.memory if path not in gone)
        return tuple(dict.fromkeys((*kept, *paths(sources))))

    def texts(self, thread: Thread) -> tuple[Mapping[str, str], Mapping[str, int]]:
        """Return (path -> text, path -> bytes of other files) of a thread's memory, where it is not in its state."""
        options = self._current.options
        given = options.backend is not None or options.checkpointer is not None or options.graph is not None
        if thread.home not in self._storages and not given and self.database is None and self.place == self._place:
            return {}, {}  # a memory that nobody has asked for is empty, which is known without importing the engine
        storage = self.of(thread.home)
        home, may_read = storage.home, thread.scope.may_read
        if storage.in_state:
            return {}, {}
        if home is not None and home.files is not None and not storage.mounts and storage.given.root is None:
            return self._file_texts(home.files.read(), thread.scope)
        with self._current.on(thread):
            if home is None or home.directory is not None:
                return storage.texts(filter(may_read, self.memory_paths())), {}
            if home.files is None:
                found = storage.guard.glob(ALL_FILES, "/").matches or ()
                remembered = (m["path"] for m in found if not m.get("is_dir") and self._current.is_guarded(m["path"]))
                return storage.texts(filter(may_read, remembered)), {}
            texts, binary = self._file_texts(home.files.read(), thread.scope)
            texts = {path: text for path, text in texts.items() if storage.in_kernel(path)}
            away = (path for path in self.memory_paths() if may_read(path) and not storage.in_kernel(path))
            return {**texts, **storage.texts(away)}, binary

    def texts_at(self, thread: Thread, checkpoint: str | None) -> Mapping[str, str]:
        """Return path -> text of a thread's memory as a checkpoint saw it, if the checkpointer keeps its versions."""
        home = self.of(thread.home).home
        versions = getattr(home.files, "as_of", None) if home is not None else None
        return self._texts_in(versions(checkpoint), thread.scope)[0] if versions and checkpoint else {}

    def _texts_in(self, files: Mapping[str, Any], scope: Any) -> tuple[Mapping[str, str], Mapping[str, int]]:
        from deepnb.engine.probe import file_texts

        return file_texts({p: data for p, data in files.items() if scope.may_read(p) and self._current.is_guarded(p)})

    def reread(self) -> Mapping[str, str] | None:
        """path -> text of memory now, for a graph of somebody else's that reads it once in a thread; None for any other."""
        options = self._current.options
        if options.graph is None or options.memory_refresh != "thread":
            return None
        found = self.backend.download_files(list(options.memory))
        return {r.path: r.content.decode("utf-8", "replace") for r in found if r.content is not None}

    def memory_paths(self) -> tuple[str, ...]:
        backend = self.backend
        named = list(dict.fromkeys((*self._current.options.memory, *ALWAYS, LONG_TERM)))
        there = [r.path for r in backend.download_files(named) if r.content is not None]
        below = sorted(m["path"] for m in backend.glob(ALL_FILES, NOTES).matches or () if not m.get("is_dir"))
        return tuple(dict.fromkeys((*there, *(p for p in below if p.endswith(".md")))))

    def undoable(self, path: str) -> bool:
        """Return whether what is done to a file or directory can be undone: by going back in the thread, or by the journal."""
        plain = _plain(path)
        return plain is None or self._current.is_guarded(plain) or self.storage.in_kernel(plain)

    def in_kernel(self, path: str) -> bool:
        """Return whether a file or directory is in the kernel's state, memory too."""
        plain = _plain(path)
        return plain is None or self.storage.in_kernel(plain)


def _plain(path: str) -> str | None:
    from deepagents.backends.utils import validate_path

    try:
        return validate_path(path)
    except ValueError:
        return None
