"""A small OpenAI-compatible server on loopback: scripted answers, streamed as real ones are; keeps requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.chat_server import ChatServer, Cut, Fail, Hold, Raw, Say, Think, Use, fragments, words
from tests.support.openai_responses import responses
from tests.support.prefix_cache import Cached, PrefixCache

__all__ = ["Cut", "Fail", "Hold", "OpenAIServer", "Raw", "Say", "Think", "Use"]

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


@dataclass
class OpenAIServer(ChatServer):
    """Speaks OpenAI's chat completions, which have no thoughts, and its Responses."""

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
            yield _event(chunk)
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
        "prompt_tokens": seen.input,
        "completion_tokens": 20,
        "total_tokens": seen.input + 20,
        "prompt_tokens_details": {"cached_tokens": seen.read},
    }
    yield {**_chunk({}), "choices": [], "usage": usage}


def _call(index: int, call: Use) -> Iterator[dict[str, Any]]:
    head = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield _chunk({"tool_calls": [head]})
    for part in fragments(call):
        yield _chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "some-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()
