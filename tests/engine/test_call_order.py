"""Calls of one answer are told of in the order the model made them, whichever begins first."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.core.messages import Added, Message
from deepnb.core.values import Notice, ToolEnded, ToolStarted
from deepnb.engine.call_order import CallOrder, Waits
from tests.support.scripted import Scripted, call


def started(id_: str, path: tuple[str, ...] = ()) -> ToolStarted:
    return ToolStarted(id_, "tool", {}, path)


def ended(id_: str, path: tuple[str, ...] = ()) -> ToolEnded:
    return ToolEnded(id_, "tool", "", "ok", 0.0, path)


def order() -> tuple[CallOrder, list[Any]]:
    told: list[Any] = []
    return CallOrder(told.append, told.append), told


def test_a_call_waits_for_the_ones_before_it_and_what_is_of_it_with_it():
    calls, told = order()
    calls.expect((), ["a", "b", "c"])
    answer = Added(Message("m", "tool", "", tool_call_id="b"))
    for event in (started("c"), started("b"), ended("b"), answer, Notice("aside")):
        calls.add(event)
    assert told == [Notice("aside")]
    calls.add(started("a"))
    assert told[1:] == [started("a"), started("b"), ended("b"), answer, started("c")]
    calls.add(ended("c"))
    assert told[-1] == ended("c")


def test_a_call_that_waits_for_the_user_is_not_waited_for():
    calls, told = order()
    calls.expect((), ["a", "asks", "b"])
    calls.add(started("b"))
    calls.add(Waits("asks", ()))
    assert told == []
    calls.add(started("a"))
    assert told == [started("a"), started("b")]
    calls.add(Waits("unknown", ()))
    assert told == [started("a"), started("b")]


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


def test_what_is_of_a_subagent_waits_with_the_call_that_it_is_for_in_its_own_order():
    calls, told = order()
    calls.expect((), ["a", "task"])
    calls.add(started("task"))
    calls.expect(("task",), ["x", "y"])
    calls.add(started("y", ("task",)))
    calls.add(started("x", ("task",)))
    calls.add(ended("x", ("task",)))
    assert told == []
    calls.add(started("a"))
    inner = [started("x", ("task",)), started("y", ("task",)), ended("x", ("task",))]
    assert told[:2] == [started("a"), started("task")] and sorted(map(repr, told[2:])) == sorted(map(repr, inner))
    assert told.index(inner[0]) < told.index(inner[1])


def test_the_next_answer_of_an_agent_waits_for_no_call_of_the_last_one():
    calls, told = order()
    calls.expect((), ["refused", "b"])
    calls.add(started("b"))
    calls.expect((), ["c"])
    calls.add(started("c"))
    assert told == [started("b"), started("c")]


@given(st.data())
def test_every_event_is_handed_on_once_and_starts_are_in_order(data: st.DataObject):
    ids = [f"c{n}" for n in range(data.draw(st.integers(1, 6)))]
    lines = [[started(id_), ended(id_)] for id_ in ids if data.draw(st.booleans())]
    calls, told = order()
    calls.expect((), ids)
    given_: list[Any] = []
    while any(lines):
        line = data.draw(st.sampled_from([line for line in lines if line]))
        given_.append(line.pop(0))
        calls.add(given_[-1])
    calls.release()
    assert sorted(map(repr, told)) == sorted(map(repr, given_))
    begun = [event.id for event in told if isinstance(event, ToolStarted)]
    assert begun == sorted(begun)
    for id_ in begun:
        assert told.index(started(id_)) < told.index(ended(id_))


def test_calls_of_a_real_run_begin_in_the_order_of_the_answer():
    """Eight side by side, of which the first ones begin last as far as threads go."""
    count = 8
    names = [f"/work/{n}.txt" for n in range(count)]
    made = call("write_file", id=names[0], file_path=names[0], content="x")
    for name in names[1:]:
        made.tool_calls += call("write_file", id=name, file_path=name, content="x").tool_calls
    with Session(Scripted(answers=[made, "done"] * 5)) as session:
        for _ in range(5):
            turn = session.run("write them")
            begun = [event.args["file_path"] for event in turn.events if isinstance(event, ToolStarted)]
            assert begun == names
