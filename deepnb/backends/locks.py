"""Locks between processes: one writer at a time in a directory, or on a store.

A lock is a `filelock` on a descriptor we opened ourselves, so that its file is found by the safe
walk. The system lets it go when its holder dies. It belongs to a thread: the same thread may take
it again, so hold it in plain code only, not across an await.
"""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from deepnb.backends.tree import LOCK, Refused, Tree
from deepnb.core.errors import DeepnbError

SECONDS = 10.0
"""How long a lock is waited for."""


class _Held(threading.local):
    """How often this thread holds each lock; a forked child holds none of its parent's."""

    def __init__(self) -> None:
        self.depth: dict[tuple[int, str], int] = {}


_held = _Held()


@contextmanager
def directory_lock(root: str | os.PathLike[str], *, seconds: float = SECONDS) -> Iterator[None]:
    """Hold the lock of a directory, `.deepnb/lock` in it; the directory is made if only it is missing."""
    tree = Tree(root)
    with _lock(tree, LOCK, tree.root.name, seconds):
        yield


@contextmanager
def file_lock(path: Path, what: str, *, seconds: float = SECONDS) -> Iterator[None]:
    """Hold the lock that a file of its own stands for; the file is made, its directory is there. `what` names it."""
    with _lock(Tree(path.parent), (path.name,), what, seconds):
        yield


@contextmanager
def named_lock(name: str, *, seconds: float = SECONDS) -> Iterator[None]:
    """Hold the lock of a name among this user's processes on this machine (those with the same TMPDIR)."""
    with _lock(Tree(_own_folder()), (f"{sha256(name.encode()).hexdigest()[:32]}.lock",), name, seconds):
        yield


@contextmanager
def _lock(tree: Tree, at: tuple[str, ...], what: str, seconds: float) -> Iterator[None]:
    key = (os.getpid(), str(tree.root.joinpath(*at)))
    if _held.depth.get(key):
        _held.depth[key] += 1
        try:
            yield
        finally:
            _held.depth[key] -= 1
        return
    fd = _acquired(tree, at, what, seconds)
    _held.depth[key] = 1
    try:
        yield
    finally:
        del _held.depth[key]
        try:
            unlock_descriptor(fd)
        finally:
            os.close(fd)


def _acquired(tree: Tree, at: tuple[str, ...], what: str, seconds: float) -> int:
    """A locked descriptor of the file that is under these names now."""
    end, pause = time.monotonic() + seconds, 0.002
    while True:
        try:
            fd = _tried(tree, at)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise DeepnbError(f"{what!r} can't be locked ({why})", "see that you may write there") from None
        if fd is not None:
            return fd
        if time.monotonic() > end:
            raise DeepnbError(
                f"{what!r} has been locked by another process for {seconds:g} s",
                "try again, or end the other kernel that works on it",
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def _tried(tree: Tree, at: tuple[str, ...]) -> int | None:
    """A locked descriptor, or None where another holds the lock or the file was replaced meanwhile."""
    with tree.folder(at[:-1], create=True) as folder:
        fd = folder.ours(at[-1])
        try:
            if lock_descriptor(fd, blocking=False):
                with suppress(FileNotFoundError):  # its name is gone: as good as replaced
                    if os.path.samestat(os.fstat(fd), folder.look(at[-1])):
                        return fd
                unlock_descriptor(fd)
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        return None


def _own_folder() -> Path:
    """A directory for locks that only this user can write to."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"deepnb-locks-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != user):
            raise Refused("it is someone else's")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DeepnbError(f"{folder} can't be used ({why})", "set TMPDIR to a directory of your own") from None
    return folder
