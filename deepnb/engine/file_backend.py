"""Upstream's backend of files on a disk, by the private names that a subclass with other paths needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deepagents.backends import FilesystemBackend
from deepagents.backends.utils import _get_backend_read_file_type


class ContainedBackend(FilesystemBackend):
    """Upstream's backend, of which every method finds a path by `find_path`."""

    def find_path(self, path: str) -> Path:
        """Return where a file is, there or not; raise OSError for a path that is not served."""
        raise NotImplementedError

    def _resolve_path(self, key: str) -> Path:
        return self.find_path(key)

    def add_context(self, matches: Sequence[Any], lines: int, pattern: str) -> None:
        """Add the lines round each match of `grep`."""
        self._add_grep_context(list(matches), lines, pattern, newline=None)


def is_text(path: str) -> bool:
    """Return whether upstream's backends read a file of this name as text."""
    return _get_backend_read_file_type(path) == "text"
