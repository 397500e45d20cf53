"""Which files below a directory of a disk have changed: by the stamp of each, or, of many, by what Linux tells (inotify).

A watch is trusted only where it sees every change: on a local file system, with nothing mounted in the directory and no
file that has a second name. Each doubt is settled by looking at all. Not seen is what a program writes by a mapping of
memory, or by a second name that a file is given elsewhere after it was looked at.
"""

import ctypes
import os
import re
import stat
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepnb.backends.tree import Tree, names

GRANULE = 2_000_000_000
"""Nanoseconds in which two changes of a file may bear one time: on FAT two seconds, elsewhere a clock's tick."""
MANY, EACH = 1_000, 10
"""Files from which on they are watched, and how many a directory has at least, on average: a user has few watches."""
LOCAL = frozenset(["bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"])
"""File systems that no other machine writes to."""
_EVENTS = 0xFCE | 0x1000000 | 0x2000000
"""All that changes a file or a name (IN_MODIFY to IN_MOVE_SELF of sys/inotify.h), of directories that are no links."""
_DIRECTORY = 0x40000000


class Watch:
    """What has happened in some directories since each was added; an OSError where nobody can know."""

    def __init__(self, top: str) -> None:
        if sys.platform != "linux":
            raise OSError("there is no inotify")
        self._top, self._paths = top, dict[int, str]()
        self._place = _place(top)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._queue < 0:
            raise OSError("there are no more watches")

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self._queue)

    def add(self, path: str) -> bool:
        """Watch a directory; return whether that is possible."""
        number = self._libc.inotify_add_watch(self._queue, os.fsencode(path), _EVENTS)
        self._paths[number] = path
        return bool(number >= 0)

    def changed(self) -> set[str] | None:
        """Return the paths at which something has happened since the last call; None where that may be any."""
        found: set[str] = set()
        try:
            while self._place == _place(self._top):
                data = os.read(self._queue, 1 << 16)
                while data:
                    number, what, _, size = struct.unpack_from("iIII", data)
                    name, data = data[16 : 16 + size].rstrip(b"\0"), data[16 + size :]
                    if what & _DIRECTORY or not name:  # of a directory, or the queue was full
                        return None
                    found.add(os.path.join(self._paths[number], os.fsdecode(name)))
        except BlockingIOError:
            return found
        except OSError:
            pass
        return None


def _place(top: str) -> tuple[object, ...]:
    """Return what a directory is, and what is mounted on the way to it; an OSError where others may write to it."""
    found, real = os.stat(top, follow_symlinks=False), os.path.realpath(top)
    mounts = []  # 36 35 98:0 /mnt1 /my\040notes rw,noatime master:1 - ext4 /dev/root rw
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), line.split()[4])
        if point.startswith(f"{real}/"):
            raise OSError("there is another file system in it")
        if f"{real}/".startswith(f"{point.rstrip('/')}/"):
            mounts.append((len(point), line))
    kind = max(mounts)[1].partition(" - ")[2].split()[0]
    if kind not in LOCAL:
        raise OSError(f"{kind} may be written to by other machines")
    return found.st_dev, found.st_ino, real, *mounts


class FileVersions:
    """The stamps of the files below one directory of a tree."""

    def __init__(self, tree: Tree, directory: str) -> None:
        self._tree, self._directory = tree, directory
        self._process, self._lock = os.getpid(), threading.Lock()
        self._found: dict[str, Any] = {}
        self._watch: Watch | None = None
        self._many = False

    def read(self) -> dict[str, Any] | None:
        """Return the stamp of each file and link; None for one so new that its next change could bear the same time.

        The mapping is the same one while it is known that nothing has changed; None if a directory can't be read.
        """
        if self._process != os.getpid():  # what a fork reads of the events the other process would miss
            FileVersions.__init__(self, self._tree, self._directory)
        with self._lock:
            found: dict[str, Any] = {}
            try:
                top = self._tree.folder(names(self._directory, folder=True))
                changed = self._watch.changed() if self._watch else None
                if changed is None or (changed and not self._renew(changed)):
                    self._walk(top, found)
            except OSError as error:
                self._watch = None
                return {} if isinstance(error, FileNotFoundError) and not found else None
            return self._found

    def _renew(self, changed: set[str]) -> bool:
        """Look at these files and the new ones again; return False where that is not enough."""
        base, found = self._tree.path(("",))[:-1], dict(self._found)
        new = {base + path.rstrip("/") for path, stamp in found.items() if stamp is None}
        for path in changed | new:
            for end in ("", "/"):
                found.pop(path[len(base) :] + end, None)
            with suppress(FileNotFoundError):
                info = os.lstat(path)
                if stat.S_ISDIR(info.st_mode) or info.st_nlink > 1:
                    return False
                found[path[len(base) :] + "/" * stat.S_ISLNK(info.st_mode)] = _stamp(info, time.time_ns())
        self._found = found
        return True

    def _walk(self, top: str, found: dict[str, Any]) -> None:
        """Look at all files; where there are many, each directory is watched from before that on."""
        watch, self._watch = None, None
        with suppress(OSError):
            watch = Watch(top) if self._many else None
        todo, cut, now, folders = [top], len(self._tree.path(("",))) - 1, time.time_ns(), 0
        while todo:
            folder, folders = todo.pop(), folders + 1
            if watch is not None and not watch.add(folder):
                watch = None
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                        continue
                    info = entry.stat(follow_symlinks=False)
                    found[entry.path[cut:].replace(os.sep, "/") + "/" * entry.is_symlink()] = _stamp(info, now)
                    if info.st_nlink > 1:
                        watch = None
        self._found, self._watch, self._many = found, watch, len(found) >= max(MANY, EACH * folders)


def _stamp(info: os.stat_result, now: int) -> object:
    found = info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino
    return None if max(found[:2]) > now - GRANULE else found
