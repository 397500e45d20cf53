"""A small OpenAI-compatible server on loopback: scripted answers, streamed as real ones are; keeps requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Say:
    """An answer in text, a chunk for each word."""

    text: str
    cached: int = 0
    """Tokens of the prompt reported as cached."""


@dataclass(frozen=True)
class Use:
    """A tool call whose arguments come in fragments of `size` characters."""

    name: str
    args: dict[str, Any]
    id: str = "call_1"
    size: int = 7


@dataclass(frozen=True)
class Fail:
    """A status other than 200."""

    status: int
    message: str = "scripted failure"


@dataclass(frozen=True)
class Raw:
    """Bytes sent as the body, whatever they are."""

    body: bytes


@dataclass
class OpenAIServer:
    """Use it as a context manager; answers are given in order, the last one is repeated."""

    answers: list[Any]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> OpenAIServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append({**body, "path": self.path, "key": self.headers.get("authorization", "")})
                answer = outer.answers[min(len(outer.requests), len(outer.answers)) - 1]
                status = answer.status if isinstance(answer, Fail) else 200
                self.send_response(status)
                self.send_header("content-type", "application/json" if status != 200 else "text/event-stream")
                self.end_headers()
                for piece in _body(answer):
                    self.wfile.write(piece)
                    self.wfile.flush()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


def _body(answer: Any) -> Iterator[bytes]:
    if isinstance(answer, Raw):
        yield answer.body
    elif isinstance(answer, Fail):
        yield json.dumps({"error": {"message": answer.message, "type": "scripted", "code": None}}).encode()
    else:
        yield from map(_event, _chunks(answer))
        yield b"data: [DONE]\n\n"


def _chunks(answer: Say | Use) -> Iterator[dict[str, Any]]:
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
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": getattr(answer, "cached", 0)},
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
