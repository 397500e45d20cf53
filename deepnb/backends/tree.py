"""A directory on disk that no path leads out of.

A path is looked at name by name right before it is used, and a link on the way is refused: one file has one path. Not
seen is what another process of the same user puts there between the look and the use; a directory that other users can
write to is mounted read-only.
"""

import errno
import os
import stat
import unicodedata
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

DEPTH = 100
"""Most names in one path; deeper trees are not served."""
TEMPORARY = ".deepnb-part-"
"""What the name of a file begins with while it is being written."""
Names = tuple[str, ...]

PRIVATE = frozenset((".deepnb", "conversation_history", "large_tool_results"))
"""Directories that hold what was said: made for their owner alone, and so is all in them."""

LOCK: Names = (".deepnb", "lock")
"""The file that processes agree by (`locks.directory_lock`): replacing it would break the agreement."""

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")
_FILE = sum({getattr(os, flag, 0) for flag in _FLAGS})
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


class Tree:
    """All below one directory, which may be named through links and may be missing; OSErrors name no path of this machine."""

    def __init__(self, root: str | os.PathLike[str], *, private: bool = False) -> None:
        """What is made in a `private` one is its owner's alone; in any other that holds for what deepnb keeps there."""
        self.root = Path(root).expanduser().resolve()
        self._root = str(self.root)  # joined at each operation: a Path takes half as long again
        self.private = private
        self.listed: frozenset[Names] | None = None
        """The files that are listed, if not all are; a directory is if one of them may be in it."""

    def path(self, at: Names) -> str:
        return os.path.join(self._root, *at)

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

    def folder(self, at: Names, *, create: bool = False) -> str:
        """Return the path of a directory that was looked at; with `create` it is made if it is missing."""
        try:
            found = self.look(at)
        except FileNotFoundError:
            if not create:
                raise
            if at:
                self.folder(at[:-1], create=True)
            elif not self.root.parent.is_dir():
                raise Refused(f"the directory that {self.root.name!r} should be in does not exist") from None
            with suppress(FileExistsError):  # another process was faster
                os.mkdir(self.path(at), 0o700 if self._is_private(at) else 0o777)
            found = self.look(at)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return self.path(at)

    def open(self, at: Names, flags: int) -> int:
        """Open a regular file, not through a link, and never wait for a pipe's other end.

        Without O_CREAT a link to a file beside it (`AGENTS.md -> CLAUDE.md`) is read as that file.
        """
        if not at:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self.folder(at[:-1], create=bool(flags & os.O_CREAT))
        if not flags & os.O_CREAT:
            if _is_link(os.stat(self.path(at), follow_symlinks=False)):
                target = os.readlink(self.path(at))
                if unfit(target):
                    raise Refused()
                if flags & os.O_WRONLY:
                    raise Refused(f"it is a link to {target}, which is only read here")
                at = (*at[:-1], target)
            _regular(_look(self.path(at)))
        try:
            fd = os.open(self.path(at), flags | _FILE, 0o600 if self._is_private(at[:-1]) else 0o666)
        except OSError as error:
            raise Refused() if error.errno in _LINKS else error from None
        try:
            _regular(os.fstat(fd))
            self.look(at[:-1])  # a directory on the way may have become a link
        except BaseException:
            os.close(fd)
            raise
        return fd

    def read(self, at: Names) -> bytes:
        with os.fdopen(self.open(at, os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, at: Names, data: bytes) -> None:
        """Make `data` the whole content of a file, at once; mode and owner of an existing one stay."""
        before: os.stat_result | None = None
        with suppress(FileNotFoundError):
            fd = self.open(at, os.O_WRONLY)
            before = os.fstat(fd)
            os.close(fd)
        part = (*at[:-1], f"{TEMPORARY}{uuid4().hex}")
        try:
            with os.fdopen(self.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as out:
                out.write(data)
                if before is not None and hasattr(os, "fchown"):
                    with suppress(OSError):  # only the administrator may
                        os.fchown(out.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(out.fileno(), stat.S_IMODE(before.st_mode) & 0o777)
            os.replace(self.path(part), self.path(at))
        except BaseException:
            with suppress(OSError):
                os.unlink(self.path(part))
            raise

    def entries(self, at: Names) -> list[tuple[str, os.stat_result]]:
        """Return the files and directories in a directory by name; links, pipes and names not served are left out."""
        out = []
        with os.scandir(self.folder(at)) as listed:
            for entry in listed:
                path = (*at, entry.name)
                if self.listed is not None and all(file[: len(path)] != path for file in self.listed):
                    continue
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    served = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
                    if served and not _is_link(found) and not unfit(entry.name):
                        out.append((entry.name, found))
        return sorted(out)

    def _is_private(self, at: Names) -> bool:
        return self.private or not PRIVATE.isdisjoint(at)


class AppendFile:
    """A file below a directory that several processes append lines to; made with the first line. Operations raise OSError."""

    def __init__(self, directory: str | os.PathLike[str], at: Names) -> None:
        self._tree = Tree(directory)
        self._at = at
        self.name = "/".join((str(directory), *at))

    def append(self, lines: bytes) -> bool:
        """Write whole lines (each with its end) behind what is there, which then outlive the process; return whether one was cut.

        That one gets an end first. If another put a new file in its place meanwhile, they are written to that one, too.
        """
        while True:
            fd = self._tree.open(self._at, os.O_RDWR | os.O_CREAT | os.O_APPEND)
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
        self._tree.write(self._at, data)


def _look(path: str) -> os.stat_result:
    """Return what is under exactly this name, no link's; a disk that folds case would serve one file under many names."""
    found = os.stat(path, follow_symlinks=False)
    if _is_link(found):
        raise Refused()
    folder, name = os.path.split(path)
    try:
        other = os.stat(os.path.join(folder, name.swapcase()), follow_symlinks=False)
    except (OSError, ValueError):
        return found
    if os.path.samestat(found, other):
        listed = {unicodedata.normalize("NFC", one) for one in os.listdir(folder)}
        if unicodedata.normalize("NFC", name) not in listed:
            raise Refused("its name is spelled in another case on this disk")
    return found


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
