"""Tapes: what is masked, what makes two requests the same, and that a tape gives back the same events and records."""

import asyncio
import base64
import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_core.exceptions import ModelAPIError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI

from deepnb import Session
from deepnb.context.counting import Counter
from deepnb.models.tapes.model import TapeIndex, tape_model
from deepnb.models.tapes.recorder import Recording, form_of, in_form, messages_of, recorded, tools_of
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
from deepnb.values.errors import BusyError, InvalidError, NotFoundError, RefusedError
from deepnb.values.failures import NotOnTapeError
from deepnb.values.turn import Compacted, ModelEnded, ThinkingDelta
from tests.support.chat_server import Fail, OpenAIServer, Say
from tests.support.compactions import Phased
from tests.support.credentials import SAMPLES
from tests.support.local_server import KINDS, local_server
from tests.support.nesting import Plan, Planned
from tests.support.scripted import Paid, Scripted, call, walked
from tests.support.tables import every_row, refused
from tests.support.tapes import replayed, same, tape, untimed

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


def test_what_is_written_is_read_back_and_a_line_that_was_cut_is_left_out():
    tape = read_tape(b"".join(LINES), "a.jsonl")
    assert (tape.models, tape.exchanges) == ((MODEL,), (EXCHANGE,))
    assert tape.parts[digest(PART)] == PART and (tape.made, tape.note, tape.cut) == (NOW, "a note", False)
    assert tape.label == "tape a.jsonl (a note)" and list(tape.notices) == []
    head = json.dumps({**json.loads(HEAD), "note": "no\x1b[31m\nLLM" + "x" * 500}).encode() + b"\n"
    model = json.dumps({**json.loads(LINES[1]), "profile": {"max_input_tokens": -5, "image_inputs": True, "x": [1]}})
    tape = read_tape(b"".join([head, model.encode() + b"\n", *LINES[2:]]), "a.jsonl")
    assert tape.label.startswith("tape a.jsonl (no [31m LLMxxx") and len(tape.label) < 100 and tape.label.isprintable()
    assert tape.models[0].profile == {"image_inputs": True}
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


def test_what_is_recorded_knows_keys_of_the_environment_by_their_values(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "the-local-one")
    monkeypatch.setenv("MY_SECRET_TOKEN", "Zk3vQ9xLw7Rt2Bn8")
    monkeypatch.setenv("SOME_FOLDER", "/home/somebody-else")
    Recording(tmp_path / "a.jsonl", lambda: NOW).form()
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def ask(*prompts: str) -> Any:
    def script(session: Session) -> None:
        for prompt in prompts:
            session.run(prompt)

    return script


def openai(server: OpenAIServer, **more: Any) -> ChatOpenAI:
    settings: dict[str, Any] = {"model": "some-model", "api_key": "x", "max_retries": 0, **more}
    return ChatOpenAI(base_url=server.url, **settings)


def test_a_window_that_was_learned_in_the_recording_is_learned_in_each_replay(file):
    facts = " ".join(f"Item {i} costs {i * 7 % 100} euros." for i in range(110))
    with local_server(KINDS[0], 4_096, told=False) as server:
        a, b = replayed(Session, openai(server), ask(*[facts] * 5), file)
    same(a, b)
    assert [s.rule.window for s in (a, b)] == [4_096, 4_096]
    c = Session()
    c.replay(file)
    ask(*[facts] * 5)(c)
    same(a, c)


def test_summaries_and_flushes_of_a_model_and_those_by_hand(file):
    made = partial(Session, trigger=("messages", 4), keep=("messages", 1))
    model = Phased(answers=list("abcdefg"), summary="what was said", flush=call("note", text="- a decision"))

    def script(s: Session) -> None:
        ask("one", "two", "three", "four")(s)
        s.flush()
        s.configure(trigger=("messages", 40))
        ask("five", "six")(s)
        walked(s, "compact", "run seven")

    a, b = replayed(made, model, script, file)
    same(a, b)
    assert any(isinstance(e, Compacted) for t in b.turns for e in t.events)
    assert {"answer", "summary", "flush"} == {e.purpose for e in tape(file).exchanges}
    assert [untimed(tape(file))] == [untimed(recorded_again(made, script, file))]


def recorded_again(made: Any, script: Any, file: Path) -> Any:
    s, copy = made(), file.with_name("copy.jsonl")
    s.replay(file)
    s.record(copy)
    script(s)
    return tape(copy)


PLAN = Plan(
    "root",
    tuple(
        ("general-purpose", Plan(f"a{i}", tuple(("general-purpose", Plan(f"a{i}b{j}")) for j in range(2))))
        for i in range(4)
    ),
)


def test_parallel_subagents_are_matched_by_request(file):
    a, b = replayed(Session, Planned(), ask(str(PLAN)), file)
    assert a.text == b.text == "root(" + ", ".join(f"a{i}(a{i}b0(), a{i}b1())" for i in range(4)) + ")"
    by_path = [sorted((e.path, e.call.purpose) for e in s.last.events if isinstance(e, ModelEnded)) for s in (a, b)]
    assert by_path[0] == by_path[1] and len(by_path[0]) == 18
    expected = sorted(map(repr, untimed(tape(file))))
    assert sorted(map(repr, untimed(recorded_again(Session, ask(str(PLAN)), file)))) == expected


def test_a_subagent_with_a_model_of_its_own_needs_no_provider_when_it_is_replayed(file):
    own = Scripted(answers=["I looked."], profile={"max_input_tokens": 50_000})
    task = call("task", description="look", subagent_type="looker")
    looker = {"name": "looker", "description": "Looks", "system_prompt": "Look.", "model": "my_model"}
    s = Session(model=Scripted(answers=[task, "It looked."]), subagents=[looker], namespace={"my_model": own})
    s.record(file)
    s.run("look")
    expected = [("ScriptedModel", 100_000), ("my_model", 50_000)]
    assert [(m.name, m.profile["max_input_tokens"]) for m in tape(file).models] == expected
    r = Session(subagents=[looker], namespace={"other": 1})
    r.replay(file)
    turn = r.run("look")
    assert turn.text == "It looked." and len(own.requests) == 1
    windows = [e.call.budget.rule.window for e in turn.events if isinstance(e, ModelEnded)]
    assert windows == [100_000, 50_000, 100_000]


def test_an_error_answers_what_else_asks_it(file):
    slow = Fail(529, "busy", headers={"retry-after": "7", "x-request-id": "req_1"}, kind="overloaded_error")
    with OpenAIServer([slow]) as server:
        s = Session(model=openai(server))
        s.record(file)
        refused("", s.run, "hi")
    (one,) = tape(file).exchanges
    assert one.error is not None and b"req_1" not in file.read_bytes()
    error: Any = recorded(one.error)
    assert ModelAPIError in type(error).__mro__ and error.status_code == 529
    assert error.body["error"]["type"] == "overloaded_error" and error.body["error"]["message"] == "busy"
    assert float(error.response.headers["retry-after"]) == 7 and error.request.url.host == "127.0.0.1"
    assert {"InternalServerError", "OpenAIError"} <= {kind.__name__ for kind in type(error).__mro__}


def test_models_that_do_not_stream_report_usage_or_think_are_replayed_alike(file):
    class Whole(Scripted):
        def _should_stream(self, **_: Any) -> bool:
            return False

    for i, kind in enumerate((Whole, Paid)):
        one = file.with_name(f"{i}.jsonl")
        answers = [call("write_file", file_path="/a.md", content="x"), "done"]
        a, b = replayed(Session, kind(answers=answers), ask("go"), one)
        same(a, b)
        assert b.text == "done" and b.files["/a.md"] == "x"

    class Thinks(Scripted):
        def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            for piece in ("let me", " see"):
                yield ChatGenerationChunk(
                    message=AIMessageChunk(content="", additional_kwargs={"reasoning_content": piece})
                )
            yield ChatGenerationChunk(message=AIMessageChunk(content="yes"))

    a, b = replayed(Session, Thinks(answers=[]), ask("hi"), file)
    same(a, b)
    thoughts = "".join(e.text for e in b.last.events if isinstance(e, ThinkingDelta))
    assert (thoughts, b.text) == ("let me see", "yes")


def test_what_is_recorded_counts_the_same_where_the_encoding_is_not_at_hand(file, monkeypatch):
    with OpenAIServer([Say("one")]) as server:
        monkeypatch.setattr("deepnb.wiring.model.encoding_of", lambda model: lambda: Counter(len, True, "tiktoken"))
        s = Session(model=openai(server))
        assert s.run("hi").budget.exact
        s.record(file)
        s.new()
        recorded = s.run("hi").budget
    monkeypatch.undo()
    r = Session()
    r.replay(file)
    replayed_ = r.run("hi").budget
    assert recorded is not None and not recorded.exact and replayed_ is not None
    assert recorded.parts == replayed_.parts


def test_equal_requests_are_answered_in_the_order_recorded_and_then_from_the_first(file):
    model = Scripted(answers=["one", "two", "three"])

    def script(s: Session) -> None:
        for name in "abc":
            s.new(name)
            s.run("the same")

    a, b = replayed(Session, model, script, file)
    texts = [[s.workspace.threads[name].turns[0].text for name in "abc"] for s in (a, b)]
    assert texts == [["one", "two", "three"]] * 2
    b.new("d")
    assert b.run("the same").text == "one"


def test_a_request_that_is_not_on_the_tape_is_one_line_with_the_nearest_and_the_diff(file):
    _, b = replayed(
        Session, Scripted(answers=["one", "two", "three"]), ask("how many whales are there?", "and bears?"), file
    )
    with pytest.raises(NotOnTapeError) as caught:
        b.run("and seals?")
    line = str(caught.value)
    assert "\n" not in line and "the request is not on tape a.jsonl: the nearest, request 2 of 2," in line
    assert line.endswith("session.record(FILE) makes a tape that has it")
    c = Session()
    c.replay(file)
    with pytest.raises(NotOnTapeError) as caught:
        c.run("how many wales are there?")
    assert "the nearest, request 1 of 2, differs in message 2 (user)" in str(caught.value)
    assert caught.value.diff is not None
    expected = ["-how many whales are there?", "+how many wales are there?"]
    assert [x for x in caught.value.diff.unified().splitlines() if x[:1] in "+-"][2:] == expected
    assert [m.text for m in c.snapshot.messages] == [] and c.run("how many whales are there?").text == "one"


@pytest.mark.parametrize("purpose", ["summary", "flush"])
def test_a_summary_or_a_flush_that_is_not_on_the_tape_is_an_error_too(file, purpose):
    made = partial(Session, trigger=("messages", 4), keep=("messages", 1))
    model = Phased(answers=list("abcdef"), summary="said", flush=call("note", text="- a decision"))
    s = made(model=model)
    s.record(file)
    ask("one", "two", "three", "four")(s)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(x for x in lines if json.loads(x).get("purpose") != purpose))
    r = made()
    r.replay(file)
    with pytest.raises(NotOnTapeError) as caught:
        ask("one", "two", "three", "four")(r)
    opening = {"summary": "<messages>", "flush": "<leaving>"}[purpose]
    assert caught.value.diff is not None and opening in str(caught.value.diff.after)


def test_another_tool_is_another_request(file):
    replayed(Session, Scripted(answers=["one"]), ask("hi"), file)
    r = Session(enable_subagents=False)
    r.replay(file)
    with pytest.raises(NotOnTapeError, match="differs in its tools") as caught:
        r.run("hi")
    assert caught.value.diff is not None and "-task: " in caught.value.diff.unified()


def test_a_tape_is_for_this_user_only_and_every_exchange_is_in_it_as_it_ends(file):
    model = Scripted(answers=[call("look"), "looked"])
    s = Session(model=model)
    recording = s.record(file)
    assert file.stat().st_mode & 0o777 == 0o600
    sizes: list[int] = []

    def look() -> str:
        """Look at the tape."""
        sizes.append(len(tape(file).exchanges))
        return "looked"

    s.configure(tools=[look], approve={"look": "allow"})
    s.run("go")
    assert sizes == [1] and recording.active
    with pytest.raises(BusyError, match=r"already recording to .*: session\.recording\.stop"):
        s.record(file.with_name("b.jsonl"))
    recording.stop()
    with pytest.raises(RefusedError) as caught:
        s.record(file)
    assert str(caught.value) == f"{file} exists already: session.record('{file}', overwrite=True) overwrites it"
    s.record(file, overwrite=True)
    assert tape(file).exchanges == ()


def test_nothing_is_recorded_before_the_recording_and_after_it(file):
    s = Session(model=Scripted(answers=["one", "two", "three"]))
    s.run("a")
    s.record(file)
    s.run("b")
    assert s.recording is not None
    s.recording.stop()
    s.run("c")
    assert [p for e in tape(file).exchanges for _, p in e.pieces] == [{"text": "two"}]


def test_a_disk_that_is_full_ends_the_recording_and_not_the_turn(file, monkeypatch, caplog):
    s = Session(model=Scripted(answers=["one"]))
    recording = s.record(file)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deepnb.models.tapes.recorder._write", full)
    assert s.run("a").text == "one" and not recording.active and recording.problem == "No space left on device"
    assert "stopped after 0 requests (No space left on device)" in caplog.text


@every_row(("name", "kind", "line"), [
    ("a.txt", InvalidError, "a.txt has no ending that says what it is: end the name in .jsonl"),
    ("missing.jsonl", NotFoundError, "missing.jsonl: session.record(FILE) makes one"),
    ("d.jsonl", InvalidError, "d.jsonl is a directory"), ("a\0.jsonl", InvalidError, "can't be a file"),
])  # fmt: skip
def test_a_name_that_is_no_tape_is_one_line(name, kind, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(kind) as caught:
        Session().replay(name)
    assert line in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "piece", [{"text": 3}, {"calls": 1}, {"calls": [{"name": []}]}, {"usage": {"a": "b"}}, {"text": None}]
)
def test_an_answer_that_is_none_is_damage(file, piece):
    s = Session(model=Scripted(answers=["one"]))
    s.record(file)
    s.run("hi")
    *lines, last = file.read_text().splitlines()
    damaged = {**json.loads(last), "answer": [[0, piece]]}
    file.write_text("".join(f"{line}\n" for line in (*lines, json.dumps(damaged))))
    r = Session()
    r.replay(file)
    refused(r"tape a\.jsonl is damaged: one of its answers is no message", r.run, "hi")


# -- no credential is on a tape, wherever it was: searched in the bytes of the file


PLANTED = [sample for sample in SAMPLES if all(len(value) >= 8 for value in sample.values)][::4][:200]


class Pieces(Scripted):
    """Streams its answer five characters at a time, as text, as arguments of a call and as a thought."""

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        text = str(self._next(messages).content)
        args_ = json.dumps({"text": text})
        for i in range(0, len(text), 5):
            more = {"reasoning_content": text[i : i + 5]}
            yield ChatGenerationChunk(message=AIMessageChunk(content=text[i : i + 5], additional_kwargs=more))
            block: Any = {"type": "thinking", "thinking": text[i : i + 5], "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk(content=[block]))
        for i in range(0, len(args_), 5):
            part: Any = {"name": "go" if i == 0 else None, "args": args_[i : i + 5], "id": "c1", "index": 0}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[part]))


def left(file: Path, value: str) -> bool:
    """Whether a value is in a file, as it is or as JSON writes it."""
    data = file.read_bytes()
    forms = (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    return any(form.encode("utf-8", "surrogatepass") in data for form in forms)


def asked(model: BaseChatModel, text: str) -> None:
    called = AIMessage("", tool_calls=[{"name": "go", "args": {"text": text}, "id": "c0"}])
    given = [SystemMessage(text), HumanMessage(text), called, ToolMessage(text, tool_call_id="c0")]
    tool = {"type": "function", "function": {"name": "go", "description": text, "parameters": {}}}
    with suppress(RuntimeError):
        list(model.bind(tools=[tool]).stream(given))


@pytest.mark.slow
def test_none_of_the_planted_credentials_is_on_a_tape_wherever_it_was(tmp_path):
    found = []
    for i, sample in enumerate(PLANTED):
        file = tmp_path / f"{i}.jsonl"
        recording = Recording(file, lambda: NOW, sample.text)
        for answer in (sample.text, RuntimeError(sample.text)):
            asked(recording.heard(Pieces(answers=[answer]), sample.text, "by script"), sample.text)
        assert recording.requests == 2 and len(tape(file).exchanges) == 2
        found += [(sample.kind, value) for value in sample.values if left(file, value)]
    assert found == []


def test_an_answer_without_credentials_keeps_its_pieces(tmp_path):
    file = tmp_path / "a.jsonl"
    recording = Recording(file, lambda: NOW)
    asked(recording.heard(Pieces(answers=["what was said"]), "m", "by script"), "what was asked")
    pieces = [piece for _, piece in tape(file).exchanges[0].pieces]
    assert [p["text"] for p in pieces if "text" in p] == ["what ", "was s", "aid"]
    assert "".join(c["args"] for p in pieces for c in p.get("calls", ())) == '{"text": "what was said"}'


def test_a_thread_with_a_credential_in_it_is_replayed_without_it(tmp_path):
    file, key = tmp_path / "a.jsonl", "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    s = Session(model=Scripted(answers=[f"your key is {key}, isn't it?", "bye"]))
    s.record(file)
    s.run(f"my key is {key}")
    s.run("yes")
    assert key in s.turns[0].text and not left(file, key)
    r = Session()
    r.replay(file)
    assert r.run(f"my key is {key}").text == "your key is [redacted: GitHub token], isn't it?"
    assert r.run("yes").text == "bye"
