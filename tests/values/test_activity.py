"""What a turn waits for, from its events."""

from __future__ import annotations

from deepnb.values.budget import Budget, rule_for
from deepnb.values.events import Activity
from deepnb.values.turn import (
    Call,
    Event,
    ModelEnded,
    ModelStarted,
    Path,
    Purpose,
    Retry,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)
from tests.support.tables import every_row


def model(path: Path = (), purpose: Purpose = "answer", total: int = 7) -> ModelStarted:
    return ModelStarted(Call(1, purpose, path, Budget({"system": total}, rule_for(100), 1)), path)


def ended(path: Path = ()) -> ModelEnded:
    return ModelEnded(Call(1, "answer", path, Budget({}, rule_for(100), 1), usage=Usage(5, 2)), path)


def tool(id_: str, name: str, path: Path = (), **args: object) -> ToolStarted:
    return ToolStarted(id_, name, args, path)


def tool_ended(id_: str, path: Path = ()) -> ToolEnded:
    return ToolEnded(id_, "x", "", "ok", 0.0, path)


TASK = tool("t", "task", subagent_type="research")
LINES: list[tuple[list[Event], str]] = [
    ([], "starting"),
    ([model()], "waiting for the model"),
    ([model(), ThinkingDelta("hm", 1)], "the model thinks"),
    ([model(), TextDelta("Well", 1)], "the model answers"),
    ([model(), Retry("rate limited", 8.0, 2, 5)], "rate limited: trying again in 8 s (2 of 5)"),
    ([model(), Retry("rate limited", 8.0, 2, 5), model()], "waiting for the model"),
    ([model(), ended()], "between two steps"),
    ([model(purpose="summary")], "compacting the context: summarizing"),
    ([tool("a", "run_python")], "run_python"),
    ([tool("a", "grep"), tool("b", "ls")], "ls and 1 more"),
    ([tool("a", "grep"), tool("b", "ls"), tool_ended("b")], "grep"),
    ([TASK], "subagent research"),
    ([TASK, model(("t",))], "subagent research: waiting for the model"),
    (
        [TASK, model(("t",)), Retry("the provider failed", 0.0, 3, 5, ("t",))],
        "subagent research: the provider failed: trying again now (3 of 5)",
    ),
    ([TASK, model(("t",)), ended(("t",)), tool("g", "grep", ("t",))], "subagent research: grep"),
    ([TASK, tool("g", "grep", ("t",)), tool_ended("t")], "between two steps"),
    (
        [TASK, tool("u", "task", ("t",), subagent_type="critic"), model(("t", "u"))],
        "subagent critic: waiting for the model",
    ),
]


@every_row(("events", "line"), LINES, ids=[line for _, line in LINES])
def test_the_line(events: list[Event], line: str) -> None:
    activity = Activity()
    for event in events:
        activity.add(event)
    assert activity.line == line


def test_the_gauge_is_of_the_main_agents_last_request_and_tokens_are_of_all_calls() -> None:
    activity = Activity()
    for event in (model(total=10), ended(), TASK, model(("t",), total=90), ended(("t",)), model(total=30)):
        activity.add(event)
    assert activity.budget is not None and activity.budget.parts == {"system": 30}
    assert activity.usage == Usage(10, 4)
