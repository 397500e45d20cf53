"""Whether a directory of the disk is as it was, by what its file system keeps of each file; none is read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from deepnb.backends.tree import Folder

GRANULE = 2_000_000_000
"""Nanoseconds in which two changes of a file may bear one time: on FAT two seconds, elsewhere a clock's tick."""

Stamp = tuple[int, ...]


def stamps(folder: Folder, name: str, now: int) -> dict[str, Stamp] | None:
    """Name -> stamp of each entry, and of the file `name` in each directory in here; a link has that of its target, too.

    None while something is so new that its next change could bear the same time. `now` is in nanoseconds
    since 1970. A time set back by hand is seen by the time of the inode (not on Windows, which keeps none).
    """
    found = {"": os.stat(folder.path if folder.fd is None else folder.fd)}
    for entry in os.listdir(folder.path if folder.fd is None else folder.fd):
        with suppress(FileNotFoundError):
            found[entry] = info = _stat(folder, entry)
            if stat.S_ISDIR(info.st_mode):
                inner = os.path.join(entry, name)
                found[inner] = info = _stat(folder, inner)
                if stat.S_ISLNK(info.st_mode):
                    found[os.path.join(inner, "")] = _stat(folder, inner, follow=True)
    if any(max(info.st_mtime_ns, info.st_ctime_ns) > now - GRANULE for info in found.values()):
        return None
    return {path: _stamp(info) for path, info in found.items()}


def _stat(folder: Folder, path: str, *, follow: bool = False) -> os.stat_result:
    if folder.fd is None:
        return os.stat(os.path.join(folder.path, path), follow_symlinks=follow)
    return os.stat(path, dir_fd=folder.fd, follow_symlinks=follow)


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
