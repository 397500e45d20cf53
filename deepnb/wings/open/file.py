"""A file as it is read: its lines of JSON, its beginning, and a database, which stays as it is."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Self

import orjson  # langgraph's client brings it

from deepnb.values.errors import LimitError, NotFoundError, NotInstalledError, RefusedError

BOM = b"\xef\xbb\xbf"
_UNPACKED = 1 << 30
"""Bytes that a compressed file may hold."""


@dataclass
class BadLines:
    """Lines that could not be read."""

    count: int = 0
    last: bool = False
    """Whether it is only the file's last one, without its line feed: the writer may still be at it."""


def json_lines(file: BinaryIO, bad: BadLines) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number from 1, object) of the lines that hold one; others but blank ones are added to `bad`."""
    for number, raw in enumerate(file, 1):
        body = raw.removeprefix(BOM) if number == 1 else raw
        if body.isspace() or not body:
            continue
        if (value := object_of(body)) is None:
            bad.count += 1
            bad.last = not raw.endswith(b"\n")
        else:
            yield number, value


def object_of(body: bytes) -> dict[str, Any] | None:
    """Return the object that JSON in UTF-8 holds; None for anything else, however it is broken."""
    value: Any
    try:
        value = orjson.loads(body)  # in a third of the time
    except (ValueError, RecursionError):
        try:
            value = json.loads(body.strip().decode())
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def open_file(path: Path) -> BinaryIO:
    """Return the file, opened for reading; unpacked if it ends in .zst. Only a regular one: no pipe is waited for."""
    if path.suffix == ".zst" and path.is_file():
        try:
            import zstandard
        except ImportError:
            raise NotInstalledError(f"{path.name} is compressed with zstd", "%pip install zstandard") from None
        try:
            with path.open("rb") as packed:
                reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
                content = reader.read(_UNPACKED + 1)
        except zstandard.ZstdError as error:
            raise RefusedError(f"{path} can't be unpacked ({error})", "choose another file") from None
        if len(content) > _UNPACKED:
            what = f"{path} has more than {_UNPACKED >> 20:,} MB when unpacked"
            raise LimitError(what, "unpack it with zstd -d, and open that")
        return BytesIO(content)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}", "check the path") from None
    except OSError as error:
        raise RefusedError(f"{path} can't be read ({error.strerror})", "choose another file") from None
    file = os.fdopen(handle, "rb", buffering=1 << 18)
    if not os.path.isfile(path):
        file.close()
        raise RefusedError(f"{path} is not a file", "name a session file")
    return file


# -- the beginning of a file, enough to tell what it is


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
    def of(cls, path: Path, most: int = _BYTES) -> Self:
        """Return the head of a file; raise an error if it can't be read."""
        with open_file(path) as file:
            start = file.read(most)
            if b"\n" not in start and start.lstrip(BOM).lstrip()[:1] == b"{":
                start += file.readline(_WHOLE)  # a long first line
            return cls(path, start, file.seek(0, os.SEEK_END), _WHOLE if most >= _BYTES else _GLANCED)

    @property
    def is_sqlite(self) -> bool:
        return self.start.startswith(b"SQLite format 3\x00")

    @cached_property
    def tables(self) -> frozenset[str]:
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
            for _ in range(_TRIES):  # until the copies are all of one moment
                before = _stamps(files)
                for one in files:
                    Path(folder, one.name).unlink(missing_ok=True)
                    with suppress(FileNotFoundError):
                        shutil.copyfile(one, Path(folder, one.name))
                if _stamps(files) == before:
                    break
            file, mode = Path(folder, file.name), "mode=rw"
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True)) as connection:
                connection.execute("PRAGMA query_only=1")
                connection.execute("PRAGMA trusted_schema=0")
                yield connection
        except sqlite3.DatabaseError as error:
            raise RefusedError(f"{path} can't be read as a database ({error})", "choose another file") from None


def chosen(names: Sequence[str], wanted: str | None, where: str, what: str) -> tuple[str, list[str]]:
    """Return one of several sessions of a database, the first unless one is named, and what is to be said of the others."""
    if not names:
        raise NotFoundError(f"{where} has no {what}s", "choose another database")
    if wanted is not None and wanted not in names:
        known = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise NotFoundError(f"{where} has no {what} {wanted}", f"it has {known}")
    name = wanted or names[0]
    how = "--list shows them, --thread NAME opens another"
    return name, [f"the database has {len(names):,} {what}s: this is {name}; {how}"] if len(names) > 1 else []


def _stamps(files: list[Path]) -> list[tuple[int, int] | None]:
    return [(f.stat().st_mtime_ns, f.stat().st_size) if f.is_file() else None for f in files]
