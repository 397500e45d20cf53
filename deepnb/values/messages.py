"""Messages of a thread, and a view of them that costs nothing to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from deepnb.gate.own_words import own_words
from deepnb.values.growing_list import GrowingList

Role = Literal["system", "user", "assistant", "tool"]

SUMMARY = "summarization"
"""`source` of the message that stands in for a compacted part of the thread."""

MEMORY_UPDATE = "memory_update"
"""`source` of a message that tells the model of a change in its memory."""


BROUGHT_BACK = "brought_back"
"""`source` of a message that holds messages out of the offloaded history."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for."""

    id: str
    name: str
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the model sees it; `text` is its text content, media named by where they are kept."""

    id: str
    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    status: Literal["ok", "error"] = "ok"
    source: str | None = None
    typed: str | None = None
    """What its user typed of it, where that is not all: values were filled in, or it was made elsewhere."""

    @property
    def own(self) -> str:
        """What the user says in it, a sentence a line."""
        if self.role != "user" or self.source is not None:
            return ""
        return own_words(self.text if self.typed is None else self.typed)


@dataclass(frozen=True, slots=True)
class Added:
    """A message that has just joined its agent's conversation; not an Event, since nothing of it is shown."""

    message: Message
    path: tuple[str, ...] = ()
    """Where in the nest of agents, as of an Event."""
    call: int | None = None
    """The number of the model call that it answers."""


class Messages(GrowingList[Message]):
    """The messages of a thread: a turn keeps them for the price of an int."""

    __slots__ = ()

    def replace_from(self, kept: int, new: Sequence[Message]) -> Messages:
        """The first `kept` of these messages followed by `new`."""
        return cast(Messages, super().replace_from(kept, new))

    def first(self, n: int) -> Messages:
        """The first `n` of these messages, or all."""
        return cast(Messages, super().first(n))
