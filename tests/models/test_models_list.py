"""Which models can be used here, what is known of them, and the line that makes another usable."""

import importlib.util
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_ollama import ChatOllama

from deepnb import Session
from deepnb.models import windows
from deepnb.models.keys import PROVIDERS
from deepnb.models.windows import OllamaModel, ollama_models
from deepnb.values.agent import ModelInfo
from deepnb.values.turn import Notice
from deepnb.views.agent import models_view
from tests.support.chat_server import Quiet, free_port, serving
from tests.support.compactions import AT_LENGTH
from tests.support.scripted import Scripted
from tests.support.tables import every_row, refused


@dataclass
class OllamaServer:
    """A small Ollama on loopback: which models it has, what they can do, and a chat with one answer."""

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


@pytest.fixture(autouse=True)
def no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens at the port that was free just now."""
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{free_port()}")


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer({"qwen3:8b": ["completion", "tools", "thinking"], "llava": ["vision", "tools"]}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


def rows(session: Session) -> dict[str, ModelInfo]:
    return {one.name: one for one in session.models()}


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name in modules else real(name, *a))


def test_with_no_key_there_is_the_teaching_model_and_a_line_for_each_other(monkeypatch):
    without(monkeypatch, "langchain_groq", "langchain_ollama")
    listed = Session().models()
    assert [one.name for one in listed if one.usable] == ["offline"]
    assert listed[0] == ModelInfo("offline", True, 8_000, False, False, "in use, rule-based, no LLM")
    lines = {one.name: one.do for one in listed if not one.usable}
    expected = "%agent key openai asks for it, or set OPENAI_API_KEY in the environment that starts Jupyter"
    assert lines["openai"] == expected
    assert lines["groq"] == "%pip install langchain-groq, then %agent key groq"
    assert lines["ollama"] == "start Ollama on this machine (ollama serve), then %pip install langchain-ollama"
    assert set(lines) == set(PROVIDERS)
    without(monkeypatch, "langchain_groq")
    refused(r"groq models need the package langchain-groq: pip install langchain-groq, ", Session("groq:x").run, "hi")


def test_a_key_in_the_environment_makes_a_provider_usable(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-1234567890")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-real-key-1234567890")
    found = rows(Session())
    for name, key in (("openai:gpt-5.2", "OPENAI_API_KEY"), ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY")):
        one = found[name]
        assert (one.usable, one.sees, one.caches, one.note) == (True, True, True, f"key in {key}")
        assert one.window is not None and one.window >= 200_000  # what the profile of its package says


def test_the_model_in_use_and_those_of_variables_are_there():
    given = Scripted(answers=["x"], profile={"max_input_tokens": 32_000, "image_inputs": True})
    s = Session(given, namespace={"mine": given, "_hidden": given, "n": 3})
    found = rows(s)
    assert found["mine"] == ModelInfo("mine", True, 32_000, True, None, "a variable, ScriptedModel")
    assert [one.note for one in s.models() if one.note == "in use"] == ["in use"]
    assert not {"_hidden", "n"} & set(found)
    s.use("mine")
    assert rows(s)["mine"].note == "in use, a variable, ScriptedModel"
    s.use("qwen3:8b", base_url="http://127.0.0.1:9/v1")
    assert rows(s)["qwen3:8b"] == ModelInfo("qwen3:8b", True, note="in use, at http://127.0.0.1:9/v1")
    s.configure(max_input_tokens=32_768)
    assert rows(s)["qwen3:8b"].window == 32_768
    s.use("qwen3:8b", base_url="http://ann:tiger-Copper-42-lamp@127.0.0.1:9/v1")
    assert "tiger-Copper" not in rows(s)["qwen3:8b"].note


def test_a_model_in_use_that_lost_its_key_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-1234567890")
    s = Session("openai:gpt-5.4-mini")
    assert rows(s)["openai:gpt-5.4-mini"].usable
    monkeypatch.delenv("OPENAI_API_KEY")
    one = rows(s)["openai:gpt-5.4-mini"]
    assert (one.usable, one.note) == (False, "in use") and one.do.startswith("%agent key openai")


def test_the_models_of_an_ollama_on_loopback_and_what_is_missing(listed, monkeypatch):
    assert ollama_models() == (OllamaModel("qwen3:8b", False, True), OllamaModel("llava", True, True))
    found = rows(Session())
    assert found["ollama:qwen3:8b"] == ModelInfo("ollama:qwen3:8b", True, None, False, None, "on this machine")
    assert found["ollama:llava"].sees is True and "ollama" not in found
    s = Session("ollama:qwen3:8b")
    assert s.run("hi").text == "Hello from this machine." and listed.asked[-1] == "/api/chat"
    without(monkeypatch, "langchain_ollama")
    assert rows(Session())["ollama:llava"].do == "%pip install langchain-ollama"


def test_an_ollama_without_a_model_of_use_says_so_and_what_is_none_is_nothing(monkeypatch):
    with OllamaServer({"tiny": ["completion"], "old": None}) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"http://{server.host}")
        tiny, old = (rows(Session())[f"ollama:{name}"] for name in ("tiny", "old"))
    assert (tiny.usable, tiny.do) == (False, "it can't call tools: ollama pull another model")
    assert old.usable  # it does not say
    with OllamaServer({}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert ollama_models() == () and rows(Session())["ollama"].do == "ollama pull qwen3"
    with OllamaServer({"x": ["tools"]}) as server:
        server.answer = lambda path, body: ["no", "models"]  # type: ignore[method-assign]
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        assert ollama_models() is None


def test_one_that_does_not_answer_in_time_is_not_waited_for(monkeypatch):
    drip = threading.Event()
    with OllamaServer({"slow": ["tools"]}, drip=drip) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        try:
            assert ollama_models() is None  # each byte comes in time, the answer never does
            assert server.asked == ["/api/tags"]
        finally:
            drip.set()


@every_row(("host", "asked"), [
    ("", ("127.0.0.1", 11434)), ("localhost", ("127.0.0.1", 11434)), ("http://localhost:1234", ("127.0.0.1", 1234)),
    ("0.0.0.0:5", ("127.0.0.1", 5)), ("[::1]:5", ("::1", 5)),
    *((host, None) for host in ("ollama.example.org", "http://192.0.2.7:11434", "[2001:db8::1]:11434", "127.0.0.1:x")),
])  # fmt: skip
def test_loopback_is_asked_without_looking_up_a_name_and_another_machine_never(monkeypatch, host, asked):
    found: list[Any] = []

    def connection(*address: Any, timeout: float) -> Any:
        found.append(address)
        raise OSError

    monkeypatch.setattr(windows, "HTTPConnection", connection)
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_models() is None and found == ([asked] if asked else [])


def test_the_view_says_each_fact_in_words():
    shown = [
        ModelInfo("openai:gpt-5.2", True, 272_000, True, True, "key in OPENAI_API_KEY"), ModelInfo("mine", True),
        ModelInfo("groq", False, do="%pip install langchain-groq, then %agent key groq"),
    ]  # fmt: skip
    lines = models_view(shown, "turn 3").text().splitlines()
    assert lines[0] == "models   (turn 3)" and lines[1].split() == ["model", "window", "images", "cache"]
    assert lines[3].split() == ["openai:gpt-5.2", "272,000", "yes", "yes", "key", "in", "OPENAI_API_KEY"]
    assert lines[4].split() == ["mine", "unknown", "unknown", "unknown"]
    assert lines[-1] == "  groq  %pip install langchain-groq, then %agent key groq"
    assert "%pip install langchain-groq, then %agent key groq" in models_view(shown).html()


CUT = "the prompt was cut"


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer({"qwen3:8b": ["tools"], "tiny": None}, context={"qwen3:8b": 40_960, "tiny": 2_048}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


def test_the_window_is_sent_and_is_that_which_is_listed_or_set(ollama: OllamaServer) -> None:
    s = Session("ollama:qwen3:8b", namespace={})
    for given, window in ((None, 8_192), (16_384, 16_384), (100_000, 40_960)):
        s.configure(max_input_tokens=given)
        s.run(f"hi {AT_LENGTH}")
        assert (s.rule.window, s.rule.guessed) == (window, False)
        assert ollama.bodies[-1]["options"]["num_ctx"] == window
    s.compact()
    assert all(body["options"].get("num_ctx") for body in ollama.bodies)
    assert {one.name: one.window for one in Session(namespace={}).models()}["ollama:qwen3:8b"] == 40_960
    assert Session("ollama:tiny", namespace={}).rule.window == 2_048
    s = Session("mine", namespace={"mine": ChatOllama(model="qwen3:8b", num_ctx=12_000)})
    s.run("hi")
    assert ollama.bodies[-1]["options"]["num_ctx"] == s.rule.window == 12_000


def test_a_model_that_is_loaded_stays_as_it_is(ollama: OllamaServer) -> None:
    ollama.loaded = {"qwen3:8b": 32_768}
    s = Session("ollama:qwen3:8b", namespace={})
    s.run("hi")
    assert ollama.bodies[-1]["options"]["num_ctx"] == s.rule.window == 32_768
    assert {one.name: one.window for one in s.models()}["ollama:qwen3:8b"] == 32_768


def test_a_prompt_that_was_cut_is_said_to_be(ollama: OllamaServer) -> None:
    s = Session("ollama:qwen3:8b", namespace={}, max_input_tokens=16_384)
    sent = s.run("word " * 4_000).budget.total
    for reads, said in ((4_096, True), (int(sent / 1.6), False), (sent, False)):
        ollama.reads = reads
        s.new()
        turn = s.run("word " * 4_000)
        lines = [e.text for e in turn.events if isinstance(e, Notice) and CUT in e.text]
        assert bool(lines) is said, (reads, turn.budget.total)
    assert sent > 7_000
