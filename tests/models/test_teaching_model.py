"""The teaching model as any chat model is used: streamed, invoked, counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.engine.request import pieces
from deepnb.models.teaching import TeachingModel
from deepnb.values.tokenizer import count, tokens
from tests.support.tables import every_row


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"Updated file {file_path}"


@tool
def ls(path: str) -> str:
    """List a folder."""
    return "[]"


TOOLS = [write_file, ls]
TALKS = [
    [HumanMessage("who are you?")],
    [SystemMessage("Be kind."), HumanMessage("记住我喜欢用制表符")],
    [HumanMessage("Remember that I use vim"), AIMessage("Sure."), HumanMessage("list files in /notes")],
    [
        HumanMessage("list files"),
        AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "a"}]),
        ToolMessage("['/a.md']", tool_call_id="a"),
    ],
]


def plain(message: AIMessage) -> dict[str, Any]:
    kept = ("content", "tool_calls", "usage_metadata", "invalid_tool_calls")
    return {k: getattr(message, k) for k in kept}


@every_row("talk", TALKS)
def test_the_chunks_joined_are_the_message(talk: list[Any]) -> None:
    model = TeachingModel().bind_tools(TOOLS)
    chunks = list(model.stream(talk))
    whole: Any = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert isinstance(whole, AIMessageChunk)
    assert plain(whole) == plain(model.invoke(talk))
    assert len(chunks) > 3


@every_row("talk", TALKS)
def test_usage_is_exact(talk: list[Any]) -> None:
    answer = TeachingModel().bind_tools(TOOLS).invoke(talk)
    schemas = [convert_to_openai_tool(t) for t in TOOLS]
    read = sum(len(tokens(p.text)) + p.extra for p in pieces(talk, schemas))
    written = len(tokens(str(answer.content)))
    written += sum(len(tokens(c["name"] + json.dumps(c["args"], ensure_ascii=False))) for c in answer.tool_calls)
    assert answer.usage_metadata == {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


def test_asked_in_a_running_loop_it_says_the_same() -> None:
    talk = [HumanMessage("list files")]
    model = TeachingModel().bind_tools(TOOLS)
    assert plain(asyncio.run(model.ainvoke(talk))) == plain(model.invoke(talk))


def test_only_the_last_chunk_has_usage() -> None:
    chunks = list(TeachingModel().stream("hello"))
    reported = [c for c in chunks if c.usage_metadata]
    assert len(reported) == 1
    assert [c.content for c in chunks if c.content] == tokens("".join(str(c.content) for c in chunks))


@every_row("talk", TALKS)
def test_the_same_messages_give_the_same_answer(talk: list[Any]) -> None:
    one, two = (TeachingModel().bind_tools(TOOLS).invoke(talk).model_dump(exclude={"id"}) for _ in range(2))
    assert json.dumps(one) == json.dumps(two)


def test_the_window_is_declared() -> None:
    assert TeachingModel().profile == TeachingModel(window=8000).profile
    profile = TeachingModel(window=1234).profile
    assert profile is not None
    assert (profile["max_input_tokens"], profile["tool_calling"]) == (1234, True)


def test_it_says_which_model_it_is() -> None:
    answer = TeachingModel().invoke("hello")
    assert answer.response_metadata == {"model_name": "offline"}
    assert TeachingModel()._llm_type == "deepnb-teaching"


def test_only_bound_tools_are_called() -> None:
    assert not TeachingModel().invoke("list files").tool_calls
    assert not TeachingModel().bind_tools([write_file]).invoke("list files").tool_calls
    assert TeachingModel().bind_tools(TOOLS).invoke("list files").tool_calls[0]["name"] == "ls"


def test_ids_of_calls_differ_though_the_request_is_the_same() -> None:
    model = TeachingModel().bind_tools(TOOLS)
    talk: list[Any] = []
    for _ in range(30):
        talk.append(HumanMessage("list files"))
        call = model.invoke(talk)
        talk += [call, ToolMessage("[]", tool_call_id=call.tool_calls[0]["id"])]
        talk.append(model.invoke(talk))
    ids = [c["id"] for m in talk if isinstance(m, AIMessage) for c in m.tool_calls]
    assert len(set(ids)) == 30


def test_an_id_depends_on_the_calls_before_it() -> None:
    """Else a thread that comes back to the same text after a compaction would use an id twice."""

    def id_after(earlier: str) -> str:
        call = AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": earlier}])
        talk = [call, ToolMessage("[]", tool_call_id=earlier), HumanMessage("list files")]
        return str(TeachingModel().bind_tools(TOOLS).invoke(talk).tool_calls[0]["id"])

    assert id_after("a") == id_after("a") != id_after("b")


def test_an_interrupt_while_streaming_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deepnb.models.teaching.model.time.sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        TeachingModel(delay=0.01).invoke("hello")


def test_asked_for_usage_of_an_empty_thread() -> None:
    assert TeachingModel().invoke([]).usage_metadata["input_tokens"] == 0  # type: ignore[index]
    assert count("") == 0
