"""`%agent use my_graph`: another agent in the same shell, what it lacks, its questions, and the way back."""

from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

import deepnb
from tests.support.graphs import GRAPHS, Kind
from tests.support.hints import refused_hints
from tests.support.scripted import enter
from tests.support.shells import Shell
from tests.support.tables import wing

SETUP = """
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.support.scripted import Scripted, call

def send(to: str) -> str:
    "Send a letter."
    return f"sent to {to}"

asks = HumanInTheLoopMiddleware({"send": True})
my_graph = create_agent(Scripted(answers=[call("send", to="Ada"), "It is sent."]), [send], middleware=[asks])

def ask(state):
    return {"messages": [("ai", f"You said {interrupt({'question': 'Which hall?'})!r}.")]}

asking = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
halls = asking.compile()
"""


@pytest.fixture
def shell(shell: Shell) -> Shell:
    shell.ok(SETUP)
    return shell


def test_what_it_lacks_is_said_once_and_can_be_asked_for(shell: Shell) -> None:
    shown = shell.ok("%agent use my_graph")
    assert shown.startswith("thread main on my_graph; %agent use MODEL goes back to deepnb's agent\n")
    assert "  approvals     send\n" in shown and "100,000 tokens, of ScriptedModel" in shown
    assert "it has no file tools; add deepagents' FilesystemMiddleware()" in shown
    assert "only deepnb's own agent has compaction by hand, flush, tapes" in shown
    again = shell.ok("%agent use my_graph")
    assert again == "thread main on my_graph; %agent use MODEL goes back to deepnb's agent\n"
    assert shell.ok("%agent use") in shown
    assert "files, memory, skills, subagents, history: %agent use lists what would give them" in shell.ok("%agent")
    line = "my_graph has no memory (no memory files are in its prompt): add deepnb.middleware.Memory"
    assert line in shell.fails("%memory")
    assert "(it offloads nothing): add deepnb.middleware.CompactionM" in shell.fails("%agent history")
    shell.ok("%%agent\nWrite to Ada")
    assert "nothing compacts the context" in shell.ok("%agent budget")


def without_a_model(folder: Path) -> Any:
    graph = StateGraph(MessagesState).add_node("plan", lambda state: {"messages": [("ai", "Planned.")]})
    return graph.add_node("act", lambda state: {}).add_edge(START, "plan").compile()


@pytest.mark.parametrize("name", [*GRAPHS, "without a model"])
def test_no_hint_is_shown_that_the_graph_refuses(shell: Shell, name: str, tmp_path: Path) -> None:
    kind = GRAPHS.get(name, Kind(without_a_model))
    shell.ip.user_ns["theirs"] = kind.make(tmp_path)
    key = kind.options.get("messages_key")
    assert not refused_hints(shell, f"theirs --messages-key {key}" if key else "theirs")


def test_a_graph_without_a_model_is_shown_by_its_nodes_and_channels(shell: Shell) -> None:
    shell.ok("""
import operator
from typing import Annotated

class Steps(MessagesState):
    steps: Annotated[list[str], operator.add]
    hall: int

def plan(state):
    return {"steps": ["plan"]}

def act(state):
    return {"messages": [("ai", "Done.")], "hall": interrupt("Which hall?")}

made = StateGraph(Steps).add_node("plan", plan).add_node("act", act).add_edge(START, "plan")
made = made.add_conditional_edges("plan", lambda state: "act", ["act", END]).add_edge("act", END).compile()
""")
    shell.ok("%agent use made")
    shell.run("%agent go")
    asked = shell.ok("%agent graph")
    assert asked.startswith("graph · 4 nodes") and "layer" not in asked and "the model" not in asked
    assert [line.split() for line in asked.splitlines()[4:8]] == [
        ["__start__", "→", "plan"], ["plan", "⇢", "__end__", "⇢", "act"], ["act", "→", "__end__", "runs", "next"],
        ["__end__"],
    ]  # fmt: skip
    shell.ok("%agent resume 4")
    shell.run("%agent go on")
    shell.ok("%agent resume 5")
    graph = shell.ok("%agent graph")
    assert "runs next" not in graph
    rows = [line.split() for line in graph.splitlines()[-4:]]
    assert rows == [
        ["hall", "1", "4"], ["hall", "2", "5"], ["steps", "1", "['plan']"], ["steps", "2", "['plan',", "'plan']"],
    ]  # fmt: skip
    for command in ("%agent", "%agent budget"):
        assert "no model calls yet in this thread" in shell.ok(command)
    shown = shell.ok("%agent dashboard")
    assert "memory" not in shown and "type %agent PROMPT" not in shown
    assert "no model that deepnb sees was called in this turn" in shown
    assert "made has no memory" in shell.fails("%agent panel memory")
    shell.ok("sent = StateGraph(Steps).add_node('plan', plan).add_node('act', act).add_edge(START, 'plan').compile()")
    shell.ok("%agent use sent")
    drawn = [line.split() for line in shell.ok("%agent graph").splitlines()[4:8]]
    assert drawn == [["__start__", "→", "plan"], ["plan", "→", "__end__"], ["act"], ["__end__"]]


def test_a_question_takes_json(shell: Shell) -> None:
    shell.ok("%agent use halls")
    ran = shell.run("%%agent\nBook a hall")
    assert "needs your answer · 1 question" in ran.out and "question: Which hall?" in ran.out
    assert ran.asks and str(ran.error).startswith("the graph needs your answer: type %agent resume JSON")
    assert "%agent resume JSON" in shell.fails("%agent approve")
    assert "not valid JSON" in shell.fails('%agent resume {"hall": 4')
    assert "the graph asks a question: %agent resume JSON" in shell.ok("%agent")
    assert "You said {'hall': 4}." in shell.ok('%agent resume {"hall": 4}')
    assert "no question waits" in shell.fails("%agent resume 5")
    shell.ok("%agent And another")
    assert "You said 'no'." in shell.ok('%agent resume "no"')


def test_each_graph_has_threads_of_its_own(shell: Shell) -> None:
    shell.ok("%agent hello")
    own = deepnb.current()
    shell.ok("%agent use halls")
    assert deepnb.current() is not own
    enter(shell, "%agent Book one", "%agent resume 1", "%agent fork b")
    assert "b" in shell.ok("%agent threads")
    assert "back in thread main of deepnb's agent" in shell.ok("%agent use offline")
    assert deepnb.current() is own and "hello" in shell.ok("%agent turns")
    assert "thread thread-3 on halls" in shell.ok("%agent use halls"), "a new one, since b had turns"
    assert "Book one" in shell.ok("%agent threads")
    shell.ok("halls = asking.compile()")
    assert "what it lacks" in shell.ok("%agent use halls"), "a graph that was compiled anew is another"
    assert [t.turns for t in deepnb.current().threads] == [0]


def test_tab_offers_the_graphs_that_variables_hold(shell: Shell) -> None:
    _, found = shell.ip.complete("%agent use ", "%agent use ")
    assert {"my_graph", "halls"} <= {name.removeprefix("%agent use ") for name in found} and "send" not in found


@wing("compare")
def test_a_job_that_asks_says_what_it_needs(shell: Shell) -> None:
    shell.ok("%agent use halls")
    shell.run("%%agent --bg\nBook a hall")
    job = deepnb.current().jobs.job(1)
    job.wait(30)
    assert "it needs your answer: %agent resume JSON" in shell.ok("%agent jobs join 1")
    assert "You said 4." in shell.ok("%agent resume 4")


def test_what_is_lost_with_the_extension_is_said(shell: Shell) -> None:
    enter(shell, "%agent use halls", "%agent Book a hall", "%agent resume 4")
    assert "deepnb forgets 1 turn on halls" in shell.ok("%unload_ext deepnb")
