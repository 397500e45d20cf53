"""What a server sends as JSON, as LangChain's and LangGraph's values, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.types import Interrupt, Overwrite, PregelTask, StateSnapshot

from deepnb.engine import keys

_KINDS: Mapping[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "AIMessageChunk": AIMessageChunk,
    "tool": ToolMessage,
    "system": SystemMessage,
    "remove": RemoveMessage,
}
_OVERWRITE = "__overwrite__"


class Decoder:
    """Makes messages of JSON; one that came before is the same object again."""

    def __init__(self, channel: str = keys.MESSAGES) -> None:
        """`channel` is that of the conversation."""
        self.channel = channel
        self._known: dict[str, tuple[Mapping[str, Any], BaseMessage]] = {}

    def messages(self, listed: Any) -> list[BaseMessage]:
        """The messages of a list."""
        return [self.message(one) for one in listed] if isinstance(listed, list) else []

    def message(self, given: Any) -> BaseMessage:
        """One message."""
        if not isinstance(given, Mapping):
            return convert_to_messages([given])[0]
        known = self._known.get(str(given.get("id")))
        if known is not None and known[0] == given:
            return known[1]
        made = message(given)
        if made.id and not isinstance(made, AIMessageChunk):
            self._known[made.id] = (given, made)
        return made

    def values(self, state: Any) -> dict[str, Any]:
        """The values of a state, with the conversation under its usual name."""
        named = {k: v for k, v in state.items() if k != keys.INTERRUPT} if isinstance(state, Mapping) else {}
        if self.channel in named:
            named[keys.MESSAGES] = self.messages(named.pop(self.channel))
        offload = named.get(keys.OFFLOAD)
        if isinstance(offload, Mapping) and isinstance(offload.get("summary_message"), Mapping):
            named[keys.OFFLOAD] = {**offload, "summary_message": message(offload["summary_message"])}
        return named

    def snapshot(self, name: str, state: Mapping[str, Any]) -> StateSnapshot:
        """The state of a thread of this name."""
        tasks = tuple(_task(one) for one in state.get("tasks") or ())
        found = tuple(i for task in tasks for i in task.interrupts)
        place: Any
        nowhere: Any = {"configurable": {"thread_id": name}}
        place, parent = place_of(name, state.get("checkpoint")), place_of(name, state.get("parent_checkpoint"))
        return StateSnapshot(
            self.values(state.get("values")),
            tuple(state.get("next") or ()),
            place or nowhere,
            state.get("metadata"),
            state.get("created_at"),
            parent,
            tasks,
            found,
        )


def message(given: Mapping[str, Any]) -> BaseMessage:
    """A message of the JSON that its `model_dump` made; of any other form, as LangChain reads it."""
    kind = _KINDS.get(str(given.get("type")))
    if kind is None:
        return convert_to_messages([dict(given)])[0]
    return kind.model_validate({key: value for key, value in given.items() if value is not None})


def interrupts(listed: Any) -> list[Interrupt[Any]]:
    """What a run or a step asks."""
    return [
        Interrupt(one.get("value"), str(one.get("id") or ""), response_schema=one.get("response_schema"))
        for one in listed or ()
    ]


def place_of(name: str, checkpoint: Any) -> Any:
    """A checkpoint as LangGraph names it, or None."""
    id_ = checkpoint.get("checkpoint_id") if isinstance(checkpoint, Mapping) else None
    return {"configurable": {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": id_}} if id_ else None


def to_json(values: Mapping[str, Any], channel: str = keys.MESSAGES) -> dict[str, Any]:
    """Values as a server takes them: each message with an id, by which it is known again."""
    return {channel if name == keys.MESSAGES else name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return {**value.model_dump(), "id": value.id or str(uuid4())}
    if isinstance(value, Overwrite):
        return {_OVERWRITE: _plain(value.value)}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    return value


def _task(given: Mapping[str, Any]) -> PregelTask:
    path, asked = tuple(given.get("path") or ()), tuple(interrupts(given.get("interrupts")))
    return PregelTask(str(given.get("id")), str(given.get("name")), path, None, asked)
