"""How deep tasks are handed on: counted through every level, side by side, in agents of the user's own, after a resume."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnb import DeepnbError, Session
from deepnb.values.turn import ModelStarted, ToolEnded
from tests.support.nesting import Plan, Planned
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

ANY = "general-purpose"


def chain(levels: int, agent: str = ANY) -> Plan:
    """A plan in which each of `levels` agents hands its task on."""
    plan = Plan(f"a{levels}")
    for level in reversed(range(levels)):
        plan = Plan(f"a{level}", ((agent, plan),))
    return plan


def paths(s: Session) -> set[tuple[str, ...]]:
    return {e.path for e in s.last.events if isinstance(e, ModelStarted)}


def refusals(s: Session) -> list[ToolEnded]:
    return [
        e
        for e in s.last.events
        if isinstance(e, ToolEnded) and "max_subagent_depth" in e.result and e.status == "error"
    ]


@every_row("limit", [1, 2, 3, 5])
def test_a_chain_stops_at_the_limit_and_every_agent_goes_on(limit):
    s = Session(model=Planned(), max_subagent_depth=limit)
    turn = s.run(str(chain(9)))
    assert max(map(len, paths(s))) == limit
    (refused,) = refusals(s)
    assert len(refused.path) == limit
    assert f"nested {limit} deep, and max_subagent_depth is {limit}" in refused.result
    assert turn.error is None and turn.interrupted is None
    assert turn.text.startswith("a0(a1(") and f"a{limit}(Error: no subagent was started." in turn.text


def test_the_limit_is_3_by_default():
    s = Session(model=Planned())
    s.run(str(chain(9)))
    assert max(map(len, paths(s))) == 3


plans = st.recursive(
    st.just(()),
    lambda tasks: st.lists(st.tuples(st.sampled_from([ANY, "first", "second"]), tasks), max_size=3).map(tuple),
    max_leaves=8,
)


def named(tasks: tuple, name: str = "n") -> Plan:
    return Plan(name, tuple((agent, named(inner, f"{name}-{i}")) for i, (agent, inner) in enumerate(tasks)))


@pytest.mark.slow
@settings(max_examples=25)
@given(tasks=plans, limit=st.integers(1, 4))
def test_exactly_the_agents_above_the_limit_run(tasks, limit):
    plan = named(tasks)
    own = [{"name": n, "description": n, "system_prompt": n} for n in ("first", "second")]
    s = Session(model=Planned(), max_subagent_depth=limit, subagents=own)
    turn = s.run(str(plan))
    assert paths(s) == {ids[1:] for ids in plan.within(limit)}
    assert len(refusals(s)) == plan.refused(limit)
    assert turn.error is None


def test_agents_of_ones_own_and_of_files_count_as_well():
    s = Session(model=Planned(), subagents=[{"name": "mine", "description": "d", "system_prompt": "p"}])
    s.subagents.new("filed")
    inner = Plan("a4", (("filed", Plan("a5")),))
    for agent, name in (("mine", "a3"), ("filed", "a2"), ("mine", "a1"), (ANY, "a0")):
        inner = Plan(name, ((agent, inner),))
    s.run(str(inner))
    assert max(map(len, paths(s))) == 3
    assert len(refusals(s)) == 1


def test_another_session_as_a_subagent_counts_from_where_it_is_called():
    inner = Session(model=Planned(), max_subagent_depth=3)
    spec = {"name": "other", "description": "d", "runnable": inner.graph}
    s = Session(model=Planned(), subagents=[spec], approve={"task": "allow"})
    s.run(str(Plan("a0", (("other", chain(9)),))))
    assert max(map(len, paths(s))) == 3


def test_the_limit_holds_in_a_graph_that_is_awaited():
    s = Session(model=Planned(), max_subagent_depth=2)
    ask = {"messages": [("user", str(chain(9)))]}
    out = asyncio.run(s.graph.ainvoke(ask, {"configurable": {"thread_id": "t"}}))
    assert out["messages"][-1].text.startswith("a0(a1(a2(Error: no subagent was started.")


def test_the_limit_holds_after_a_resume():
    """The run is cut two levels down and goes on there: the depth is the one it had."""
    task = [call("task", id=f"t{i}", description="go", subagent_type=ANY) for i in range(4)]
    answers = [task[0], task[1], KeyboardInterrupt(), task[2], task[3], "at three", "at two", "at one", "end"]
    s = Session(model=Scripted(answers=answers))
    with pytest.raises(KeyboardInterrupt):
        s.run("p")
    assert s.pending
    list(s.resume("again"))
    assert s.last.text == "end"
    (refused,) = refusals(s)
    assert len(refused.path) == 3


def test_two_turns_begin_at_the_top():
    s = Session(model=Planned(), max_subagent_depth=2)
    for _ in range(2):
        s.run(str(chain(9)))
        assert max(map(len, paths(s))) == 2


def test_a_subagent_has_the_limit_of_steps_too():
    task = call("task", id="t1", description="work", subagent_type=ANY)
    s = Session(model=Scripted(answers=[task, *(call("ls", id="n", path=f"/{i}") for i in range(6))]), max_steps=5)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 5 steps in the subagent general-purpose"
    assert len(turn.calls) == 6


@every_row("wrong", [0, -1, True, "3", None, 2.5])
def test_a_limit_that_is_none(wrong):
    with pytest.raises(DeepnbError, match="max_subagent_depth can't be"):
        Session(max_subagent_depth=wrong)
