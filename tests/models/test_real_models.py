"""Real chat model classes against a real HTTP server on loopback, names resolved to models, and windows asked of servers."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from deepnb import DeepnbError, Session
from deepnb.models import windows
from deepnb.models.resolve import resolve
from deepnb.models.windows import is_near
from deepnb.testing import ScriptedModel
from deepnb.values.failures import is_overflow, told_window
from deepnb.values.turn import Compacted, Notice, Retry
from deepnb.views.turn import footer_view
from tests.data import table
from tests.support.chat_server import Fail, OpenAIServer, Raw, Say
from tests.support.compactions import AT_LENGTH
from tests.support.local_server import KINDS, NAME, SILENT, WORDLESS, Kind, local_server
from tests.support.scripted import Scripted
from tests.support.shells import Shell
from tests.support.tables import every_row, refused, wing


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


def test_usage_is_asked_for_where_the_server_allows_it_and_what_was_cached_is_shown() -> None:
    with OpenAIServer([Say("ok", cached=80)]) as server:
        turn = Session("qwen", base_url=server.url, namespace={}).run("hi")
        assert server.requests[0]["stream_options"] == {"include_usage": True}
        assert "100 in / 80 cached / 20 out" in footer_view(turn).text()
    with OpenAIServer([Say("ok")], details=False) as server:
        s = Session("qwen", base_url=server.url, namespace={})
        turn = s.run("hi")
        assert "100 in / 20 out" in footer_view(turn).text()
        assert s.ledger()["cached"].isna().all() and s.ledger()["cached_share"].isna().all()

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


FACTS = " ".join(f"Another warehouse reports {i} parcels for tomorrow." for i in range(48))


@every_row("kind", KINDS)
def test_the_server_is_asked_at_use(kind: Kind) -> None:
    with local_server(kind, 6_000) as server:
        s = Session(namespace={})
        s.use(NAME, base_url=server.url)
        assert (s.rule.window, s.rule.guessed, s.rule.trigger) == (6_000, False, ("fraction", 0.85))
        found = {one.name: one.window for one in s.models()}
        assert found[NAME] == 6_000 and not server.requests


@every_row(("address", "near"), [
    ("http://localhost:1/v1", True), ("http://127.0.0.1:1/v1", True), ("http://[::1]:1/v1", True),
    ("http://192.168.1.5/v1", True), ("http://10.0.0.1/v1", True), ("http://gpu-box:8000/v1", True),
    ("http://gpu.local/v1", True), ("http://host.docker.internal:1/v1", True),
    ("https://openrouter.ai/api/v1", False), ("https://8.8.8.8/v1", False), ("", False),
])  # fmt: skip
def test_what_is_near(address: str, near: bool) -> None:
    assert is_near(address) is near


def test_a_window_belongs_to_its_model_and_a_server_is_asked_again_at_use_and_when_it_was_down() -> None:
    with local_server(SILENT, 6_000) as server:
        s = Session(namespace={})
        s.use(NAME, base_url=server.url)
        s.configure(max_input_tokens=5_000)
        assert s.rule.window == 5_000
        s.use("offline")
        assert s.rule.window == 8_000
        s.use(NAME, base_url=server.url)
        assert (s.rule.window, s.options.max_input_tokens) == (5_000, 5_000)
        s.configure(max_input_tokens=None)
        assert s.rule.window == 8_192
    with local_server(KINDS[0], 6_000) as server:
        assert Session(NAME, base_url=server.url, max_input_tokens=32_000, namespace={}).rule.window == 6_000
    with local_server(KINDS[0], 6_000) as server:
        pages, server.pages = server.pages, {"/v1/models": 503}
        s = Session(NAME, base_url=server.url, namespace={})
        assert s.rule.guessed
        server.pages = pages
        s.run("hi")
        assert (s.rule.window, s.rule.guessed) == (6_000, False)
    with local_server(KINDS[0], 6_000) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert s.rule.window == 6_000
        server.pages = dict(KINDS[0].pages(12_000))
        s.use(NAME, base_url=server.url)
        assert s.rule.window == 12_000


def test_one_that_tells_nothing_is_small_on_this_machine_and_unknown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[Any] = [["no"], "no", 7.5, None, {"data": [None, {"id": 5, "max_model_len": "many"}]}, {"data": {}}]
    for page in pages:
        with OpenAIServer([Say("ok")], pages={"/v1/models": page}) as server:
            assert Session(NAME, base_url=server.url, namespace={}).rule.guessed
    with local_server(SILENT, 6_000) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert (s.rule.window, s.rule.guessed, s.rule.keep) == (8_192, True, ("fraction", 0.10))
        assert "/props" in server.asked and "/api/ps" in server.asked
    monkeypatch.setattr(windows, "served_models", lambda *_: {})
    far = Session(NAME, base_url="https://gateway.example.org/v1", namespace={})
    assert (far.rule.window, far.rule.trigger, far.rule.keep) == (None, ("tokens", 170_000), ("messages", 6))


@pytest.mark.slow
@every_row("kind", [KINDS[0], KINDS[2], KINDS[3]])
@every_row(("window", "trigger"), [(4_096, None), (8_192, ("tokens", 100_000)), (16_384, ("messages", 1_000))])
def test_past_the_window_the_thread_goes_on(kind: Kind, window: int, trigger: Any) -> None:
    """Nothing tells the window but the refusals; another session with this model knows it then."""
    prompt = FACTS * (window // 4_096)
    with local_server(kind, window, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=trigger)
        while not any(isinstance(e, Compacted) for t in s.turns for e in t.events):
            assert len(s.turns) < 20
            s.run(prompt)
        for _ in range(2):
            assert s.run(prompt).text == "Noted."
        assert s.rule.window == window
        lines = [e.text for t in s.turns for e in t.events if isinstance(e, Notice)]
        assert sum("as its server says" in line for line in lines) == 1
        assert not any("nothing to compact" in line for line in lines)
        assert Session(NAME, base_url=server.url, namespace={}).rule.window == window


def test_the_second_try_has_short_tools_and_without_numbers_the_last_turn_alone() -> None:
    with local_server(KINDS[0], 3_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=("tokens", 170_000))
        refused("run the cell again, now that the window is known", s.run, FACTS)
        assert s.run(FACTS).text == "Noted."
    with local_server(WORDLESS, 5_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={}, trigger=("messages", 1_000), keep=("messages", 6))
        for _ in range(6):
            assert s.run(FACTS).text == "Noted."
        assert any(isinstance(e, Compacted) for t in s.turns for e in t.events)


def test_what_the_server_says_makes_a_guess_known_and_a_larger_request_that_was_accepted_raises_it() -> None:
    with local_server(KINDS[0], 2_000, told=False) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        error = refused(r"exceeds the available context size \(2000 tokens\)", s.run, FACTS * 4)
        assert "configure(max_input_tokens=N)" in str(error) and s.rule.window == 2_000
    with OpenAIServer([KINDS[0].refuses(9_067, 8_192)]) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        assert (s.rule.window, s.rule.guessed) == (8_192, True)
        refused("9067 tokens", s.run, "hi")
        assert (s.rule.window, s.rule.guessed) == (8_192, False)
    over = Fail(500, "the request exceeds the available context size. try increasing the context size")
    with OpenAIServer([over]) as server:
        refused("exceeds the available context size", Session(NAME, base_url=server.url, namespace={}).run, "hi")
        assert len(server.requests) <= 2
    with local_server(KINDS[0], 4_096) as server:
        s = Session(NAME, base_url=server.url, namespace={})
        room = 4_096 - s.run("hi").budget.total
        turn = s.run("a " * int(room * 1.3))
        assert turn.budget.total > 4_096 and turn.text == "Noted."
    with OpenAIServer([Say("ok")]) as server:
        server.reports = 20_000
        s = Session(NAME, base_url=server.url, namespace={})
        s.run("hi")
        assert (s.rule.window, s.rule.guessed) == (32_768, True)


class Refusal(Exception):
    status_code = 400


@every_row(("words", "window"), table("refusals")["too long"])
def test_the_words_of_a_refusal(words: str, window: str) -> None:
    assert is_overflow(Refusal(words)) and str(told_window(Refusal(words)) or "-") == window


@every_row("words", [
    "max_tokens must be <= 4096", "temperature must be <= 2", "model qwen does not support tools",
    "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9067",
])  # fmt: skip
def test_another_refusal_is_none_of_these(words: str) -> None:
    assert not is_overflow(Refusal(words))
