"""What can be told of a thread's newest checkpoint without decoding the state, and keeping that cheap to decode.

A delta channel is read by walking back to its last snapshot, decoding each checkpoint on the way. One that is
written once and then rests (`files`) has no new snapshot for 5,000 steps: every turn would walk the whole thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Overwrite

from deepnb.engine import keys

FAR = 100
"""Steps back to the last snapshot of a resting channel: about ten turns, as far as messages are walked back."""


@dataclass(frozen=True)
class Newest:
    """The newest checkpoint of a thread."""

    id: str | None = None
    """None where the thread has no checkpoint."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_far(self) -> bool:
        """Whether the files should be written whole, so that they are found near again."""
        _, steps = (self.metadata.get("counters_since_delta_snapshot") or {}).get(keys.FILES, (0, 0))
        return bool(steps >= FAR)


def newest(checkpointer: Any, config: Mapping[str, Any]) -> Newest:
    """The newest checkpoint of a thread.

    A checkpoint in memory is not decoded: `get_tuple` takes a millisecond for each 100 kB.
    """
    if isinstance(checkpointer, InMemorySaver):
        place = config["configurable"]
        held = checkpointer.storage.get(place["thread_id"], {}).get(place.get("checkpoint_ns", ""), {})
        if not held:
            return Newest()
        id_ = max(held)
        return Newest(id_, checkpointer.serde.loads_typed(held[id_][1]))
    found = checkpointer.get_tuple(config)
    return Newest(found.config["configurable"]["checkpoint_id"], found.metadata) if found else Newest()


def made_with(checkpointer: Any, thread: str) -> Mapping[str, Any] | None:
    """Return the metadata of a thread's newest checkpoint; None if there is no such thread.

    A rewind makes a copy of a checkpoint, which LangGraph keeps without the metadata of the thread's configuration.
    """
    config = {"configurable": {"thread_id": thread}}
    found = newest(checkpointer, config)
    if found.metadata.get("source") != "fork":
        return None if found.id is None else found.metadata
    listed = (one.metadata for one in checkpointer.list(config))
    return next((one for one in listed if one.get("source") != "fork"), found.metadata)


def drop_after(checkpointer: Any, thread: str, id_: str) -> bool:
    """Drop the checkpoints of a thread after one; False where the checkpointer is not one in memory."""
    if not isinstance(checkpointer, InMemorySaver):
        return False
    held = checkpointer.storage[thread][""]
    for later in [one for one in held if one > id_]:
        del held[later]
    return True


def whole(files: Mapping[str, Any]) -> dict[str, Any]:
    """The update that snapshots the files in the checkpoint it makes."""
    return {keys.FILES: Overwrite(dict(files))}
