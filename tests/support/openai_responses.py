"""The events of OpenAI's Responses API for a scripted answer: reasoning with its summary, text, calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.chat_server import Block, Say, Think, Use, arguments, fragments, words
from tests.support.prefix_cache import Cached

_HEAD = {"id": "resp_1", "object": "response", "created_at": 0, "model": "some-model", "error": None}
_MORE = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}


def responses(answer: list[Any], seen: Cached, number: int) -> Iterator[bytes]:
    """The body of a response, event by event; ids are those of the request of this number."""
    items: list[dict[str, Any]] = []
    for at, event in enumerate(_events(answer, seen, items, number)):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': at})}\n\n".encode()


def _events(answer: list[Any], seen: Cached, items: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    head = {**_HEAD, "id": f"resp_{number}"}
    begun = {**head, **_MORE, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": begun}
    for index, one in enumerate(answer):
        yield from _item(index, one, items, number)
    usage = {
        "input_tokens": seen.input,
        "input_tokens_details": {"cached_tokens": seen.read},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": seen.input + 20,
    }
    done = {**head, **_MORE, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _item(index: int, one: Any, items: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    """One item of the output, from its beginning to its end; it joins `items`."""
    if isinstance(one, Say):
        empty, deltas, whole = _message(index, one)
    elif isinstance(one, Block):
        empty, deltas, whole = one.block, [], one.block
    else:
        empty, deltas, whole = _call(index, one) if isinstance(one, Use) else _reasoning(index, one)
    whole = {**whole, "id": f"{whole['id']}_{number}"}
    empty = {**empty, "id": whole["id"]}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    yield from ({**delta, "item_id": whole["id"], "output_index": index} for delta in deltas)
    yield {"type": "response.output_item.done", "output_index": index, "item": whole}
    items.append(whole)


Item = tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]


def _message(index: int, say: Say) -> Item:
    part = {"type": "output_text", "text": "", "annotations": []}
    whole = {**part, "text": say.text}
    head = {"id": f"msg_{index}", "type": "message", "role": "assistant"}
    deltas: list[dict[str, Any]] = [{"type": "response.content_part.added", "content_index": 0, "part": part}]
    deltas += [
        {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
        for piece in words(say.text)
    ]
    deltas.append({"type": "response.content_part.done", "content_index": 0, "part": whole})
    return (
        {**head, "status": "in_progress", "content": []},
        deltas,
        {**head, "status": "completed", "content": [whole]},
    )


def _call(index: int, use: Use) -> Item:
    head = {"id": f"fc_{index}", "type": "function_call", "name": use.name, "call_id": use.id}
    deltas = [{"type": "response.function_call_arguments.delta", "delta": part} for part in fragments(use)]
    whole = {**head, "status": "completed", "arguments": arguments(use)}
    return {**head, "status": "in_progress", "arguments": ""}, deltas, whole


def _reasoning(index: int, think: Think) -> Item:
    """Reasoning is shown as a summary; what goes back is encrypted."""
    head = {"id": f"rs_{index}", "type": "reasoning"}
    part = {"type": "summary_text", "text": ""}
    deltas: list[dict[str, Any]] = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": part},
        *(
            {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece}
            for piece in words(think.text)
        ),
    ]
    summary = [{**part, "text": think.text}]
    whole = {**head, "summary": summary, "encrypted_content": think.signature}
    return {**head, "summary": []}, deltas, whole
