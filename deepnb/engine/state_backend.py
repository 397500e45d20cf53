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
from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel

from deepnb.engine import keys
from deepnb.engine.file_extras import SkippedEntries

APPENDED = "appended"
"""Key of a write that adds its text to the end of the file, in the place of `content`."""


def with_writes(files: dict[str, Any] | None, writes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Upstream's reducer of `files`, which also takes a write that only appends: a checkpoint holds no more than that."""
    out = dict(files or {})
    for write in writes:
        for path, data in write.items():
            if data is None:
                out.pop(path, None)
            elif APPENDED in data:
                out[path] = _appended(out.get(path), data)
            else:
                out[path] = data
    return out


def _appended(old: Mapping[str, Any] | None, data: Mapping[str, Any]) -> dict[str, Any]:
    new = {key: value for key, value in data.items() if key != APPENDED}
    text = data[APPENDED] if old is None else file_data_to_string(old) + data[APPENDED]  # type: ignore[arg-type]
    return {**new, **(old or {}), "modified_at": data["modified_at"], "content": text}


class MessagesChannel(DeltaChannel[list[AnyMessage]]):
    """A delta channel whose snapshots, each the whole thread, come the more seldom the longer it is.

    Upstream writes one every 50 updates, so that what a turn adds to the disk grows with the thread. One for each
    quarter that the thread has grown adds the same to every turn; a load walks back that quarter at most.
    """

    __slots__ = ("_least",)

    @property
    def snapshot_frequency(self) -> int:  # type: ignore[override]
        """Updates from one snapshot to the next."""
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
"""The channels of a state that grow."""


class KernelState(FilesystemState, DeepAgentState):
    """The state of an agent whose files live in the kernel, whether or not it has file tools.

    The later base's annotation of a key holds.
    """

    files: Annotated[NotRequired[dict[str, FileData]], CHANNELS[keys.FILES]]
    messages: Required[Annotated[list[AnyMessage], CHANNELS[keys.MESSAGES]]]


class CheckpointFiles(Protocol):
    """Where files are read and written while no run is going on."""

    def read(self) -> Mapping[str, Any]:
        """path -> FileData."""

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the files; None deletes."""


class ThreadFiles(CheckpointFiles, Protocol):
    """The files in the state of the thread that is meant."""

    def whole(self, files: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the files of a state with their whole texts."""

    def refresh(self) -> object:
        """See what another program wrote since, unless a run is going on."""


class FilesInMemory:
    """Files in this process: a write makes a new mapping, so that one that was read stays as it was."""

    def __init__(self, files: Mapping[str, Any] | None = None) -> None:
        self._files: Mapping[str, Any] = files or {}

    def read(self) -> Mapping[str, Any]:
        """Return path -> FileData."""
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

    def _inside(self) -> bool:
        try:
            self._get_config()
        except RuntimeError:
            return False
        return True

    def append_text(self, path: str, text: str) -> str | None:
        """Add `text` to the end of the file, which is not written again; gives the error, if any."""
        now = datetime.now(UTC).isoformat()
        data = {APPENDED: text, "encoding": "utf-8", "created_at": now, "modified_at": now}
        if self._inside():
            super()._send_files_update({path: data})
        else:
            self._checkpoint.write({path: data})
        return None

    def folder_version(self, directory: str, name: str) -> dict[str, Any]:
        """The files below a directory, as they are held: equal to those of another time where nothing changed."""
        return {p: data for p, data in self._read_files().items() if p.startswith(directory)}

    def skipped_entries(self, directory: str, name: str, most: int) -> SkippedEntries:
        """None: there are no links."""
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
