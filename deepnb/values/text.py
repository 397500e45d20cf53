"""Short texts: a value in one line, text as a terminal leaves it, and moments as they are written down."""

import heapq
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

MOST = 240
"""Characters of such a line."""


def short_repr(value: object, words: str) -> str:
    """`<Turn 2 of main: ...>`: the value's class, then `words`; what can't be printed or turns the line is �."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in excerpt(words, MOST))
    return f"<{type(value).__name__} {line}>"


def excerpt(text: str, most: int = 48) -> str:
    """`text` on one line of at most `most` characters, ending in … where something was left out."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


# -- A tuple that shows itself as one thing: threads as their tree, diffs as a diff

T = TypeVar("T")
_ITEMS = 4


class Listing(tuple[T, ...]):
    """A tuple in all respects but how it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        more = [f"and {len(self) - _ITEMS:,} more"] if len(self) > _ITEMS else []
        return short_repr(self, ", ".join([*map(repr, self[:_ITEMS]), *more]) or "(empty)")


# -- Text as a terminal leaves it standing: what was overwritten is gone, and colours are

_ESCAPES = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"


def terminal_text(text: str) -> str:
    """Without escape sequences; of a line with carriage returns what was written last, as of a progress bar."""
    if "\x1b" in text:
        text = re.sub(_ESCAPES, "", text)
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


# -- Moments as they are written down


def moment(at: str) -> float:
    """Seconds since 1970 of an ISO timestamp, for sorting: where clocks go back, text does not sort by time.

    What is no timestamp comes first.
    """
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def in_turn(places: Iterable[Iterable[T]], at: Callable[[T], str]) -> list[T]:
    """What several places tell, by time; what one place tells stays in its order, whatever its clock did."""
    return list(heapq.merge(*places, key=lambda one: moment(at(one))))
