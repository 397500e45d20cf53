"""A small Ollama on loopback: which models it has, what they can do, and a chat with scripted answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class OllamaServer:
    """Use it as a context manager; `models` is name -> capabilities, None where it says none."""

    models: Mapping[str, Sequence[str] | None]
    says: str = "Hello from this machine."
    asked: list[str] = field(default_factory=list)
    context: Mapping[str, int] = field(default_factory=dict)
    loaded: Mapping[str, int] = field(default_factory=dict)
    reads: int = 30
    """Tokens of each prompt, as it reports them."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    drip: threading.Event | None = None
    """Answers come a byte at a time, without end, until it is set."""

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        self.asked.append(path)
        if path == "/api/tags":
            return {"models": [{"name": name, "model": name} for name in self.models]}
        if path == "/api/show":
            can = self.models[body["model"]]
            info = {"general.architecture": "qwen2", "qwen2.context_length": self.context.get(body["model"])}
            shown = {"model_info": info} if info["qwen2.context_length"] else {}
            return shown if can is None else {"capabilities": list(can), **shown}
        if path == "/api/ps":
            running = ((name, n) for name, n in self.loaded.items())
            return {"models": [{"name": name, "model": name, "context_length": n} for name, n in running]}
        self.bodies.append(body)
        said = {"role": "assistant", "content": self.says}
        counts = {"prompt_eval_count": self.reads, "eval_count": 5}
        return {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "message": said, "done": True} | counts

    def __enter__(self) -> OllamaServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(outer.answer(self.path, {}))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._send(outer.answer(self.path, body))

            def _send(self, value: Any) -> None:
                self.send_response(200)
                self.end_headers()
                if outer.drip is not None:
                    while not outer.drip.wait(0.02):
                        self.wfile.write(b" ")
                        self.wfile.flush()
                self.wfile.write(json.dumps(value).encode() + b"\n")

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that has gone away is nothing to report."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"
