"""Real chat model classes against a real HTTP server on loopback; and names resolved to models."""

from __future__ import annotations

import importlib.util
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from deepnb import DeepnbError, Session
from deepnb.models.resolve import resolve
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import TextDelta, ToolEnded, ToolStarted, Usage
from tests.support.chat_server import Fail, Raw, Say, Use
from tests.support.openai_server import OpenAIServer
from tests.support.scripted import Scripted


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_BASE",
        "OPENAI_BASE_URL",
        "HTTP_PROXY",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Say("Hello from the server.")]) as running:
        yield running


def chat(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    return ChatOpenAI(model="some-model", base_url=server.url, api_key="x", **{"max_retries": 0, **settings})  # type: ignore[arg-type]


def test_text_streams_in_pieces(server):
    s = Session(model=chat(server))
    pieces = [e.text for e in s.stream("hi") if isinstance(e, TextDelta)]
    assert pieces == ["Hello", " from", " the", " server."]
    assert s.text == "Hello from the server."
    assert s.turns[0].model == "some-model"
    (request,) = server.requests
    assert request["stream"] is True
    assert (request["path"], request["key"]) == ("/v1/chat/completions", "Bearer x")
    assert [m["role"] for m in request["messages"]] == ["system", "user"]
    assert {"write_file", "list_variables"} <= {t["function"]["name"] for t in request["tools"]}


def test_usage_with_cached_tokens(server):
    server.answers[:] = [Say("one", cached=64), Say("two", cached=80)]
    s = Session(model=chat(server))
    assert s.run("a").usage == Usage(100, 20, 64)
    assert s.run("b").usage == Usage(100, 20, 80)
    budget = s.budget()
    assert budget is not None
    assert (budget.reported, budget.exact) == (100, False)
    assert s.ledger()[["reported", "cached", "output"]].to_numpy().tolist() == [[100, 64, 20], [100, 80, 20]]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_tool_call_whose_arguments_come_in_fragments(server, size):
    text = 'a "quoted" line\n茶 & <b>\n'
    server.answers[:] = [Use("write_file", {"file_path": "/a.md", "content": text}, size=size), Say("Done.")]
    s = Session(model=chat(server))
    turn = s.run("write it")
    assert s.files["/a.md"] == text
    (started,) = [e for e in turn.events if isinstance(e, ToolStarted)]
    (ended,) = [e for e in turn.events if isinstance(e, ToolEnded)]
    assert (started.id, started.name, started.args["content"]) == ("call_1", "write_file", text)
    assert (ended.id, ended.status) == ("call_1", "ok")
    assert (turn.text, turn.usage) == ("Done.", Usage(200, 40, 0))
    sent = server.requests[1]["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["id"] == sent[3]["tool_call_id"] == "call_1"


def test_a_model_by_name_and_address(server):
    s = Session()
    assert s.use("some-model", base_url=server.url) == "some-model"
    assert s.run("hi").text == "Hello from the server."
    assert (server.requests[0]["model"], server.requests[0]["key"]) == ("some-model", "Bearer none")
    assert s.use("openai:other", base_url=server.url) == "openai:other"
    s.run("hi")
    assert server.requests[1]["model"] == "other"
    assert s.use("qwen3:8b", base_url=server.url) == "qwen3:8b"
    s.run("hi")
    assert server.requests[2]["model"] == "qwen3:8b"
    assert [m["role"] for m in server.requests[2]["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    s.use("offline")
    assert s.run("Hello").model == "offline"


def test_a_variable_that_holds_a_model(server):
    namespace: dict[str, Any] = {"my_model": chat(server), "n": 3}
    s = Session(namespace=namespace)
    assert s.use("my_model") == "my_model"
    assert s.run("hi").text == "Hello from the server."
    namespace["my_model"] = Scripted(answers=["the variable is another now"])
    assert s.run("hi").text == "the variable is another now"
    with pytest.raises(DeepnbError, match="the variable n holds a int, not a chat model"):
        s.use("n")
    assert s.model == "my_model"


def one_line(s: Session, what: str) -> str:
    """Run into an error; it is one line, and the session goes on with another model."""
    with pytest.raises(DeepnbError, match=what) as caught:
        s.run("hi")
    line = str(caught.value)
    assert "\n" not in line
    assert s.turns[-1].error is not None
    assert (s.turns[-1].prompt, list(s.snapshot.messages)) == ("hi", [])
    return line


def goes_on(s: Session, server: OpenAIServer) -> None:
    server.answers[:] = [Say("Back again.")]
    assert s.run("again").text == "Back again."
    assert s.turns[-1].error is None
    assert [m.text for m in s.snapshot.messages] == ["again", "Back again."]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (Fail(500, "the server is on fire"), "the server is on fire"),
        (
            Fail(401, "Incorrect API key provided"),
            r"the provider does not accept the key \(401: Incorrect API key provided\): type session.key\(PROVIDER\)",
        ),
        (Fail(429, "slow down"), r"rate limited \(429: slow down\): nothing was lost; run the cell again$"),
        (Raw(b"data: {not json\n\n"), "JSONDecodeError"),
        (Raw(b"data: [DONE]\n\n"), "No generation"),
    ],
)
def test_an_error_is_one_line_and_the_session_goes_on(server, answer, what):
    server.answers[:] = [answer]
    s = Session(model=chat(server))
    one_line(s, what)
    goes_on(s, server)


def test_the_prompt_of_a_failed_turn_is_sent_once_when_its_cell_is_run_again(server):
    server.answers[:] = [Fail(500), Say("Now it works.")]
    s = Session(model=chat(server))
    one_line(s, "scripted failure")
    assert s.pending is None
    assert s.run("hi").text == "Now it works."
    assert [m["content"] for m in server.requests[-1]["messages"] if m["role"] == "user"] == ["hi"]


def test_a_server_that_is_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = ChatOpenAI(model="m", base_url=f"http://127.0.0.1:{port}/v1", api_key="x", max_retries=0)  # type: ignore[arg-type]
    s = Session(model=model)
    line = one_line(s, "no connection")
    assert line == (f"no connection to the model's server at 127.0.0.1:{port}: nothing was lost; run the cell again")
    s.use("offline")
    assert "teaching model" in s.run("Hello").text


def test_a_stream_that_breaks_off_in_a_tool_call(server):
    whole = b'data: {"id":"c","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":null}]}\n\n'
    head = b'{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"write_file","arguments":"{\\"file_pa"}}]}'
    server.answers[:] = [Raw(whole % head), Say("Sorry.")]
    s = Session(model=chat(server))
    s.run("hi")
    assert dict(s.files) == {}
    assert s.run("again").text == "Sorry."


def test_a_call_that_was_cut_in_its_arguments_is_not_run(server):
    cut = '{"file_path": "/a.md", "content": "half of i'
    call = {"index": 0, "id": "x", "type": "function", "function": {"name": "write_file", "arguments": cut}}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    choices = [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "length"}]
    body = f"data: {json.dumps({**chunk, 'choices': choices})}\n\ndata: [DONE]\n\n"
    server.answers[:] = [Raw(body.encode()), Say("Sorry.")]
    s = Session(model=chat(server))
    assert s.run("write it").text == "Sorry."
    assert dict(s.files) == {}
    said, result = server.requests[-1]["messages"][-2:]
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"__not_json__": cut}
    assert (result["role"], result["tool_call_id"]) == ("tool", "x")
    assert result["content"].startswith("Error: the arguments of this call are not JSON, or were cut off.")


# -- names


def test_offline_is_the_teaching_model():
    found = resolve("offline")
    assert isinstance(found.model, TeachingModel)
    assert found.label == resolve(TeachingModel()).label == "offline"


def test_an_unknown_name_names_a_near_one():
    with pytest.raises(DeepnbError, match=r"no model 'ofline': session.use\('offline'\)"):
        resolve("ofline")
    with pytest.raises(DeepnbError, match=r"no model 'zzzz': session.use\(PROVIDER:MODEL\)"):
        resolve("zzzz")
    with pytest.raises(DeepnbError, match="no model 'zzzz:model'"):
        resolve("zzzz:model")


def test_a_missing_key_names_its_variable(monkeypatch):
    with pytest.raises(
        DeepnbError, match=r"a key in OPENAI_API_KEY: session.key\('openai'\) asks for it, or set OPENAI_API_KEY in the"
    ):
        resolve("openai:gpt-5.2")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert resolve("openai:gpt-5.2").label == "openai:gpt-5.2"


def test_a_missing_package_names_the_line_that_installs_it(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "langchain_groq" else real(name, *a)
    )
    with pytest.raises(DeepnbError, match="groq models need the package langchain-groq: pip install langchain-groq"):
        resolve("groq:llama")


def test_other_things_than_a_model():
    with pytest.raises(DeepnbError, match="a int is not a chat model"):
        resolve(3)
    with pytest.raises(DeepnbError, match="the variable df holds a dict, not a chat model"):
        resolve("df", namespace={"df": {}})
    model = Scripted(answers=["x"])
    assert resolve("mine", namespace={"mine": model}) == type(resolve("mine", namespace={"mine": model}))(model, "mine")
    assert resolve("offline", namespace={"offline": 3}).label == "offline"
