"""A chat model's server on loopback with scripted answers, whatever the protocol; keeps requests."""

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
class ChatServer:
    """Use it as a context manager; answers are given in order, the last one is repeated.

    An answer that is a function is given the request, and gives the answer.
    """

    answers: list[Any]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def body(self, answer: Any, request: dict[str, Any]) -> Iterator[bytes]:
        """The bytes of a response."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append({**body, "path": self.path, "key": self.headers.get("authorization", "")})
                answer = outer.answers[min(len(outer.requests), len(outer.answers)) - 1]
                answer = answer(body) if callable(answer) else answer
                status = answer.status if isinstance(answer, Fail) else 200
                self.send_response(status)
                self.send_header("content-type", "application/json" if status != 200 else "text/event-stream")
                self.end_headers()
                for piece in outer.body(answer, body):
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
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"
