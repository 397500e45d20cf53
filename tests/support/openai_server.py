"""A small OpenAI-compatible server on loopback: scripted answers, streamed as real ones are; keeps requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.chat_server import ChatServer, Fail, Raw, Say, Use
from tests.support.prefix_cache import Cached, PrefixCache

__all__ = ["Fail", "OpenAIServer", "Raw", "Say", "Use"]


@dataclass
class OpenAIServer(ChatServer):
    """Speaks OpenAI's chat completions; with a `cache` it reports what of each prompt was cached."""

    cache: PrefixCache | None = None

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        prompt = [json.dumps(request.get("tools")), *map(json.dumps, request["messages"])]
        seen = self.cache.by_prefix("".join(prompt)) if self.cache is not None else None
        return _body(answer, seen)


def _body(answer: Any, seen: Cached | None) -> Iterator[bytes]:
    if isinstance(answer, Raw):
        yield answer.body
    elif isinstance(answer, Fail):
        yield json.dumps({"error": {"message": answer.message, "type": "scripted", "code": None}}).encode()
    else:
        yield from map(_event, _chunks(answer, seen))
        yield b"data: [DONE]\n\n"


def _chunks(answer: Say | Use, seen: Cached | None) -> Iterator[dict[str, Any]]:
    yield _chunk({"role": "assistant", "content": ""})
    if isinstance(answer, Say):
        for i, word in enumerate(answer.text.split(" ")):
            yield _chunk({"content": word if i == 0 else f" {word}"})
    else:
        head = {"index": 0, "id": answer.id, "type": "function", "function": {"name": answer.name, "arguments": ""}}
        yield _chunk({"tool_calls": [head]})
        args = json.dumps(answer.args)
        for i in range(0, len(args), answer.size):
            part = {"index": 0, "function": {"arguments": args[i : i + answer.size]}}
            yield _chunk({"tool_calls": [part]})
    yield _chunk({}, finish="tool_calls" if isinstance(answer, Use) else "stop")
    sent, cached = (seen.input, seen.read) if seen else (100, getattr(answer, "cached", 0))
    usage = {
        "prompt_tokens": sent,
        "completion_tokens": 20,
        "total_tokens": sent + 20,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    yield {**_chunk({}), "choices": [], "usage": usage}


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
