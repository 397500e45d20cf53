"""An interrupt before the first token: the server sees the connection close, whichever client it is."""

import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from deepnb import Session
from tests.support.tables import every_row

PATIENCE = 30
"""Seconds after which a connection is taken to stay open."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
STAGES = (None, b"", HEAD[:9], HEAD, HEAD + b": wait")
"""What has been sent of an answer; None: not all of the request has been read."""
CHATS = ("/chat/completions", "/messages", "/api/chat")


@dataclass
class Waiting:
    """A server whose model reads on and on: it stops at a stage of its answer and sends an interrupt."""

    url: str
    stage: bytes | None = None
    delay: float = 0.0
    closed: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)

    def serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            if not head.split()[1].decode().endswith(CHATS):
                client.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                return
            if self.stage is not None:
                body = int(head.lower().partition(b"content-length:")[2].split()[0])
                while body > 0:
                    body -= len(client.recv(min(body, 65_536)))
                client.sendall(self.stage)
            time.sleep(self.delay)
            os.kill(os.getpid(), signal.SIGINT)
            try:
                while client.recv(65_536):
                    pass
            finally:
                self.closed.put("closed")


@contextmanager
def waiting() -> Iterator[Waiting]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Waiting(f"http://127.0.0.1:{listening.getsockname()[1]}")

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=server.serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server


@pytest.mark.slow
@every_row(("provider", "make"), [
    ("openai", lambda url, _: Session("openai:qwen", base_url=f"{url}/v1", namespace={})),
    ("anthropic", lambda url, _: Session("anthropic:claude-x", base_url=url, namespace={})),
    ("ollama", lambda url, patch: (patch.setenv("OLLAMA_HOST", url), Session("ollama:qwen", namespace={}))[1]),
])  # fmt: skip
def test_the_server_sees_the_connection_close(monkeypatch, provider, make):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background begins without it
    with waiting() as server:
        s = make(server.url, monkeypatch)
        assert s.rule is not None  # the engine is there, and the server was asked what it is asked before a turn
        for moment in range(10):
            server.stage, server.delay = STAGES[moment % len(STAGES)], moment // len(STAGES) * 0.1
            s.new()
            with pytest.raises(KeyboardInterrupt):
                s.run("hi")
            assert server.closed.get(timeout=PATIENCE) == "closed", moment
            assert not any("still running" in (t.interrupted or "") for t in s.turns), moment
