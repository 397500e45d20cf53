"""What a provider's prompt cache holds, and what of a request it would report as read from it.

By prefix (OpenAI's): from 1,024 tokens on, in steps of 128, the longest beginning that an earlier prompt had.
By marks (Anthropic's): a prefix is written at each of at most four marks, from 1,024 tokens on; from each mark the
blocks before it are looked up, at most 20 of them, and the longest prefix found is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

LEAST, STEP, LOOKBACK, MOST_MARKS = 1_024, 128, 20, 4


@dataclass(frozen=True)
class Cached:
    """Tokens of a request: all of them, read from the cache, written to it."""

    input: int
    read: int
    written: int = 0


class TooManyMarksError(ValueError):
    pass


def tokens(text: str) -> int:
    """Four characters each: a figure that both sides of a share are counted by."""
    return len(text) // 4


@dataclass
class PrefixCache:
    prompts: list[str] = field(default_factory=list)
    prefixes: dict[tuple[str, ...], int] = field(default_factory=dict)
    alike: dict[int, int] = field(default_factory=dict)
    """Tokens of a prompt -> those of the longest beginning that an earlier one had."""

    def by_prefix(self, prompt: str) -> Cached:
        alike = max((tokens(_common(prompt, old)) for old in self.prompts), default=0)
        self.prompts.append(prompt)
        self.alike[tokens(prompt)] = alike
        return Cached(tokens(prompt), alike // STEP * STEP if alike >= LEAST else 0)

    def by_marks(self, blocks: Sequence[tuple[str, bool]]) -> Cached:
        """`blocks` are (content, whether it has a mark), tools first."""
        contents = tuple(text for text, _ in blocks)
        marks = [i + 1 for i, (_, marked) in enumerate(blocks) if marked]
        if len(marks) > MOST_MARKS:
            raise TooManyMarksError(
                f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
            )
        size = [sum(map(tokens, contents[:end])) for end in range(len(contents) + 1)]
        found = [
            size[end]
            for mark in marks
            for end in range(mark, max(mark - LOOKBACK, 0), -1)
            if contents[:end] in self.prefixes
        ]
        read = max(found, default=0)
        for mark in marks:
            if size[mark] >= LEAST:
                self.prefixes[contents[:mark]] = size[mark]
        written = max([size[mark] for mark in marks if size[mark] >= LEAST], default=0)
        return Cached(size[-1], read, max(written - read, 0))


def _common(a: str, b: str) -> str:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return a[:low]
