"""Messages of a session made elsewhere as those of a live thread: what any provider takes, marked as foreign."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from deepnb.core.messages import SUMMARY, Message, ToolCall
from deepnb.engine import keys

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


def is_carried(message: BaseMessage) -> bool:
    """Whether a message comes from a session that was made elsewhere."""
    return keys.ORIGIN in message.additional_kwargs


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
