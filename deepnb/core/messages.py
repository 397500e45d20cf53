"""Messages of a thread, and a view of them that costs nothing to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

Role = Literal["system", "user", "assistant", "tool"]

SUMMARY = "summarization"
"""`source` of the message that stands in for a compacted part of the thread."""

MEMORY_UPDATE = "memory_update"
"""`source` of a message that tells the model of a change in its memory."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for."""

    id: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the model sees it; `text` is its text content, media left out."""

    id: str
    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    status: Literal["ok", "error"] = "ok"
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """A message that has just joined its agent's conversation; not an Event, since nothing of it is shown."""

    message: Message
    path: tuple[str, ...] = ()
    """Where in the nest of agents, as of an Event."""
    call: int | None = None
    """The number of the model call that it answers."""


class Messages(Sequence[Message]):
    """The first `n` messages of a log that only grows: a turn keeps one for the price of an int.

    `grown(kept, new)` shares the log while the thread only appends, and starts another where an
    earlier message was changed or taken away.
    """

    __slots__ = ("_log", "_n")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._log: list[Message] = list(messages)
        self._n = len(self._log)

    def grown(self, kept: int, new: Sequence[Message]) -> Messages:
        """The first `kept` of these messages followed by `new`."""
        if kept == self._n == len(self._log):
            grown = object.__new__(Messages)
            self._log.extend(new)
            grown._log, grown._n = self._log, len(self._log)
            return grown
        return Messages([*self[:kept], *new])

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self._log[i] for i in range(*index.indices(self._n)))
        if index < 0:
            index += self._n
        if not 0 <= index < self._n:
            raise IndexError(index)
        return self._log[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and self[:] == other[:]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Messages({self._n})"
