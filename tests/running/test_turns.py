"""Turns: their record, their limits, and the options they run with."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from deepnb import DeepnbError, Session
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import ModelEnded, ToolEnded
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


def test_run_and_stream_give_the_same_record():
    s = Session(model=TeachingModel(), clock=lambda: datetime(2026, 1, 31, 9, tzinfo=UTC))
    assert (s.text, s.turns, s.last, s.budget(), s.pending) == ("", (), None, None, None)
    turn = s.run("Remember that I prefer tea")
    assert s.turns == (turn,) == (s.last,)
    assert s.turn(1) is turn
    assert (turn.number, turn.thread, turn.prompt, turn.model) == (1, "main", "Remember that I prefer tea", "offline")
    assert turn.started == "2026-01-31T09:00:00+00:00"
    assert turn.text == s.text == turn.after.messages[-1].text
    assert turn.before.files == {}
    assert turn.after.files == s.snapshot.files == {"/AGENTS.md": "- The user prefers tea\n"}
    assert turn.usage.input == sum(c.usage.input for c in turn.calls if c.usage)
    other = Session(model=TeachingModel())
    events = list(other.stream("Remember that I prefer tea"))
    assert [type(e) for e in events if isinstance(e, ModelEnded | ToolEnded)] == [
        type(e) for e in turn.events if isinstance(e, ModelEnded | ToolEnded)
    ]
    assert other.text == turn.text


def test_a_turn_never_changes_afterwards():
    s = session("one", call("write_file", file_path="/a.md", content="x"), "two")
    first = s.run("a")
    was = (list(first.after.messages), dict(first.after.files), first.after.checkpoint)
    second = s.run("b")
    s.files["/a.md"] = "y"
    s.memory.add("tea")
    s.rewind(1)
    s.run("c")
    assert (list(first.after.messages), dict(first.after.files), first.after.checkpoint) == was
    assert second.before == first.after
    assert second.after.files == {"/a.md": "x"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.text = "other"  # type: ignore[misc]


def test_a_call_that_gives_the_same_three_times_running_ends_the_turn():
    again = call("read_file", file_path="/none")
    s = session(again)
    turn = s.run("p")
    assert turn.interrupted == "read_file was called 3 times running with the same arguments and the same result"
    assert [e.name for e in turn.events if isinstance(e, ToolEnded)] == ["read_file"] * 3
    assert [e.name for e in s.resume() if isinstance(e, ToolEnded)] == ["read_file"] * 3
    changing = [call("write_file", file_path=f"/{n}.md", content="x") for n in range(4)]
    others = [again, again, call("ls", path="/"), again, again, *changing, "end"]
    assert session(*others).run("p").text == "end"
    unknown = session(call("nothing"))
    assert unknown.run("p").interrupted == turn.interrupted.replace("read_file", "nothing")


def test_an_empty_prompt_is_one_line():
    s = session()
    for prompt in ("", "  \n\t"):
        with pytest.raises(DeepnbError, match=r"the prompt is empty: session.run\(PROMPT\)"):
            s.run(prompt)
    assert (s.turns, s.options.model.requests) == ((), [])


def test_a_prompt_is_sent_as_it_stands():
    s = session()
    for prompt in ('\'tis {x} "quoted" $y$ <tag>\n', "  indented\n```py\n1\n```", "茶?"):
        s.run(prompt)
        assert s.options.model.requests[-1][-1].content == prompt


def test_no_such_turn_is_one_line():
    s = session()
    with pytest.raises(DeepnbError, match=r"no turn 1: thread main has no turns yet: session.turns lists them"):
        s.turn(1)
    s.run("a")
    for number in (0, 2, -1):
        with pytest.raises(DeepnbError, match=f"no turn {number}: thread main has turns 1 to 1"):
            s.turn(number)


# -- limits


def test_the_limit_of_steps_ends_the_turn_in_order_and_resume_goes_on():
    s = session(*[call("ls", id=f"c{i}", path="/") for i in range(4)], "end", max_steps=2)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 2 steps"
    assert turn.error is None
    assert len(turn.calls) == 2
    assert [m.role for m in turn.after.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    list(s.resume())
    assert (s.turns[0].interrupted, s.pending) == (
        "reached the limit of 2 steps",
        "interrupted before model: %agent resume",
    )
    list(s.resume())
    assert (s.text, s.pending, len(s.turns)) == ("end", None, 1)
    assert s.turns[0].interrupted is None


def test_a_limit_for_one_turn():
    s = session(call("ls", id="c1", path="/"), "end", "next")
    assert s.run("p", max_steps=1).interrupted == "reached the limit of 1 step"
    assert s.run("q").interrupted is None


def test_the_limit_of_tokens():
    s = Session(model=TeachingModel(), max_tokens=100)
    turn = s.run("Remember that I prefer tea")
    assert turn.interrupted == "reached the limit of 100 tokens"
    assert len(turn.calls) == 1
    s.configure(max_tokens=None)
    list(s.resume())
    assert s.files["/AGENTS.md"] == "- The user prefers tea\n"


def test_the_limit_of_cost():
    more = [call("ls", id=f"n{i}", path=f"/{i}") for i in range(30)]
    s = Session(model=Spending(answers=[*more, "end"]), max_cost=0.005, prices={"mine": (100.0, 10.0, 200.0)})
    assert s.run("p").interrupted is None, "no price is known for this model"
    prices = {s.turns[0].model: (100.0, 10.0, 200.0)}
    s = Session(model=Spending(answers=[*more, "end"]), max_cost=0.005, prices=prices)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of $0.005"
    assert turn.usage.cost is not None and 0.005 <= turn.usage.cost < 0.008
    s.configure(max_cost=None)
    list(s.resume())
    assert s.text == "end"


def test_the_limit_of_tokens_holds_for_nested_agents():
    task = call("task", id="t1", description="work", subagent_type="general-purpose")
    more = [call("ls", id=f"n{i}", path="/") for i in range(30)]
    model = Scripted(answers=[task, *more, "end"])
    s = Session(model=Spending(answers=model.answers), max_tokens=45)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 45 tokens"
    assert turn.usage.input + turn.usage.output <= 60
    assert s.pending == "the tool task was interrupted: %agent resume again, or %agent resume skip"


class Spending(Scripted):
    """Each call costs 12 tokens."""

    def _stream(self, *args, **kwargs):
        from langchain_core.messages import AIMessageChunk
        from langchain_core.outputs import ChatGenerationChunk

        yield from super()._stream(*args, **kwargs)
        usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


# -- failures


def test_a_model_that_raises_is_one_line_and_nothing_is_lost():
    s = session("fine", RuntimeError("the first line\nthe second"), "fine again", "and on")
    s.run("a")
    with pytest.raises(DeepnbError) as caught:
        s.run("b")
    assert str(caught.value) == "RuntimeError: the first line: nothing was lost; fix it and run the cell again"
    assert s.turns[-1].error == "RuntimeError: the first line"
    assert s.pending is None
    s.files["/a.md"] = "new"
    s.run("c")
    assert [m.text for m in s.snapshot.messages] == ["a", "fine", "c", "fine again"]
    assert s.files["/a.md"] == "new"
    assert s.pending is None


# -- models and options


def test_use_switches_the_model_in_the_same_thread():
    s = session("scripted")
    s.run("a")
    assert s.use("offline") == "offline"
    assert s.run("Hello").model == "offline"
    assert [m.text for m in s.snapshot.messages][:3] == ["a", "scripted", "Hello"]
    assert s.rule.window == TeachingModel().window
    assert s.budget().exact


def test_a_model_for_one_turn():
    s = session("scripted", "scripted")
    assert s.run("Hello", model="offline").model == "offline"
    assert s.model == "ScriptedModel"
    assert s.run("a").text == "scripted"
    with pytest.raises(DeepnbError, match=r"no model 'ofline': session.use"):
        s.run("b", model="ofline")
    assert len(s.turns) == 2


def test_a_model_for_one_turn_is_kept_by_resume():
    s = session("the session's")
    other = Scripted(answers=[call("ls", path="/"), "the other's"])
    s.run("a", model=other, max_steps=1)
    list(s.resume())
    assert s.text == "the other's"
    assert s.run("b").text == "the session's"


@every_row(
    ("change", "what"),
    [
        ({"unknown": 1}, "has no option 'unknown': help"),
        ({"model": "ofline"}, "no model 'ofline'"),
        ({"model": 3}, "a int is not a chat model"),
        ({"trigger": 0.85}, "trigger"),
        ({"trigger": ("part", 0.5)}, "trigger"),
        ({"trigger": ("fraction", 1.5)}, "trigger"),
        ({"keep": ("messages", 0)}, "keep"),
        ({"keep": ("tokens", "many")}, "keep"),
        ({"memory_refresh": "sometimes"}, "memory_refresh must be one of thread, call"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_cost": 0}, "max_cost"),
        ({"max_cost": "much"}, "max_cost"),
        ({"max_input_tokens": -1}, "max_input_tokens"),
        ({"memory": ()}, "memory"),
        ({"memory": ("AGENTS.md",)}, "'AGENTS.md' is not the path of a file"),
        ({"skills": ()}, "skills"),
        ({"tools": 3}, "tools"),
        ({"backend": object()}, "backend can't be changed"),
        ({"checkpointer": object()}, "checkpointer can't be changed"),
    ],
)
def test_a_bad_option_is_one_line_and_changes_nothing(change, what):
    s = session()
    s.run("a")
    options = s.options
    with pytest.raises(DeepnbError, match=what) as caught:
        s.configure(**change)
    assert "\n" not in str(caught.value)
    assert s.options is options
    assert s.run("b").text == "ok"
    if not {"model", "backend", "checkpointer"} & change.keys():
        with pytest.raises(DeepnbError, match=what):
            Session(**change)


# -- a part that is switched off costs nothing

PARTS = ("enable_memory", "enable_skills", "enable_filesystem", "enable_subagents")


def everything(enabled: bool) -> dict[str, Any]:
    return dict.fromkeys(PARTS, enabled)


def everything_off(**on: bool) -> Session:
    s = Session(model=TeachingModel(), **{**everything(False), **on})
    s.memory.add("likes tea")
    s.skills.new("csv-report")
    s.run("Hello")
    return s


def test_with_all_parts_off_nothing_is_left():
    s = everything_off()
    budget = s.turns[-1].budget
    assert budget is not None
    assert {p: n for p, n in budget.parts.items() if n and p not in ("system", "user", "tools")} == {}
    assert [name for name, _ in s.workspace.built.tools] == [
        "list_variables",
        "inspect_variable",
        "query_table",
        "read_notebook",
        "edit_notebook",
    ]
    assert [n for n in s.graph.nodes if "." in n] == ["PatchToolCallsMiddleware.before_agent"]
    bare = Session(model=TeachingModel(), **everything(False))
    bare.run("Hello")
    assert bare.turns[-1].budget.parts == budget.parts


@every_row(
    ("part", "costs", "tools", "nodes"),
    [
        (
            "enable_memory",
            {"memory", "tools"},
            {"note", "memory_search", "memory_get"},
            {"MemoryMiddleware.before_model"},
        ),
        ("enable_skills", {"skills"}, set(), {"SkillsMiddleware.before_agent"}),
        ("enable_filesystem", {"tools"}, {"ls", "read_file", "write_file", "edit_file"}, set()),
        ("enable_subagents", {"tools"}, {"task"}, set()),
    ],
)
def test_a_part_costs_only_its_own(part, costs, tools, nodes):
    base = {"enable_filesystem": True} if part == "enable_skills" else {}  # a skill is read with a file tool
    off, on = everything_off(**base), everything_off(**base, **{part: True})
    a, b = off.budget().parts, on.budget().parts
    assert {p for p in a if b[p] > a[p]} - {"system"} == costs
    names = {name for name, _ in on.workspace.built.tools}
    assert tools <= names
    assert not tools & {name for name, _ in off.workspace.built.tools}
    assert nodes <= set(on.graph.nodes)
    assert not nodes & set(off.graph.nodes)


def test_files_work_without_the_file_tools():
    s = everything_off()
    s.files["/a.md"] = "x"
    assert s.run("Hello").after.files.keys() == {"/AGENTS.md", "/a.md", "/skills/csv-report/SKILL.md"}
