"""Which lock keeps two kernels from writing to the same backend at once.

It is found by what the files are in, so that two kernels which came to it by different ways agree: the
directory on a disk, the database file of a store. A store that does not tell where it is has the lock
of its kind, which holds more back than it must. All of them are locks on this machine: for a store or a
directory that several machines write to, one must be found that they share.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from deepagents.backends import CompositeBackend, FilesystemBackend, StoreBackend
from deepagents.backends.protocol import BackendProtocol
from langgraph.store.memory import InMemoryStore

from deepnb.backends.disk import DiskBackend
from deepnb.backends.locks import directory_lock, file_lock, named_lock
from deepnb.backends.split import NoFiles, SplitBackend
from deepnb.backends.stores import ExactStore

Lock = Callable[[], AbstractContextManager[Any]]

_ours: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
"""Locks of what is in this process alone."""


def lock_of(backend: BackendProtocol) -> Lock:
    """The lock of all the places that a backend keeps files in."""
    locks = dict(sorted(_locks(backend), key=itemgetter(0)))  # in one order, whoever takes them
    if len(locks) == 1:
        return next(iter(locks.values()))
    return lambda: _all(tuple(locks.values()))


def store_lock(store: Any) -> Lock:
    """The lock of a LangGraph store: `{database}-deepnb.lock` beside an SQLite database."""
    store = store.store if isinstance(store, ExactStore) else store
    database = _database(store)
    if database:
        path = Path(database).resolve()
        return lambda: file_lock(path.with_name(f"{path.name}-deepnb.lock"), path.name)
    if database == "" or isinstance(store, InMemoryStore):
        return _in_process(store)
    kind = f"{type(store).__module__}.{type(store).__qualname__}"
    return lambda: named_lock(f"store {kind}")


def _locks(backend: BackendProtocol) -> Iterator[tuple[str, Lock]]:
    """(name, lock) of each place."""
    if isinstance(backend, DiskBackend):
        root = backend.tree.root
        yield str(root), lambda: directory_lock(root)
    elif isinstance(backend, FilesystemBackend):
        cwd = backend.cwd
        yield str(cwd), lambda: directory_lock(cwd)
    elif isinstance(backend, StoreBackend) and (store := getattr(backend, "_store", None)) is not None:
        yield f"store {_database(store) or id(store)}", store_lock(store)
    elif isinstance(backend, CompositeBackend):
        for part in (backend.default, *backend.routes.values()):
            yield from (found for found in _locks(part) if _writable(found[0]))
    elif isinstance(backend, SplitBackend):
        yield from _locks(backend.here)
        yield from _locks(backend.there)
    elif not isinstance(backend, NoFiles):
        yield f"here {id(backend)}", _in_process(backend)


def _writable(name: str) -> bool:
    """Whether a part of several is to be locked; a directory that can only be read holds nobody up."""
    return not os.path.isdir(name) or os.access(name, os.W_OK)


def _database(store: Any) -> str | None:
    """The file of an SQLite store, "" for one in memory; None for other stores, and for one of another thread's."""
    store = store.store if isinstance(store, ExactStore) else store
    connection = getattr(store, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        with suppress(sqlite3.Error):
            return next((str(row[2]) for row in connection.execute("PRAGMA database_list") if row[1] == "main"), "")
    return None


def _in_process(key: Any) -> Lock:
    lock = _ours.setdefault(key, threading.RLock())
    return lambda: lock


@contextmanager
def _all(locks: tuple[Lock, ...]) -> Iterator[None]:
    with ExitStack() as held:
        for lock in locks:
            held.enter_context(lock())
        yield
