"""Upstream's StateBackend, readable and writable outside a run as well; and files that are in no thread's state."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, NotRequired, Protocol, Required, Self

from deepagents._messages_reducer import _messages_delta_reducer
from deepagents.backends import StateBackend
from deepagents.backends.protocol import FileData
from deepagents.backends.utils import file_data_to_string
from deepagents.graph import DeepAgentState
from deepagents.middleware.filesystem import FilesystemState
from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel._checkpoint import channels_from_checkpoint
from langgraph.types import Overwrite

from deepnb.engine import keys
from deepnb.engine.file_extras import SkippedEntries
from deepnb.engine.request import mark_of
from deepnb.values.messages import GrowingList

APPENDED = "appended"
"""Key of a write that adds its text to the end of the file, in the place of `content`."""


def with_writes(files: dict[str, Any] | None, writes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Do what upstream's reducer of `files` does, which also takes a write that only appends: a checkpoint holds no more than that."""
    out = dict(files or {})
    for write in writes:
        for path, data in write.items():
            if data is None:
                out.pop(path, None)
            elif APPENDED in data:
                old = out.get(path)
                new = {key: value for key, value in data.items() if key != APPENDED}
                text = data[APPENDED] if old is None else file_data_to_string(old) + data[APPENDED]  # type: ignore[arg-type]
                out[path] = {**new, **(old or {}), "modified_at": data["modified_at"], "content": text}
            else:
                out[path] = data
    return out


class MessagesChannel(DeltaChannel[list[AnyMessage]]):
    """A delta channel with a snapshot for each quarter that a thread grows: one for 50 updates writes more and more."""

    __slots__ = ("_least",)

    @property
    def snapshot_frequency(self) -> int:  # type: ignore[override]
        held = self.value if isinstance(self.value, list) else ()
        return max(self._least, len(held) // 4)

    @snapshot_frequency.setter
    def snapshot_frequency(self, least: int) -> None:
        self._least = least

    def copy(self) -> Self:
        made = super().copy()
        made._least = self._least
        return made


CHANNELS: Mapping[str, DeltaChannel[Any]] = {
    keys.FILES: DeltaChannel(with_writes, dict, snapshot_frequency=50),
    keys.MESSAGES: MessagesChannel(_messages_delta_reducer, snapshot_frequency=60),  # type: ignore[arg-type]
}


class KernelState(FilesystemState, DeepAgentState):
    """The state of an agent whose files live in the kernel; the later base's annotation of a key holds."""

    files: Annotated[NotRequired[dict[str, FileData]], CHANNELS[keys.FILES]]
    messages: Required[Annotated[list[AnyMessage], CHANNELS[keys.MESSAGES]]]


class CheckpointFiles(Protocol):
    """Where files are read and written while no run is going on."""

    def read(self) -> Mapping[str, Any]:
        """path -> FileData."""

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the files; None deletes."""


class FilesInMemory:
    """Files in this process: a write makes a new mapping, so that one that was read stays as it was."""

    def __init__(self, files: Mapping[str, Any] | None = None) -> None:
        self._files: Mapping[str, Any] = files or {}

    def read(self) -> Mapping[str, Any]:
        return self._files

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the files; None deletes."""
        self._files = with_writes(dict(self._files), [update])


class KernelBackend(StateBackend):
    """Inside a run it goes through the graph's channels, outside through `checkpoint`."""

    def __init__(
        self, checkpoint: CheckpointFiles, whole: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    ) -> None:
        """`whole` gives the files of a channel their whole texts."""
        super().__init__()
        self._checkpoint = checkpoint
        self._whole = whole
        self._versions: tuple[object, dict[str, dict[str, Any]]] = (None, {})

    def _inside(self) -> bool:
        try:
            self._get_config()
        except RuntimeError:
            return False
        return True

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of the file, which is not written again; return the error, if any."""
        now = datetime.now(UTC).isoformat()
        data = {APPENDED: text, "encoding": "utf-8", "created_at": now, "modified_at": now}
        self._send_files_update({path: data})
        return None

    def file_versions(self, directory: str) -> dict[str, Any]:
        """Return the files below a directory as they are held; the same mapping while those of all directories are the same."""
        held = self._read_files() if self._inside() else self._checkpoint.read()
        if self._versions[0] is not held:
            self._versions = held, {}
        versions = self._versions[1]
        if directory not in versions:
            versions[directory] = {p: data for p, data in held.items() if p.startswith(directory)}
        return versions[directory]

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """Return an empty dict: a state has no links."""
        return {}

    def _read_files(self) -> dict[str, Any]:
        return dict(self._whole(super()._read_files()) if self._inside() else self._checkpoint.read())

    def _send_files_update(self, update: dict[str, Any]) -> None:
        if self._inside():
            super()._send_files_update(update)
        else:
            self._checkpoint.write(update)


class HomeBackend(KernelBackend):
    """Files that are in no thread's state: a run reads and writes them where everybody does."""

    def _inside(self) -> bool:
        return False


# -- what was taken out of the state of a kept thread: messages that no request has any more, and long texts of files


Values = Mapping[str, Any]

LONG = 64_000
"""Characters of a file from which on its text is not written again: a history file grows by half of that."""


class Restorer:
    """Gives states what was taken out of them, each part read once from its checkpoint."""

    def __init__(self, checkpointer: BaseCheckpointSaver[Any]) -> None:
        self._checkpointer = checkpointer
        self._messages: dict[str, GrowingList[BaseMessage]] = {}
        """The checkpoint before a compaction -> all that this one and those before it have taken out."""
        self._texts: dict[tuple[str, str], tuple[str, str]] = {}
        """Thread and path -> the checkpoint that a mark names, and the text of the file there."""

    def forget(self) -> None:
        self._messages.clear()
        self._texts.clear()

    def whole(self, values: Values, before: Values | None = None) -> Values:
        """Return a state with all messages and texts of its thread; `before` is that of the step before, where known."""
        mark, files = mark_of(values), values.get(keys.FILES)
        if files and (whole := self.files(files)) is not files:
            values = {**values, keys.FILES: whole}
        if not mark.get("messages"):
            return values
        todo, last = list[tuple[str, Any]](), mark
        while last.get("messages") and last["checkpoint"] not in self._messages:
            held, before = before or self._read(last, keys.MESSAGES), None
            gone = last["messages"] - mark_of(held).get("messages", 0)
            todo.append((last["checkpoint"], held[keys.MESSAGES][:gone]))
            last = mark_of(held)
        taken = self._messages[last["checkpoint"]] if last.get("messages") else GrowingList[BaseMessage]()
        for checkpoint, messages in reversed(todo):
            self._messages[checkpoint] = taken = taken.replace_from(len(taken), messages)
        event = {**values[keys.OFFLOAD], keys.TAKEN: {**mark, "messages": 0}}
        for index in ("cutoff_index", "created_at_index"):
            event[index] += len(taken)
        return {**values, keys.MESSAGES: [*taken, *values[keys.MESSAGES]], keys.OFFLOAD: event}

    def files(self, files: Mapping[str, Any]) -> Mapping[str, Any]:
        cut: dict[str, Any] = {}
        for path, data in files.items():
            if (mark := data.get(keys.TAKEN)) is None:
                continue
            key, parts, first = (mark["thread"], path), list[str](), mark["checkpoint"]
            while mark and self._texts.get(key, ("", ""))[0] != mark["checkpoint"]:
                held = self._read(mark, keys.FILES)[keys.FILES].get(path) or {"content": ""}
                parts.append(held["content"])
                mark = held.get(keys.TAKEN)
            text = "".join((self._texts[key][1] if mark else "", *reversed(parts)))
            self._texts[key] = first, text
            cut[path] = {**{k: v for k, v in data.items() if k != keys.TAKEN}, "content": text + data["content"]}
        return {**files, **cut} if cut else files

    def _read(self, mark: Mapping[str, Any], channel: str) -> Values:
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
    """Return the update of a compaction, counted from the thread's first message, without the messages it sums up."""
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
