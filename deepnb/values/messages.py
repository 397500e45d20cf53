"""Messages of a thread, and a view of them that costs nothing to keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, Literal, Self, TypeVar

from deepnb.gate.own_words import own_words

T = TypeVar("T")


class GrowingList(Sequence[T], Generic[T]):
    """The first `n` values of a list that only grows, shared while it does: a turn keeps one for the price of an int."""

    __slots__ = ("_n", "_values")

    def __init__(self, values: Iterable[T] = ()) -> None:
        self._values: list[T] = list(values)
        self._n = len(self._values)

    def replace_from(self, kept: int, new: Sequence[T]) -> Self:
        """Return the first `kept` of these values followed by `new`, in the same list where nothing is taken away."""
        if kept == self._n == len(self._values):
            self._values.extend(new)
            return self._view(len(self._values))
        return type(self)([*self[:kept], *new])

    def first(self, n: int) -> Self:
        """Return the first `n` of these values, or all, sharing their list."""
        return self._view(min(n, self._n))

    def _view(self, n: int) -> Self:
        made = object.__new__(type(self))
        made._values, made._n = self._values, n
        return made

    def shares(self, other: GrowingList[T]) -> bool:
        return self._values is other._values

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[T]:
        return islice(self._values, self._n)

    def __getitem__(self, index: Any) -> Any:
        at = range(self._n)[index]
        return self._values[at] if isinstance(at, int) else tuple(map(self._values.__getitem__, at))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GrowingList) and self[:] == other[:]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._n})"


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
