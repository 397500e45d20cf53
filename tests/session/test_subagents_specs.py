"""Subagents given in Python: their shape, their model and its window, what they cost and under which name."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from deepnb import DeepnbError, Session, Subagent
from deepnb.engine.request import message_text
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import Compacted, ModelEnded, ToolEnded, Usage
from tests.support.scripted import Paid, Scripted, call
from tests.support.tables import every_row

CRITIC: dict[str, Any] = {"name": "critic", "description": "Finds faults.", "system_prompt": "Be strict."}
GO = call("task", id="t1", description="look", subagent_type="critic")


@tool
def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing}: 3 kg"


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


def nested_tools(spec, **options) -> set[str]:
    s = session(GO, "done", "end", subagents=[spec], **options)
    s.run("p")
    return {piece.label for piece in s.xray(1, 2).call.request if piece.part == "tools"}


def test_a_dict_and_a_dataclass_are_the_same():
    dict_, class_ = session(subagents=[CRITIC]), session(subagents=[Subagent(**CRITIC)])
    assert dict_.options.subagents == class_.options.subagents == (Subagent("critic", "Finds faults.", "Be strict."),)


FILES = {"ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete"}
KERNEL = {"list_variables", "inspect_variable", "query_table", "read_notebook", "edit_notebook"}


@every_row(
    ("tools", "expected"),
    [
        (None, {*FILES, *KERNEL, "weigh", "task"}),
        ([], {*FILES, "task"}),
        ([weigh], {*FILES, "task", "weigh"}),
        (["weigh"], {"weigh"}),
        (["grep", "task"], {"read_file", "grep", "task"}),
        (["list_variables", weigh], {"list_variables", "weigh"}),
    ],
)
def test_which_tools_it_has(tools, expected):
    assert nested_tools({**CRITIC, "tools": tools}, tools=[weigh]) == expected


def test_the_tools_of_one_without_file_tools_at_all():
    assert nested_tools(CRITIC, enable_filesystem=False) == {*KERNEL, "task"}


@every_row(
    ("given", "says"),
    [
        (["critic"], "a subagent is a dict or a deepnb.Subagent, not a str"),
        ([{}], "a subagent has no name"),
        ([{"name": "critic"}], "the subagent 'critic' has no description"),
        ([{**CRITIC, "description": " "}], "the subagent 'critic' has no description"),
        ([{**CRITIC, "name": "The Critic"}], "'The Critic' can't be a subagent's name"),
        ([{**CRITIC, "name": "x" * 65}], "65 characters; the limit is 64"),
        ([CRITIC, CRITIC], "two subagents are called 'critic'"),
        ([{**CRITIC, "promt": "x"}], "the subagent 'critic' has no option 'promt': the options are name, description,"),
        ([{**CRITIC, "mode": "fork"}], "never sees the conversation of its caller"),
        ([{**CRITIC, "permissions": [1]}], "has permissions, which deepnb does not apply"),
        ([{**CRITIC, "tools": "ls"}], "tools of the subagent 'critic' is a list, not a str"),
        ([{**CRITIC, "skills": "/skills/"}], "skills of the subagent 'critic' is a list, not a str"),
        ([{**CRITIC, "skills": [1]}], "are directories or names, not a int"),
        ([{**CRITIC, "system_prompt": 3}], "system_prompt of the subagent 'critic' is text, not a int"),
        ("critic", "subagents must be a list, not a str"),
    ],
)
def test_a_mistake_is_one_line(given, says):
    with pytest.raises(DeepnbError, match=says.replace("(", r"\(")) as error:
        Session(subagents=given)
    assert "\n" not in str(error.value)


@every_row(
    ("spec", "says"),
    [
        (
            {**CRITIC, "tools": ["nosuch"]},
            "the subagent 'critic' has no tool 'nosuch' to choose from: use one of list_variables",
        ),
        ({**CRITIC, "model": "nosuch:x"}, "nosuch"),
        ({**CRITIC, "model": 3}, "a int is not a chat model"),
        ({**CRITIC, "tools": [lambda x: x]}, "the subagent 'critic' can't be made"),
    ],
)
def test_a_mistake_that_shows_when_it_is_made_is_told_before_the_turn(spec, says):
    s = session(subagents=[spec])
    with pytest.raises(DeepnbError, match=says):
        s.run("p")
    assert s.turns == ()


def test_one_that_takes_the_place_of_the_general_purpose_one():
    mine = {**CRITIC, "name": "general-purpose"}
    s = session(subagents=[mine])
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "Python")]
    s = session()
    s.subagents.new("general-purpose")
    assert [(one.agent.name, one.source) for one in s.subagents.list_subagents()] == [("general-purpose", "file")]


def test_without_the_general_purpose_one_and_any_other_there_is_no_tool():
    s = session(general_purpose=False)
    s.run("p")
    assert "task" not in {name for name, _ in s.workspace.built.tools}
    s.subagents.new("critic")
    s.run("q")
    assert "task" in {name for name, _ in s.workspace.built.tools}


def test_a_graph_of_ones_own_as_a_subagent():
    other = Session(model=Scripted(answers=["from the other"]))
    spec = {"name": "other", "description": "d", "runnable": other.graph}
    s = session(
        call("task", id="t1", description="look", subagent_type="other"),
        "end",
        subagents=[spec],
        approve={"task": "allow"},
    )
    s.run("p")
    assert [e.result for e in s.last.events if isinstance(e, ToolEnded)] == ["from the other"]


def test_a_name_that_is_not_there_is_told_to_the_model():
    s = session(call("task", id="t1", description="x", subagent_type="nosuch"), "end")
    turn = s.run("p")
    assert turn.text == "end"
    assert "the only allowed types are `general-purpose`" in next(
        e.result for e in turn.events if isinstance(e, ToolEnded)
    )


# -- its own model


def test_a_model_of_its_own_has_its_own_window_and_counter():
    s = session(GO, "end", subagents=[{**CRITIC, "model": TeachingModel(window=4_000)}])
    s.run("p")
    first, nested, last = [e.call for e in s.last.events if isinstance(e, ModelEnded)]
    assert [c.budget.rule.window for c in (first, nested, last)] == [100_000, 4_000, 100_000]
    assert [c.budget.exact for c in (first, nested, last)] == [False, True, False]
    assert nested.budget.total == nested.usage.input
    assert list(s.ledger()["model"]) == ["ScriptedModel", "offline", "ScriptedModel"]


def test_it_is_compacted_by_its_own_window_while_the_main_agent_is_not():
    own = Scripted(
        answers=[
            *(call("read_file", id=f"n{i}", file_path="/big.txt", limit=400) for i in range(3)),
            "SUMMARY",
            "done",
        ],
        profile={"max_input_tokens": 11_000},
    )
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}])
    s.files["/big.txt"] = "some words in a row\n" * 400
    s.run("p")
    compacted = [e for e in s.last.events if isinstance(e, Compacted)]
    assert compacted and all(e.path == ("t1",) for e in compacted)
    assert all(e.offload.before > 0.8 * 11_000 for e in compacted)
    assert s.snapshot.offload is None


def test_without_a_known_window_a_fraction_is_no_rule_for_it():
    own = Scripted(answers=["done"], profile=None)
    s = session(GO, "end", subagents=[{**CRITIC, "model": own}], trigger=("fraction", 0.5))
    s.run("p")
    nested = s.last.calls[1]
    assert (nested.budget.rule.window, nested.budget.rule.trigger) == (None, ("tokens", 170_000))


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


# -- the ledger


def test_calls_stand_in_the_ledger_under_their_agents_name():
    inner = call("task", id="t2", description="x", subagent_type="general-purpose")
    s = session(GO, inner, "at two", "at one", "end", subagents=[CRITIC])
    s.run("p")
    assert list(s.ledger()["agent"]) == ["main", "critic", "general-purpose", "critic", "main"]
    assert [c.path for c in s.last.calls] == [(), ("t1",), ("t1", "t2"), ("t1",), ()]


def test_side_by_side_each_call_has_its_own_name():
    both = AIMessage("", tool_calls=[
        {"name": "task", "args": {"description": d, "subagent_type": d}, "id": f"id-{d}"} for d in ("critic", "other")
    ])  # fmt: skip
    s = session(both, "x", subagents=[CRITIC, {**CRITIC, "name": "other"}])
    s.run("p")
    nested = {(c.agent, c.path) for c in s.last.calls if c.path}
    assert nested == {("critic", ("id-critic",)), ("other", ("id-other",))}


def test_what_each_spent_in_a_thread():
    s = Session(model=Paid(answers=[GO, "done", "end"]), subagents=[CRITIC])
    s.run("p")
    s.run("q")
    spent = s.subagents.spent()
    assert set(spent) == {"critic"}
    assert (spent["critic"].runs, spent["critic"].calls, spent["critic"].input, spent["critic"].output) == (1, 1, 10, 2)
    row = s.subagents.list().set_index("name").loc["critic"]
    assert (row["runs"], row["calls"], row["input"], row["output"]) == (1, 1, 10, 2)
    assert s.turns[0].usage == Usage(30, 6, 12)
    s.new()
    assert s.subagents.spent() == {}


def test_memory_is_neither_inherited_nor_given_back_at_any_depth():
    inner = call("task", id="t2", description="deeper", subagent_type="general-purpose")
    s = session(GO, inner, "at two", "at one", "end", subagents=[CRITIC])
    s.memory.add("likes tea")
    s.memory.add("the merger is in May", "/MEMORY.md")
    s.skills.new("csv-report", "A SKILL.")
    s.run("p")
    for request in s.options.model.requests[1:4]:
        sent = "\n".join(map(message_text, request))
        assert "likes tea" not in sent and "merger" not in sent and "A SKILL." not in sent
    assert "likes tea" in message_text(s.options.model.requests[4][0])


def test_long_term_memory_is_kept_from_one_two_levels_down():
    inner = call("task", id="t2", description="deeper", subagent_type="general-purpose")
    look = [call("read_file", id="r", file_path="/MEMORY.md"), call("grep", id="g", pattern="merger")]
    s = session(GO, inner, *look, "at two", "at one", "end", subagents=[CRITIC])
    s.memory.add("the merger is in May", "/MEMORY.md")
    s.run("p")
    results = [e.result for e in s.last.events if isinstance(e, ToolEnded) and e.path == ("t1", "t2")]
    assert len(results) == 2 and "May" not in "".join(results)
