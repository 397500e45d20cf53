"""Subagents given in Python: their shape, their model and its window, what they cost, and how deep they nest."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import tool

from deepnb import Session, Subagent
from deepnb.engine.request import message_text
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import Compacted, ModelEnded, ModelStarted, ToolEnded, Usage
from tests.support.nesting import Plan, Planned
from tests.support.refusals import refused
from tests.support.scripted import Paid, Scripted, call, session
from tests.support.tables import every_row
from tests.support.walks import walked

CRITIC: dict[str, Any] = {"name": "critic", "description": "Finds faults.", "system_prompt": "Be strict."}
GO = call("task", id="t1", description="look", subagent_type="critic")


@tool
def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing}: 3 kg"


def test_a_dict_and_a_dataclass_are_the_same():
    dict_, class_ = session(subagents=[CRITIC]), session(subagents=[Subagent(**CRITIC)])
    assert dict_.options.subagents == class_.options.subagents == (Subagent("critic", "Finds faults.", "Be strict."),)


FILES = {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete"}
KERNEL = {"list_variables", "inspect_variable", "query_table", "read_notebook", "edit_notebook"}


@every_row(("tools", "options", "expected"), [
    (None, {}, {*FILES, *KERNEL, "weigh", "task"}), ([], {}, {*FILES, "task"}),
    ([weigh], {}, {*FILES, "task", "weigh"}), (["weigh"], {}, {"weigh"}),
    (["grep", "task"], {}, {"read_file", "grep", "task"}),
    (["list_variables", weigh], {}, {"list_variables", "weigh"}),
    (None, {"enable_filesystem": False}, {*KERNEL, "weigh", "task"}),
])  # fmt: skip
def test_which_tools_it_has(tools, options, expected):
    s = session(GO, "done", "end", subagents=[{**CRITIC, "tools": tools}], tools=[weigh], **options)
    s.run("p")
    assert {piece.label for piece in s.xray(1, 2).call.request if piece.part == "tools"} == expected


@every_row(("given", "says"), [
    (["critic"], "a subagent is a dict or a deepnb.Subagent, not a str"), ([{}], "a subagent has no name"),
    ([{"name": "critic"}], "the subagent 'critic' has no description"),
    ([{**CRITIC, "description": " "}], "the subagent 'critic' has no description"),
    ([{**CRITIC, "name": "The Critic"}], "'The Critic' can't be a subagent's name"),
    ([{**CRITIC, "name": "x" * 65}], "65 characters; the limit is 64"),
    ([CRITIC, CRITIC], "two subagents are called 'critic'"),
    ([{**CRITIC, "promt": "x"}], "the subagent 'critic' has no option 'promt': the options are name, description,"),
    ([{**CRITIC, "permissions": [1]}], "the subagent 'critic' has no option 'permissions': the options are name,"),
    ([{**CRITIC, "tools": "ls"}], "tools of the subagent 'critic' is a list, not a str"),
    ([{**CRITIC, "skills": "/skills/"}], "skills of the subagent 'critic' is a list, not a str"),
    ([{**CRITIC, "skills": [1]}], "are directories or names, not a int"),
    ([{**CRITIC, "system_prompt": 3}], "system_prompt of the subagent 'critic' is text, not a int"),
    ("critic", "subagents must be a list, not a str"),
])  # fmt: skip
def test_a_mistake_is_one_line(given, says):
    refused(says.replace("(", r"\("), Session, subagents=given)


@every_row(("spec", "says"), [
    ({**CRITIC, "tools": ["nosuch"]}, "'critic' has no tool 'nosuch' to choose from: use one of list_variables"),
    ({**CRITIC, "model": "nosuch:x"}, "nosuch"), ({**CRITIC, "model": 3}, "a int is not a chat model"),
    ({**CRITIC, "tools": [lambda x: x]}, "the subagent 'critic' can't be made"),
])  # fmt: skip
def test_a_mistake_that_shows_when_it_is_made_is_told_before_the_turn(spec, says):
    s = session(subagents=[spec])
    refused(says, s.run, "p")
    assert s.turns == ()


def test_the_general_purpose_one_can_be_replaced_or_left_out():
    mine = {**CRITIC, "name": "general-purpose"}
    s = session(subagents=[mine])
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "Python")]
    s = session()
    s.subagents.new("general-purpose")
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "file")]
    s = session(general_purpose=False)
    s.run("p")
    assert "task" not in {name for name, _ in s.workspace.built.tools}
    walked(s, "subagents.new critic", "run q")
    assert "task" in {name for name, _ in s.workspace.built.tools}


def test_a_name_that_is_not_there_is_told_to_the_model():
    turn = session(call("task", id="t1", description="x", subagent_type="nosuch"), "end").run("p")
    (told,) = [e.result for e in turn.events if isinstance(e, ToolEnded)]
    assert turn.text == "end" and "the only allowed types are `general-purpose`" in told


def test_its_own_window_sets_the_rule_or_there_is_none():
    s = session(GO, "end", subagents=[{**CRITIC, "model": TeachingModel(window=4_000)}])
    s.run("p")
    first, nested, last = [e.call for e in s.last.events if isinstance(e, ModelEnded)]
    assert [c.budget.rule.window for c in (first, nested, last)] == [100_000, 4_000, 100_000]
    assert [c.budget.exact for c in (first, nested, last)] == [False, True, False]
    assert nested.budget.total == nested.usage.input
    assert list(s.ledger()["model"]) == ["ScriptedModel", "offline", "ScriptedModel"]
    own = Scripted(answers=["done"], profile=None)
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}], trigger=("fraction", 0.5))
    s.run("p")
    nested = s.last.calls[1]
    assert (nested.budget.rule.window, nested.budget.rule.trigger) == (None, ("tokens", 170_000))


def test_it_is_compacted_by_its_own_window_while_the_main_agent_is_not():
    reads = [call("read_file", id=f"n{i}", file_path="/big.txt", limit=400) for i in range(3)]
    own = Scripted(answers=[*reads, "SUMMARY", "done"], profile={"max_input_tokens": 11_000})
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}])
    s.files["/big.txt"] = "some words in a row\n" * 400
    s.run("p")
    compacted = [e for e in s.last.events if isinstance(e, Compacted)]
    assert compacted and all(e.path == ("t1",) for e in compacted)
    assert all(e.offload.before > 0.8 * 11_000 for e in compacted)
    assert s.snapshot.offload is None and "/conversation_history/main.md" not in s.files


def test_a_variable_that_holds_its_model_is_looked_at_each_turn():
    one, two = Scripted(answers=["from one"]), Scripted(answers=["from two"])
    names = {"small": one}
    s = session(GO, "end", GO, "end", namespace=names)
    s.files["/agents/critic.md"] = "---\ndescription: d\nmodel: small\n---\np\n"
    s.run("a")
    names["small"] = two
    s.run("b")
    assert [len(m.requests) for m in (one, two)] == [1, 1]


def test_what_it_costs_is_priced_by_its_own_model():
    own = Paid(answers=["done"])
    s = Session(
        model=Paid(answers=[GO, "end"]),
        subagents=[{**CRITIC, "model": "own"}],
        namespace={"own": own},
        prices={"own": (1_000_000, 1_000_000, 0)},
    )
    s.run("p")
    assert list(s.ledger()["cost"].fillna(-1)) == [-1, 10, -1]


def test_what_each_spent_in_a_thread():
    s = walked(Session(model=Paid(answers=[GO, "done", "end"]), subagents=[CRITIC]), "run p", "run q")
    spent = s.subagents.spent()
    assert set(spent) == {"critic"}
    assert (spent["critic"].runs, spent["critic"].calls, spent["critic"].input, spent["critic"].output) == (1, 1, 10, 2)
    row = s.subagents.list().set_index("name").loc["critic"]
    assert (row["runs"], row["calls"], row["input"], row["output"]) == (1, 1, 10, 2)
    assert s.turns[0].usage == Usage(30, 6, 12)
    s.new()
    assert s.subagents.spent() == {}


def test_memory_is_neither_inherited_read_nor_given_back_at_any_depth():
    inner = call("task", id="t2", description="deeper", subagent_type="general-purpose")
    look = [call("read_file", id="r", file_path="/MEMORY.md"), call("grep", id="g", pattern="merger")]
    s = session(GO, inner, *look, "at two", "at one", "end", subagents=[CRITIC])
    s.memory.add("likes tea")
    s.memory.add("the merger is in May", "/MEMORY.md")
    s.skills.new("csv-report", "A SKILL.")
    s.run("p")
    for request in s.options.model.requests[1:6]:
        sent = "\n".join(map(message_text, request))
        assert "likes tea" not in sent and "merger is" not in sent and "A SKILL." not in sent
    results = [e.result for e in s.last.events if isinstance(e, ToolEnded) and e.path == ("t1", "t2")]
    assert len(results) == 2 and "May" not in "".join(results)
    assert "likes tea" in message_text(s.options.model.requests[6][0])
    assert s.snapshot.memory["/AGENTS.md"] == "- likes tea\n"


ANY = "general-purpose"


def chain(levels: int, agent: str = ANY) -> Plan:
    plan = Plan(f"a{levels}")
    for level in reversed(range(levels)):
        plan = Plan(f"a{level}", ((agent, plan),))
    return plan


def paths(s: Session) -> set[tuple[str, ...]]:
    return {e.path for e in s.last.events if isinstance(e, ModelStarted)}


def refusals(s: Session) -> list[ToolEnded]:
    ended = [e for e in s.last.events if isinstance(e, ToolEnded)]
    return [e for e in ended if "max_subagent_depth" in e.result and e.status == "error"]


@every_row("options", [{}, {"max_subagent_depth": 1}, {"max_subagent_depth": 5}])
def test_a_chain_stops_at_the_limit_and_every_agent_goes_on(options):
    s, limit = Session(model=Planned(), **options), options.get("max_subagent_depth", 3)
    for turn in (s.run(str(chain(9))), s.run(str(chain(9)))):
        assert max(map(len, paths(s))) == limit
        (refused,) = refusals(s)
        assert len(refused.path) == limit
        assert f"nested {limit} deep, and max_subagent_depth is {limit}" in refused.result
        assert turn.error is None and turn.interrupted is None
        assert turn.text.startswith("a0(a1(") and f"a{limit}(Error: no subagent was started." in turn.text


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
    assert paths(s) == {ids[1:] for ids in plan.within(limit)} and len(refusals(s)) == plan.refused(limit)
    assert turn.error is None


def test_the_limit_holds_in_another_session_and_in_a_graph_that_is_awaited():
    inner = Session(model=Planned(), max_subagent_depth=3)
    spec = {"name": "other", "description": "d", "runnable": inner.graph}
    s = Session(model=Planned(), subagents=[spec], approve={"task": "allow"})
    s.run(str(Plan("a0", (("other", chain(9)),))))
    assert max(map(len, paths(s))) == 3
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


def test_a_subagent_has_the_limit_of_steps_too():
    task = call("task", id="t1", description="work", subagent_type=ANY)
    s = Session(model=Scripted(answers=[task, *(call("ls", id="n", path=f"/{i}") for i in range(6))]), max_steps=5)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 5 steps in the subagent general-purpose"
    assert len(turn.calls) == 6


@every_row("wrong", [0, -1, True, "3", None, 2.5])
def test_a_limit_that_is_none(wrong):
    refused("max_subagent_depth can't be", Session, max_subagent_depth=wrong)
