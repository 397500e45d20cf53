"""The teaching model hands a task on by name, through the tool schema it is sent."""

from __future__ import annotations

from deepnb import Session
from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import Use, plan
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, asked

AGENTS = ("general-purpose", "critic", "data-2")


def move(request: str, *turn: Step, agents=AGENTS) -> str | Use:
    return plan(asked(request, *turn, agents=agents), INTENTS)


@every_row(
    ("request_", "name", "task"),
    [
        ("ask the critic subagent to list files", "critic", "list files"),
        ("Ask the Critic sub-agent to list files", "critic", "list files"),
        ("please have my critic subagent look at /a.md", "critic", "look at /a.md"),
        ("let the `data-2` subagent list files", "data-2", "list files"),
        ("use the subagent critic to list files", "critic", "list files"),
        ("ask critic to remember that I use vim", "critic", "remember that I use vim"),
        (
            "ask the critic subagent to ask the data-2 subagent to list files",
            "critic",
            "ask the data-2 subagent to list files",
        ),
        ("让 critic 子代理列出文件", "critic", "列出文件"),
        ("请子代理 critic 去列出文件", "critic", "列出文件"),
        ("ask a subagent to list files", "general-purpose", "list files"),
        ("ask the general-purpose subagent to list files", "general-purpose", "list files"),
    ],
)
def test_who_gets_which_task(request_, name, task):
    assert move(request_) == Use("task", {"description": task, "subagent_type": name})


def test_one_that_is_not_there_is_said_and_not_called():
    assert move("ask the nobody subagent to sing") == (
        "There is no subagent nobody: the tool `task` lists general-purpose, critic, data-2."
    )
    assert "data-2" in str(move("让 nobody 子代理唱歌"))


def test_without_the_tool_it_says_so():
    done = plan(asked("ask the critic subagent to sing", tools=TOOLS - {"task"}), INTENTS)
    assert done == "I would call the tool `task` here, but it is not bound to me, so I stop."


@every_row("request_", ["ask bob to call me", "use pandas to plot it", "tell me to stop", "let it be for now"])
def test_words_that_name_no_subagent_are_not_for_one(request_):
    done = move(request_)
    assert not (isinstance(done, Use) and done.tool == "task")
    assert "no subagent" not in getattr(done, "text", "")


def test_any_subagent_is_the_first_where_there_is_no_general_purpose_one():
    assert move("ask a subagent to sing", agents=("critic",)).args["subagent_type"] == "critic"


def test_the_report_is_quoted_and_a_refusal_said():
    done = move("ask the critic subagent to sing", Step("task", {}, "la la"))
    assert done == "The subagent critic reported:\n> la la"
    done = move("ask the critic subagent to sing", Step("task", {}, "Error: no subagent was started.", failed=True))
    assert done.startswith("The tool `task` failed. It said: Error: no subagent")


def test_two_runs_are_the_same():
    def run() -> list[str]:
        s = Session(subagents=[{"name": "critic", "description": "d", "system_prompt": "p"}])
        return [s.run("ask the critic subagent to ask a subagent to list files").text, *map(str, s.ledger()["total"])]

    assert run() == run()
