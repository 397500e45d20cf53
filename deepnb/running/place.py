"""Where the lines of a transcript are kept: in a file, or in rows of a database."""

from dataclasses import dataclass
from typing import Protocol


class Lines(Protocol):
    """Where the lines of a transcript are kept; operations raise OSError."""

    def append(self, lines: bytes) -> bool:
        """Write whole lines behind what is there; gives whether one was found that was cut short."""

    def read(self) -> bytes:
        """All of them."""

    def replace(self, data: bytes) -> None:
        """Make `data` the whole content."""


@dataclass(frozen=True)
class Place:
    """Where a transcript is kept."""

    name: str
    """As it is shown."""
    lines: Lines
