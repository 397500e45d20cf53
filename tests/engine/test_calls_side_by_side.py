"""Calls of one answer run side by side: they are told of as they begin, and shown in the order the model made them."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware

from deepnb import Session
from deepnb.running.play import in_model_order
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.budget import Budget, rule_for
from deepnb.values.turn import (
    Asked,
    Call,
    Decided,
    Event,
    ModelStarted,
    Notice,
    Path,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from deepnb.views.turn_segments import Segments, ToolSegment
from deepnb.widgets.turn import NotebookTurn
from tests.support.screen import Cell
from tests.support.scripted import Scripted, call


def started(id_: str, place: int, path: Path = ()) -> ToolStarted:
    return ToolStarted(id_, "tool", {}, path, place)


def ended(id_: str, path: Path = ()) -> ToolEnded:
    return ToolEnded(id_, "tool", f"{id_} is done", "ok", 0.0, path)


def asked_model(number: int, path: Path = ()) -> ModelStarted:
    return ModelStarted(Call(number, "answer", path, Budget({}, rule_for(None), 0)), path)


def cards(events: list[Event]) -> list[tuple[str, list[str]]]:
    """The cards of a turn, each with those of the agent that it calls."""
    segments = Segments()
    for event in events:
        segments.add(event)
    return _cards(segments)


def _cards(segments: Segments) -> list[tuple[str, list[str]]]:
    found = [one for one in segments.segments if isinstance(one, ToolSegment)]
    return [(one.id, [id_ for id_, _ in _cards(one.nested or Segments())]) for one in found]


def shown(events: list[Event]) -> str:
    """What the outputs of a cell say in the end, after each event was shown."""
    cell = Cell()
    turn = NotebookTurn(cell, clock=lambda: 0.0)
    for event in events:
        turn.add(event)
    turn.finish()
    return "\n".join(cell.last)


def test_a_call_is_shown_before_those_that_its_answer_names_later():
    notice, said = Notice("aside"), TextDelta("more", 2)
    events: list[Event] = [
        asked_model(1),
        *(started("c", 2), ended("c"), notice, started("b", 1), started("a", 0), ended("b"), ended("a")),
        *(asked_model(2), said, started("e", 1), started("d", 0), ended("d"), ended("e")),
    ]
    assert [id_ for id_, _ in cards(events)] == ["a", "b", "c", "d", "e"]
    ordered = in_model_order(events)
    assert [e.id for e in ordered if isinstance(e, ToolStarted)] == ["a", "b", "c", "d", "e"]
    assert ordered.index(started("a", 0)) < ordered.index(ended("c")) < ordered.index(notice)
    text = shown(events)
    places = [text.index(f"{one} is done") for one in "abc"] + [text.index("more")]
    assert places == sorted(places) and text.index("c is done") < text.index("aside")
    assert text.index("more") < text.index("d is done") < text.index("e is done")


def test_calls_of_a_subagent_are_in_their_own_order():
    task = started("task", 1)
    inner: list[Event] = [asked_model(2, ("task",)), started("y", 1, ("task",)), started("x", 0, ("task",))]
    events: list[Event] = [asked_model(1), task, *inner, started("a", 0), ended("y", ("task",)), ended("x", ("task",))]
    assert cards(events) == cards(in_model_order(events)) == [("a", []), ("task", ["x", "y"])]


def test_a_call_that_waited_for_the_user_is_shown_below_what_ran_meanwhile():
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
    told = threading.Event()

    def quick() -> str:
        """Wait until the user sees that this has begun."""
        return "seen" if told.wait(60) else "unseen"

    made = call("write_file", id="asks", file_path="/a.txt", content="x")
    made.tool_calls += call("quick", id="quick").tool_calls
    rules: Any = {"write_file": "ask", "quick": "allow"}
    with Session(Scripted(answers=[made, "done"]), tools=[quick], approve=rules) as session:
        results = []
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

    made = call("note", id="a", name="a")
    for name in names[1:]:
        made.tool_calls += call("note", id=name, name=name).tool_calls
    model = Scripted(answers=[made, "done"])
    with Session(model, tools=[note], approve={"note": "allow"}, middleware=[Backwards()]) as session:
        told = [event.id for event in session.stream("note them") if isinstance(event, ToolStarted)]
        events = list(session.turns[-1].events)
    assert told == names[::-1]
    assert [event.id for event in events if isinstance(event, ToolStarted)] == names
    assert [id_ for id_, _ in cards(events)] == names
