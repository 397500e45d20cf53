"""What compactions took out of the state of a kept thread: messages that no request has any more.

A step reads, reduces and writes all that its state holds, so that what a turn costs would grow with its thread. A
compaction therefore takes the messages that it sums up out of the state as well, and leaves a mark there that names
the checkpoint before it, which still holds them. Whoever asks for a state is given the whole of it.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel._checkpoint import channels_from_checkpoint

from deepnb.core.growing_list import GrowingList
from deepnb.engine import keys
from deepnb.engine.request import mark_of
from deepnb.engine.state_backend import MESSAGES

Values = Mapping[str, Any]


class TakenMessages:
    """Gives states the messages that compactions took out of them, each read once from its checkpoint."""

    def __init__(self, checkpointer: BaseCheckpointSaver[Any]) -> None:
        self._checkpointer = checkpointer
        self._known: dict[str, GrowingList[BaseMessage]] = {}
        """The checkpoint before a compaction -> all that this one and those before it have taken out."""

    def forget(self) -> None:
        """Read them anew: what is stored was changed."""
        self._known.clear()

    def whole(self, values: Values, before: Values | None = None) -> Values:
        """Return a state with all messages of its thread; `before` is the state of the step before, if it is known."""
        mark = mark_of(values)
        if not mark.get("messages"):
            return values
        taken = self._taken(mark, before)
        event = {**values[keys.OFFLOAD], keys.TAKEN: {**mark, "messages": 0}}
        for index in ("cutoff_index", "created_at_index"):
            event[index] += len(taken)
        return {**values, keys.MESSAGES: [*taken, *values[keys.MESSAGES]], keys.OFFLOAD: event}

    def _taken(self, mark: Mapping[str, Any], before: Values | None) -> GrowingList[BaseMessage]:
        todo = []
        while mark.get("messages") and mark["checkpoint"] not in self._known:
            held, before = before or self._read(mark), None
            todo.append((mark, held[keys.MESSAGES]))
            mark = mark_of(held)
        taken = self._known[mark["checkpoint"]] if mark.get("messages") else GrowingList[BaseMessage]()
        for one, messages in reversed(todo):
            taken = taken.replace_from(len(taken), messages[: one["messages"] - len(taken)])
            self._known[one["checkpoint"]] = taken
        return taken

    def _read(self, mark: Mapping[str, Any]) -> Values:
        place = {"thread_id": mark["thread"], "checkpoint_ns": "", "checkpoint_id": mark["checkpoint"]}
        found = self._checkpointer.get_tuple({"configurable": place})
        if found is None:  # somebody deleted old checkpoints: what they held is in the history file
            return {keys.MESSAGES: []}
        channels, _ = channels_from_checkpoint(
            {keys.MESSAGES: MESSAGES}, found.checkpoint, saver=self._checkpointer, config=found.config
        )
        event = found.checkpoint["channel_values"].get(keys.OFFLOAD)
        return {keys.MESSAGES: channels[keys.MESSAGES].get(), keys.OFFLOAD: event}


def with_mark(update: Values, state: Values, thread: str, checkpoint: str) -> dict[str, Any]:
    """Return the update of a compaction, counted from the thread's first message, with what it sums up taken out.

    `state` is the state as it is stored, and `checkpoint` that which holds it.
    """
    event = update[keys.OFFLOAD]
    cutoff = event["cutoff_index"]
    gone = state[keys.MESSAGES][: max(0, cutoff - mark_of(state).get("messages", 0))]
    mark = {"thread": thread, "checkpoint": checkpoint, "messages": cutoff}
    moved = {"cutoff_index": 0, "created_at_index": event["created_at_index"] - cutoff, keys.TAKEN: mark}
    messages = [*(RemoveMessage(id=m.id) for m in gone), *update.get(keys.MESSAGES, ())]
    return {**update, keys.OFFLOAD: {**event, **moved}, keys.MESSAGES: messages}


def without_mark(values: Values) -> dict[str, Any]:
    """Return the values of a whole state for another thread, whose own state holds all of its messages."""
    event = values.get(keys.OFFLOAD)
    kept = {k: v for k, v in event.items() if k != keys.TAKEN} if event else event
    return {**values, **({keys.OFFLOAD: kept} if event else {})}
