"""Memory in a checkpointer that was given: the files of a thread of their own, whose checkpoints are their versions."""

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

from deepagents.backends.protocol import FileData
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph

from deepnb.engine import keys
from deepnb.engine.checkpoints import newest
from deepnb.engine.state_backend import with_writes

_NODE = "memory"


class _Home(TypedDict):
    files: Annotated[NotRequired[dict[str, FileData]], DeltaChannel(with_writes, snapshot_frequency=50)]


class HomeThread:
    """The memory that threads have in common, in the checkpointer that holds them; other sessions may write there, too."""

    def __init__(self, checkpointer: Any, name: str = "") -> None:
        """`name` is that of the thread which has a memory of its own; empty for the session's."""
        self._graph = _graph(checkpointer)
        self._checkpointer = checkpointer
        thread = f"{keys.MEMORY_THREAD}-{name}" if name else keys.MEMORY_THREAD
        self._config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        self._read: tuple[str | None, Mapping[str, Any]] = (None, {})

    def read(self) -> Mapping[str, Any]:
        """Return path -> FileData, as they are now."""
        return self._at(newest(self._checkpointer, self._config).id)

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into the files; None deletes."""
        self._graph.update_state(self._config, {keys.FILES: dict(update)}, as_node=_NODE)

    def as_of(self, checkpoint: str) -> Mapping[str, Any]:
        """Return the files as a checkpoint of any thread saw them: ids of checkpoints are UUIDs in the order of time."""
        before = {"configurable": {"checkpoint_id": checkpoint}}
        found = next(iter(self._checkpointer.list(self._config, before=before, limit=1)), None)
        return self._at(found.config["configurable"]["checkpoint_id"]) if found else {}

    def _at(self, id_: str | None) -> Mapping[str, Any]:
        if id_ is None:
            return {}
        if self._read[0] != id_:
            at = {"configurable": {**self._config["configurable"], "checkpoint_id": id_}}
            self._read = id_, self._graph.get_state(at).values.get(keys.FILES) or {}
        return self._read[1]


def files_in_state(checkpointer: Any, thread: str) -> Mapping[str, Any]:
    """Return the files that the newest state of a thread of any agent with file tools holds: path -> FileData."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return _graph(checkpointer).get_state(config).values.get(keys.FILES) or {}


def _graph(checkpointer: Any) -> Any:
    """Return the least graph that has a channel of files."""
    builder = StateGraph(_Home)
    builder.add_node(_NODE, lambda state: {})
    builder.add_edge(START, _NODE)
    builder.add_edge(_NODE, END)
    return builder.compile(checkpointer=checkpointer)
