"""The beginning of a file: enough to tell what it is."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deepnb.values.errors import RefusedError
from deepnb.wings.open.lines import BOM, object_of, open_file

_TRIES = 3
_BYTES = 1 << 20
_LINES = 30
_WHOLE, _GLANCED = 256 << 20, 4 << 20
"""Bytes of a file that may be one JSON value: of one that is opened, of one in a list."""


@dataclass(frozen=True)
class Head:
    """A file's first bytes, taken apart as far as they can be."""

    path: Path
    start: bytes
    size: int
    whole_up_to: int = _WHOLE
    """Bytes of a file that is looked at as one JSON value."""

    @classmethod
    def of(cls, path: Path, most: int = _BYTES) -> Head:
        """The head of a file; an error where it can't be read."""
        with open_file(path) as file:
            start = file.read(most)
            if b"\n" not in start and start.lstrip(BOM).lstrip()[:1] == b"{":
                start += file.readline(_WHOLE)  # a long first line
            return cls(path, start, file.seek(0, os.SEEK_END), _WHOLE if most >= _BYTES else _GLANCED)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite database."""
        return self.start.startswith(b"SQLite format 3\x00")

    @cached_property
    def tables(self) -> frozenset[str]:
        """The names of the tables of a database."""
        with read_database(self.path) as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return frozenset(str(name) for (name,) in found)

    @cached_property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """The first lines that hold a JSON object."""
        pieces = self.start.removeprefix(BOM).split(b"\n")
        if len(self.start) < self.size and len(pieces) > 1:
            pieces.pop()  # cut
        found = (object_of(piece) for piece in pieces[:_LINES] if piece.strip())
        return tuple(value for value in found if value is not None)

    @cached_property
    def whole(self) -> Any:
        """The value of a file that is one JSON value on several lines, or one array; None for any other."""
        text = self.start.removeprefix(BOM).lstrip()
        if text[:1] not in (b"{", b"[") or self.size > self.whole_up_to:
            return None
        with open_file(self.path) as file:
            try:
                return json.loads(file.read(_WHOLE).removeprefix(BOM).decode())
            except (ValueError, RecursionError):
                return None


@contextmanager
def read_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to an SQLite database that leaves it and its folder as they are.

    What a writer has not yet put into the database itself is in a file beside it, which SQLite reads only with a third
    one: then all are copied to a temporary folder first.
    """
    file, mode = path.resolve(), "immutable=1"
    files = [file, *(file.with_name(file.name + side) for side in ("-wal", "-journal"))]
    with TemporaryDirectory(prefix="deepnb-") as folder:
        if any(stamp and stamp[1] for stamp in _stamps(files)[1:]):
            file, mode = _copy(files, Path(folder)), "mode=rw"
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True)) as connection:
                connection.execute("PRAGMA query_only=1")
                connection.execute("PRAGMA trusted_schema=0")
                yield connection
        except sqlite3.DatabaseError as error:
            raise RefusedError(f"{path} can't be read as a database ({error})", "choose another file") from None


def _copy(files: list[Path], folder: Path) -> Path:
    """Copy a database and what is beside it to a folder, all of one moment; return the copy."""
    for _ in range(_TRIES):
        before = _stamps(files)
        for one in files:
            (folder / one.name).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copyfile(one, folder / one.name)
        if _stamps(files) == before:
            break
    return folder / files[0].name


def _stamps(files: list[Path]) -> list[tuple[int, int] | None]:
    return [(f.stat().st_mtime_ns, f.stat().st_size) if f.is_file() else None for f in files]
