"""What a turn waits for, from its events; and a turn without credentials, wherever in it they are."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values import turn as values
from deepnb.values.budget import Budget, rule_for
from deepnb.values.events import Activity, without_credentials
from deepnb.values.messages import Message, Messages
from deepnb.values.offload import Offload
from deepnb.values.text import moment
from tests.support.hostile_views import Maker
from tests.support.tables import every_row


def model(path: values.Path = (), purpose: values.Purpose = "answer", total: int = 7) -> values.ModelStarted:
    return values.ModelStarted(values.Call(1, purpose, path, Budget({"system": total}, rule_for(100), 1)), path)


def ended(path: values.Path = ()) -> values.ModelEnded:
    return values.ModelEnded(
        values.Call(1, "answer", path, Budget({}, rule_for(100), 1), usage=values.Usage(5, 2)), path
    )


def tool(id_: str, name: str, path: values.Path = (), **args: object) -> values.ToolStarted:
    return values.ToolStarted(id_, name, args, path)


def tool_ended(id_: str, path: values.Path = ()) -> values.ToolEnded:
    return values.ToolEnded(id_, "x", "", "ok", 0.0, path)


TASK = tool("t", "task", subagent_type="research")
LINES: list[tuple[list[values.Event], str]] = [
    ([], "starting"), ([model()], "waiting for the model"), ([model(), values.ThinkingDelta("hm", 1)], "the model thinks"),
    ([model(), values.TextDelta("Well", 1)], "the model answers"),
    ([model(), values.Retry("rate limited", 8.0, 2, 5)], "rate limited: trying again in 8 s (2 of 5)"),
    ([model(), values.Retry("rate limited", 8.0, 2, 5), model()], "waiting for the model"),
    ([model(), ended()], "between two steps"),
    ([model(purpose="summary")], "compacting the context: summarizing"),
    ([tool("a", "run_python")], "run_python"), ([tool("a", "grep"), tool("b", "ls")], "ls and 1 more"),
    ([tool("a", "grep"), tool("b", "ls"), tool_ended("b")], "grep"),
    ([TASK], "subagent research"),
    ([TASK, model(("t",))], "subagent research: waiting for the model"),
    ([TASK, model(("t",)), values.Retry("the provider failed", 0.0, 3, 5, ("t",))],
     "subagent research: the provider failed: trying again now (3 of 5)"),
    ([TASK, model(("t",)), ended(("t",)), tool("g", "grep", ("t",))], "subagent research: grep"),
    ([TASK, tool("g", "grep", ("t",)), tool_ended("t")], "between two steps"),
    ([TASK, tool("u", "task", ("t",), subagent_type="critic"), model(("t", "u"))],
     "subagent critic: waiting for the model"),
]  # fmt: skip


@every_row(("events", "line"), LINES, ids=[line for _, line in LINES])
def test_the_line(events: list[values.Event], line: str) -> None:
    activity = Activity()
    for event in events:
        activity.add(event)
    assert activity.line == line


def test_the_gauge_is_of_the_main_agents_last_request_and_tokens_are_of_all_calls() -> None:
    activity = Activity()
    for event in (model(total=10), ended(), TASK, model(("t",), total=90), ended(("t",)), model(total=30)):
        activity.add(event)
    assert activity.budget is not None and activity.budget.parts == {"system": 30}
    assert activity.usage == values.Usage(10, 4)


TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"


def turn(*events: object, text: str = "x") -> values.Turn:
    return replace(Maker(text).turn(), events=events)  # type: ignore[arg-type]


def test_no_field_that_is_shown_keeps_one():
    clean = without_credentials(
        replace(
            turn(
                values.ToolStarted("1", "weigh", {"a": [TOKEN], "password": "hunter2hunter2"}),
                values.ToolEnded("1", "weigh", TOKEN, "error", 0.1, traceback=f"raise {TOKEN}"),
                values.Notice(TOKEN),
                values.Compacted(Offload("/h.md", TOKEN, 1)),
            ),
            prompt=TOKEN, text=TOKEN, error=TOKEN, interrupted=TOKEN, model=TOKEN,
        )
    )  # fmt: skip
    assert TOKEN not in "".join(map(repr, (clean.prompt, clean.text, clean.error, clean.interrupted, clean.model)))
    assert TOKEN not in repr(clean.events) and "hunter2hunter2" not in repr(clean.events)


def test_a_drawing_is_text_a_picture_is_none_and_ids_stay():
    out = values.CodeOutput(
        "1", 1, "rich", "", {"image/svg+xml": f"<svg><desc>{TOKEN}</desc></svg>", "image/png": TOKEN}, {}
    )
    (clean,) = without_credentials(turn(out)).events
    assert TOKEN not in clean.data["image/svg+xml"] and clean.data["image/png"] == TOKEN
    path = (TOKEN,)
    events = (values.ToolStarted(TOKEN, "t", {}, path=path), values.ToolEnded(TOKEN, "t", "", "ok", 0.1, path=path))
    assert without_credentials(turn(*events)).events == events


def test_one_in_pieces_is_found_and_the_pieces_are_joined_where_the_first_was():
    half, rest = TOKEN[:7], TOKEN[7:]
    clean = without_credentials(
        turn(
            values.TextDelta(f"a {half}", 1), values.ThinkingDelta(half, 1), values.ToolStarted("1", "t", {}), values.TextDelta(f"{rest} b", 1),
            values.ThinkingDelta(rest, 1), values.TextDelta("c", 2), values.TextDelta("d", 1, path=("1",)),
        )
    ).events  # fmt: skip
    assert [type(event).__name__ for event in clean] == [
        "TextDelta", "ThinkingDelta", "ToolStarted", "TextDelta", "TextDelta",
    ]  # fmt: skip
    assert [e.text for e in clean if isinstance(e, values.TextDelta)] == ["a [redacted: GitHub token] b", "c", "d"]
    assert rest not in repr(clean)


def some(*ids: str) -> list[Message]:
    return [Message(i, "user", f"text of {i}") for i in ids]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.integers(0, 3)), max_size=20))
def test_growing_one_view_never_changes_another(steps):
    """Each step grows some view made so far, keeping some of it; a plain list is the model."""
    views: list[tuple[Messages, list[Message]]] = [(Messages(), [])]
    for number, (which, kept, more) in enumerate(steps):
        view, model = views[which % len(views)]
        kept = min(kept, len(model))
        new = some(*(f"{number}.{i}" for i in range(more)))
        views.append((view.replace_from(kept, new), [*model[:kept], *new]))
    for view, model in views:
        assert list(view) == model and view == Messages(model) and len(view) == len(model)


def test_it_is_a_sequence_that_shares_the_list():
    first = Messages(some("a", "b"))
    assert first.replace_from(2, some("c"))._values is first._values and list(first) == some("a", "b")
    view = Messages(some("a", "b")).replace_from(2, some("c"))
    older = Messages(some("a", "b"))
    older.replace_from(2, some("z"))
    assert view[-1].id == "c" and view[1:] == tuple(some("b", "c")) and older[-1].id == "b"
    assert older[:] == tuple(some("a", "b"))
    for index in (2, -3):
        with pytest.raises(IndexError):
            older[index]
    assert older != list(older)


def test_order_is_that_of_time_and_not_of_text():
    summer, winter = "2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"
    assert sorted([winter, summer]) == [winter, summer]
    assert sorted([winter, summer], key=moment) == [summer, winter] and moment("") == moment("no time") == 0.0
