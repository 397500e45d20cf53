"""A file that lines are appended to, by several processes at once, so that a crash loses at most one of them."""

import errno
import os

from deepnb.backends.tree import Names, Tree


class AppendFile:
    """A file below a directory; both are made when the first line is written. Operations raise OSError."""

    def __init__(self, directory: str | os.PathLike[str], at: Names) -> None:
        self._tree = Tree(directory)
        self._at = at

    def append(self, lines: bytes) -> bool:
        """Write whole lines (each with its end) behind what is there, in one call to the system.

        The system has them when this returns: they outlive the process. A line that was cut short,
        by whomever, gets an end first. Where another put a new file in its place meanwhile, they are
        written to that one, too, so that they may stand there twice. Gives whether there was a cut line.
        """
        while True:
            with self._tree.folder(self._at[:-1], create=True) as folder:
                fd = folder.open_own(self._at[-1], os.O_APPEND)
                try:
                    size = os.fstat(fd).st_size
                    os.lseek(fd, max(size - 1, 0), os.SEEK_SET)
                    cut = os.read(fd, 1) not in (b"", b"\n")
                    data = b"\n" + lines if cut else lines
                    written = os.write(fd, data)
                    if written < len(data):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    if os.path.samestat(os.fstat(fd), folder.look(self._at[-1])):
                        return cut
                finally:
                    os.close(fd)

    def read(self) -> bytes:
        """All of it; nothing where there is no file."""
        try:
            return self._tree.read(self._at)
        except FileNotFoundError:
            return b""

    def replace(self, data: bytes) -> None:
        """Make `data` the whole content, at once."""
        self._tree.write(self._at, data)
