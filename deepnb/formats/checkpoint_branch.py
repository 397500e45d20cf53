"""One branch of a LangGraph thread out of its checkpoints, whichever database holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from deepnb.formats.checkpoint_values import folded, folded_all

Place = tuple[str, str]
"""(thread, namespace)."""
_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)


class Checkpoints(Protocol):
    """What is asked of a database; nothing is written to it."""

    where: str
    """As it may be shown: without a password."""

    def threads(self) -> list[tuple[str, str]]:
        """(thread, id of its newest checkpoint), the one that changed last first."""
        ...

    def namespaces(self, thread: str) -> list[str]:
        """Where in the nest of graphs a thread has checkpoints, but for its root."""
        ...

    def steps(self, place: Place) -> list[tuple[str, str | None, Mapping[str, Any]]]:
        """(checkpoint, its parent, its metadata), in any order."""
        ...

    def values(self, place: Place, checkpoint: str) -> dict[str, Any]:
        """Channels as a checkpoint holds them."""
        ...

    def writes(self, place: Place, channel: str) -> Mapping[str, list[Any]]:
        """Checkpoint -> what was written to a channel in the step after it, in the order in which it was applied."""
        ...

    def pending(self, place: Place, checkpoint: str) -> list[tuple[str, Any]]:
        """(channel, value) of what the step after a checkpoint wrote."""
        ...

    def first(self, thread: str) -> dict[str, Any]:
        """Channels of the root's first checkpoint."""
        ...

    def size(self, thread: str) -> int:
        """Bytes of a thread's values."""
        ...


def time_of(checkpoint: str) -> str:
    """When a checkpoint was made: its id is a UUID of version 6, which holds the time. Empty for any other."""
    try:
        number = UUID(checkpoint)
    except ValueError:
        return ""
    if number.version != 6:
        return ""
    ticks = (number.int >> 80) << 12 | (number.int >> 64 & 0x0FFF)
    return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Branch:
    """One namespace of a thread, from its root to its newest checkpoint."""

    ids: list[str]
    """Of its checkpoints, the oldest first."""
    inputs: list[str] = field(default_factory=list)
    """Those with which a turn began."""
    left: int = 0
    """Turns that began in other branches."""
    values: dict[str, Any] = field(default_factory=dict)
    """Channels of the newest one."""
    metadata: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[int, str, Any]] = field(default_factory=list)
    """Compactions: (messages there were, checkpoint, what was written)."""
    pending: list[tuple[str, Any]] = field(default_factory=list)
    """(channel, value) of steps that were not finished."""


def branch(database: Checkpoints, thread: str, space: str = "") -> Branch | None:
    """A namespace as its newest checkpoint leaves it; None where it has none."""
    steps = database.steps((thread, space))
    if not steps:
        return None
    parents = {id_: parent for id_, parent, _ in steps}
    facts = {id_: metadata for id_, _, metadata in steps}
    chain: list[str] = []
    at: str | None = max(parents)
    while at is not None and at in parents and at not in chain[-1:]:
        chain.append(at)
        at = parents[at]
        if len(chain) > len(parents):
            break
    chain.reverse()
    inputs = {id_ for id_, one in facts.items() if one.get("source") == "input"}
    on = set(chain)
    made = Branch(chain, [c for c in chain if c in inputs], len(inputs - on), metadata=dict(facts[chain[-1]]))
    _fill(made, database, (thread, space))
    return made


def _fill(made: Branch, database: Checkpoints, place: Place) -> None:
    head = made.ids[-1]
    writes = database.writes(place, "messages")
    summed = database.writes(place, "_summarization_event")
    made.values = database.values(place, head)
    grown: list[dict[str, Any]] = []
    for id_ in made.ids:
        made.events += ((len(grown), id_, event) for event in summed.get(id_, ()) if event is not None and id_ != head)
        if id_ != head:
            for write in writes.get(id_, ()):
                grown = folded(grown, write)
    made.messages = _messages(made, database, place, writes, grown)
    made.pending = database.pending(place, head)


def _messages(
    made: Branch, database: Checkpoints, place: Place, writes: Mapping[str, list[Any]], grown: list[Any]
) -> list[dict[str, Any]]:
    """The messages at the newest checkpoint: as it holds them, or a value before it and what was written since."""
    if "messages" in made.values:
        return folded_all([], made.values["messages"])
    for at in range(len(made.ids) - 2, -1, -1):
        values = database.values(place, made.ids[at])
        if values.get("messages") is not None:
            since = (write for id_ in made.ids[at:-1] for write in writes.get(id_, ()))
            return folded_all(since, values["messages"])
    return grown
