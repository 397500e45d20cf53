"""Locks between processes on this machine: one writer at a time in a directory, or on a store.

A lock is a `filelock` on a descriptor we opened ourselves, so that its file is found as `Tree` finds one. The system
lets it go when its holder dies. It belongs to a thread: the same thread may take it again, so hold it in plain code
only, not across an await. A backend has the lock of what its files are in: the directory on a disk, the database file
of a store; a store that does not tell where it is has the lock of its kind, which holds more back than it must.
"""

import os
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from deepagents.backends import CompositeBackend, FilesystemBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol
from filelock import lock_descriptor, unlock_descriptor
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from deepnb.backends.disk import DiskBackend
from deepnb.backends.tree import LOCK, Refused, Tree
from deepnb.backends.wrapper import ChosenFiles, SplitBackend
from deepnb.engine.files import ExactStore
from deepnb.values.errors import BusyError, RefusedError

Lock = Callable[[], AbstractContextManager[Any]]

SECONDS = 10.0
"""How long a lock is waited for."""
_ours: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
"""Locks of what is in this process alone."""


class _Held(threading.local):
    """The locks that this thread holds, by process and file: a forked child holds none of its parent's."""

    def __init__(self) -> None:
        self.keys = set[tuple[int, str]]()


_held = _Held()


def backend_lock(backend: BackendProtocol) -> Lock:
    """Return the lock of all the places that a backend keeps files in."""
    locks = dict(sorted(_locks(backend), key=itemgetter(0))).values()  # in one order, whoever takes them

    @contextmanager
    def hold_all() -> Iterator[None]:
        with ExitStack() as held:
            for lock in locks:
                held.enter_context(lock())
            yield

    return next(iter(locks)) if len(locks) == 1 else hold_all


def store_lock(store: Any) -> Lock:
    """Return the lock of a LangGraph store, or of a checkpointer: `{database}-deepnb.lock` beside an SQLite database."""
    if database := _database(store):
        path = Path(database).resolve()
        return partial(file_lock, path.with_name(f"{path.name}-deepnb.lock"), path.name)
    store = store.store if isinstance(store, ExactStore) else store
    if database == "" or isinstance(store, InMemoryStore | InMemorySaver):
        return process_lock(store)
    return partial(named_lock, f"store {type(store).__module__}.{type(store).__qualname__}")


def directory_lock(root: str | os.PathLike[str], *, seconds: float = SECONDS) -> AbstractContextManager[None]:
    """Hold the lock of a directory, `.deepnb/lock` in it; the directory is made if only it is missing."""
    tree = Tree(root)
    return _lock(tree, LOCK, tree.root.name, seconds)


def file_lock(path: Path, what: str, *, seconds: float = SECONDS) -> AbstractContextManager[None]:
    """Hold the lock that a file of its own stands for; the file is made, its directory is there. `what` names it."""
    return _lock(Tree(path.parent), (path.name,), what, seconds)


def hold_file(path: Path) -> Callable[[], None] | None:
    """Take the lock that a file stands for until what this gives is called, which removes the file; None if another holds it."""
    if (fd := _try_lock(Tree(path.parent), (path.name,))) is None:
        return None
    with suppress(OSError, AttributeError):  # not on Windows
        os.fchmod(fd, 0o600)

    def release() -> None:
        try:
            with suppress(OSError):
                os.unlink(path)
        finally:
            os.close(fd)

    return release


@contextmanager
def named_lock(name: str) -> Iterator[None]:
    """Hold the lock of a name among this user's processes on this machine (those with the same TMPDIR)."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"deepnb-locks-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != user):
            raise Refused("it belongs to another user")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise RefusedError(f"{folder} can't be used ({why})", "set TMPDIR to your own directory") from None
    with _lock(Tree(folder), (f"{sha256(name.encode()).hexdigest()[:32]}.lock",), name, SECONDS):
        yield


@contextmanager
def _lock(tree: Tree, at: tuple[str, ...], what: str, seconds: float) -> Iterator[None]:
    key = (os.getpid(), str(tree.root.joinpath(*at)))
    if key in _held.keys:
        yield
        return
    end, pause = time.monotonic() + seconds, 0.002
    try:
        while (fd := _try_lock(tree, at)) is None:
            if time.monotonic() > end:
                do = "try again, or stop the other kernel that uses it"
                raise BusyError(f"{what!r} has been locked by another process for {seconds:g} s", do)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise RefusedError(f"{what!r} can't be locked ({why})", "check that you can write there") from None
    _held.keys.add(key)
    try:
        yield
    finally:
        _held.keys.discard(key)
        try:
            unlock_descriptor(fd)
        finally:
            os.close(fd)


def _try_lock(tree: Tree, at: tuple[str, ...]) -> int | None:
    """Return a locked descriptor, or None where another holds the lock or the file was replaced meanwhile."""
    fd = tree.open(at, os.O_RDWR | os.O_CREAT)
    try:
        if lock_descriptor(fd, blocking=False):
            with suppress(FileNotFoundError):  # its name is gone: as good as replaced
                if os.path.samestat(os.fstat(fd), tree.look(at)):
                    return fd
            unlock_descriptor(fd)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _locks(backend: BackendProtocol) -> Iterator[tuple[str, Lock]]:
    if isinstance(backend, DiskBackend | FilesystemBackend):
        root = backend.tree.root if isinstance(backend, DiskBackend) else backend.cwd
        yield str(root), partial(directory_lock, root)
    elif isinstance(backend, StoreBackend) and (store := getattr(backend, "_store", None)) is not None:
        yield f"store {_database(store) or id(store)}", store_lock(store)
    elif isinstance(backend, CompositeBackend):
        for part in (backend.default, *backend.routes.values()):
            for name, lock in _locks(part):
                if not os.path.isdir(name) or os.access(name, os.W_OK):  # one that can only be read holds nobody up
                    yield name, lock
    elif isinstance(backend, SplitBackend | ChosenFiles):
        yield from _locks(backend.inner)
        if isinstance(backend, SplitBackend):
            yield from _locks(backend.there)
    else:
        yield f"here {id(backend)}", process_lock(backend)


def _database(store: Any) -> str | None:
    """Return the file of an SQLite store, "" for one in memory; None for other stores, and for one of another thread's."""
    store = store.store if isinstance(store, ExactStore) else store
    connection = getattr(store, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        with suppress(sqlite3.Error):
            return next((str(row[2]) for row in connection.execute("PRAGMA database_list") if row[1] == "main"), "")
    return None


def process_lock(key: Any) -> Lock:
    lock = _ours.setdefault(key, threading.RLock())
    return lambda: lock
