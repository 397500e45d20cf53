"""A small Ollama on loopback: which models it has, what they can do, and a chat with scripted answers."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.chat_server import Quiet, serving


@dataclass
class OllamaServer:
    models: Mapping[str, Sequence[str] | None]
    says: str = "Hello from this machine."
    asked: list[str] = field(default_factory=list)
    context: Mapping[str, int] = field(default_factory=dict)
    loaded: Mapping[str, int] = field(default_factory=dict)
    reads: int = 30  # tokens of each prompt, as it reports them
    bodies: list[dict[str, Any]] = field(default_factory=list)
    host: str = ""
    drip: threading.Event | None = None  # answers come a byte at a time, without end, until it is set

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

    def __enter__(self) -> Any:
        outer = self

        class Handler(Quiet):
            def do_GET(self) -> None:  # noqa: N802
                self._send(outer.answer(self.path, {}))

            def do_POST(self) -> None:  # noqa: N802
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

        self._serving = serving(Handler)
        self.host = self._serving.__enter__().removeprefix("http://")
        return self

    def __exit__(self, *how: Any) -> None:
        self._serving.__exit__(*how)
