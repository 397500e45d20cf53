"""The beginning of a file: enough to tell what it is."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deepnb.formats.lines import BOM, object_of, open_file

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
