"""Checkpoints beside the state: what a thread's newest one tells, memory in a given one, threads of other sessions.

A delta channel is read by walking back to its last snapshot, decoding each checkpoint on the way. One that is
written once and then rests (`files`) has no new snapshot for 5,000 steps: every turn would walk the whole thread.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, NotRequired, TypedDict

from deepagents.backends.protocol import FileData
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite

from deepnb.engine import keys
from deepnb.engine.keys import MEMORY_THREAD
from deepnb.engine.request import message_text
from deepnb.engine.state_backend import with_writes
from deepnb.values.turn import Event, TextDelta, ToolEnded, ToolStarted

FAR = 100
"""Steps back to the last snapshot of a resting channel: about ten turns, as far as messages are walked back."""


def newest(checkpointer: Any, config: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Return (the id of a thread's newest checkpoint, or None; its metadata); one in memory is not decoded."""
    if not isinstance(checkpointer, InMemorySaver):
        found = checkpointer.get_tuple(config)
        return (found.config["configurable"]["checkpoint_id"], found.metadata) if found else (None, {})
    place = config["configurable"]
    held = checkpointer.storage.get(place["thread_id"], {}).get(place.get("checkpoint_ns", ""), {})
    if not held:
        return None, {}
    id_ = max(held)
    return id_, checkpointer.serde.loads_typed(held[id_][1])


def rested_files(checkpointer: Any, config: Mapping[str, Any], files: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update that snapshots the files of a thread where the last snapshot is far; empty where it is near."""
    counters = newest(checkpointer, config)[1].get("counters_since_delta_snapshot") or {}
    return {keys.FILES: Overwrite(dict(files))} if counters.get(keys.FILES, (0, 0))[1] >= FAR else {}


def made_with(checkpointer: Any, thread: str) -> Mapping[str, Any] | None:
    """Return the metadata of a thread's newest checkpoint, or of the one that a rewind copied; None without one."""
    config = {"configurable": {"thread_id": thread}}
    id_, facts = newest(checkpointer, config)
    if facts.get("source") != "fork":
        return None if id_ is None else facts
    listed = (one.metadata for one in checkpointer.list(config))
    return next((one for one in listed if one.get("source") != "fork"), facts)


def drop_after(checkpointer: Any, thread: str, id_: str) -> bool:
    """Drop the checkpoints of a thread after one; False where the checkpointer is not one in memory."""
    if not isinstance(checkpointer, InMemorySaver):
        return False
    held = checkpointer.storage[thread][""]
    for later in [one for one in held if one > id_]:
        del held[later]
    return True


# -- memory in a checkpointer that was given: the files of a thread of their own, whose checkpoints are their versions


_NODE = "memory"


class _Home(TypedDict):
    files: Annotated[NotRequired[dict[str, FileData]], DeltaChannel(with_writes, snapshot_frequency=50)]


class HomeThread:
    """The memory that threads have in common, in the checkpointer that holds them; other sessions may write there, too."""

    def __init__(self, checkpointer: Any, name: str = "") -> None:
        self._graph = _graph(checkpointer)
        self._checkpointer = checkpointer
        thread = f"{MEMORY_THREAD}-{name}" if name else MEMORY_THREAD
        self._config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        self._read: tuple[str | None, Mapping[str, Any]] = (None, {})

    def read(self) -> Mapping[str, Any]:
        return self._at(newest(self._checkpointer, self._config)[0])

    def write(self, update: Mapping[str, Any]) -> None:
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
    builder = StateGraph(_Home).add_node(_NODE, lambda state: {}).add_edge(START, _NODE).add_edge(_NODE, END)
    return builder.compile(checkpointer=checkpointer)


# -- threads that another session made: what a checkpointer holds of them


@dataclass(frozen=True)
class Begin:
    at: str
    before: str | None
    """The checkpoint of the state before it; None where there was none."""
    ended: str | None
    """That of the state just after the turn before: what was written between the two came later."""
    first: str | None


def stored_threads(checkpointer: Any) -> dict[str, str]:
    """Return thread -> the id of its newest checkpoint, the thread that changed last first. Checkpoint ids grow with time."""
    ids: Iterable[tuple[str, str]]
    if isinstance(checkpointer, InMemorySaver):
        ids = [(t, max(spaces[""])) for t, spaces in checkpointer.storage.items() if spaces.get("")]
    elif any(base.__name__ == "SqliteSaver" for base in type(checkpointer).__mro__):  # its `list` decodes all there is
        checkpointer.setup()
        query = "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        with closing(checkpointer.conn.cursor()) as cursor:
            ids = cursor.execute(query).fetchall()
    else:
        places = (found.config["configurable"] for found in checkpointer.list(None))
        ids = ((p["thread_id"], p["checkpoint_id"]) for p in places if not p.get("checkpoint_ns"))
    found: dict[str, str] = {}
    for thread, id_ in ids:
        if not thread.startswith(MEMORY_THREAD):
            found[thread] = max(id_, found.get(thread, ""))
    return dict(sorted(found.items(), key=itemgetter(1), reverse=True))


def begins(
    checkpointer: Any, config: Mapping[str, Any], newest: str | None, channel: str = keys.MESSAGES
) -> tuple[dict[str, Begin], str | None]:
    """Return (id of a prompt's message -> where its turn began, of all turns of a thread; the end of the last one)."""
    parent = {_id(one.config): _id(one.parent_config) for one in checkpointer.list(config, filter={"source": "update"})}
    found, last = {}, newest
    while parent.get(last):
        last = parent[last]
    for one in checkpointer.list(config, filter={"source": "input"}):
        given = one.checkpoint["channel_values"].get(keys.START)
        messages = given.get(channel) if isinstance(given, Mapping) else None
        ended = before = _id(one.parent_config)
        while ended in parent:
            ended = parent[ended]
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, BaseMessage) and message.id:
                found[message.id] = Begin(one.checkpoint["ts"], before, ended, _id(one.config))
    return found, last


def _id(config: Mapping[str, Any] | None) -> str | None:
    return config["configurable"]["checkpoint_id"] if config else None


def call_results(messages: Sequence[BaseMessage]) -> Iterator[ToolMessage | None]:
    """Return the result of each call of these messages, in their order; an id may be that of several calls, one after another."""
    found: list[ToolMessage | None] = []
    open_: dict[str | None, list[int]] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            open_.update({call["id"]: [] for call in message.tool_calls})
            for call in message.tool_calls:
                open_[call["id"]].append(len(found))
                found.append(None)
        elif isinstance(message, ToolMessage) and (left := open_.get(message.tool_call_id)):
            found[left.pop(0)] = message
    return iter(found)


def stored_events(messages: Sequence[BaseMessage], waiting: set[str]) -> Iterator[Event]:
    """Yield what these messages tell of what happened."""
    results = call_results(messages)
    for number, message in enumerate((m for m in messages if isinstance(m, AIMessage)), 1):
        if text := message_text(message):
            yield TextDelta(text, number)
        for call in message.tool_calls:
            id_, name, result = call["id"] or "", call["name"], next(results)
            if id_ in waiting and result is None:
                continue
            yield ToolStarted(id_, name, dict(call["args"]))
            if result is None:
                yield ToolEnded(id_, name, "interrupted", "cut", 0.0)
            else:
                status = "error" if result.status == "error" else "ok"
                yield ToolEnded(id_, name, message_text(result), status, 0.0)  # type: ignore[arg-type]
