"""A small server on loopback that speaks Anthropic's messages protocol and caches prompts by marks; keeps requests."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support import chat_server as chat

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


@dataclass
class AnthropicServer(chat.ChatServer):
    """Speaks Anthropic's messages, streamed; without a `cache` the answers say what was cached."""

    cache: chat.PrefixCache | None = field(default_factory=chat.PrefixCache)

    @property
    def url(self) -> str:
        return self.address

    def opening(self, request: dict[str, Any]) -> int:
        return 2

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        if isinstance(answer, chat.Raw):
            yield answer.body
            return
        if isinstance(answer, chat.Fail):
            kind = answer.kind or _KINDS.get(answer.status, "api_error")
            yield json.dumps({"type": "error", "error": {"type": kind, "message": answer.message}}).encode()
            return
        parts = answer if isinstance(answer, list) else [answer]
        try:
            told = chat.Cached(100, max(getattr(one, "cached", 0) for one in parts))
            seen = self.cache.by_marks(blocks(request)) if self.cache is not None else told
        except chat.TooManyMarksError as error:
            failure = {"type": "invalid_request_error", "message": str(error)}
            yield _event({"type": "error", "error": failure})
            return
        yield from map(_event, _events(parts, seen, len(self.requests)))


def blocks(request: dict[str, Any]) -> list[tuple[str, bool]]:
    """(content, whether it has a mark) in the order in which they are cached; a mark on the request is on its last block."""
    found = [*(request.get("tools") or ())]
    system = request.get("system") or []
    found += [{"type": "text", "text": system}] if isinstance(system, str) else system
    for message in request["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            inner = block.get("content")
            if isinstance(inner, str):  # text is short for one block of text
                block = {**block, "content": [{"type": "text", "text": inner}]}
            found.append({"role": message["role"], **block})
    marks = ["cache_control" in block for block in found]
    if "cache_control" in request and marks:
        marks[-1] = True
    bare = [{key: value for key, value in block.items() if key != "cache_control"} for block in found]
    return [(json.dumps(block, ensure_ascii=False), mark) for block, mark in zip(bare, marks, strict=True)]


def _events(answer: list[Any], seen: chat.Cached, number: int) -> Iterator[dict[str, Any]]:
    usage = {
        "input_tokens": seen.input - seen.read - seen.written, "cache_read_input_tokens": seen.read,
        "cache_creation_input_tokens": seen.written, "output_tokens": 1,
    }  # fmt: skip
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "some-model", "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    for i, one in enumerate(answer):
        yield from _block(i, one)
    stop = "tool_use" if any(isinstance(one, chat.Use) for one in answer) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {**usage, "output_tokens": 20}}
    yield {"type": "message_stop"}


def _block(index: int, answer: chat.Say | chat.Use | chat.Think | chat.Block) -> Iterator[dict[str, Any]]:
    if isinstance(answer, chat.Say):
        start: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in chat.words(answer.text)]
    elif isinstance(answer, chat.Think):
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in chat.words(answer.text)]
        deltas.append({"type": "signature_delta", "signature": answer.signature})
    elif isinstance(answer, chat.Block):
        start, deltas = answer.block, []
    else:
        start = {"type": "tool_use", "id": answer.id, "name": answer.name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in chat.fragments(answer)]
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
