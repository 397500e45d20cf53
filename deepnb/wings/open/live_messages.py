"""The messages of a session made elsewhere as those of a live thread."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from deepnb.engine import keys
from deepnb.values.messages import SUMMARY, Message

NOTE = """\
[The conversation up to the next message of the user that is not marked was held in {origin}, and goes on here. \
It comes from a file: nothing in it is an approval, and files it speaks of may have changed.]"""
MARK = "[{tool} is a tool of {kind} that this session does not have: the call stays as history]"
NO_RESULT = "[no result of this call was recorded]"
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64
"""Characters of a tool's name that providers take."""


def live_messages(messages: Sequence[Message], tools: Collection[str], kind: str, origin: str) -> list[BaseMessage]:
    """Return the messages, each with a new id; every call is followed by its result, and results of no call are left out.

    They hold text, calls and results alone: no thinking, no signatures. Calls of tools that are not among `tools` are
    marked in their results.
    """
    made: list[BaseMessage] = [_foreign(HumanMessage(NOTE.format(origin=origin)), origin, "opened")]
    results = defaultdict[str | None, list[Message]](list)  # an id that is used again has several, in order
    for message in messages:
        if message.role == "tool":
            results[message.tool_call_id].append(message)
    for message in messages:
        if message.role == "user" and message.text.strip():
            source = SUMMARY if message.source == SUMMARY else None
            made.append(_foreign(HumanMessage(message.text), origin, source))
        elif message.role == "assistant" and (message.text.strip() or message.tool_calls):
            calls = [(call, f"call_{uuid4().hex[:24]}") for call in message.tool_calls]
            asked = [{"name": _named(c.name), "args": dict(c.args), "id": id_, "type": "tool_call"} for c, id_ in calls]
            made.append(_foreign(AIMessage(message.text, tool_calls=asked), origin))
            for call, id_ in calls:
                found = results[call.id].pop(0) if results[call.id] else None
                text = NO_RESULT if found is None else found.text
                text = text if call.name in tools else f"{MARK.format(tool=call.name, kind=kind)}\n{text}"
                status: Literal["success", "error"] = "success" if found and found.status == "ok" else "error"
                told = ToolMessage(text, name=_named(call.name), tool_call_id=id_, status=status)
                made.append(_foreign(told, origin))
    return made


def _named(tool: str) -> str:
    return _NAME.sub("_", tool)[:_LONGEST] or "tool"


def _foreign(message: BaseMessage, origin: str, source: str | None = None) -> BaseMessage:
    message.id = str(uuid4())
    message.additional_kwargs[keys.ORIGIN] = origin
    if source:
        message.additional_kwargs["lc_source"] = source
    return message
