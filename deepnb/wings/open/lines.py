"""A file of JSON lines, read as bytes: split at line feeds alone, and what is no JSON object is counted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from deepnb.values.errors import LimitError, NotFoundError, NotInstalledError, RefusedError

BOM = b"\xef\xbb\xbf"
_UNPACKED = 1 << 30
"""Bytes that a compressed file may hold."""
_NAMED = 100
"""Bad lines whose numbers are kept."""

try:  # it comes with langsmith, which langchain-core needs, and takes a third of the time
    import orjson
except ImportError:
    _quick: Callable[[bytes], Any] = json.loads
else:
    _quick = orjson.loads


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line that holds an object."""

    number: int
    """From 1."""
    start: int
    end: int
    """[start, end) in the file, without its line feed."""
    value: dict[str, Any]


@dataclass
class BadLines:
    """Lines that could not be read."""

    count: int = 0
    numbers: list[int] = field(default_factory=list)
    last: bool = False
    """Whether it is only the file's last one, without its line feed: the writer may still be at it."""

    def add(self, number: int) -> None:
        self.count += 1
        if len(self.numbers) < _NAMED:
            self.numbers.append(number)


def json_lines(file: BinaryIO, bad: BadLines) -> Iterator[JsonLine]:
    """The lines of a file as it is now that hold an object; the others are added to `bad`, blank ones left out."""
    at = 0
    for number, raw in enumerate(file, 1):
        start, at = at, at + len(raw)
        body = raw.strip()
        if number == 1 and body.startswith(BOM):
            body = body[len(BOM) :]
        if not body:
            continue
        value = object_of(body)
        if value is None:
            bad.add(number)
            bad.last = not raw.endswith(b"\n")
        else:
            yield JsonLine(number, start, at, value)


def object_of(body: bytes) -> dict[str, Any] | None:
    """The object that JSON in UTF-8 holds; None for anything else, however it is broken."""
    value: Any
    try:
        value = _quick(body)
    except (ValueError, RecursionError):
        try:
            value = json.loads(body.decode())
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def read_line(path: Path, place: tuple[int, int]) -> dict[str, Any]:
    """The object at a place in a file; an empty one where the file has changed since."""
    try:
        with open_file(path) as file:
            file.seek(place[0])
            raw = file.read(place[1] - place[0])
    except OSError:
        return {}
    return object_of(raw.strip().removeprefix(BOM)) or {}


def open_file(path: Path) -> BinaryIO:
    """The file, opened for reading; only a regular one, so that no pipe is waited for. One that ends in .zst is unpacked."""
    if path.suffix == ".zst" and path.is_file():
        about = path.stat()
        return BytesIO(_unpacked(path, about.st_mtime_ns, about.st_size))
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


@lru_cache(maxsize=2)
def _unpacked(path: Path, changed: int, size: int) -> bytes:
    """The bytes of a file that is compressed with zstd; `changed` and `size` say which state of it."""
    try:
        import zstandard
    except ImportError:
        raise NotInstalledError(f"{path.name} is compressed with zstd", "%pip install zstandard") from None
    try:
        with (
            path.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader,
        ):
            content = reader.read(_UNPACKED + 1)
    except zstandard.ZstdError as error:
        raise RefusedError(f"{path} can't be unpacked ({error})", "choose another file") from None
    if len(content) > _UNPACKED:
        raise LimitError(
            f"{path} has more than {_UNPACKED >> 20:,} MB when unpacked", "unpack it with zstd -d, and open that"
        )
    return bytes(content)
