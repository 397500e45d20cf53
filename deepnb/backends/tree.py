"""A directory on disk that no path leads out of.

A path is looked at name by name, and a link on the way is refused. Then its directory is opened, and counted up
from there the root must be met again: what a link led to that was swapped in meanwhile is not used. A file is opened
in that directory, through no link. Links are not served at all, not even those that point inside: one file has one
path. Where the system has no `dir_fd` (Windows) a moment remains between the look and the use.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from deepnb.engine.file_extras import SkippedEntries

DEPTH = 100
"""Most names in one path; deeper trees are not served."""
TEMPORARY = ".deepnb-part-"
"""What the name of a file begins with while it is being written."""
HELD = hasattr(os, "O_NOFOLLOW") and os.open in os.supports_dir_fd
"""Whether directories are held by descriptor."""

Names = tuple[str, ...]

PRIVATE = frozenset((".deepnb", "conversation_history", "large_tool_results"))
"""Directories that hold what was said: made for their owner alone, and so is all in them."""

LOCK: Names = (".deepnb", "lock")
"""The file that processes agree by (`locks.directory_lock`): replacing it would break the agreement."""

GRANULE = 2_000_000_000
"""Nanoseconds in which two changes of a file may bear one time: on FAT two seconds, elsewhere a clock's tick."""

Stamp = tuple[int, ...]
"""Device, inode, mode, size, and the times of the content and of the inode; of a link, and then of its target."""

_FILE = sum(
    {getattr(os, f, 0) for f in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")}
)
_FOLDER = sum({getattr(os, f, 0) for f in ("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")})
_LINKS = (errno.ELOOP, errno.EMLINK)
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


class Refused(OSError):
    """A path that is not served; `strerror` says why."""

    def __init__(self, why: str = "links are not followed") -> None:
        super().__init__(errno.EINVAL, why)


def names(path: str, *, folder: bool = False) -> Names:
    """Return the names along a virtual path; () is the directory itself. A path with two spellings is refused."""
    if not path.startswith("/"):
        raise Refused("a path begins with /")
    if path == "/":
        return ()
    parts = path[1:].split("/")
    if folder and parts[-1] == "":
        parts.pop()
    for part in parts:
        if why := unfit(part):
            raise Refused(why)
    if len(parts) > DEPTH:
        raise Refused(f"it has more than {DEPTH} names")
    return tuple(parts)


def unfit(name: str, *, windows: bool = os.name == "nt") -> str | None:
    """Return why a name is not served; None for one that is."""
    if name in ("", ".", ".."):
        return f"a path has no {name!r} in it" if name else "it has an empty name"
    if name.startswith("~"):
        return "a name does not begin with ~"
    if "\\" in name or "/" in name or any(map(is_control, name)):
        return "it has a character that is not served"
    if name.startswith(TEMPORARY):
        return "files being written are not served"
    if windows and (set(name) & set('<>:"|?*') or name[-1] in ". " or name.split(".")[0].rstrip().lower() in _DEVICES):
        return "it is not a name on Windows"
    return None


def is_control(char: str) -> bool:
    """Return whether a character is a control character, ends a line, or stands for a byte that is no text."""
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


class Folder(NamedTuple):
    """An open directory: its descriptor where there are `dir_fd`s, else its path."""

    path: str
    fd: int | None
    private: bool
    """Whether what is made in it is its owner's alone."""

    def at(self, name: str) -> str:
        """Return the path of an entry, to be used with `dir_fd=self.fd`."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def stat(self, name: str, *, follow: bool = False) -> os.stat_result:
        """Return what is there under a name."""
        return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=follow)

    def scan(self) -> Any:
        """Return the entries, as `os.scandir` does."""
        return os.scandir(self.path if self.fd is None else self.fd)

    def open(self, name: str, flags: int) -> int:
        """Open a regular file, not through a link; never wait for a pipe's other end."""
        try:
            fd = os.open(self.at(name), flags | _FILE, 0o600 if self.private else 0o666, dir_fd=self.fd)
        except OSError as error:
            raise Refused() if error.errno in _LINKS else error from None
        try:
            _regular(os.fstat(fd))
        except BaseException:
            os.close(fd)
            raise
        return fd

    def open_existing(self, name: str, flags: int) -> int:
        """Open a file that is there. A link to a file beside it (`AGENTS.md -> CLAUDE.md`) is read as that file."""
        if _is_link(self.stat(name)):
            target = os.readlink(self.at(name), dir_fd=self.fd)
            if unfit(target):
                raise Refused()
            if flags & (os.O_WRONLY | os.O_RDWR):
                raise Refused(f"it is a link to {target}, which is only read here")
            name = target
        _regular(_look(self.at(name), self.fd))
        return self.open(name, flags)


class Tree:
    """All below one directory. The directory itself may be named through links, and may be missing.

    Operations raise OSError, `Refused` among them, with a `strerror` that names no path of this machine.
    """

    def __init__(self, root: str | os.PathLike[str], *, private: bool = False) -> None:
        """What is made in a `private` one is its owner's alone; in any other that holds for what deepnb keeps there."""
        self.root = Path(root).expanduser().resolve()
        self._root = str(self.root)  # joined at each operation: a Path takes half as long again
        self.private = private

    def look(self, at: Names) -> os.stat_result:
        """Return what is there: a regular file or a directory, else it is refused, as is a link on the way."""
        path = self._root
        found = os.stat(path, follow_symlinks=False)
        if _is_link(found):
            raise Refused()
        for name in at:
            path = os.path.join(path, name)
            found = _look(path)
        if not stat.S_ISDIR(found.st_mode):
            _regular(found)
        return found

    @contextmanager
    def folder(self, at: Names, *, create: bool = False) -> Iterator[Folder]:
        """Open the directory under these names."""
        path, private = os.path.join(self._root, *at), self.private or not PRIVATE.isdisjoint(at)
        try:
            found = self.look(at)
        except FileNotFoundError:
            if not create:
                raise
            self._make(at)
            found = self.look(at)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not HELD:
            yield Folder(path, None, private)
            return
        fd = os.open(path, _FOLDER)
        try:
            if not os.path.samestat(os.stat("/".join([".", *[".."] * len(at)]), dir_fd=fd), os.stat(self._root)):
                raise Refused()
            yield Folder(path, fd, private)
        finally:
            os.close(fd)

    def _make(self, at: Names) -> None:
        """Make a directory that is missing, and those on the way."""
        with suppress(FileExistsError):  # another process was faster
            if at:
                with self.folder(at[:-1], create=True) as above:
                    private = above.private or at[-1] in PRIVATE
                    os.mkdir(above.at(at[-1]), 0o700 if private else 0o777, dir_fd=above.fd)
            elif self.root.parent.is_dir():
                os.mkdir(self.root, 0o700 if self.private else 0o777)
            else:
                raise Refused(f"the directory that {self.root.name!r} should be in does not exist")

    def open_own(self, at: Names, flags: int = 0) -> int:
        """Open a file to read and write; it is made if it is missing."""
        name = _last(at)
        with self.folder(at[:-1], create=True) as folder:
            return folder.open(name, os.O_RDWR | os.O_CREAT | flags)

    def read(self, at: Names) -> bytes:
        """Return the bytes of a file."""
        with self.folder(at[:-1]) as folder, os.fdopen(folder.open_existing(_last(at), os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, at: Names, data: bytes) -> None:
        """Make `data` the whole content of a file, at once; mode and owner of an existing one stay."""
        name, part = _last(at), f"{TEMPORARY}{uuid4().hex}"
        with self.folder(at[:-1], create=True) as folder:
            before: os.stat_result | None = None
            with suppress(FileNotFoundError):
                fd = folder.open_existing(name, os.O_WRONLY)
                before = os.fstat(fd)
                os.close(fd)
            fd = folder.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                with os.fdopen(fd, "wb") as out:
                    out.write(data)
                    if before is not None and hasattr(os, "fchown"):
                        now = os.fstat(fd)
                        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
                            with suppress(OSError):  # only the administrator may
                                os.fchown(fd, before.st_uid, before.st_gid)
                        os.fchmod(fd, stat.S_IMODE(before.st_mode) & 0o777)
                os.replace(folder.at(part), folder.at(name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
            except BaseException:
                with suppress(OSError):
                    os.unlink(folder.at(part), dir_fd=folder.fd)
                raise

    def append(self, at: Names, data: bytes) -> None:
        """Add `data` to the end of a file, which is made if it is missing; all of it, or nothing."""
        fd = self.open_own(at, os.O_APPEND)
        size = os.fstat(fd).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
        except OSError:
            os.ftruncate(fd, size)
            raise
        finally:
            os.close(fd)

    def remove(self, at: Names) -> None:
        """Remove a file, or a directory with all in it (of links the links alone); never the directory itself."""
        if not at:
            raise Refused("it is the mounted directory itself")
        with self.folder(at[:-1]) as folder:
            path = folder.at(at[-1])
            found = _look(path, folder.fd)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(path, dir_fd=folder.fd)
            else:
                _regular(found)
                os.unlink(path, dir_fd=folder.fd)

    def entries(self, at: Names) -> list[tuple[str, os.stat_result]]:
        """Return the files and directories in a directory by name; links, pipes and names not served are left out."""
        out = []
        with self.folder(at) as folder, folder.scan() as listed:
            for entry in listed:
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    served = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
                    if served and not _is_link(found) and not unfit(entry.name):
                        out.append((entry.name, found))
        return sorted(out)

    def walk(self, at: Names) -> Iterator[tuple[Names, os.stat_result | None]]:
        """Yield every directory and file below, with None for a directory that can't be read."""
        todo = [at]
        while todo:
            here = todo.pop()
            try:
                found = self.entries(here) if len(here) <= DEPTH else None
            except OSError as error:
                found = [] if isinstance(error, FileNotFoundError) else None
            if found is None:
                yield here, None
            for name, info in found or ():
                if stat.S_ISDIR(info.st_mode):
                    todo.append((*here, name))
                yield (*here, name), info

    def stamps(self, at: Names, name: str, now: int) -> dict[str, Stamp] | None:
        """Return name -> stamp of each entry of a directory; of a directory in it, that of the file `name` there, if any.

        None while something is so new that its next change could bear the same time. `now` is in nanoseconds
        since 1970. A time set back by hand is seen by the time of the inode (not on Windows, which keeps none).
        """
        with self.folder(at) as folder, folder.scan() as entries:
            found = {"": _stamp(folder.stat("."))}
            for entry in entries:
                inner = f"{entry.name}/{name}"
                with suppress(FileNotFoundError):
                    found[entry.name] = _stamp(folder.stat(entry.name))
                    if entry.is_dir(follow_symlinks=False):
                        info = folder.stat(inner)
                        linked = _stamp(folder.stat(inner, follow=True)) if stat.S_ISLNK(info.st_mode) else ()
                        found[entry.name] = _stamp(info) + linked
        return None if any(max(one[4:6] + one[10:12]) > now - GRANULE for one in found.values()) else found

    def skipped(self, at: Names, name: str, most: int) -> SkippedEntries:
        """Return the entries of a directory that are not to be read, as `deepnb.engine.files` says."""
        found: SkippedEntries = {}
        with self.folder(at) as folder, os.scandir(folder.path) as entries:
            for entry in entries:
                if unfit(entry.name):
                    continue
                with suppress(OSError):
                    if entry.is_symlink():
                        if not os.path.isfile(entry.path):
                            base = Path(folder.path)
                            to = Path(os.path.realpath(entry.path))
                            inside = (
                                to.relative_to(base).as_posix()
                                if to != base and to.is_relative_to(base) and to.exists()
                                else ""
                            )
                            found[entry.name] = ("link", inside) if inside else ("link out", "")
                    elif entry.is_dir(follow_symlinks=False):
                        file = os.path.join(entry.path, name)
                        if os.path.islink(file) and unfit(os.readlink(file)):
                            found[entry.name] = ("file link", "")
                        elif (size := os.stat(file).st_size) > most:
                            found[entry.name] = ("large", size)
        return found


class AppendFile:
    """A file below a directory that lines are appended to, by several processes at once; a crash loses at most one.

    Both are made when the first line is written. Operations raise OSError.
    """

    def __init__(self, directory: str | os.PathLike[str], at: Names) -> None:
        self._tree = Tree(directory)
        self._at = at
        self.name = "/".join((str(directory), *at))
        """As it is shown."""

    def append(self, lines: bytes) -> bool:
        """Write whole lines (each with its end) behind what is there, in one call to the system.

        The system has them when this returns: they outlive the process. A line that was cut short,
        by whomever, gets an end first. If another put a new file in its place meanwhile, they are
        written to that one, too, so that they may stand there twice. Return whether there was a cut line.
        """
        while True:
            fd = self._tree.open_own(self._at, os.O_APPEND)
            try:
                os.lseek(fd, max(os.fstat(fd).st_size - 1, 0), os.SEEK_SET)
                cut = os.read(fd, 1) not in (b"", b"\n")
                data = b"\n" + lines if cut else lines
                if os.write(fd, data) < len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if os.path.samestat(os.fstat(fd), self._tree.look(self._at)):
                    return cut
            finally:
                os.close(fd)

    def read(self) -> bytes:
        """Return all of it; nothing if there is no file."""
        try:
            return self._tree.read(self._at)
        except FileNotFoundError:
            return b""

    def replace(self, data: bytes) -> None:
        """Make `data` the whole content, at once."""
        self._tree.write(self._at, data)


def _look(path: str, fd: int | None = None) -> os.stat_result:
    """Return what is there under exactly this name, which is no link's.

    A disk that folds case would serve one file under many names.
    """
    found = os.stat(path, dir_fd=fd, follow_symlinks=False)
    if _is_link(found):
        raise Refused()
    folder, name = os.path.split(path)
    try:
        other = os.stat(os.path.join(folder, name.swapcase()), dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return found
    if os.path.samestat(found, other):
        listed = os.listdir(folder or fd)
        if unicodedata.normalize("NFC", name) not in {unicodedata.normalize("NFC", n) for n in listed}:
            raise Refused("its name is spelled in another case on this disk")
    return found


def _last(at: Names) -> str:
    if not at:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return at[-1]


def _is_link(found: os.stat_result) -> bool:
    reparse = getattr(found, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    return stat.S_ISLNK(found.st_mode) or bool(reparse)


def _regular(found: os.stat_result) -> None:
    if _is_link(found):
        raise Refused()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise Refused("it is not a regular file")


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_dev, info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
