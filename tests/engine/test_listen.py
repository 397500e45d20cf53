"""What is told of a run: nested agents by path, tokens as they come, usage as it is reported, calls side by side."""

import threading
from typing import Any
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel

from deepnb import Session
from deepnb.engine.listen import Listener
from deepnb.running.play import in_model_order
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.budget import Budget, rule_for
from deepnb.values.turn import (
    Asked,
    Call,
    Compacted,
    Decided,
    Event,
    ModelEnded,
    ModelStarted,
    Notice,
    Path,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)
from deepnb.views.turn_segments import Segments, ToolSegment
from deepnb.widgets.turn import NotebookTurn
from tests.support.screen import Cell
from tests.support.scripted import TASK, Paid, Scripted, call, calls


class Whole(Scripted):
    _stream = BaseChatModel._stream


def test_nested_agents_carry_their_path_and_two_side_by_side_are_told_apart():
    answers = [TASK, call("ls", id="n1", path="/"), "nested answer", "main answer"]
    s = Session(model=Paid(answers=answers))
    turn = s.run("p")
    seen = [(type(e).__name__, getattr(e, "name", getattr(e, "text", "")), e.path) for e in turn.events]
    assert seen == [
        ("ModelStarted", "", ()), ("ModelEnded", "", ()), ("ToolStarted", "task", ()), ("ModelStarted", "", ("t1",)),
        ("ModelEnded", "", ("t1",)), ("ToolStarted", "ls", ("t1",)), ("ToolEnded", "ls", ("t1",)),
        ("ModelStarted", "", ("t1",)), ("TextDelta", "nested answer", ("t1",)), ("ModelEnded", "", ("t1",)),
        ("ToolEnded", "task", ()), ("ModelStarted", "", ()), ("TextDelta", "main answer", ()), ("ModelEnded", "", ()),
    ]  # fmt: skip
    assert turn.text == "main answer" and [c.number for c in turn.calls] == [1, 2, 3, 4]
    assert turn.usage == Usage(40, 8, 16) and turn.budget is not None and turn.budget.parts["assistant"] > 0
    assert list(s.ledger()["agent"]) == ["main", "general-purpose", "general-purpose", "main"]
    both = calls(*(call("task", at, description=at, subagent_type="general-purpose") for at in ("left", "right")))
    turn = Session(model=Scripted(answers=[both, "nested", "nested", "end"])).run("p")
    assert sorted(e.path for e in turn.events if isinstance(e, ModelStarted)) == [(), (), ("left",), ("right",)]
    said = [(e.text, e.path) for e in turn.events if isinstance(e, TextDelta)]
    assert sorted(said) == [("end", ()), ("nested", ("left",)), ("nested", ("right",))]


def test_the_summarizer_is_told_of_and_its_words_are_not():
    model = Scripted(answers=["one", "two", "the summary", "three"])
    s = Session(model=model, trigger=("messages", 5), keep=("messages", 2))
    for prompt in "abc":
        s.run(prompt)
    turn = s.turns[-1]
    assert [e.text for e in turn.events if isinstance(e, TextDelta)] == ["three"]
    (compacted,) = [e for e in turn.events if isinstance(e, Compacted)]
    assert compacted.offload == turn.after.offload and "the summary" in compacted.offload.summary
    assert list(s.ledger()["purpose"]) == ["answer", "answer", "flush", "summary", "answer"]


def test_text_and_tokens_of_a_model_that_streams_or_reports_nothing():
    turn = Session(model=Whole(answers=[call("ls", path="/"), "all at once"])).run("p")
    assert [e.text for e in turn.events if isinstance(e, TextDelta)] == [turn.text] == ["all at once"]
    kinds = [type(e) for e in turn.events]
    assert kinds == [ModelStarted, ModelEnded, ToolStarted, ToolEnded, ModelStarted, TextDelta, ModelEnded]
    turn = Session(model=Scripted(answers=["one"])).run("p")
    assert turn.budget is not None and turn.calls[0].usage is turn.budget.reported is None
    assert turn.usage == Usage(turn.budget.total, turn.calls[0].answered, cached=None, exact=False)
    assert 0 < turn.calls[0].answered < 10


class Unledgered:
    calls = 0

    def sent(self, *_: Any) -> tuple[Any, Any]:
        return None, None

    def label(self, agent: str) -> str:
        return agent


def test_a_call_that_is_made_again_keeps_its_number_whatever_was_called_meanwhile():
    told: list[Any] = []
    listener = Listener(told.append, Unledgered())  # type: ignore[arg-type]
    outer = uuid4()
    listener.on_tool_start({"name": "task"}, "", run_id=outer, tool_call_id="t1", inputs={"subagent_type": "x"})
    first, nested, again, after = (uuid4() for _ in range(4))
    listener.on_chat_model_start({}, [[]], run_id=first)
    listener.on_llm_error(ConnectionError(), run_id=first)
    listener.on_chat_model_start({}, [[]], run_id=nested, parent_run_id=outer)
    listener.on_chat_model_start({}, [[]], run_id=again)
    listener.on_chat_model_start({}, [[]], run_id=after)
    numbers = [(event.call.number, event.path) for event in told if isinstance(event, ModelStarted)]
    assert numbers == [(1, ()), (2, ("t1",)), (1, ()), (3, ())]


def started(id_: str, place: int, path: Path = ()) -> ToolStarted:
    return ToolStarted(id_, "tool", {}, path, place)


def ended(id_: str, path: Path = ()) -> ToolEnded:
    return ToolEnded(id_, "tool", f"{id_} is done", "ok", 0.0, path)


def asked_model(number: int, path: Path = ()) -> ModelStarted:
    return ModelStarted(Call(number, "answer", path, Budget({}, rule_for(None), 0)), path)


def cards(events: list[Event]) -> list[tuple[str, list[str]]]:
    segments = Segments()
    for event in events:
        segments.add(event)
    return _cards(segments)


def _cards(segments: Segments) -> list[tuple[str, list[str]]]:
    found = [one for one in segments.segments if isinstance(one, ToolSegment)]
    return [(one.id, [id_ for id_, _ in _cards(one.nested or Segments())]) for one in found]


def shown(events: list[Event]) -> str:
    cell = Cell()
    turn = NotebookTurn(cell, clock=lambda: 0.0)
    for event in events:
        turn.add(event)
    turn.finish()
    return "\n".join(cell.last)


def test_calls_of_a_subagent_and_one_that_waited_for_the_user_are_in_order():
    task = started("task", 1)
    inner: list[Event] = [asked_model(2, ("task",)), started("y", 1, ("task",)), started("x", 0, ("task",))]
    events: list[Event] = [asked_model(1), task, *inner, started("a", 0), ended("y", ("task",)), ended("x", ("task",))]
    assert cards(events) == cards(in_model_order(events)) == [("a", []), ("task", ["x", "y"])]
    waits = PendingCall("asks", "tool", {}, "digest", "key")
    first: list[Event] = [asked_model(1), Asked(waits), started("c", 2), started("b", 1), ended("b"), ended("c")]
    then: list[Event] = [Decided(Decision(waits, "approve")), started("later", 1), started("asks", 0)]
    events = [*in_model_order(first), *in_model_order(then)]
    assert [id_ for id_, _ in cards(events)] == [id_ for id_, _ in cards(first + then)] == ["b", "c", "asks", "later"]


@given(st.data())
def test_events_are_kept_and_cards_have_the_order_of_the_answer(data: st.DataObject):
    events: list[Event] = []
    expected: list[str] = []
    for number in range(1, data.draw(st.integers(1, 3)) + 1):
        events += [asked_model(number), TextDelta("a word", number)]
        ids = [f"c{number}-{at}" for at in range(data.draw(st.integers(1, 5)))]
        lines: list[list[Event]] = [[started(id_, at), ended(id_)] for at, id_ in enumerate(ids)]
        lines = [line for line in lines if data.draw(st.booleans())]  # one that was refused never begins
        expected += [line[0].id for line in lines if isinstance(line[0], ToolStarted)]
        lines += [[Notice(f"aside {number}")]]
        while any(lines):
            events.append(data.draw(st.sampled_from([line for line in lines if line])).pop(0))
    ordered = in_model_order(events)
    assert sorted(map(repr, ordered)) == sorted(map(repr, events))
    assert [e for e in ordered if not isinstance(e, ToolStarted)] == [
        e for e in events if not isinstance(e, ToolStarted)
    ]
    assert [e.id for e in ordered if isinstance(e, ToolStarted)] == expected
    assert all(ordered.index(started(id_, 0)) < ordered.index(ended(id_)) for id_ in expected)
    assert [id_ for id_, _ in cards(events)] == [id_ for id_, _ in cards(ordered)] == expected
    text = shown(events)
    places = [text.index(f"{id_} is done") for id_ in expected]
    assert places == sorted(places)


def test_in_a_real_run_a_call_is_told_of_while_the_one_before_it_waits_for_approval():
    told, results = threading.Event(), []

    def quick() -> str:
        """Wait until the user sees that this has begun."""
        return "seen" if told.wait(60) else "unseen"

    made = calls(call("write_file", "asks", file_path="/a.txt", content="x"), call("quick", "quick"))
    rules: Any = {"write_file": "ask", "quick": "allow"}
    with Session(Scripted(answers=[made, "done"]), tools=[quick], approve=rules) as session:
        for event in session.stream("both"):
            if isinstance(event, ToolStarted) and event.id == "quick":
                told.set()
            results += [event.result] if isinstance(event, ToolEnded) else []
        assert results == ["seen"] and [one.id for one in session.asked] == ["asks"]


def test_calls_of_a_real_run_are_told_of_as_they_begin_and_recorded_in_the_order_of_the_answer():
    """Each of four lets the one before it begin."""
    names = ["a", "b", "c", "d"]
    begun = {name: threading.Event() for name in names}

    class Backwards(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            later = names[names.index(request.tool_call["id"]) + 1 :]
            assert not later or begun[later[0]].wait(60)
            return handler(request)

    def note(name: str) -> str:
        """Say which one this is."""
        begun[name].set()
        return name

    model = Scripted(answers=[calls(*(call("note", id=name, name=name) for name in names)), "done"])
    with Session(model, tools=[note], approve={"note": "allow"}, middleware=[Backwards()]) as session:
        told = [event.id for event in session.stream("note them") if isinstance(event, ToolStarted)]
        events = list(session.turns[-1].events)
    assert told == names[::-1] and [event.id for event in events if isinstance(event, ToolStarted)] == names
    assert [id_ for id_, _ in cards(events)] == names
