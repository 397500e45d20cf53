"""Turns: their record, their limits, the options they run with; and what is left of one that failed."""

import asyncio
import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.values.turn import ModelEnded, ModelStarted, ToolEnded, Usage
from deepnb.views.turn import TurnView, footer_view
from tests.support.databases import checkpointer as checkpointer  # a fixture
from tests.support.scripted import TASK, Paid, Scripted, call, calls, session, walked
from tests.support.tables import every_row, refused


def test_run_and_stream_give_the_same_record_and_it_never_changes_afterwards():
    s = Session(model=TeachingModel(), clock=lambda: datetime(2026, 1, 31, 9, tzinfo=UTC))
    assert (s.text, s.turns, s.last, s.budget(), s.pending) == ("", (), None, None, None)
    turn = s.run("Remember that I prefer tea")
    assert s.turns == (turn,) == (s.last,) and s.turn(1) is turn
    assert (turn.number, turn.thread, turn.prompt, turn.model) == (1, "main", "Remember that I prefer tea", "offline")
    assert turn.started == "2026-01-31T09:00:00+00:00" and turn.text == s.text == turn.after.messages[-1].text
    assert turn.before.files == {}
    assert turn.after.files == s.snapshot.files == {"/AGENTS.md": "- The user prefers tea\n"}
    assert turn.usage.input == sum(c.usage.input for c in turn.calls if c.usage)
    other = Session(model=TeachingModel())
    events = list(other.stream("Remember that I prefer tea"))
    expected = [type(e) for e in turn.events if isinstance(e, ModelEnded | ToolEnded)]
    assert [type(e) for e in events if isinstance(e, ModelEnded | ToolEnded)] == expected
    assert other.text == turn.text
    s = session("one", call("write_file", file_path="/a.md", content="x"), "two")
    first = s.run("a")
    was = (list(first.after.messages), dict(first.after.files), first.after.checkpoint)
    second = s.run("b")
    s.files["/a.md"] = "y"
    walked(s, "memory.add tea", "rewind 1", "run c")
    assert (list(first.after.messages), dict(first.after.files), first.after.checkpoint) == was
    assert second.before == first.after and second.after.files == {"/a.md": "x"}
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
    assert session(call("nothing")).run("p").interrupted == turn.interrupted.replace("read_file", "nothing")


def test_a_prompt_is_sent_as_it_stands_and_an_empty_one_or_no_such_turn_is_one_line():
    s = session()
    for prompt in ("", "  \n\t"):
        refused(r"the prompt is empty: session.run\(PROMPT\)", s.run, prompt)
    assert (s.turns, s.options.model.requests) == ((), [])
    for prompt in ('\'tis {x} "quoted" $y$ <tag>\n', "  indented\n```py\n1\n```", "茶?"):
        s.run(prompt)
        assert s.options.model.requests[-1][-1].content == prompt
    s = session()
    refused(r"no turn 1: thread main has no turns yet: session.turns lists them", s.turn, 1)
    s.run("a")
    for number in (0, 2, -1):
        refused(f"no turn {number}: thread main has turns 1 to 1", s.turn, number)


def test_the_limit_of_steps_ends_the_turn_in_order_and_resume_goes_on():
    s = session(*[call("ls", id=f"c{i}", path="/") for i in range(4)], "end", max_steps=2)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 2 steps" and turn.error is None
    assert len(turn.calls) == 2
    assert [m.role for m in turn.after.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    list(s.resume())
    expected = ("reached the limit of 2 steps", "interrupted before model: %agent resume")
    assert (s.turns[0].interrupted, s.pending) == expected
    list(s.resume())
    assert (s.text, s.pending, len(s.turns)) == ("end", None, 1) and s.turns[0].interrupted is None
    s = session(call("ls", id="c1", path="/"), "end", "next")
    assert s.run("p", max_steps=1).interrupted == "reached the limit of 1 step" and s.run("q").interrupted is None


def test_the_limit_of_cost():
    more = [call("ls", id=f"n{i}", path=f"/{i}") for i in range(30)]
    s = Session(model=Paid(answers=[*more, "end"]), max_cost=0.005, prices={"mine": (100.0, 10.0, 200.0)})
    assert s.run("p").interrupted is None, "no price is known for this model"
    prices = {s.turns[0].model: (100.0, 10.0, 200.0)}
    s = Session(model=Paid(answers=[*more, "end"]), max_cost=0.005, prices=prices)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of $0.005"
    assert turn.usage.cost is not None and 0.005 <= turn.usage.cost < 0.008
    s.configure(max_cost=None)
    list(s.resume())
    assert s.text == "end"


def test_use_and_the_model_of_one_turn_switch_it_and_resume_keeps_it():
    s = session("scripted")
    s.run("a")
    assert s.use("offline") == "offline" and s.run("Hello").model == "offline"
    assert [m.text for m in s.snapshot.messages][:3] == ["a", "scripted", "Hello"]
    assert s.rule.window == TeachingModel().window and s.budget().exact
    s = session("scripted", "scripted")
    assert s.run("Hello", model="offline").model == "offline" and s.model == "ScriptedModel"
    assert s.run("a").text == "scripted"
    refused(r"no model 'ofline': session.use", s.run, "b", model="ofline")
    assert len(s.turns) == 2
    s = session("the session's")
    other = Scripted(answers=[call("ls", path="/"), "the other's"])
    s.run("a", model=other, max_steps=1)
    list(s.resume())
    assert s.text == "the other's" and s.run("b").text == "the session's"


@every_row(("change", "what"), [
    ({"unknown": 1}, "has no option 'unknown': help"), ({"model": "ofline"}, "no model 'ofline'"),
    ({"model": 3}, "a int is not a chat model"), ({"trigger": 0.85}, "trigger"),
    ({"trigger": ("part", 0.5)}, "trigger"), ({"trigger": ("fraction", 1.5)}, "trigger"),
    ({"keep": ("messages", 0)}, "keep"), ({"keep": ("tokens", "many")}, "keep"),
    ({"memory_refresh": "sometimes"}, "memory_refresh must be one of thread, call"), ({"max_steps": 0}, "max_steps"),
    ({"max_tokens": "many"}, "max_tokens"), ({"max_cost": 0}, "max_cost"), ({"max_cost": "much"}, "max_cost"),
    ({"max_input_tokens": -1}, "max_input_tokens"), ({"memory": ()}, "memory"),
    ({"memory": ("AGENTS.md",)}, "'AGENTS.md' is not the path of a file"), ({"skills": ()}, "skills"),
    ({"tools": 3}, "tools"), ({"backend": object()}, "backend can't be changed"),
    ({"checkpointer": object()}, "checkpointer can't be changed"),
    ({"tool_text": "brief"}, "tool_text must be one of lean, short, full"),
    *(({"max_subagent_depth": bad}, "max_subagent_depth can't be") for bad in (0, -1, True, "3", None, 2.5)),
])  # fmt: skip
def test_a_bad_option_is_one_line_and_changes_nothing(change, what):
    s = session()
    s.run("a")
    options = s.options
    refused(what, s.configure, **change)
    assert s.options is options and s.run("b").text == "ok"
    if not {"model", "backend", "checkpointer"} & change.keys():
        refused(what, Session, **change)


PARTS = ("enable_memory", "enable_skills", "enable_filesystem", "enable_subagents")
ALL_OFF: dict[str, Any] = dict.fromkeys(PARTS, False)


def everything_off(**on: bool) -> Session:
    s = Session(model=TeachingModel(), **{**ALL_OFF, **on})
    walked(s, "memory.add likes tea", "skills.new csv-report", "run Hello")
    return s


def test_with_all_parts_off_nothing_is_left_and_files_work_without_the_file_tools():
    s = everything_off()
    budget = s.turns[-1].budget
    assert budget is not None
    assert {p: n for p, n in budget.parts.items() if n and p not in ("system", "user", "tools")} == {}
    expected = ["list_variables", "inspect_variable", "query_table", "read_notebook", "edit_notebook"]
    assert [name for name, _ in s.workspace.built.tools] == expected
    assert [n for n in s.graph.nodes if "." in n] == ["PatchToolCallsMiddleware.before_agent"]
    bare = Session(model=TeachingModel(), **ALL_OFF)
    bare.run("Hello")
    assert bare.turns[-1].budget.parts == budget.parts
    s.files["/a.md"] = "x"
    assert s.run("Hello").after.files.keys() == {"/AGENTS.md", "/a.md", "/skills/csv-report/SKILL.md"}


@every_row(("part", "costs", "tools", "nodes"), [
    ("enable_memory", {"memory", "tools"}, {"note", "memory_search", "memory_get"},
     {"MemoryMiddleware.before_model"}),
    ("enable_skills", {"skills"}, set(), {"SkillsMiddleware.before_agent"}),
    ("enable_filesystem", {"tools"}, {"ls", "read_file", "write_file", "edit_file"}, set()),
    ("enable_subagents", {"tools"}, {"task"}, set()),
])  # fmt: skip
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


def saying(text: str) -> Scripted:
    return Scripted(answers=[text])


def test_another_model_for_a_turn_and_back_makes_no_new_graph():
    first, other = saying("a"), saying("b")
    s = Session(model=first)
    graph = s.graph
    assert s.run("one").text == "a" and s.run("two", model=other).text == "b"
    assert s.run("three").text == "a" and s.graph is graph


def test_of_many_graphs_the_oldest_is_dropped_and_made_again_when_needed():
    models = [saying(text) for text in "abcdef"]
    s = Session(model=models[0])
    graphs = []
    for one in models:
        s.use(one)
        graphs.append(s.graph)
    s.use(models[-2])
    assert s.graph is graphs[-2]
    s.use(models[0])
    assert s.graph is not graphs[0] and s.run("one").text == "a"


class Reporting(Scripted):
    """Reports usage for the calls whose numbers, from 1, are given: as a real provider, or as one that sends zeros."""

    real: tuple[int, ...] = ()
    zeros: tuple[int, ...] = ()

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(*args, **kwargs)
        n = len(self.requests)
        if n in (*self.real, *self.zeros):
            tokens = 4_000 if n in self.real else 0
            usage: Any = {"input_tokens": tokens, "output_tokens": tokens // 1_000, "total_tokens": tokens}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def looking(calls: int = 30, **fields: Any) -> Reporting:
    return Reporting(answers=[*[call("ls", id=f"c{i}", path=f"/{i}") for i in range(calls)], "end"], **fields)


@every_row("fields", [
    {}, {"zeros": tuple(range(40))}, {"real": (1, 3)}, {"real": (2,), "zeros": (1, 3)},
], ids=["none", "zeros", "some", "some zeros"])  # fmt: skip
def test_the_limit_of_tokens_ends_a_turn_that_the_provider_reports_nothing_of(fields: dict[str, Any]) -> None:
    s = Session(model=looking(**fields), max_tokens=9_000)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 9,000 tokens"
    spent = turn.usage.input + turn.usage.output
    assert 9_000 <= spent < 9_000 + 6_000  # at most one call above
    assert len(turn.calls) == 3 and not turn.usage.exact


def test_what_is_reported_is_taken_as_it_is() -> None:
    s = Session(model=looking(1, real=(1, 2)), max_tokens=12_000)
    turn = s.run("p")
    assert turn.usage == Usage(8_000, 8, None) and "8,000 in / 8 out" in footer_view(turn).text()


def test_the_limit_counts_subagents_the_summary_and_the_flush() -> None:
    nested = [call("ls", id=f"n{i}", path=f"/{i}") for i in range(30)]
    s = Session(model=Scripted(answers=[TASK, *nested, "end"]), max_tokens=12_000)
    turn = s.run("p")
    assert turn.interrupted == "reached the limit of 12,000 tokens"
    assert {bool(c.path) for c in turn.calls} == {True, False}
    s = Session(model=Scripted(answers=["a", "b", "the summary", "c"]), trigger=("messages", 5), keep=("messages", 2))
    walked(s, "run a", "run b")
    s.configure(max_tokens=1)
    turn = s.run("c")
    assert turn.interrupted == "reached the limit of 1 token"
    expected = [("flush", True, False), ("summary", True, False)]
    assert [(c.purpose, bool(c.spent.input), c.spent.exact) for c in turn.calls] == expected


def test_thoughts_and_calls_count_as_output() -> None:
    class Thinking(Scripted):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            thought: Any = [{"type": "reasoning", "reasoning": "well " * 100}]
            yield ChatGenerationChunk(message=AIMessageChunk(content=thought))
            yield from super()._stream(*args, **kwargs)

    write = call("write_file", file_path="/a.md", content="words " * 200)
    turn = Session(model=Scripted(answers=[write, "end"])).run("p")
    assert turn.calls[0].answered > 200 > turn.calls[1].answered
    turn = Session(model=Thinking(answers=["yes"])).run("p")
    assert turn.calls[0].answered > 100


EVERY = pytest.mark.parametrize("checkpointer", ["given none", "memory", "file"], indirect=True)
DOWN = RuntimeError("down")
LONG = [ContextOverflowError("prompt is too long")] * 4
"""The request, the flush and the summary of the compaction that it leads to, and the request after that."""


def sent(s: Session) -> list[str]:
    return [m.text for m in s.options.model.requests[-1][1:]]


def run(s: Session, prompt: str, **options: Any) -> None:
    s.run(prompt, **options)


def arun(s: Session, prompt: str, **options: Any) -> None:
    asyncio.run(s.arun(prompt, **options))


def in_a_thread(s: Session, prompt: str, **options: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: list(s.stream(prompt, **options))).result()


@EVERY
@pytest.mark.parametrize("way", [run, arun, in_a_thread])
def test_running_the_cell_again_sends_the_prompt_once(way: Callable[..., None], checkpointer: Any) -> None:
    s = session("one", DOWN, *LONG, ValueError("no key"), "two", checkpointer=checkpointer)
    way(s, "first")
    for _ in range(3):
        refused("", way, s, "do it", cell="c")
        assert [m.text for m in s.snapshot.messages] == ["first", "one"]
        assert (s.turns[-1].prompt, s.turns[-1].after.messages[-1].text, s.pending) == ("do it", "one", None)
    way(s, "do it", cell="c")
    assert sent(s) == ["first", "one", "do it"]
    assert [(t.number, t.error is None) for t in s.turns] == [(1, True), (2, False), (3, False), (4, False), (5, True)]
    if checkpointer is not None:
        other = session("three", checkpointer=checkpointer)
        assert [(t.prompt, t.text) for t in other.turns] == [("first", "one"), ("do it", "two")]
        other.run("on")
        assert sent(other) == ["first", "one", "do it", "two", "on"]


def test_the_turn_is_shown_as_one_that_failed() -> None:
    s = session(DOWN, "fine")
    refused(r"^RuntimeError: down: nothing was lost; fix it and run the cell again$", s.run, "do it")
    (turn,) = s.turns
    assert (turn.prompt, turn.error, turn.after.messages) == ("do it", "RuntimeError: down", turn.before.messages)
    assert any(isinstance(e, ModelStarted) for e in turn.events)
    text = TurnView(turn).text()
    assert "do it" in text and "error: RuntimeError: down" in text and "%agent resume" not in text
    table = s.transcript()
    assert list(table[table["live"] & (table["type"] == "message")]["text"]) == []


def test_a_request_that_does_not_fit_does_not_grow() -> None:
    s = Session(model=Scripted(answers=[ContextOverflowError("prompt is too long")]), max_input_tokens=20_000)
    for _ in range(6):
        refused("the request of", s.run, "word " * 200)
    counts = {
        e.call.budget.total
        for t in s.turns
        for e in t.events
        if isinstance(e, ModelStarted) and e.call.purpose == "answer"
    }
    assert len(counts) == 1


def test_the_second_run_of_a_cell_that_replaces_its_turn() -> None:
    s = session("one", "two", DOWN, "three")
    s.run("first")
    s.run("second", cell="c", rerun="replace")
    refused("", s.run, "second", cell="c", rerun="replace")
    s.run("second", cell="c", rerun="replace")
    assert sent(s) == ["first", "one", "second"] and [t.error for t in s.turns] == [None, None]


def test_a_turn_that_was_interrupted_keeps_its_prompt_until_it_fails() -> None:
    s = session(KeyboardInterrupt(), DOWN, "two")
    with pytest.raises(KeyboardInterrupt):
        s.run("do it")
    expected = ("interrupted while the model answered", "interrupted before model: %agent resume")
    assert (s.turns[0].interrupted, s.pending) == expected
    assert [m.text for m in s.snapshot.messages] == ["do it"]
    refused("down", lambda: list(s.resume()))
    assert (list(s.snapshot.messages), s.pending, len(s.turns)) == ([], None, 1)
    s.run("do it")
    assert sent(s) == ["do it"]


def test_a_thread_that_another_program_began_and_nobody_answered_in() -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "main"}}
    bare = create_agent(Scripted(answers=[DOWN]), checkpointer=saver)
    with pytest.raises(RuntimeError):
        bare.invoke({"messages": [{"role": "user", "content": "do it"}]}, config)
    s = session(DOWN, "fine", checkpointer=saver)
    assert [t.prompt for t in s.turns] == ["do it"]
    refused("down", lambda: list(s.resume()))
    s.run("do it")
    assert sent(s) == ["do it"]


@EVERY
@pytest.mark.parametrize("refresh", ["delta", "call", "thread"])
def test_an_edit_of_memory_is_told_once(refresh: Any, checkpointer: Any) -> None:
    s = session("one", DOWN, DOWN, "two", "three", checkpointer=checkpointer, memory_refresh=refresh)
    walked(s, "memory.add drinks coffee", "run first", "memory.add drinks tea")
    for _ in range(2):
        refused("", s.run, "do it")
        assert [m.text for m in s.snapshot.messages] == ["first", "one"]
    s.memory.add("drinks milk")
    for prompt in ("do it", "and on"):
        s.run(prompt)
        request = "\n".join(m.text for m in s.options.model.requests[-1])
        told = 0 if refresh == "thread" else 1
        expected = [1 + (refresh == "delta"), told, told]
        assert [request.count(f"drinks {what}") for what in ("coffee", "tea", "milk")] == expected
        assert request.count("do it") == 1
    assert s.files["/AGENTS.md"] == "- drinks coffee\n- drinks tea\n- drinks milk\n"


class Writing(AgentMiddleware):
    def before_agent(self, state: Any, runtime: Any) -> Any:
        from deepagents.backends.utils import create_file_data

        return {"files": {"/log.txt": create_file_data("begun")}}


def test_files_that_were_written_are_kept() -> None:
    s = session(DOWN, "fine", middleware=[Writing()])
    refused("", s.run, "do it")
    assert s.files["/log.txt"] == "begun" and list(s.snapshot.messages) == []
    assert s.turns[0].after.files == {"/log.txt": "begun"}


@EVERY
def test_a_turn_that_failed_after_tool_calls_stays_and_says_how_to_go_on(checkpointer: Any) -> None:
    both = calls(call("write_file", "a", file_path="/a.md", content="x"), call("ls", "b", path="/"))
    s = session(both, DOWN, DOWN, "done", checkpointer=checkpointer)
    refused(r"^RuntimeError: down: fix it, then session.resume\(\)$", s.run, "do it")
    assert [m.role for m in s.snapshot.messages] == ["user", "assistant", "tool", "tool"]
    assert s.files["/a.md"] == "x"
    assert "the turn can go on from where it stopped: %agent resume" in TurnView(s.turns[0]).text()
    refused("down", lambda: list(s.resume()))
    list(s.resume())
    assert (s.text, len(s.turns), s.turns[0].error, s.pending) == ("done", 1, None, None)
    assert s.options.model.requests[-1] == s.options.model.requests[1]
