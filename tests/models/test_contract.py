"""One contract for every kind of model: the same script gives the same events and the same records.

A row of ROWS plays a scenario and gives the session: a new kind of model is one line there. The teaching model answers
by rules: for it, what it answered to prompts is the script of the others, and TAUGHT says which scenarios it takes part in.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import cycle
from typing import Any

import pytest

from deepnb import Session
from deepnb.context.transcript import live_messages
from deepnb.values.turn import ModelEnded, ModelStarted, Notice, Retry, TextDelta, ToolEnded, ToolStarted, Usage
from tests.data import rows
from tests.support.chat_server import Cut, Fail, Hold, Say, Think, Use
from tests.support.contract import SERVED, Play, Played, Scenario, record, served, taped, teaching, without_figures
from tests.support.images import png
from tests.support.tables import every_row, refused

ROWS: Mapping[str, Play] = {**{name: served(make) for name, make in SERVED.items()}, "tape": taped(SERVED["anthropic"])}
THINK = ("responses", "anthropic", "tape")
"""Those whose protocol has thoughts."""
AGAIN = {"retry-after": "0"}
TEXT = 'a "quoted" line\n茶 & <b>\n'
CUT = '{"file_path": "/a.md", "content": "half of i'

SCENARIOS = (
    Scenario("text", (Say("Hello there, from the model."), Say("And once more.")), ("hi", "again")),
    Scenario(
        "parallel calls",
        (
            [
                Say("I look and write."),
                Use("ls", {"path": "/"}, id="a"),
                Use("write_file", {"file_path": "/a.md", "content": TEXT}, id="b", size=1),
                Use("write_file", {"file_path": "/b.md", "content": "two"}, id="c", size=1_000),
            ],
            Say("Both are written."),
        ),
        ("write two files",),
    ),
    Scenario(
        "thoughts",
        (
            [Think("first I look", "sign 1"), Say("I look."), Use("ls", {"path": "/"}, id="a")],
            [Think("nothing is there", "sign 2"), Use("write_file", {"file_path": "/a.md", "content": "x"}, id="b")],
            [Think("now it is", "sign 3"), Say("It is there.")],
            [Think("a new turn", "sign 4"), Say("Still there.")],
        ),
        ("look", "and now?"),
    ),
    Scenario("cached", (Say("one", cached=64), Say("two", cached=80)), ("a", "b")),
    Scenario("an image", (Say("A red square."),), images=(png(64, 48),)),
    Scenario("an image that is not seen", (Say("I can't see it."),), images=(png(64, 48),), sees=False),
    Scenario("nothing is said", (Say(""), Say("Something.")), ("hi", "hello?")),
    Scenario("arguments that are not JSON", (Use("write_file", CUT, id="a"), Use("write_file", {"content": 3},
        id="b"), Say("I can't."))),
    Scenario("a tool there is not", (Use("wrte_file", {"a": 1}), Say("I see."))),
    Scenario("a subagent", ([Use("task", {"description": "look", "subagent_type": "general-purpose"}, id="t")],
        [Say("I look."), Use("ls", {"path": "/"}, id="a")], Say("Nothing."), Say("There is nothing."))),
    Scenario("a compaction", (Say("One."), Say("Two."), Say("Three."), Say("NO_REPLY"), Say("They counted."),
        Say("Four.")), ("one", "two", "three", "four"), {"trigger": ("messages", 7), "keep": ("messages", 2)}),
    *(
        Scenario(f"refused with {status}", (Fail(status, "no such thing", AGAIN), Say("Yes.")))
        for status in (400, 401, 404)
    ),
    *(
        Scenario(f"{status} and then an answer", (Fail(status, "not now", AGAIN), Say("Now.")))
        for status in (429, 500, 503, 529)
    ),
    *(
        Scenario(f"{status} to the end", (Fail(status, "not now", AGAIN),), ("hi", "hi again"))
        for status in (429, 500, 529)
    ),
    Scenario("cut off in the answer", (Cut(Say("One two three four five."), words=2), Say("All of it.")), ("hi", "hi")),
    Scenario("cut off before the answer", (Cut(Say("One.")), Say("All of it.")), ("hi", "hi")),
    Scenario("cut off after a tool", (Use("write_file", {"file_path": "/a.md", "content": "x"}),
        Cut(Say("One two three."), words=2), Say("New.")), ("write", "and?")),
)  # fmt: skip
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@cache
def played(row: str, name: str) -> Played:
    return ROWS[row](BY_NAME[name])


@pytest.mark.slow
@every_row("name", BY_NAME)
@every_row("row", [row for row in ROWS if row != "openai"])
def test_every_kind_of_model_gives_the_same_events_and_records(row, name):
    thoughts = row in THINK and "openai" in THINK
    expected = record(played("openai", name).session, thoughts=thoughts)
    assert record(played(row, name).session, thoughts=thoughts) == expected


def test_those_that_think_tell_the_same_thoughts():
    first, *others = (record(played(row, "thoughts").session) for row in ROWS if row in THINK)
    assert all(one == first for one in others)
    said = [e[1]["text"] for turn in first["turns"] for e in turn["events"] if e[0] == "ThinkingDelta"]
    assert said == ["first I look", "nothing is there", "now it is", "a new turn"]


_WORDS = ("Hello", "Remember that I like tea", "what do you remember?")
TAUGHT: Mapping[str, Scenario] = {
    "text": Scenario("text", (), ("Hello", "and hello again")),
    "calls": Scenario("calls", (), (*_WORDS, "write a file /a.txt with: hello", "read /a.txt", "read /none.txt")),
    "a subagent": Scenario("a subagent", (), ("ask a subagent to list the files",)),
    "a compaction": replace(BY_NAME["a compaction"], answers=(), prompts=(*_WORDS, "Hello", "list the files")),
    "an image that is not seen": replace(BY_NAME["an image that is not seen"], answers=(), prompts=("and this?",)),
}
"""What it takes part in, with prompts that its rules know."""


@cache
def taught(name: str) -> tuple[Played, Scenario]:
    return teaching(TAUGHT[name])


@pytest.mark.slow
@every_row(("name", "row"), zip(TAUGHT, cycle(ROWS), strict=False))
def test_the_teaching_model_gives_the_same_events_and_records_but_for_what_it_counts(row, name):
    one, script = taught(name)
    assert len(script.answers) >= len(script.prompts)
    assert without_figures(record(one.session)) == without_figures(record(ROWS[row](script).session))


@every_row("name", TAUGHT)
def test_the_teaching_model_has_usage_of_its_own_and_keeps_the_laws(name):
    s = taught(name)[0].session
    ended = [e.call for t in s.turns for e in t.events if isinstance(e, ModelEnded)]
    assert all(call.usage and call.usage.exact and call.usage.input and call.usage.output for call in ended)
    assert [call.usage.input for call in ended] == [call.budget.total for call in ended]
    laws(s)


def events(row: str, name: str, kind: Any, turn: int = 0) -> list[Any]:
    return [e for e in played(row, name).session.turns[turn].events if isinstance(e, kind)]


@every_row("row", ROWS)
def test_text_comes_in_pieces_and_usage_with_it(row):
    scenario = BY_NAME["text"]
    s = played(row, "text").session
    assert [t.text for t in s.turns] == ["Hello there, from the model.", "And once more."]
    assert [t.usage for t in s.turns] == [Usage(100, 20, 0)] * 2
    assert [t.usage.cached for t in played(row, "cached").session.turns] == [64, 80]
    assert len(played(row, "text").requests) == len(scenario.prompts)


@every_row("row", ROWS)
def test_parallel_calls_are_run_and_answered_each_by_its_id(row):
    s = played(row, "parallel calls").session
    assert {e.id: e.status for e in events(row, "parallel calls", ToolEnded)} == {"a": "ok", "b": "ok", "c": "ok"}
    assert dict(s.files) == {"/a.md": TEXT, "/b.md": "two"}
    asked, *results = s.snapshot.messages[1:5]
    assert [c.id for c in asked.tool_calls] == [m.tool_call_id for m in results] == ["a", "b", "c"]


@every_row("row", THINK)
def test_thoughts_go_back_as_the_provider_gave_them(row):
    requests = played(row, "thoughts").requests
    sent = [json.dumps(r.get("messages") or r["input"]) for r in requests]
    for number, signature in enumerate(("sign 1", "sign 2", "sign 3")):
        assert signature in sent[number + 1]
    blocks = [b for m in requests[1].get("messages", ()) if m["role"] == "assistant" for b in m["content"]]
    items = [i for i in requests[1].get("input", ()) if i.get("type") == "reasoning"]
    if row in ("anthropic", "tape"):
        assert blocks[0] == {"type": "thinking", "thinking": "first I look", "signature": "sign 1"}
    else:
        (item,) = items
        assert (item["encrypted_content"], item["summary"][0]["text"]) == ("sign 1", "first I look")
    assert [e.text for e in events(row, "thoughts", TextDelta)] == ["I look.", "It is there."]


@every_row("row", ROWS)
@every_row("sees", [True, False])
def test_an_image_goes_to_those_that_see(row, sees):
    name = "an image" if sees else "an image that is not seen"
    (request,) = played(row, name).requests
    sent = json.dumps(request)
    form = {"openai": "image_url", "responses": "input_image", "anthropic": "media_type", "tape": "media_type"}[row]
    assert (form in sent) == sees
    assert "does not see images" in "".join(e.text for e in events(row, name, Notice)) or sees


@every_row("row", ROWS)
def test_malformed_arguments_run_nothing_and_are_told(row):
    s = played(row, "arguments that are not JSON").session
    assert dict(s.files) == {}
    results = [m.text for m in s.snapshot.messages if m.role == "tool"]
    assert results[0].startswith("Error: the arguments of this call are not JSON, or were cut off.")
    assert "file_path: Field required" in results[1]
    told = [e.result for e in events(row, "arguments that are not JSON", ToolEnded)]
    assert told[1] == "Error: ValidationError: file_path: Field required; content: Input should be a valid string"


@pytest.mark.slow
@every_row("row", ROWS)
@every_row(("name", "sent", "line"), rows("refused")["by a provider"])
def test_a_failure_is_one_line_the_thread_usable_and_nothing_sent_twice_unasked(row, name, sent, line):
    one = played(row, name)
    assert next(t for t in one.session.turns if t.error).error == line and len(one.requests) == sent
    if sent in (2, 3):
        assert one.session.turns[-1].error is None


@pytest.mark.slow
@every_row("row", ROWS)
@every_row("status", [429, 500, 503, 529])
def test_a_request_that_is_sent_again_is_one_call(row, status):
    name = f"{status} and then an answer"
    (turn,) = played(row, name).session.turns
    assert (turn.text, turn.error, len(turn.calls)) == ("Now.", None, 1)
    assert [(e.number, e.of) for e in events(row, name, Retry)] == [(2, 3)]
    assert [type(e) for e in turn.events][:3] == [ModelStarted, Retry, ModelStarted]


@every_row("row", SERVED)
def test_a_slow_answer_can_be_interrupted_and_what_was_said_is_kept(row, monkeypatch):
    monkeypatch.setattr("deepnb.engine.run._GRACE", 0.1)
    slow = Hold(Say("One two three four."), words=2)
    with SERVED[row]([slow, Say("Here.")]) as (model, server):
        s = Session(model, enable_skills=False)
        stream = s.stream("count")
        said = ""
        for event in stream:
            said += event.text if isinstance(event, TextDelta) else ""
            if said == "One two":
                break
        stream.close()
        slow.gate.set()
        assert s.turns[0].text == "One two"
        assert (s.turns[0].interrupted or "").startswith("interrupted while the model answered")
        assert s.run("again").text == "Here." and len(server.requests) == 2


@every_row("row", SERVED)
@every_row(("words", "line"), [(0, "the model did not answer in time: nothing"), (2, "the answer broke off: ")])
def test_a_model_that_falls_silent_is_one_line_and_asked_once(row, words, line):
    silent = Hold(Say("One two three four."), words=words)
    with SERVED[row]([silent, Say("Here.")], timeout=0.3) as (model, server):
        s = Session(model, enable_skills=False)
        refused(f"^{line}", s.run, "count")
        silent.gate.set()
        assert s.turns[0].error == "the model did not answer in time"
        assert s.turns[0].text == "One two" * bool(words) and len(server.requests) == 1
        assert s.run("again").text == "Here."


ENDS = {
    "openai": (b'"finish_reason": "stop"', b'"finish_reason": "length"', b'"finish_reason": null'),
    "responses": (b'"status": "completed"', b'"status": "incomplete"', b'"status": null'),
    "anthropic": (b'"stop_reason": "end_turn"', b'"stop_reason": "max_tokens"', b'"stop_reason": null'),
}


@every_row("row", SERVED)
@every_row(("end", "said"), [(1, "it reached the model's limit of output tokens"), (2, "without a reason")])
def test_an_answer_that_is_not_all_of_it_says_so(row, end, said, monkeypatch):
    with SERVED[row]([Say("One two three.")]) as (model, server):
        whole = type(server).body
        usual, other = ENDS[row][0], ENDS[row][end]
        monkeypatch.setattr(type(server), "body", lambda *args: (piece.replace(usual, other) for piece in whole(*args)))
        s = Session(model, enable_skills=False)
        turn = s.run("count")
        assert turn.text == "One two three."
        (note,) = [e.text for e in turn.events if isinstance(e, Notice)]
        assert said in note
        monkeypatch.undo()
        assert not [e for e in s.run("again").events if isinstance(e, Notice)]


@pytest.mark.slow
@every_row("name", BY_NAME)
@every_row("row", ROWS)
def test_the_laws_hold(row, name):
    laws(played(row, name).session)


def laws(s: Session) -> None:
    for turn in s.turns:
        started = [e for e in turn.events if isinstance(e, ModelStarted)]
        ended = [e for e in turn.events if isinstance(e, ModelEnded)]
        failed = turn.error is not None
        assert sorted({e.call.number for e in started}) == [*range(1, len({e.call.number for e in started}) + 1)]
        assert [e.call.number for e in ended] == sorted({e.call.number for e in started})[: len(ended)] or any(
            e.path for e in turn.events
        )
        assert len(ended) == len({e.call.number for e in started}) - failed
        assert turn.calls == tuple(e.call for e in ended)
        assert turn.usage == sum((c.spent for c in turn.calls), Usage())
        begun = [e.id for e in turn.events if isinstance(e, ToolStarted)]
        assert sorted(begun) == sorted(e.id for e in turn.events if isinstance(e, ToolEnded) and e.id in begun)
        said: dict[int, str] = {}
        for e in turn.events:
            if isinstance(e, TextDelta) and not e.path:
                said[e.call] = said.get(e.call, "") + e.text
        assert turn.text == (said[max(said)] if said else "") and turn.interrupted is None
    messages = s.snapshot.messages
    calls = [c.id for m in messages for c in m.tool_calls]
    assert [m.tool_call_id for m in messages if m.role == "tool"] == calls
    lines = s.workspace.transcripts[s.thread].read()[0]
    assert [m.data.get("text", "") for m in live_messages(lines)] == [m.text for m in messages]
    assert len(s.ledger()) == sum(len(t.calls) for t in s.turns)
