"""What left the prompt: a compaction, its note, and the offloaded messages, as they are read and brought back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deepnb.values.anchors import Anchor
from deepnb.values.listing import Listing
from deepnb.values.short_repr import short_repr

Cause = Literal["trigger", "by hand", "overflow"]
"""What set off a compaction: the rule in force, `%agent compact`, or a provider that said the request is too long."""


@dataclass(frozen=True, slots=True)
class Flush:
    """What was added to a daily note before a part of the thread was removed from the prompt."""

    file: str
    """The daily note."""
    lines: tuple[str, ...] = ()
    """As they were added to it; empty where there was nothing worth keeping."""
    how: Literal["model", "rules"] = "model"
    """Who chose them: the model, or rules where its answer puts nothing down."""


@dataclass(frozen=True, slots=True)
class Offload:
    """A compaction: which messages were removed from the prompt, where they are, what replaces them."""

    path: str | None
    """The file in the backend that holds them word for word; None where that failed."""
    summary: str
    cutoff: int
    """Messages [0, cutoff) of the thread are no longer sent."""
    at: str = ""
    """ISO timestamp."""
    cause: Cause = "trigger"
    before: int = 0
    """Tokens of the request before the compaction."""
    after: int = 0
    """Tokens of the request that took its place."""
    anchors: tuple[Anchor, ...] = ()
    """What the summary lost, added to it verbatim."""
    hidden: tuple[Anchor, ...] = ()
    """What it lost and there was no room for, that of most weight first: it is in the file."""
    flush: Flush | None = None
    messages: int = 0
    """How many messages of the conversation went this time."""
    more: int = 0
    """How much else it lost: that is in the file, too, and there alone."""
    foreign: bool = False
    """Whether another program made it: then there is no note, no key facts, and figures may be unknown (0)."""


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message of a history file: verbatim, without credentials, then the calls it made."""

    number: int
    """Counted from 1 in its section."""
    role: str
    """`user`, `assistant`, `tool NAME`; empty for a whole section whose messages can no longer be separated."""
    text: str


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """Messages from the history that are added to the next prompt, as one message."""

    id: str
    """Of that message."""
    messages: tuple[tuple[int, HistoryMessage], ...]
    """(section counted from 1, message), in order."""
    tokens: int
    """What it costs in the request."""
    exact: bool = True
    """Whether that was counted, or is an approximation."""

    def __repr__(self) -> str:
        return short_repr(self, self.line)

    @property
    def line(self) -> str:
        """`messages 2, 5-7 of section 1 (412 tokens)`."""
        by_section: dict[int, list[int]] = {}
        for section, message in self.messages:
            by_section.setdefault(section, []).append(message.number)
        words = [
            f"message{'s' if len(numbers) > 1 else ''} {ranges(numbers)} of section {section}"
            for section, numbers in by_section.items()
        ]
        return f"{', '.join(words)} ({'' if self.exact else '~'}{self.tokens:,} token{'' if self.tokens == 1 else 's'})"


@dataclass(frozen=True, slots=True)
class HistorySection:
    """One offload of a history file: `text` has `messages` messages verbatim."""

    at: str
    """ISO timestamp."""
    path: str
    text: str
    messages: int
    items: tuple[HistoryMessage, ...] = ()
    """The messages one by one."""
    offload: Offload | None = None
    """The compaction it belongs to, where this session still knows of it."""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.at}: messages={self.messages} in {self.path}")


class HistorySections(Listing[HistorySection]):
    """The offloaded history of a thread, by time."""

    __slots__ = ()


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, neighbours joined: `2, 5-7`."""
    out: list[list[int]] = []
    for number in numbers:
        if out and number == out[-1][-1] + 1:
            out[-1].append(number)
        else:
            out.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in out)
