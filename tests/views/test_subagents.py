"""A subagent's work as it is shown: the card while it runs and after, in text and HTML; footer, gauge and list."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring

from deepnb import Session
from deepnb.engine.request import MESSAGE_TOKENS
from deepnb.values.agent import GENERAL_PURPOSE, Listed, Spent, Subagent
from deepnb.values.budget import Budget, rule_for
from deepnb.values.turn import Call, ModelEnded, TextDelta, ToolEnded, ToolStarted, Usage
from deepnb.views.budget import NO_CALL, BudgetView
from deepnb.views.subagents import NONE, OFF, SubagentRow, subagent_view, subagents_view
from deepnb.views.turn import footer_view
from deepnb.views.turn_segments import Segments
from tests.support.scripted import Paid, call

CRITIC = {"name": "critic", "description": "Finds faults.", "system_prompt": "Be strict."}


def started(id_: str, agent: str, task: str, *path: str) -> ToolStarted:
    return ToolStarted(id_, "task", {"description": task, "subagent_type": agent}, path)


def ended(*path: str, usage: Usage | None = None) -> ModelEnded:
    budget = Budget({"user": 1}, rule_for(None), 1)
    return ModelEnded(Call(1, "answer", path, budget, usage or Usage(10, 2), agent="critic"), path)


def segments(*events) -> Segments:
    made = Segments()
    for event in events:
        made.add(event)
    return made


INSIDE = (
    started("a", "critic", "look at the text"), ended("a"), ToolStarted("l", "ls", {"path": "/"}, ("a",)),
    ToolEnded("l", "ls", "['/x.md']", "ok", 0.01, ("a",)), started("b", "other", "deeper", "a"), ended("a", "b"),
    TextDelta("found", 3, ("a", "b")), ToolEnded("b", "task", "found", "ok", 1.0, ("a",)), TextDelta("all ", 4, ("a",)),
    TextDelta("is well", 4, ("a",)),
)  # fmt: skip
WHOLE = (*INSIDE, ended("a"), ToolEnded("a", "task", "all is well", "ok", 2.0))


def folds(markup: str) -> list[tuple[int, str]]:
    """How deep each <details> is nested, and what its summary says."""

    def below(element: Element, depth: int) -> Iterator[tuple[int, str]]:
        for one in element:
            if one.tag == "summary":
                yield depth, "".join(one.itertext())
            yield from below(one, depth + (one.tag == "details"))

    return [*below(fromstring(f"<div>{markup}</div>"), 0)]


def test_the_card_as_text_and_as_folds_in_folds():
    assert segments(*WHOLE).text() == (
        '→ subagent critic: "look at the text"  ok 2.00 s · 3 calls · 30 in / 6 out\n'
        '  │ → ls(path="/")  ok 0.01 s\n'
        "  │   ['/x.md']\n"
        '  │ → subagent other: "deeper"  ok 1.00 s · 1 call · 10 in / 2 out\n'
        "  │   │ found\n"
        "  │ all is well"
    )
    told = folds(segments(*WHOLE).html())
    assert [depth for depth, _ in told] == [1, 2, 2]
    assert told[0][1] == 'subagent critic: "look at the text" · ok  2.00 s · 3 calls · 30 in / 6 out'
    assert "ls(path" in told[1][1] and told[2][1].startswith('subagent other: "deeper"')
    made = segments(*INSIDE, ToolEnded("a", "task", "cut short", "error", 2.0))
    assert made.text().endswith("  │ all is well\n  cut short")
    assert "cut short" in made.html() and "error" in made.html()
    task = segments(*INSIDE[:3]).segments[0]
    (line,) = folds(task.html())
    assert line == (1, 'subagent critic: "look at the text" · running …  1 call · 10 in / 2 out · ls(path="/")')
    task = segments(*INSIDE).segments[0]
    (line,) = folds(task.html())
    assert line[1].endswith(" · all is well")


def played() -> Session:
    task = call("task", id="t1", description="look", subagent_type="critic")
    s = Session(model=Paid(answers=[task, "done", "end"]), subagents=[CRITIC])
    s.run("p")
    return s


def test_footer_and_gauge_say_what_was_by_subagents():
    text = footer_view(played().turns[-1]).text()
    assert "3 calls, 1 in subagents · 30 in / 12 cached / 6 out, 12 of these in subagents" in text
    assert "subagents" not in footer_view(Session(model=Paid(answers=["end"])).run("p")).text()
    s = played()
    view = BudgetView(s.budget() or NO_CALL, nested=s.subagents.spent())
    sent = [c for c in s.last.calls if not c.path][-1].budget.total
    assert view.budget.total == sent + s.count("end") + MESSAGE_TOKENS, "the last request, and its answer"
    line = "plus 12 tokens in 1 subagent call: see %agent subagents"
    assert line in view.text() and line in view.html() and "plus " not in BudgetView(s.budget() or NO_CALL).text()


def row(name: str = "critic", **listed) -> SubagentRow:
    agent = Subagent(name, "Finds faults.", "Be strict.", skills=("/skills/",))
    return SubagentRow(
        Listed(agent, "file", f"/agents/{name}.md", **listed), "ls, task", "offline", Spent(2, 5, 1_234, 56)
    )


def test_the_list_and_one_of_it():
    rows = [
        SubagentRow(Listed(GENERAL_PURPOSE, "built in"), "all", "offline", Spent()), row(), row("bad", problem="why"),
    ]  # fmt: skip
    view = subagents_view(rows, 3, "turn 2")
    assert view.text().splitlines()[0] == "subagents · 2 · nested up to 3 levels · 1 can't be used   (turn 2)"
    assert "critic                 2 tasks  Finds faults." in view.text()
    assert "tools: ls, task · model: offline · skills: /skills/" in view.text()
    assert "5 calls, 1,234 tokens in / 56 out in this thread" in view.text()
    assert "problem: why" in view.text() and "can&#x27;t be used" in view.html()
    assert "<td" in view.html() and "1,234" in view.html()
    assert NONE in subagents_view([], 3).text() and NONE in subagents_view([], 3).html()
    assert OFF in subagents_view([row()], 0).text()
    assert (
        subagent_view(row(), "Be strict.")
        .text()
        .startswith("subagent critic · /agents/critic.md\nFinds faults.\ntools: ls, task")
    )
    assert "(no system prompt)" in subagent_view(row(), " ").text()
