"""Forgetting: what holds some words, and texts without the lines that do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

FORGOTTEN = "[forgotten]"


@dataclass(frozen=True)
class Occurrences:
    """Where some words stand: (path, lines) of files that lose those lines, and how often elsewhere."""

    text: str
    files: Mapping[str, tuple[str, ...]]
    history: Mapping[str, int]
    """Path of an offloaded history -> times it is there."""
    journal: int
    """Entries of the journal that tell of it."""
    prompt: bool
    """Whether it is in the memory that is injected."""
    kept: int = 0
    """Records of earlier turns and checkpoints of a database that hold it, beside the messages of conversations."""
    left: str = ""
    """Where it may be still once it was forgotten, in one line."""

    @property
    def nothing(self) -> bool:
        return not (self.files or self.history or self.journal or self.prompt or self.kept)


def pattern(words: str) -> re.Pattern[str]:
    """The words, in whatever case, with any white space between them."""
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def lines_with(words: str, text: str) -> tuple[str, ...]:
    """The lines of a text that hold the words."""
    sought = pattern(words)
    return tuple(line for line in text.split("\n") if sought.search(line))


def without(words: str, text: str) -> str:
    """The text without the lines that hold the words."""
    sought = pattern(words)
    return "".join(line for line in text.splitlines(keepends=True) if not sought.search(line))


def blot_out(words: str, text: str) -> str:
    """A text with the words themselves taken out: for records of what was said."""
    return pattern(words).sub(FORGOTTEN, text)
