"""A small OpenAI-compatible server on loopback: scripted answers, streamed as real ones are; keeps requests."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.chat_server import (
    Block,
    Cached,
    ChatServer,
    Cut,
    Fail,
    Hold,
    PrefixCache,
    Raw,
    Say,
    Think,
    Use,
    arguments,
    fragments,
    words,
)

__all__ = ["Cut", "Fail", "Hold", "OpenAIServer", "Raw", "Say", "Think", "Use"]

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


@dataclass
class OpenAIServer(ChatServer):
    cache: PrefixCache | None = None
    reports: int = 100
    details: bool = True

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def opening(self, request: dict[str, Any]) -> int:
        return 3 if "input" in request else 1

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        if isinstance(answer, Raw):
            yield answer.body
            return
        if isinstance(answer, Fail):
            kind = answer.kind or _KINDS.get(answer.status, "server_error")
            yield json.dumps({"error": {"message": answer.message, "type": kind, "code": kind, **answer.more}}).encode()
            return
        sent = request["messages"] if "messages" in request else request["input"]
        prompt = [json.dumps(request.get("tools")), *map(json.dumps, sent)]
        seen = self.cache.by_prefix("".join(prompt)) if self.cache is not None else None
        blocks = answer if isinstance(answer, list) else [answer]
        cached = seen or Cached(self.reports, max((getattr(one, "cached", 0) for one in blocks), default=0))
        if "input" in request:
            yield from responses(blocks, cached, len(self.requests))
            return
        for chunk in _chunks(blocks, cached):
            if not self.details and "usage" in chunk:
                del chunk["usage"]["prompt_tokens_details"]
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"


def _chunks(answer: list[Any], seen: Cached) -> Iterator[dict[str, Any]]:
    yield _chunk({"role": "assistant", "content": ""})
    calls = 0
    for one in answer:
        if isinstance(one, Say):
            yield from (_chunk({"content": piece}) for piece in words(one.text))
        elif isinstance(one, Use):
            yield from _call(calls, one)
            calls += 1
    yield _chunk({}, finish="tool_calls" if calls else "stop")
    usage = {
        "prompt_tokens": seen.input, "completion_tokens": 20, "total_tokens": seen.input + 20,
        "prompt_tokens_details": {"cached_tokens": seen.read},
    }  # fmt: skip
    yield {**_chunk({}), "choices": [], "usage": usage}


def _call(index: int, call: Use) -> Iterator[dict[str, Any]]:
    head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield _chunk({"tool_calls": [head]})
    for part in fragments(call):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "some-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip


_HEAD = {"id": "resp_1", "object": "response", "created_at": 0, "model": "some-model", "error": None}
_MORE = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "incomplete_details": None}


def responses(answer: list[Any], seen: Cached, number: int) -> Iterator[bytes]:
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
        "input_tokens": seen.input, "input_tokens_details": {"cached_tokens": seen.read}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": seen.input + 20,
    }  # fmt: skip
    done = {**head, **_MORE, "status": "completed", "output": items, "usage": usage}
    yield {"type": "response.completed", "response": done}


def _item(index: int, one: Any, items: list[dict[str, Any]], number: int) -> Iterator[dict[str, Any]]:
    if isinstance(one, Say):
        empty, deltas, whole = _message(index, one)
    elif isinstance(one, Block):
        empty, deltas, whole = one.block, [], one.block
    else:
        empty, deltas, whole = _function_call(index, one) if isinstance(one, Use) else _reasoning(index, one)
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
    return ({**head, "status": "in_progress", "content": []}, deltas, {
        **head, "status": "completed", "content": [whole],
    })  # fmt: skip


def _function_call(index: int, use: Use) -> Item:
    head = {"id": f"fc_{index}", "type": "function_call", "name": use.name, "call_id": use.id}
    deltas = [{"type": "response.function_call_arguments.delta", "delta": part} for part in fragments(use)]
    whole = {**head, "status": "completed", "arguments": arguments(use)}
    return {**head, "status": "in_progress", "arguments": ""}, deltas, whole


def _reasoning(index: int, think: Think) -> Item:
    head = {"id": f"rs_{index}", "type": "reasoning"}
    part = {"type": "summary_text", "text": ""}
    deltas: list[dict[str, Any]] = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": part},
        *({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece}
          for piece in words(think.text)),
    ]  # fmt: skip
    summary = [{**part, "text": think.text}]
    whole = {**head, "summary": summary, "encrypted_content": think.signature}
    return {**head, "summary": []}, deltas, whole
