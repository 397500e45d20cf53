"""Requests that are sent again: after how long, how often, what is said of it, and what is never sent twice."""

import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from deepnb import Session
from deepnb.engine import retries
from deepnb.values.failures import model_failure
from deepnb.values.turn import Compacted, Notice, Retry, ToolEnded
from tests.support.caching import PROVIDERS, purpose
from tests.support.chat_server import AnthropicServer, Cut, Fail, OpenAIServer, Say, Use
from tests.support.compactions import AT_LENGTH
from tests.support.tables import every_row, refused

AT_ONCE = {"retry-after": "0"}
BUSY = Fail(429, "slow down", AT_ONCE)


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(provider: str) -> Iterator[Any]:
    made: Any = AnthropicServer([]) if provider == "anthropic" else OpenAIServer([])
    with made as running:
        yield running


def session(
    provider: str, server: Any, answers: list[Any], options: dict[str, Any] | None = None, **own: Any
) -> Session:
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    server.answers[:] = answers
    made: Any = ChatAnthropic if provider == "anthropic" else ChatOpenAI
    model = made(model="some-model", base_url=server.url, api_key="x", **own)
    return Session(model=model, enable_skills=False, **(options or {}))


def failed(s: Session) -> str:
    caught = refused("", s.run, "hi")
    assert list(s.snapshot.messages) == []
    return str(caught)


def test_each_wait_is_twice_as_long_or_as_the_provider_says_and_a_long_one_is_said(provider, server, monkeypatch):
    waits: list[float] = []
    monkeypatch.setattr(retries, "_wait", waits.append)
    s = session(provider, server, [Fail(500)])
    failed(s)
    assert waits == [1.0, 2.0, 4.0, 8.0]
    waits.clear()
    server.requests.clear()
    headers = [{"retry-after": "8"}, {"retry-after-ms": "1500"}]
    s = session(provider, server, [*(Fail(429, "slow down", one) for one in headers), Say("Here.")])
    assert s.run("hi").text == "Here." and waits == [8.0, 1.5]
    server.answers[:] = [Fail(429, "slow down", {"retry-after": "300"})]
    server.requests.clear()
    refused(r"rate limited \(429: slow down\): nothing was lost; run the cell again in 5 min$", s.run, "again")
    assert len(server.requests) == 1


@every_row(("fail", "own", "sent", "says"), [
    (BUSY, {"max_retries": 0}, 1, "rate limited"), (BUSY, {"max_retries": 1}, 2, "rate limited"),
    (Fail(429, "no", {**AT_ONCE, "x-should-retry": "false"}), {}, 1, "(429: no): nothing was lost"),
    (Fail(429, "pay first", AT_ONCE, kind="insufficient_quota"), {}, 1, "the quota of this key is used up (429: pay"),
])  # fmt: skip
def test_how_often_a_refused_request_is_sent(provider, server, fail, own, sent, says):
    server.requests.clear()
    assert says in failed(session(provider, server, [fail], **own)) and len(server.requests) == sent


def test_in_the_middle_of_a_turn_resume_sends_the_request_again(provider, server):
    write = Use("write_file", {"file_path": "/a.md", "content": "one"})
    s = session(provider, server, [write, Cut(Say("I have written it."), 5), Say("Written.")])
    refused(r"broke off: .* type session.resume\(\) to send the request again", s.run, "write")
    list(s.resume())
    assert s.turns[-1].text == "Written." and len(server.requests) == 3
    assert sum(isinstance(e, ToolEnded) for e in s.turns[-1].events) == 1


def test_an_interrupt_ends_the_wait_and_nothing_more_is_sent(provider, server):
    s = session(provider, server, [Fail(429, "slow down", {"retry-after": "50"}), Say("Too late.")])
    stream = s.stream("hi")
    assert any(isinstance(e, Retry) for e in stream)
    stream.close()
    assert s.turns[-1].interrupted == "interrupted while the model answered" and len(server.requests) == 1


def test_a_subagent_is_waited_for_at_its_place(provider, server):
    task = Use("task", {"description": "look", "subagent_type": "general-purpose"}, id="t1")
    s = session(provider, server, [task, BUSY, Say("Found."), Say("It has found it.")])
    assert s.run("look").text == "It has found it."
    assert [e.path for e in s.turns[-1].events if isinstance(e, Retry)] == [("t1",)]


def test_a_summary_and_a_flush_are_sent_again_and_no_more_often(provider, server):
    def answer(request: dict[str, Any]) -> Any:
        seen.append(purpose(request))
        return BUSY if len(seen) in (1, 3) else Say("NO_REPLY" if seen[-1] == "flush" else "They talked.")

    s = session(provider, server, [Say("Yes.")])
    for prompt in (AT_LENGTH, "two", "three"):
        s.run(prompt)
    seen: list[str] = []
    server.answers[:] = [answer]
    events: list[Any] = []
    assert s.compact(events.append).summary == "They talked." and seen == ["flush", "flush", "summary", "summary"]
    assert [e.line for e in events if isinstance(e, Retry)] == ["rate limited: trying again now (2 of 5)"] * 2
    assert sum(isinstance(e, Compacted) for e in events) == 1


def test_a_summary_that_fails_is_asked_for_five_times_and_said_in_words(provider, server):
    s = session(provider, server, [Say("Yes.")], {"enable_memory": False})
    for prompt in (AT_LENGTH, "two", "three"):
        s.run(prompt)
    server.answers[:] = [BUSY]
    server.requests.clear()
    events: list[Any] = []
    s.compact(events.append)
    assert len(server.requests) == 5  # LangChain's own retries would make 15 of them
    (notice,) = [e.text for e in events if isinstance(e, Notice)]
    assert notice.startswith("no summary (rate limited (429: slow down)): the turn continues")


class Overloaded(Exception):
    status_code = 503


class BreaksOff(BaseChatModel):
    asked: list[int] = Field(default_factory=list)
    pieces: int = 1

    @property
    def _llm_type(self) -> str:
        return "breaks-off"

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        self.asked.append(1)
        for _i in range(self.pieces):
            yield ChatGenerationChunk(message=AIMessageChunk(content="half "))
        raise Overloaded("overloaded")


@every_row(("pieces", "sent"), [(0, 5), (1, 1)])
def test_once_an_answer_has_begun_no_status_makes_it_be_asked_for_again(monkeypatch, pieces, sent):
    monkeypatch.setattr(retries, "FIRST", 0.0)
    model = BreaksOff(pieces=pieces)
    refused("the provider is overloaded", lambda: Session(model=model).run("hi"))
    assert len(model.asked) == sent


class Told(Exception):
    def __init__(self, words: str = "told", **facts: Any) -> None:
        super().__init__(words)
        self.__dict__.update(facts)


class HTTPStatusError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = Told(status_code=status, headers={})


FAILURES = [
    (Told(status_code=404), "the provider does not know this model or address (404: told)", False),
    (Told(code=503), "the provider is overloaded (503: told)", True),
    (HTTPStatusError(500), "the provider failed (500: no)", True),
    (Told(body={"type": "overloaded_error", "message": "busy"}), "the provider is overloaded (busy)", False),
    (ConnectionRefusedError("no"), "no connection to the model's server", True),
    (ConnectionError("Failed to connect to Ollama"), "no connection to the model's server", False),
    (ConnectionResetError("gone"), "the connection to the model was lost", False),
    (TimeoutError("slow"), "the model did not answer in time", False),
]


@every_row(("error", "line", "again"), FAILURES, ids=[line for _, line, _ in FAILURES])
def test_what_is_said_of_exceptions_of_any_sdk(error, line, again):
    failure = model_failure(error)
    assert failure is not None and (failure.line, failure.again) == (line, again)


@every_row("error", [ValueError("no"), KeyError("code"), Told(code="E1"), Told(body="text"), Told(code=7)])
def test_a_mistake_in_code_is_no_failure_of_a_provider(error):
    assert model_failure(error) is None


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
