"""The form in which a tape keeps a request: the same whichever provider it was for, another where a word differs."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.models.tapes.model import tape_model
from deepnb.models.tapes.recorder import Recording, form_of, in_form, messages_of, tools_of
from tests.support.scripted import Scripted

NOW = "2026-11-23T10:00:00+00:00"
texts = st.text(st.characters(codec="utf-8"), max_size=20)
words = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)
arguments = st.dictionaries(words, texts | st.integers(), max_size=3)
# (text, arguments of calls, results of these)
turns = st.lists(st.tuples(texts, st.lists(st.tuples(arguments, texts), max_size=2), texts), min_size=1, max_size=3)


def thread(turns: list[Any], ids: str, blocks: bool) -> list[BaseMessage]:
    """The messages of a thread, with ids that begin so; in blocks with marks for a cache, or as plain texts."""

    def content(text: str) -> Any:
        return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}] if blocks and text else text

    made: list[BaseMessage] = [SystemMessage(content("Be brief."), id=f"{ids}-s")]
    for i, (asked, calls, said) in enumerate(turns):
        made.append(HumanMessage(content(asked), id=f"{ids}-h{i}"))
        tools: list[Any] = [{"name": "look", "args": args, "id": f"{ids}-{i}-{j}"} for j, (args, _) in enumerate(calls)]
        thought = [{"type": "thinking", "thinking": "hm", "signature": ids}] if blocks else []
        answer = [*thought, *(content(said) or [])] if blocks else said
        made.append(AIMessage(answer, tool_calls=tools, id=f"{ids}-a{i}", response_metadata={"id": ids}))
        made += [
            ToolMessage(content(text), tool_call_id=f"{ids}-{i}-{j}", id=f"{ids}-t{i}{j}")
            for j, (_, text) in enumerate(calls)
        ]
    return made


@given(turns, st.booleans(), st.booleans())
def test_ids_blocks_marks_and_thoughts_make_no_other_request(turns, one, other):
    assert messages_of(thread(turns, "x", one)) == messages_of(thread(turns, "y", other))


@given(turns, turns)
def test_other_words_make_another_request(turns, others):
    assume(turns != others)
    assert messages_of(thread(turns, "x", False)) != messages_of(thread(others, "x", False))


@given(turns, arguments, arguments)
def test_another_argument_makes_another_request(turns, one, other):
    assume(one != other)
    a, b = (messages_of(thread([*turns, ("", [(args, "")], "")], "x", False)) for args in (one, other))
    assert a != b


def look(at: str) -> str:
    """Look at something.

    Args:
        at: What to look at.
    """
    return at


def test_a_tool_is_the_same_in_the_forms_of_openai_and_of_anthropic_and_google():
    from langchain_anthropic.chat_models import convert_to_anthropic_tool  # 3,000 modules

    openai, anthropic = convert_to_openai_tool(look), convert_to_anthropic_tool(look)
    google = {"function_declarations": [{"name": "look", "description": openai["function"]["description"]}]}
    assert tools_of([openai]) == tools_of([anthropic]) == tools_of([google]) == [("look", "Look at something.")]
    assert (form_of(openai), form_of(anthropic)) == ("openai", "anthropic")
    assert in_form(openai, "anthropic") == dict(anthropic) and in_form(openai, "openai") is openai


def test_an_image_is_the_same_in_its_forms_and_another_one_is_another():
    data, other = (base64.b64encode(bytes([n]) * 40).decode() for n in (1, 2))
    forms: list[Any] = [
        {"type": "image", "base64": data, "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "image", "source_type": "base64", "data": data, "mime_type": "image/png"},
    ]
    made = [messages_of([HumanMessage([{"type": "text", "text": "see"}, form])]) for form in forms]
    assert made[0] == made[1] == made[2] and len(made[0][0]["images"]) == 1 and data not in repr(made)
    assert made[0] != messages_of([HumanMessage([{"type": "text", "text": "see"}, {**forms[0], "base64": other}])])


def test_a_tape_is_recorded_and_played_in_coroutines_too(tmp_path: Path):
    file = tmp_path / "a.jsonl"
    model = Recording(file, lambda: NOW).heard(Scripted(answers=["one two"]), "m", "by script")

    async def both() -> tuple[str, str]:
        recorded = await model.ainvoke("hi")
        pieces = [chunk.text async for chunk in tape_model(file, lambda: NOW).astream("hi")]
        return recorded.text, "".join(pieces)

    assert asyncio.run(both()) == ("one two", "one two")
