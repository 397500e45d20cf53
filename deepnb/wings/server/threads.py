"""A LangGraph server's threads as a checkpointer holds them, and its JSON as LangGraph's values.

A server knows a thread by a UUID. The name that deepnb gives it is in its metadata; a thread without one is called by
its UUID.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from langchain_core import messages as langchain
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Interrupt, Overwrite, PregelTask, StateSnapshot

from deepnb.engine import keys
from deepnb.wings.server.server import GoneError, Server

_OVERWRITE = "__overwrite__"


class Decoder:
    """Makes messages of JSON; one that came before is the same object again."""

    def __init__(self, channel: str = keys.MESSAGES) -> None:
        self.channel = channel
        self._known: dict[str, tuple[Mapping[str, Any], langchain.BaseMessage]] = {}

    def messages(self, listed: Any) -> list[langchain.BaseMessage]:
        return [self.message(one) for one in listed] if isinstance(listed, list) else []

    def message(self, given: Any) -> langchain.BaseMessage:
        if not isinstance(given, Mapping):
            return langchain.convert_to_messages([given])[0]
        if (known := self._known.get(str(given.get("id")))) is not None and known[0] == given:
            return known[1]
        made = message(given)
        if made.id and not isinstance(made, langchain.AIMessageChunk):
            self._known[made.id] = (given, made)
        return made

    def values(self, state: Any) -> dict[str, Any]:
        """Return the values of a state, with the conversation under its usual name."""
        named = {k: v for k, v in state.items() if k != keys.INTERRUPT} if isinstance(state, Mapping) else {}
        if self.channel in named:
            named[keys.MESSAGES] = self.messages(named.pop(self.channel))
        offload = named.get(keys.OFFLOAD)
        if isinstance(offload, Mapping) and isinstance(offload.get("summary_message"), Mapping):
            named[keys.OFFLOAD] = {**offload, "summary_message": message(offload["summary_message"])}
        return named

    def snapshot(self, name: str, state: Mapping[str, Any]) -> StateSnapshot:
        tasks = []
        for one in state.get("tasks") or ():
            id_, called, path = str(one.get("id")), str(one.get("name")), tuple(one.get("path") or ())
            tasks.append(PregelTask(id_, called, path, interrupts=tuple(interrupts(one.get("interrupts")))))
        nowhere: Any = {"configurable": {"thread_id": name}}
        return StateSnapshot(
            self.values(state.get("values")),
            tuple(state.get("next") or ()),
            place_of(name, state.get("checkpoint")) or nowhere,
            state.get("metadata"),
            state.get("created_at"),
            place_of(name, state.get("parent_checkpoint")),
            tuple(tasks),
            tuple(one for task in tasks for one in task.interrupts),
        )


def message(given: Mapping[str, Any]) -> langchain.BaseMessage:
    """Return a message of the JSON that its `model_dump` made; of any other form, as LangChain reads it."""
    dumped = {"type": given.get("type"), "data": {key: value for key, value in given.items() if value is not None}}
    with suppress(ValueError):
        return langchain.messages_from_dict([dumped])[0]
    return langchain.convert_to_messages([dict(given)])[0]


def interrupts(listed: Any) -> list[Interrupt[Any]]:
    return [
        Interrupt(one.get("value"), str(one.get("id") or ""), response_schema=one.get("response_schema"))
        for one in listed or ()
    ]


def place_of(name: str, checkpoint: Any) -> Any:
    id_ = checkpoint.get("checkpoint_id") if isinstance(checkpoint, Mapping) else None
    return {"configurable": {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": id_}} if id_ else None


def to_json(values: Mapping[str, Any], channel: str = keys.MESSAGES) -> dict[str, Any]:
    """Return values as a server takes them: each message with an id, by which it is known again."""
    return {channel if name == keys.MESSAGES else name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, langchain.BaseMessage):
        return {**value.model_dump(), "id": value.id or str(uuid4())}
    if isinstance(value, Overwrite):
        return {_OVERWRITE: _plain(value.value)}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    return value


_NAME, _PARENT = "deepnb_name", "deepnb_parent"
"""Where in the metadata of a thread its name is, and that of the thread it was forked from."""
_MANY = 1_000
"""Checkpoints of a thread, and threads of a graph, that are asked for."""
_COUNTERS = "counters_since_delta_snapshot"
"""By which deepnb keeps its own checkpoints cheap to read; those of a server are a matter of the server."""
GOING = ("running", "pending")


class ServerThreads(BaseCheckpointSaver[str]):
    """What deepnb asks of a checkpointer, of a server: it checkpoints by itself, so nothing is put here."""

    def __init__(self, server: Server, graph_id: str, decoder: Decoder) -> None:
        super().__init__()
        self.server = server
        self.graph_id = graph_id
        self.decoder = decoder
        self._ids: dict[str, str] = {}
        self.statuses: dict[str, str] = {}
        """Name -> idle, busy, interrupted or error, as the threads were last listed."""
        self.parents: dict[str, str] = {}
        """Name -> `NAME@N` of the thread and turn that a thread was forked from."""
        self.known: dict[str, frozenset[str]] = {}
        """Name -> the ids of the messages, and of the calls with a result, of the state that was read last."""

    def id(self, name: str) -> str | None:
        """Return the UUID of a thread; None where the server has none of this name."""
        if name in self._ids:
            return self._ids[name]
        with suppress(ValueError):
            if str(UUID(name)) == name:
                self._ids[name] = name
                return name
        if found := self._search({_NAME: name}, 1):
            self._ids[name] = found[0]["thread_id"]
            self._note(name, found[0])
        return self._ids.get(name)

    def ensure(self, name: str, facts: Mapping[str, Any]) -> str:
        """Return the UUID of a thread, which is made with these facts where it is not there."""
        id_ = self._ids[name] = self.id(name) or str(uuid4())
        how: Any = {"graph_id": self.graph_id, "metadata": {**facts, _NAME: name}, "if_exists": "do_nothing"}
        self.server.ask(self.server.client.threads.create, thread_id=id_, **how)
        return id_

    def copy(self, source: str, name: str, facts: Mapping[str, Any]) -> str:
        """Return the UUID of a new thread with all checkpoints of another, whose ids it has, too."""
        made: Any = self.server.ask(self.server.client.threads.copy, self.there(source))
        new = self._ids[name] = str(made["thread_id"])
        metadata = {_PARENT: "", **facts, _NAME: name}
        self.server.ask(self.server.client.threads.update, new, metadata=metadata)
        self._note(name, {"metadata": metadata})
        return new

    def listed(self) -> dict[str, str]:
        """Name -> when it changed, of the threads of this graph, the newest first."""
        found: dict[str, str] = {}
        self.statuses = {}
        for row in self._search({}, _MANY):
            id_, facts = str(row["thread_id"]), row.get("metadata") or {}
            name = str(facts.get(_NAME) or id_)
            if self._ids.setdefault(name, id_) != id_:  # somebody else gave another thread the same name
                self._ids[name := id_] = id_
            found[name] = str(row.get("updated_at") or "")
            self.statuses[name] = str(row.get("status") or "")
            self._note(name, row)
        return found

    def _note(self, name: str, row: Mapping[str, Any]) -> None:
        """Where a thread comes from: its checkpoints are copies, and say where their own thread did."""
        self.parents[name] = str((row.get("metadata") or {}).get(_PARENT) or "")

    def _search(self, facts: Mapping[str, str], limit: int) -> list[Any]:
        metadata = {"graph_id": self.graph_id, **facts}
        how: Any = {"limit": limit, "sort_by": "updated_at", "sort_order": "desc"}
        how["select"] = ["thread_id", "metadata", "status", "updated_at"]
        return list(self.server.ask(self.server.client.threads.search, metadata=metadata, **how))

    def there(self, name: str) -> str:
        if (id_ := self.id(name)) is None:
            raise GoneError(f"the server has no thread {name}", "%agent threads lists its threads")
        return id_

    def _asked(self, name: str, call: Callable[..., Any], **how: Any) -> Any:
        """Return what a call gives for a thread; None where the server has none of this name."""
        if (id_ := self.id(name)) is None:
            return None
        try:
            return self.server.ask(call, id_, **how)
        except GoneError:
            return None

    def state(self, name: str, checkpoint: str | None = None) -> dict[str, Any]:
        """Return a state as the server sends it; empty where the server has no such thread."""
        return dict(self._asked(name, self.server.client.threads.get_state, checkpoint_id=checkpoint) or {})

    def run_under_way(self, name: str) -> Mapping[str, Any] | None:
        """Return the run that goes on in a thread, or is to."""
        runs = self._asked(name, self.server.client.runs.list, limit=20) or ()
        return next((run for run in runs if run["status"] in GOING), None)

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        place = config["configurable"]
        return self._tuple(place["thread_id"], self.state(place["thread_id"], place.get("checkpoint_id")))

    def list(
        self,
        config: Any,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: Any = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, the newest first; without one, the newest of each, by when it changed."""
        if config is None:
            for name, at in self.listed().items():
                place: Any = {"configurable": {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": at}}
                yield CheckpointTuple(place, {}, {})  # type: ignore[typeddict-item]
            return
        name, history = config["configurable"]["thread_id"], self.server.client.threads.get_history
        for state in self._asked(name, history, limit=limit or _MANY, metadata=filter) or ():
            if (one := self._tuple(name, state)) is not None:
                yield one

    def delete_thread(self, thread_id: str) -> None:
        self._asked(thread_id, self.server.client.threads.delete)
        self._ids.pop(thread_id, None)

    def _tuple(self, name: str, state: Mapping[str, Any]) -> CheckpointTuple | None:
        """Return a checkpoint with what was given to its thread there, if anything was; the values are left out."""
        if (place := place_of(name, state.get("checkpoint"))) is None:
            return None
        given = next((t.get("result") for t in state.get("tasks") or () if t.get("name") == "__start__"), None)
        if isinstance(given, Mapping) and (channel := self.decoder.channel) in given:
            given = {**given, channel: self.decoder.messages(given[channel])}
        checkpoint: Any = {
            "v": 1,
            "id": place["configurable"]["checkpoint_id"],
            "ts": str(state.get("created_at") or ""),
            "channel_values": {"__start__": given} if given else {},
            "channel_versions": {},
            "versions_seen": {},
        }
        facts: Any = {k: v for k, v in (state.get("metadata") or {}).items() if k not in (_COUNTERS, _PARENT)}
        facts |= {_PARENT: parent} if (parent := self.parents.get(name)) else {}
        return CheckpointTuple(place, checkpoint, facts, place_of(name, state.get("parent_checkpoint")))


def ids_of(values: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the messages of a state, and of the calls that have a result in it."""
    listed = values.get(keys.MESSAGES) or ()
    return frozenset(id_ for m in listed for id_ in (m.id, getattr(m, "tool_call_id", None)) if id_)
