"""What was taken out of the state of a kept thread: messages that no request has any more, and long texts of files.

A step reads and reduces all that its state holds, and every few turns all of it is written again: what a turn costs
would grow with its thread. So a compaction takes the messages that it sums up out of the state as well, and where all
files are written, those whose text is long stay behind. Each leaves a mark that names the checkpoint which holds what
was taken. Whoever asks for a state is given the whole of it.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel._checkpoint import channels_from_checkpoint
from langgraph.types import Overwrite

from deepnb.engine import keys
from deepnb.engine.request import mark_of
from deepnb.engine.state_backend import CHANNELS
from deepnb.values.messages import GrowingList

Values = Mapping[str, Any]

LONG = 64_000
"""Characters of a file from which on its text is not written again: a history file grows by half of that."""


class Taken:
    """Gives states what was taken out of them, each part read once from its checkpoint."""

    def __init__(self, checkpointer: BaseCheckpointSaver[Any]) -> None:
        self._checkpointer = checkpointer
        self._messages: dict[str, GrowingList[BaseMessage]] = {}
        """The checkpoint before a compaction -> all that this one and those before it have taken out."""
        self._texts: dict[tuple[str, str], tuple[str, str]] = {}
        """Thread and path -> the checkpoint that a mark names, and the text of the file there."""

    def forget(self) -> None:
        """Read all of it anew: what is stored was changed."""
        self._messages.clear()
        self._texts.clear()

    def whole(self, values: Values, before: Values | None = None) -> Values:
        """Return a state with all messages and texts of its thread; `before` is that of the step before, where known."""
        mark, files = mark_of(values), values.get(keys.FILES)
        if files and (whole := self.files(files)) is not files:
            values = {**values, keys.FILES: whole}
        if not mark.get("messages"):
            return values
        taken = self._taken(mark, before)
        event = {**values[keys.OFFLOAD], keys.TAKEN: {**mark, "messages": 0}}
        for index in ("cutoff_index", "created_at_index"):
            event[index] += len(taken)
        return {**values, keys.MESSAGES: [*taken, *values[keys.MESSAGES]], keys.OFFLOAD: event}

    def files(self, files: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the files of a state with their whole texts."""
        cut = {path: self._file(path, data) for path, data in files.items() if keys.TAKEN in data}
        return {**files, **cut} if cut else files

    def _taken(self, mark: Mapping[str, Any], before: Values | None) -> GrowingList[BaseMessage]:
        todo = []
        while mark.get("messages") and mark["checkpoint"] not in self._messages:
            held, before = before or self._read(mark, keys.MESSAGES), None
            gone = mark["messages"] - mark_of(held).get("messages", 0)
            todo.append((mark["checkpoint"], held[keys.MESSAGES][:gone]))
            mark = mark_of(held)
        taken = self._messages[mark["checkpoint"]] if mark.get("messages") else GrowingList[BaseMessage]()
        for checkpoint, messages in reversed(todo):
            self._messages[checkpoint] = taken = taken.replace_from(len(taken), messages)
        return taken

    def _file(self, path: str, data: Mapping[str, Any]) -> dict[str, Any]:
        mark, key, parts = data[keys.TAKEN], (data[keys.TAKEN]["thread"], path), list[str]()
        first = mark["checkpoint"]
        while mark and self._texts.get(key, ("", ""))[0] != mark["checkpoint"]:
            held = self._read(mark, keys.FILES)[keys.FILES].get(path) or {"content": ""}
            parts.append(held["content"])
            mark = held.get(keys.TAKEN)
        text = "".join((self._texts[key][1] if mark else "", *reversed(parts)))
        self._texts[key] = first, text
        return {**{k: v for k, v in data.items() if k != keys.TAKEN}, "content": text + data["content"]}

    def _read(self, mark: Mapping[str, Any], channel: str) -> Values:
        """A channel as a checkpoint holds it, with the last compaction before."""
        place = {"thread_id": mark["thread"], "checkpoint_ns": "", "checkpoint_id": mark["checkpoint"]}
        found = self._checkpointer.get_tuple({"configurable": place})
        spec = CHANNELS[channel]
        if found is None:  # somebody deleted old checkpoints
            return {channel: spec.typ()}
        channels, _ = channels_from_checkpoint(
            {channel: spec}, found.checkpoint, saver=self._checkpointer, config=found.config
        )
        return {channel: channels[channel].get(), keys.OFFLOAD: found.checkpoint["channel_values"].get(keys.OFFLOAD)}


def without_messages(update: Values, state: Values, thread: str, checkpoint: str) -> dict[str, Any]:
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


def without_texts(update: Values, state: Values, thread: str, checkpoint: str) -> dict[str, Any]:
    """Return the update that writes all files, without the long texts that `checkpoint` holds, which has this state."""
    held, mark = state.get(keys.FILES) or {}, {"thread": thread, "checkpoint": checkpoint}
    files = {path: held.get(path, data) for path, data in update[keys.FILES].value.items()}
    for path, data in files.items():
        if isinstance(data["content"], str) and len(data["content"]) > LONG:
            files[path] = {**data, "content": "", keys.TAKEN: mark}
    return {**update, keys.FILES: Overwrite(files)}


def without_mark(values: Values) -> dict[str, Any]:
    """Return the values of a whole state for another thread, whose own state holds all of its messages."""
    event = values.get(keys.OFFLOAD)
    return {**values, keys.OFFLOAD: {k: v for k, v in event.items() if k != keys.TAKEN}} if event else dict(values)
