"""Tapes as values and bytes: what is masked, what makes two requests the same, and which files are refused."""

import asyncio
import base64
import json
import uuid
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.models.keys import guard_environment
from deepnb.models.tapes.model import TapeIndex, tape_model
from deepnb.models.tapes.recorder import Recording, form_of, in_form, messages_of, tools_of
from deepnb.models.tapes.tape import (
    VERSION,
    Exchange,
    Parts,
    TapedModel,
    TapeForm,
    clean,
    days_near,
    digest,
    exchange_line,
    head_line,
    masked,
    model_line,
    part_line,
    read_tape,
)
from deepnb.values.errors import InvalidError
from deepnb.values.failures import NotOnTapeError
from tests.support.scripted import Scripted
from tests.support.tables import every_row

NOW = "2026-11-23T10:00:00+00:00"
HEAD = head_line(NOW, "a note")

words = st.text(st.characters(categories=["L"]), min_size=1, max_size=12)
days = st.dates(date(2000, 1, 2), date(2090, 1, 1))
uuids = st.uuids(version=4).map(str)
call_ids = st.from_regex(r"\A(?:call|toolu)_[A-Za-z0-9]{24}\Z")
sessions = st.uuids(version=4).map(lambda u: f"session_{u.hex}")
ids = uuids | call_ids | sessions


@st.composite
def moments(draw: st.DrawFn) -> datetime:
    return draw(st.datetimes(datetime(2001, 1, 1), datetime(2090, 1, 1)))


@st.composite
def templates(draw: st.DrawFn) -> list[str]:
    """Messages with places for ids and times: `{id}`, `{stamp}`, `{day}`, `{note}`."""
    piece = words | st.sampled_from(["{id}", "{stamp}", "{day}", "{note}", "2019-03-04", "12:30", "a-1"])
    return draw(st.lists(st.lists(piece, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=4))


def filled(template: list[str], id_: str, at: datetime) -> list[dict[str, Any]]:
    fields = {
        "{id}": f"/conversation_history/{id_}.md", "{stamp}": at.isoformat(timespec="seconds"),
        "{day}": f"memory/{at.date()}.md", "{note}": f"\n## {at:%H:%M} <!-- flush {uuid.uuid4().hex[:12]} -->",
    }  # fmt: skip
    texts = []
    for text in template:
        for name, value in fields.items():
            text = text.replace(name, value)
        texts.append({"role": "user", "text": text})
    return texts


def key(messages: list[dict[str, Any]], near: frozenset[str]) -> tuple[str, ...]:
    return TapeForm(near).parts(messages, [("tool", "does something")]).key


@given(templates(), ids, ids, moments(), moments())
def test_the_same_request_with_other_ids_and_times_has_the_same_key(template, a, b, then, now):
    near = days_near(then.isoformat()) | days_near(now.isoformat())
    assume("2019-03-04" not in near)
    assert key(filled(template, a, then), near) == key(filled(template, b, now), near)


@given(templates(), ids, moments(), words, st.data())
def test_another_word_gives_another_key(template, id_, at, word, data):
    messages, near = filled(template, id_, at), days_near(at.isoformat())
    number = data.draw(st.integers(0, len(messages) - 1))
    text = messages[number]["text"]
    at_word = data.draw(st.integers(0, text.count(" ")))
    changed = text.split(" ")
    assume(changed[at_word] != word and masked(changed[at_word], near) == changed[at_word])
    changed[at_word] = word
    other = [*messages[:number], {**messages[number], "text": " ".join(changed)}, *messages[number + 1 :]]
    assert key(messages, near) != key(other, near)


@given(templates(), ids, moments(), days, days)
def test_masking_twice_is_masking_once_with_the_days_of_both(template, id_, at, one, other):
    text = "\n".join(m["text"] for m in filled(template, id_, at))
    a, b = days_near(one.isoformat()), days_near(other.isoformat())
    assert masked(masked(text, a), b) == masked(text, a | b) and masked(masked(text, a), a) == masked(text, a)


@given(st.text(st.characters(codec="utf-8", exclude_characters="0123456789-#")))
def test_a_text_without_ids_and_times_is_the_same_object(text):
    assert masked(text, days_near(NOW)) is text


def test_a_date_far_from_the_recording_is_a_word_and_one_of_the_day_of_asking_is_found():
    near = days_near(NOW)
    assert masked("since 2024-05-01, 2026-11-22 and 2026-11-24T01:02:03Z", near) == "since 2024-05-01, <day> and <time>"
    expected = "at 10:30, commit 3f2a9c1d, colour 0xffeedd, lake_2"
    assert masked("at 10:30, commit 3f2a9c1d, colour 0xffeedd, lake_2", near) == expected
    assert masked("## 10:30\n@@ -0,0 +1 @@\n+## 10:31\nnot ## 10:30", near) == (
        "## <time>\n@@ -0,0 +1 @@\n+## <time>\nnot ## 10:30"
    )
    assert masked("<Thing object at 0x7f3a2c10>", near) == "<Thing object at <id>>"
    asked = TapeForm(days_near("2027-01-05")).parts([{"role": "user", "text": "note 2027-01-05"}], [])
    recorded = request("note 2026-11-23")
    assert asked.key == recorded.key and index(recorded).exchanges(asked)


@every_row(
    "change",
    {
        "role": lambda sent, tools: sent[0].update(role="system"),
        "call": lambda sent, tools: sent[1]["calls"][0].__setitem__(0, "watch"),
        "argument": lambda sent, tools: sent[1]["calls"][0].__setitem__(1, {"at": "b"}),
        "tool": lambda sent, tools: tools.__setitem__(0, ("watch", "Look at it.")),
        "description": lambda sent, tools: tools.__setitem__(0, ("look", "Look at them.")),
        "image": lambda sent, tools: sent[2].update(images=["abd"]),
        "order": lambda sent, tools: sent.reverse(),
    }.values(),
)
def test_whatever_a_model_is_sent_is_part_of_the_key(change):
    messages: list[Any] = [
        {"role": "user", "text": "hi"}, {"role": "assistant", "text": "", "calls": [["look", {"at": "a"}]]},
        {"role": "tool", "text": "seen", "images": ["abc"]},
    ]  # fmt: skip
    tools = [("look", "Look at it."), ("go", "Go.")]
    other, others = json.loads(json.dumps(messages)), list(tools)
    form = TapeForm(days_near(NOW))
    assert form.parts(messages, tools).key == form.parts(other, others).key
    change(other, others)
    assert form.parts(messages, tools).key != form.parts(other, others).key


PART = {"role": "user", "text": "one 茶 \ud800"}
TOOLS: list[Any] = []
MODEL = TapedModel("some-model", {"max_input_tokens": 5}, "teaching", "anthropic", 3)
EXCHANGE = Exchange(
    NOW, "some-model", "answer", digest(TOOLS), (digest(PART),), ((3, {"text": "two\n"}),), {"type": "Oops"}
)
LINES = [
    HEAD, model_line(MODEL), part_line(digest(TOOLS), TOOLS), part_line(digest(PART), PART), exchange_line(EXCHANGE),
]  # fmt: skip


def test_what_is_written_is_read_back_and_said_in_one_short_line():
    tape = read_tape(b"".join(LINES), "a.jsonl")
    assert (tape.models, tape.exchanges) == ((MODEL,), (EXCHANGE,))
    assert tape.parts[digest(PART)] == PART and (tape.made, tape.note, tape.cut) == (NOW, "a note", False)
    assert tape.label == "tape a.jsonl (a note)" and list(tape.notices) == []
    head = json.dumps({**json.loads(HEAD), "note": "no\x1b[31m\nLLM" + "x" * 500}).encode() + b"\n"
    model = json.dumps({**json.loads(LINES[1]), "profile": {"max_input_tokens": -5, "image_inputs": True, "x": [1]}})
    tape = read_tape(b"".join([head, model.encode() + b"\n", *LINES[2:]]), "a.jsonl")
    assert tape.label.startswith("tape a.jsonl (no [31m LLMxxx") and len(tape.label) < 100 and tape.label.isprintable()
    assert tape.models[0].profile == {"image_inputs": True}


def test_a_line_that_was_cut_is_left_out_and_a_missing_message_is_damage():
    whole = b"".join(LINES)
    for end in range(len(whole) - len(LINES[-1]) + 1, len(whole)):
        tape = read_tape(whole[:end], "a.jsonl")
        assert tape.exchanges == () and list(tape.notices) == [
            "the last line of a.jsonl was incomplete and is left out"
        ]
    with pytest.raises(InvalidError, match="damaged in line 4"):
        read_tape(b"".join([*LINES[:3], LINES[4]]), "a.jsonl")


@every_row("number", range(1, len(LINES)))
@every_row("damage", [b"{}\n", b"[1]\n", b"\xff\xfe\n", b"\n", b'{"at": "x"}\n', b'{"part": 1}\n', b'{"model": 1}\n'])
def test_a_damaged_tape_is_refused_with_the_line(number, damage):
    lines = [*LINES[:number], damage, *LINES[number + 1 :], LINES[1]]
    with pytest.raises(InvalidError, match=rf"^a\.jsonl is damaged in line {number + 1}: get the file again"):
        read_tape(b"".join(lines), "a.jsonl")


@every_row("data", [b"", b"\n", b"hello\n", b'{"type": "session"}\n', b'{"tape": "x"}\n', b"\x00\xff\n"])
def test_what_is_no_tape_is_refused(data):
    with pytest.raises(InvalidError, match=r"^a\.jsonl is not a tape: session\.record\(FILE\) makes one$"):
        read_tape(data, "a.jsonl")


def test_a_newer_tape_is_refused():
    with pytest.raises(
        InvalidError,
        match=rf"a tape of version {VERSION + 1}, and this deepnb reads up to version {VERSION}: pip install -U deepnb",
    ):
        read_tape(json.dumps({**json.loads(HEAD), "tape": VERSION + 1}).encode() + b"\nwhatever\n", "a.jsonl")


def request(*texts: str, tools: list[tuple[str, str]] | None = None) -> Parts:
    return TapeForm(days_near(NOW)).parts([{"role": "user", "text": text} for text in texts], tools or [])


def index(*requests: Parts) -> TapeIndex:
    lines = [HEAD, *(part_line(n, p) for r in requests for n, p in r.texts.items())]
    lines += [exchange_line(Exchange(NOW, "m", "answer", r.tools, r.messages)) for r in requests]
    return TapeIndex(read_tape(b"".join(lines), "a.jsonl"), TapeForm(days_near(NOW)))


def test_the_nearest_request_shares_most_and_is_most_alike():
    tape = index(request("a", "b"), request("a", "b", "where is the cat?"), request("a", "b", "how are you today?"))
    with pytest.raises(NotOnTapeError, match=r"the nearest, request 3 of 3, differs in message 3 \(user\)") as caught:
        tape.exchanges(request("a", "b", "how are they today?"))
    assert caught.value.diff is not None
    assert "-how are you today?\n+how are they today?\n" in caught.value.diff.unified()
    with pytest.raises(NotOnTapeError, match="request 1 of 3, differs in having 1 message more"):
        tape.exchanges(request("a"))
    with pytest.raises(NotOnTapeError, match="which is empty"):
        index().exchanges(request("a"))


def test_keys_are_known_by_their_values(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-local-one")
    monkeypatch.setenv("MY_SECRET_TOKEN", "Zk3vQ9xLw7Rt2Bn8")
    monkeypatch.setenv("SOME_FOLDER", "/home/somebody-else")
    guard_environment()
    found = clean({"a": ["the key the-local-one, Zk3vQ9xLw7Rt2Bn8"], "the-local-one": "/home/somebody-else"})
    (name,) = {*found} - {"a"}
    assert name.startswith("[redacted: ") and found[name] == "/home/somebody-else"
    assert "the-local-one" not in found["a"][0] and "Zk3vQ9xLw7Rt2Bn8" not in found["a"][0]
    assert clean(clean(found)) == found


# -- the form in which a tape keeps a request: the same whichever provider it was for, another where a word differs


texts = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)
arguments = st.dictionaries(names, texts | st.integers(), max_size=3)
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


def test_a_tool_and_an_image_are_the_same_in_all_their_forms():
    from langchain_anthropic.chat_models import convert_to_anthropic_tool  # 3,000 modules

    openai, anthropic = convert_to_openai_tool(look), convert_to_anthropic_tool(look)
    google = {"function_declarations": [{"name": "look", "description": openai["function"]["description"]}]}
    assert tools_of([openai]) == tools_of([anthropic]) == tools_of([google]) == [("look", "Look at something.")]
    assert (form_of(openai), form_of(anthropic)) == ("openai", "anthropic")
    assert in_form(openai, "anthropic") == dict(anthropic) and in_form(openai, "openai") is openai
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
