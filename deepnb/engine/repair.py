"""Mending a thread's state from outside: open tool calls, and taking on the state of another thread."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from deepnb.core.messages import MEMORY_UPDATE
from deepnb.core.values import Event, ModelEnded, ToolEnded, ToolStarted
from deepnb.engine import keys
from deepnb.engine.request import source_of, still_sent


def skipped_results(messages: Sequence[BaseMessage], events: Iterable[Event]) -> list[ToolMessage]:
    """Results for the open tool calls of a thread: of those that had ended their own, the rest are skipped."""
    ended: dict[str, ToolEnded] = {}
    for event in events:
        if isinstance(event, ModelEnded | ToolStarted) and not event.path:  # an id may be that of an earlier call
            ended = {} if isinstance(event, ModelEnded) else {k: e for k, e in ended.items() if k != event.id}
        elif isinstance(event, ToolEnded) and not event.path and event.status != "cut":
            ended[event.id] = event
    at = next((i for i in range(len(messages))[::-1] if getattr(messages[i], "tool_calls", None)), len(messages))
    asked = messages[at] if at < len(messages) else None
    answered = {m.tool_call_id for m in messages[at:] if isinstance(m, ToolMessage)}
    results = []
    for call in getattr(asked, "tool_calls", ()):
        id_ = call["id"]
        if id_ in answered:
            continue
        if done := ended.get(id_ or ""):
            text, status = done.result, "error" if done.status == "error" else "success"
        else:
            text, status = "Skipped: the user interrupted this call and chose not to run it again.", "error"
        results.append(ToolMessage(text, name=call["name"], tool_call_id=id_, status=status))
    return results


def becoming(now: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """The update that turns the state `now` into the state `then`."""
    files = {**dict.fromkeys(now.get(keys.FILES) or {}), **(then.get(keys.FILES) or {})}
    messages = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *(then.get(keys.MESSAGES) or ())]
    return {**dict.fromkeys(now), **then, keys.FILES: files, keys.MESSAGES: messages}


def without_memory(values: Mapping[str, Any], now: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The update that makes a state forget which memory its prompt holds; updates in the stream go, too.

    `now` is what it holds instead, where its middleware would not read it anew.
    """
    updates = [m for m in still_sent(values) if source_of(m) == MEMORY_UPDATE and m.id]
    return {keys.MEMORY: now, keys.TOLD: None, keys.MESSAGES: [RemoveMessage(id=m.id) for m in updates]}
