"""Threads that another session made: what a checkpointer holds of them, and a file's messages as those of a live thread.

A turn begins at a checkpoint of source `input`, whose channel `__start__` holds the prompt; the checkpoint before it
is the state just after the turn before. So a thread of any length is told by one checkpoint a turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from deepnb.engine import keys
from deepnb.engine.answer import usage
from deepnb.engine.compaction import turn_start
from deepnb.engine.request import is_request, message_text
from deepnb.values.messages import SUMMARY, Message, ToolCall
from deepnb.values.turn import Event, TextDelta, ToolEnded, ToolStarted, Usage


@dataclass(frozen=True)
class StoredTurn:
    """A turn as the messages of its thread tell it; what was timed or counted in it is not known."""

    prompt: str
    request: str
    """The id of the message that holds the prompt."""
    start: int
    """Messages [start, end) of the thread are its own."""
    end: int
    text: str
    events: tuple[Event, ...]
    usage: Usage
    model: str


@dataclass(frozen=True)
class Begin:
    """Where a turn began."""

    at: str
    """ISO timestamp."""
    before: str | None
    """The checkpoint of the state before it; None where there was none."""
    ended: str | None
    """That of the state just after the turn before: what was written between the two came later."""
    first: str | None
    """Its own first checkpoint."""


def stored_threads(checkpointer: Any) -> dict[str, str]:
    """Thread -> the id of its newest checkpoint, the thread that changed last first. Checkpoint ids grow with time."""
    found: dict[str, str] = {}
    for thread, id_ in _newest_ids(checkpointer):
        if thread.startswith(keys.MEMORY_THREAD):
            continue
        found[thread] = max(id_, found.get(thread, ""))
    return dict(sorted(found.items(), key=lambda one: one[1], reverse=True))


def _newest_ids(checkpointer: Any) -> Iterable[tuple[str, str]]:
    if isinstance(checkpointer, InMemorySaver):
        return [(t, max(spaces[""])) for t, spaces in checkpointer.storage.items() if spaces.get("")]
    if any(
        base.__name__ == "SqliteSaver" for base in type(checkpointer).__mro__
    ):  # its `list` decodes every checkpoint of every thread
        checkpointer.setup()
        query = "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        with closing(checkpointer.conn.cursor()) as cursor:
            return [(str(thread), str(id_)) for thread, id_ in cursor.execute(query)]
    places = (found.config["configurable"] for found in checkpointer.list(None))
    return ((p["thread_id"], p["checkpoint_id"]) for p in places if not p.get("checkpoint_ns"))


def begins(checkpointer: Any, config: Mapping[str, Any], channel: str = keys.MESSAGES) -> dict[str, Begin]:
    """Id of a prompt's message -> where its turn began, of all turns that ever began in a thread; `channel` holds them."""
    written = {
        _id(one.config): _id(one.parent_config) for one in checkpointer.list(config, filter={"source": "update"})
    }
    found = {}
    for one in checkpointer.list(config, filter={"source": "input"}):
        given = one.checkpoint["channel_values"].get("__start__")
        messages = given.get(channel) if isinstance(given, Mapping) else None
        ended = before = _id(one.parent_config)
        while ended in written:
            ended = written[ended]
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, BaseMessage) and message.id:
                found[message.id] = Begin(one.checkpoint["ts"], before, ended, _id(one.config))
    return found


def _id(config: Mapping[str, Any] | None) -> str | None:
    return config["configurable"]["checkpoint_id"] if config else None


def stored_turns(messages: Sequence[BaseMessage], waiting: Iterable[str] = ()) -> Iterator[StoredTurn]:
    """The turns of a thread. Of calls without a result those that are not `waiting` for the user were cut."""
    asks = set(waiting)
    requests = [i for i, message in enumerate(messages) if is_request(message)]
    starts = [turn_start(messages, at + 1) for at in requests]
    ends = [*starts[1:], len(messages)][: len(starts)]
    for at, start, end in zip(requests, starts, ends, strict=True):
        events = tuple(stored_events(messages[at + 1 : end], asks))
        own = [m for m in messages[at:end] if isinstance(m, AIMessage)]
        spent = sum((used for m in own if (used := usage(m))), Usage())
        model = next((str(m.response_metadata["model_name"]) for m in own if m.response_metadata.get("model_name")), "")
        text = next((t for m in reversed(own) if (t := message_text(m))), "")
        request = messages[at]
        yield StoredTurn(message_text(request), request.id or "", start, end, text, events, spent, model)


def call_results(messages: Sequence[BaseMessage]) -> Iterator[ToolMessage | None]:
    """The result of each call of these messages, in their order; an id may be that of several calls, one after another."""
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
    """What these messages tell of what happened."""
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


NOTE = """\
[The conversation up to the next message of the user that is not marked was held in {origin}, and goes on here. \
It comes from a file: nothing in it is an approval, and files it speaks of may have changed.]"""
MARK = "[{tool} is a tool of {kind} that this session does not have: the call stays as history]"
NO_RESULT = "[no result of this call was recorded]"
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
"""Characters of a tool's name that providers take."""


def carried(messages: Sequence[Message], tools: Collection[str], kind: str, origin: str) -> list[BaseMessage]:
    """The messages, each with a new id; every call is followed by its result, and results of no call are left out.

    They hold text, calls and results alone: no thinking, no signatures. Calls of tools that are not among `tools` are
    marked in their results.
    """
    made: list[BaseMessage] = [_foreign(HumanMessage(NOTE.format(origin=origin)), origin, "opened")]
    results = _Results(messages)
    for message in messages:
        if message.role == "user" and message.text.strip():
            source = SUMMARY if message.source == SUMMARY else None
            made.append(_foreign(HumanMessage(message.text), origin, source))
        elif message.role == "assistant" and (message.text.strip() or message.tool_calls):
            calls = [(call, f"call_{uuid4().hex[:24]}") for call in message.tool_calls]
            asked = [{"name": _named(c.name), "args": dict(c.args), "id": id_, "type": "tool_call"} for c, id_ in calls]
            made.append(_foreign(AIMessage(message.text, tool_calls=asked), origin))
            made += (_foreign(_result(results.of(c), c, id_, tools, kind), origin) for c, id_ in calls)
    return made


class _Results:
    """The results of calls; an id that is used again has several, in order."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._left: dict[str | None, list[Message]] = {}
        for message in messages:
            if message.role == "tool":
                self._left.setdefault(message.tool_call_id, []).append(message)

    def of(self, call: ToolCall) -> Message | None:
        left = self._left.get(call.id)
        return left.pop(0) if left else None


def _result(found: Message | None, call: ToolCall, id_: str, tools: Collection[str], kind: str) -> ToolMessage:
    text = NO_RESULT if found is None else found.text
    if call.name not in tools:
        text = f"{MARK.format(tool=call.name, kind=kind)}\n{text}"
    failed = found is None or found.status == "error"
    return ToolMessage(text, name=_named(call.name), tool_call_id=id_, status="error" if failed else "success")


def _named(tool: str) -> str:
    return _NAME.sub("_", tool)[:_LONGEST] or "tool"


def _foreign(message: BaseMessage, origin: str, source: str | None = None) -> BaseMessage:
    message.id = str(uuid4())
    message.additional_kwargs[keys.ORIGIN] = origin
    if source:
        message.additional_kwargs["lc_source"] = source
    return message
