"""A directory of the disk by what its file system keeps of each file: whether it is as it was, what is not to be read."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from deepnb.backends.tree import Folder, unfit
from deepnb.engine.file_extras import SkippedEntries

GRANULE = 2_000_000_000
"""Nanoseconds in which two changes of a file may bear one time: on FAT two seconds, elsewhere a clock's tick."""

Stamp = tuple[int, ...]
"""Device, inode, mode, size, and the times of the content and of the inode; of a link, and then of its target."""


def stamps(folder: Folder, name: str, now: int) -> dict[str, Stamp] | None:
    """Name -> stamp of each entry: of a directory, that of the file `name` in it, if there is one.

    None while something is so new that its next change could bear the same time. `now` is in nanoseconds
    since 1970. A time set back by hand is seen by the time of the inode (not on Windows, which keeps none).
    """
    here: str | int = folder.path if folder.fd is None else folder.fd
    found = {"": _stamp(os.stat(here))}
    with os.scandir(here) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                found[entry.name] = _entry(folder, entry, name)
    if any(max(stamp[4:6] + stamp[10:12]) > now - GRANULE for stamp in found.values()):
        return None
    return found


def _entry(folder: Folder, entry: os.DirEntry[str], name: str) -> Stamp:
    if entry.is_dir(follow_symlinks=False):
        inner = f"{entry.name}/{name}"
        with suppress(FileNotFoundError):
            info = _stat(folder, inner)
            return _stamp(info) + (_stamp(_stat(folder, inner, follow=True)) if stat.S_ISLNK(info.st_mode) else ())
    return _stamp(_stat(folder, entry.name))


def _stat(folder: Folder, path: str, *, follow: bool = False) -> os.stat_result:
    if folder.fd is None:
        return os.stat(f"{folder.path}/{path}", follow_symlinks=follow)
    return os.stat(path, dir_fd=folder.fd, follow_symlinks=follow)


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def skipped_entries(base: Path, name: str, most: int) -> SkippedEntries:
    """As `deepnb.engine.file_extras` says, of a directory that no link leads to."""
    found: SkippedEntries = {}
    with os.scandir(base) as entries:
        for entry in entries:
            if unfit(entry.name):
                continue
            with suppress(OSError):
                if entry.is_symlink():
                    if not os.path.isfile(entry.path):
                        inside = _inside(base, entry.path)
                        found[entry.name] = ("link", inside) if inside else ("link out", "")
                elif entry.is_dir(follow_symlinks=False):
                    file = os.path.join(entry.path, name)
                    if os.path.islink(file) and unfit(os.readlink(file)):
                        found[entry.name] = ("file link", "")
                    elif (size := os.stat(file).st_size) > most:
                        found[entry.name] = ("large", size)
    return found


def _inside(base: Path, link: str) -> str:
    """The path below `base` that a link leads to; empty where it leads elsewhere, or nowhere."""
    to = Path(os.path.realpath(link))
    return to.relative_to(base).as_posix() if to != base and to.is_relative_to(base) and to.exists() else ""
