"""A model of Ollama: the window it is told, and a prompt that it cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_ollama import ChatOllama

from deepnb import Session
from deepnb.values.turn import Notice
from tests.support.compactions import AT_LENGTH
from tests.support.ollama_server import OllamaServer

CUT = "the prompt was cut"


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer({"qwen3:8b": ["tools"], "tiny": None}, context={"qwen3:8b": 40_960, "tiny": 2_048}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


def test_the_window_is_sent(ollama: OllamaServer) -> None:
    s = Session("ollama:qwen3:8b", namespace={})
    for given, window in ((None, 8_192), (16_384, 16_384), (100_000, 40_960)):
        s.configure(max_input_tokens=given)
        s.run(f"hi {AT_LENGTH}")
        assert (s.rule.window, s.rule.guessed) == (window, False)
        assert ollama.bodies[-1]["options"]["num_ctx"] == window
    s.compact()
    assert all(body["options"].get("num_ctx") for body in ollama.bodies)


def test_a_model_of_a_short_context_has_that(ollama: OllamaServer) -> None:
    assert Session("ollama:tiny", namespace={}).rule.window == 2_048


def test_a_model_that_is_loaded_stays_as_it_is(ollama: OllamaServer) -> None:
    ollama.loaded = {"qwen3:8b": 32_768}
    s = Session("ollama:qwen3:8b", namespace={})
    s.run("hi")
    assert ollama.bodies[-1]["options"]["num_ctx"] == s.rule.window == 32_768
    assert {one.name: one.window for one in s.models()}["ollama:qwen3:8b"] == 32_768


def test_the_list_says_how_long_a_context_can_be(ollama: OllamaServer) -> None:
    assert {one.name: one.window for one in Session(namespace={}).models()}["ollama:qwen3:8b"] == 40_960


def test_what_a_variable_says_is_kept(ollama: OllamaServer) -> None:
    s = Session("mine", namespace={"mine": ChatOllama(model="qwen3:8b", num_ctx=12_000)})
    s.run("hi")
    assert ollama.bodies[-1]["options"]["num_ctx"] == s.rule.window == 12_000


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
