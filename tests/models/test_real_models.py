"""Real chat model classes against a real HTTP server on loopback; and names resolved to models."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from deepnb import DeepnbError, Session
from deepnb.models.resolve import resolve
from deepnb.testing import ScriptedModel
from deepnb.values.turn import Retry
from deepnb.views.turn import footer_view
from tests.support.chat_server import Fail, Raw, Say
from tests.support.compactions import AT_LENGTH
from tests.support.local_server import KINDS, NAME, local_server
from tests.support.openai_server import OpenAIServer
from tests.support.refusals import refused
from tests.support.scripted import Scripted
from tests.support.shells import Shell
from tests.support.tables import every_row
from tests.support.wings import wing


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer([Say("Hello from the server.")]) as running:
        yield running


def chat(server: OpenAIServer, **settings: Any) -> ChatOpenAI:
    return ChatOpenAI(model="some-model", base_url=server.url, api_key="x", **{"max_retries": 0, **settings})  # type: ignore[arg-type]


def test_a_model_by_name_and_address(server):
    s = Session()
    assert s.use("some-model", base_url=server.url) == "some-model"
    assert s.run("hi").text == "Hello from the server."
    assert (server.requests[0]["model"], server.requests[0]["key"]) == ("some-model", "Bearer none")
    assert s.use("openai:other", base_url=server.url) == "openai:other"
    s.run("hi")
    assert server.requests[1]["model"] == "other" and s.use("qwen3:8b", base_url=server.url) == "qwen3:8b"
    s.run("hi")
    assert server.requests[2]["model"] == "qwen3:8b"
    assert [m["role"] for m in server.requests[2]["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    s.use("offline")
    assert s.run("Hello").model == "offline"


def test_a_variable_that_holds_a_model(server):
    namespace: dict[str, Any] = {"my_model": chat(server), "n": 3}
    s = Session(namespace=namespace)
    assert s.use("my_model") == "my_model" and s.run("hi").text == "Hello from the server."
    namespace["my_model"] = Scripted(answers=["the variable is another now"])
    assert s.run("hi").text == "the variable is another now"
    refused("the variable n holds a int, not a chat model", s.use, "n")
    assert s.model == "my_model"


def one_line(s: Session, what: str) -> str:
    caught = refused(what, s.run, "hi")
    line = str(caught)
    assert "\n" not in line and s.turns[-1].error is not None
    assert (s.turns[-1].prompt, list(s.snapshot.messages)) == ("hi", [])
    return line


@every_row(("answer", "what"), [
    (Fail(401, "Incorrect API key provided"), r"Incorrect API key provided\): type session.key\(PROVIDER\)"),
    (Raw(b"data: {not json\n\n"), "JSONDecodeError"), (Raw(b"data: [DONE]\n\n"), "No generation"),
])  # fmt: skip
def test_an_error_is_one_line_and_the_session_goes_on(server, answer, what):
    server.answers[:] = [answer]
    s = Session(model=chat(server))
    one_line(s, what)
    server.answers[:] = [Say("Back again.")]
    assert s.run("again").text == "Back again."
    assert [m.text for m in s.snapshot.messages] == ["again", "Back again."]


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


def test_an_unknown_name_a_missing_key_and_other_things_are_one_line(monkeypatch):
    refused(r"no model 'ofline': session.use\('offline'\)", resolve, "ofline")
    refused(r"no model 'zzzz': session.use\(PROVIDER:MODEL\)", resolve, "zzzz")
    refused("no model 'zzzz:model'", resolve, "zzzz:model")
    with pytest.raises(
        DeepnbError, match=r"a key in OPENAI_API_KEY: session.key\('openai'\) asks for it, or set OPENAI_API_KEY in the"
    ):
        resolve("openai:gpt-5.2")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert resolve("openai:gpt-5.2").label == "openai:gpt-5.2"
    refused("a int is not a chat model", resolve, 3)
    assert resolve("offline", namespace={"offline": 3}).label == "offline"


def test_usage_is_asked_for_and_what_was_cached_is_shown_where_it_is_said() -> None:
    with OpenAIServer([Say("ok", cached=80)]) as server:
        turn = Session("qwen", base_url=server.url, namespace={}).run("hi")
        assert server.requests[0]["stream_options"] == {"include_usage": True}
        assert "100 in / 80 cached / 20 out" in footer_view(turn).text()
    with OpenAIServer([Say("ok")], details=False) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        turn = s.run("hi")
        assert "100 in / 20 out" in footer_view(turn).text()
        assert s.ledger()["cached"].isna().all() and s.ledger()["cached_share"].isna().all()


def test_a_server_that_refuses_to_be_asked_is_asked_once() -> None:
    def answer(request: dict[str, Any]) -> Any:
        refused = Fail(422, "[{'type': 'extra_forbidden', 'loc': ['body', 'stream_options']}]")
        return refused if "stream_options" in request else Say("ok")

    with OpenAIServer([answer]) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        assert [s.run(f"{prompt} {AT_LENGTH}").text for prompt in "abc"] == ["ok"] * 3
        s.compact()
        assert ["stream_options" in one for one in server.requests].count(True) == 1


def test_settings_are_sent_and_belong_to_the_model(shell: Shell) -> None:
    with OpenAIServer([Say("ok")]) as server:
        shell.ok(f"%agent use qwen --base-url {server.url} --max-tokens 300 --temperature 0.2 --timeout 90")
        shell.ok("%agent hi")
        sent = server.requests[-1]
        assert (sent["max_completion_tokens"], sent["temperature"]) == (300, 0.2)
        shell.ok(f"%agent use other --base-url {server.url}")
        shell.ok("%agent hi")
        assert not {"max_completion_tokens", "temperature"} & set(server.requests[-1])


def test_settings_have_the_names_of_their_provider_and_those_of_a_model_that_was_made_are_its_own() -> None:
    made: Any = resolve("ollama:qwen3", settings={"max_tokens": 300, "temperature": 0.2, "timeout": 90.0}).model
    assert (made.num_predict, made.temperature, made.client_kwargs) == (300, 0.2, {"timeout": 90.0})
    made = resolve(
        "anthropic:claude-x", base_url="http://127.0.0.1:9", settings={"max_tokens": 300, "timeout": 90.0}
    ).model
    assert (made.max_tokens, made.default_request_timeout) == (300, 90.0)
    for model in ("offline", "mine", ScriptedModel(answers=["ok"])):
        s = Session(namespace={"mine": ScriptedModel(answers=["ok"])})
        refused("temperature can't be set for", s.use, model, temperature=0.5)


@every_row(("given", "line"), [
    ({"max_tokens": 0}, "max_tokens of a model can't be 0: give a whole number above 0"),
    ({"max_tokens": 1.5}, "max_tokens of a model can't be 1.5"),
    ({"temperature": -1}, "temperature of a model can't be -1: give 0 or more"),
    ({"timeout": 0}, "timeout of a model can't be 0: give seconds above 0"),
])  # fmt: skip
def test_a_setting_that_can_not_be_is_one_line(given: dict[str, Any], line: str) -> None:
    refused(line, lambda: Session(namespace={}).use("openai:qwen", base_url="http://127.0.0.1:9/v1", **given))


@every_row(("fail", "do"), [
    (Fail(400, "registry.ollama.ai/library/gemma:2b does not support tools"), "use a model that calls tools"),
    (Fail(404, "No endpoints found that support tool use"), "use a model that calls tools"),
    (Fail(400, "`tool calling` is not supported with this model"), "use a model that calls tools"),
    (Fail(500, "tools param requires --jinja flag"), "start llama-server with --jinja"),
    (Fail(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
     "start vLLM with --enable-auto-tool-choice and --tool-call-parser"),
])  # fmt: skip
def test_a_model_that_is_not_given_tools_says_what_to_do_and_is_asked_once(fail: Fail, do: str) -> None:
    with OpenAIServer([fail]) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        refused(f"{do}, then", s.run, "hi")
        assert len(server.requests) == 1 and not any(isinstance(e, Retry) for e in s.turns[-1].events)


@wing("server")
@every_row("path", ["/v1", "/v1/", "/api/v1", "/v1beta/openai", "/v1/chat/completions"])
def test_the_address_of_a_model_server_is_no_agent(path: str) -> None:
    url = f"http://127.0.0.1:8080{path}"
    for make in (lambda: Session(graph=url), lambda: Session(namespace={}).use(url)):
        error = refused("OpenAI-compatible server", make)
        assert error.do == f"%agent use NAME --base-url {url}"
        assert str(error).endswith(f"session.use(NAME, base_url={url!r})")


def test_a_server_without_a_name_is_listed(shell: Shell) -> None:
    with local_server(KINDS[3], 6_000) as server:
        text = shell.ok(f"%agent use --base-url {server.url}")
        assert NAME in text and "6,000" in text and "other" in text and shell.session.model == "offline"
        shell.ok(f"%agent use {NAME} --base-url {server.url}")
        assert NAME in shell.ok("%agent models") and "other" in shell.ok("%agent models")
    refused("no server answers at", lambda: Session(namespace={}).models("http://127.0.0.1:9/v1"))
    with OpenAIServer([]) as server, pytest.raises(DeepnbError, match="does not list its models"):
        Session(namespace={}).models(server.url)
