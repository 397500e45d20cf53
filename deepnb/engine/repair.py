"""Giving unanswered tool calls a result, so that a thread can go on without running them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage

from deepnb.core.values import Event, ToolEnded
from deepnb.engine import keys


def skip_tools(graph: Any, config: dict[str, Any], events: Iterable[Event]) -> None:
    """Answer the open tool calls of the thread: those that had ended by their results, the rest as skipped."""
    ended = {e.id: e for e in events if isinstance(e, ToolEnded) and e.status != "cut"}
    messages = graph.get_state(config).values.get(keys.MESSAGES) or []
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    asked = next((m for m in reversed(messages) if isinstance(m, AIMessage) and m.tool_calls), None)
    results = []
    for call in asked.tool_calls if asked else ():
        id_ = call["id"]
        if id_ in answered:
            continue
        if done := ended.get(id_ or ""):
            text, status = done.result, "error" if done.status == "error" else "success"
        else:
            text, status = "Skipped: the user interrupted this call and chose not to run it again.", "error"
        results.append(ToolMessage(text, name=call["name"], tool_call_id=id_, status=status))
    if results:
        graph.update_state(config, {keys.MESSAGES: results}, as_node="tools")
