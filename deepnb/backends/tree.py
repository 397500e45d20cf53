"""A directory on disk that no path leads out of.

Every path is walked name by name from a descriptor of the directory, never following a link, so
what was checked is what is used: a directory swapped for a link in between is refused, not
followed. Links are not served at all, not even those that point inside: one file has one path.
Where the system has no `dir_fd` (Windows) each name is looked at just before it is used, which
refuses links as well but leaves a moment between the look and the use.
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
from typing import Any
from uuid import uuid4

DEPTH = 100
"""Most names in one path; deeper trees are not served."""
TEMPORARY = ".deepnb-part-"
"""What the name of a file begins with while it is being written."""
HELD = (
    hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.stat, os.unlink, os.rename, os.readlink} <= os.supports_dir_fd
)
"""Whether directories are held by descriptor."""

Names = tuple[str, ...]

PRIVATE = frozenset((".deepnb", "conversation_history", "large_tool_results"))
"""Directories that hold what was said: made for their owner alone, and so is all in them."""

LOCK: Names = (".deepnb", "lock")
"""The file that processes agree by (`locks.directory_lock`): replacing it would break the agreement."""

_FILE = sum(
    {getattr(os, f, 0) for f in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")}
)
_FOLDER = sum({getattr(os, f, 0) for f in ("O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")})
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


class Refused(OSError):
    """A path that is not served; `strerror` says why."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EINVAL, why)


def names(path: str, *, folder: bool = False) -> Names:
    """The names along a virtual path; () is the directory itself. A path with two spellings is refused."""
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
    """Why a name is not served; None for one that is."""
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
    """Whether a character is a control character, ends a line, or stands for a byte that is no text."""
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


class Folder:
    """One directory, open: by its descriptor where there are `dir_fd`s, else by its path."""

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self.fd = fd
        self.private = False
        """Whether what is made in it is its owner's alone."""

    @classmethod
    def open(cls, path: str, fd: int | None = None) -> Folder:
        """The directory at `path`, which is a name in `fd` where that is given; not through a link."""
        if HELD:
            return cls(path, os.open(path, _FOLDER, dir_fd=fd))
        found = os.lstat(path)
        if _is_link(found):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return cls(path, None)

    def close(self) -> None:
        """Let the directory go."""
        if self.fd is not None:
            os.close(self.fd)

    def _at(self, name: str) -> tuple[str, dict[str, Any]]:
        return (name, {"dir_fd": self.fd}) if self.fd is not None else (os.path.join(self.path, name), {})

    def look(self, name: str) -> os.stat_result:
        """What is there under exactly this name, a link as a link."""
        path, at = self._at(name)
        found = os.stat(path, **at, follow_symlinks=False)
        if not self._spelled(name, found):
            raise Refused("its name is spelled in another case on this disk")
        return found

    def _spelled(self, name: str, found: os.stat_result) -> bool:
        """Whether the entry really has this name: a disk that folds case would serve one file under many."""
        path, at = self._at(name.swapcase())
        try:
            other = os.stat(path, **at, follow_symlinks=False)
        except (OSError, ValueError):
            return True
        if not os.path.samestat(found, other):
            return True
        listed = os.listdir(self.path if self.fd is None else self.fd)
        return unicodedata.normalize("NFC", name) in {unicodedata.normalize("NFC", n) for n in listed}

    def child(self, name: str, *, create: bool = False) -> Folder:
        """The directory of this name in here; made first, if asked for."""
        private = self.private or name in PRIVATE
        path, at = self._at(name)
        try:
            found = self.look(name)
        except FileNotFoundError:
            if not create:
                raise
            with suppress(FileExistsError):
                os.mkdir(path, 0o700 if private else 0o777, **at)
            found = self.look(name)
        if _is_link(found):
            raise Refused("links are not followed")
        try:
            below = Folder.open(path, self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise Refused("links are not followed") from None
            raise
        below.private = private
        return below

    def file(self, name: str, flags: int) -> int:
        """A descriptor of the regular file of this name; never waits for a pipe's other end.

        A link to a file beside it (`AGENTS.md -> CLAUDE.md`) is read as that file; a write through one is refused.
        """
        found = self.look(name)
        if _is_link(found) and (beside := self._beside(name)):
            if flags & (os.O_WRONLY | os.O_RDWR):
                raise Refused(f"it is a link to {beside}, which is only read here")
            name, found = beside, self.look(beside)
        _regular(found)
        return self._opened(name, flags)

    def _beside(self, name: str) -> str | None:
        """What a link says, where that is nothing but another name in here; it is then opened as any name is."""
        path, at = self._at(name)
        try:
            target = os.readlink(path, **at)
        except OSError:
            return None
        return None if unfit(target) else target

    def open_own(self, name: str, flags: int = 0) -> int:
        """A descriptor of a file of our own, made if it is missing."""
        return self._opened(name, os.O_RDWR | os.O_CREAT | flags)

    def _opened(self, name: str, flags: int) -> int:
        path, at = self._at(name)
        try:
            fd = os.open(path, flags | _FILE, 0o600 if self.private else 0o666, **at)
        except OSError as error:
            raise Refused("links are not followed") if error.errno in (errno.ELOOP, errno.EMLINK) else error from None
        try:
            _regular(os.fstat(fd))
        except BaseException:
            os.close(fd)
            raise
        return fd

    def put(self, name: str, data: bytes, *, durable: bool) -> None:
        """Make `data` the whole content of the file, at once; mode and owner of an existing one stay."""
        before: os.stat_result | None = None
        with suppress(FileNotFoundError):
            fd = self.file(name, os.O_WRONLY)
            before = os.fstat(fd)
            os.close(fd)
        part = f"{TEMPORARY}{uuid4().hex}"
        fd = self._opened(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(fd, "wb") as out:
                out.write(data)
                if before is not None:
                    _like(fd, before)
                if durable:
                    out.flush()
                    os.fsync(fd)
            self._replace(part, name)
        except BaseException:
            with suppress(OSError):
                path, at = self._at(part)
                os.unlink(path, **at)
            raise

    def append(self, name: str, data: bytes, *, durable: bool) -> None:
        """Add `data` to the end of the file, which is made where it is missing; all of it, or nothing."""
        with suppress(FileNotFoundError):
            _regular(self.look(name))
        fd = self._opened(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        size = os.fstat(fd).st_size
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            if durable:
                os.fsync(fd)
        except OSError:
            os.ftruncate(fd, size)
            raise
        finally:
            os.close(fd)

    def _replace(self, old: str, new: str) -> None:
        if self.fd is None:
            os.replace(os.path.join(self.path, old), os.path.join(self.path, new))
        else:
            os.replace(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all that is in it; links in there go, what they point to stays."""
        found = self.look(name)
        path, at = self._at(name)
        if not stat.S_ISDIR(found.st_mode):
            _regular(found)
            os.unlink(path, **at)
        else:
            shutil.rmtree(path, **at)

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """The files and directories in here by name; links, pipes and names not served are left out."""
        out = []
        with os.scandir(self.path if self.fd is None else self.fd) as listed:
            for entry in listed:
                if unfit(entry.name):
                    continue
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if not _is_link(found) and (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                        out.append((entry.name, found))
        return sorted(out)


class Tree:
    """All below one directory. The directory itself may be named through links, and may be missing.

    Operations raise OSError, `Refused` among them, with a `strerror` that names no path of this machine.
    """

    def __init__(self, root: str | os.PathLike[str], *, durable: bool = False, private: bool = False) -> None:
        """What is made in a `private` one is its owner's alone; in any other that holds for what deepnb keeps there."""
        self.root = Path(root).expanduser().resolve()
        self.private = private
        self.durable = durable
        """Whether a write returns only once it is on the disk itself."""

    @contextmanager
    def folder(self, at: Names, *, create: bool = False) -> Iterator[Folder]:
        """The directory under these names, open."""
        here = self._top(create)
        try:
            for name in at:
                below = here.child(name, create=create)
                here.close()
                here = below
            yield here
        finally:
            here.close()

    def _top(self, create: bool) -> Folder:
        if create and not self.exists():
            try:
                with suppress(FileExistsError):  # another process was faster
                    os.mkdir(self.root, 0o700 if self.private else 0o777)
            except FileNotFoundError:
                raise Refused(f"the directory that {self.root.name!r} should be in does not exist") from None
        top = Folder.open(str(self.root))
        top.private = self.private
        return top

    def exists(self) -> bool:
        """Whether the directory itself is there."""
        return os.path.lexists(self.root)

    def read(self, at: Names) -> bytes:
        """The bytes of a file."""
        with self.folder(at[:-1]) as folder, os.fdopen(folder.file(_last(at), os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, at: Names, data: bytes) -> None:
        """Make `data` the whole content of a file, directories on the way included."""
        name = _last(at)
        with self.folder(at[:-1], create=True) as folder:
            folder.put(name, data, durable=self.durable)

    def append(self, at: Names, data: bytes) -> None:
        """Add `data` to the end of a file, directories on the way included."""
        name = _last(at)
        with self.folder(at[:-1], create=True) as folder:
            folder.append(name, data, durable=self.durable)

    def remove(self, at: Names) -> None:
        """Remove a file, or a directory with all in it; never the directory itself."""
        if not at:
            raise Refused("it is the mounted directory itself")
        with self.folder(at[:-1]) as folder:
            folder.remove(at[-1])

    def look(self, at: Names) -> os.stat_result:
        """What is there: a regular file or a directory, else it is refused."""
        if not at:
            with self.folder(()) as folder:
                return os.stat(folder.path if folder.fd is None else folder.fd)
        with self.folder(at[:-1]) as folder:
            found = folder.look(at[-1])
        if not stat.S_ISDIR(found.st_mode) or _is_link(found):
            _regular(found)
        return found

    def entries(self, at: Names) -> list[tuple[str, os.stat_result]]:
        """The files and directories in a directory, by name."""
        with self.folder(at) as folder:
            return folder.entries()

    def walk(self, at: Names) -> Iterator[tuple[Names, os.stat_result | None]]:
        """Every directory and file below, with None for a directory that can't be read."""
        todo = [at]
        while todo:
            here = todo.pop()
            try:
                found = self.entries(here) if len(here) <= DEPTH else None
            except FileNotFoundError:
                continue
            except OSError:
                found = None
            if found is None:
                yield here, None
                continue
            for name, info in found:
                if stat.S_ISDIR(info.st_mode):
                    todo.append((*here, name))
                yield (*here, name), info


def _last(at: Names) -> str:
    if not at:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return at[-1]


def _is_link(found: os.stat_result) -> bool:
    reparse = getattr(found, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    return stat.S_ISLNK(found.st_mode) or bool(reparse)


def _regular(found: os.stat_result) -> None:
    if _is_link(found):
        raise Refused("links are not followed")
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise Refused("it is not a regular file")


def _like(fd: int, before: os.stat_result) -> None:
    """Give a new file the owner and mode of the one it replaces, as far as we may."""
    if not hasattr(os, "fchown"):
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & 0o777)
