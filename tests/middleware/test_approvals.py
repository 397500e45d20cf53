"""ApprovalMiddleware alone: what asks, and which answers it takes."""

import asyncio
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from deepnb.middleware import ApprovalMiddleware
from deepnb.testing import ScriptedModel, call
from deepnb.workshop.approvals import reads
from tests.support.functions import gives
from tests.support.refusals import refused
from tests.support.tables import every_row

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def pay(amount: int, to: str = "Ada") -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}"


balance = reads(gives("balance", "100 left"))


def agent(*answers: Any, approve: Any = "outside", backend: Any = None) -> Any:
    model = ScriptedModel(answers=[*answers, "done"])
    middleware: Any = [ApprovalMiddleware(approve, backend)]
    return create_deep_agent(
        model, [pay, balance], middleware=middleware, backend=backend, checkpointer=InMemorySaver()
    )


def asked(result: Any) -> list[Any]:
    return [i.value for i in result.get("__interrupt__", ())]


def begin(graph: Any) -> Any:
    return graph.invoke({"messages": "go"}, CONFIG)


def answer(graph: Any, decision: Any) -> Any:
    return graph.invoke(Command(resume=decision), CONFIG)


def results(result: Any) -> list[str]:
    return [m.text for m in result["messages"] if m.type == "tool"]


EDIT = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 5}}}


@every_row(("decision", "said", "status"), [
    ({"type": "approve"}, "paid 3 to Ada", "success"),
    ({"decisions": [{"type": "approve"}]}, "paid 3 to Ada", "success"), (EDIT, "paid 5 to Ada", "success"),
    ({"type": "reject", "message": "not on Fridays"}, "said why: not on Fridays. It was not run.", "error"),
    ({"type": "reject"}, "The user did not allow this call of pay. It was not run.", "error"),
    ({"type": "respond", "message": "Ada was paid in cash"}, "Ada was paid in cash", "success"),
])  # fmt: skip
def test_langchains_decisions_are_taken(decision: Any, said: str, status: str) -> None:
    graph = agent(call("pay", amount=3))
    (value,) = asked(begin(graph))
    assert (value["type"], value["tool_call_id"], value["args"]) == ("tool_approval", "c1", {"amount": 3})
    (message,) = [m for m in answer(graph, decision)["messages"] if m.type == "tool"]
    assert said in message.text and (message.status, message.tool_call_id) == (status, "c1")
    assert decision.get("type") != "respond" or message.content == said


NONE = "the answer is no decision"


@every_row(("wrong", "why"), [
    ("yes", NONE), ({"decisions": []}, NONE), ({"decisions": [{"type": "approve"}, {"type": "approve"}]}, NONE),
    ({"type": "edit"}, "an edit of pay has an edited_action with this name"),
    ({"type": "edit", "edited_action": {"name": "balance", "args": {}}},
     "an edit of pay has an edited_action with this name"),
    ({"type": "edit", "edited_action": {"name": "pay", "args": {"sum": 5}}}, "an edit of pay has no 'sum'"),
    ({"type": "edit", "edited_action": {"name": "pay", "args": {"amount": "five"}}},
     "an edit of pay: amount must be of type integer, not str"),
    ({"type": "approve", "deepnb_approval": {"id": "c1", "digest": "of another call", "kind": "approve"}}, ""),
])  # fmt: skip
def test_any_other_answer_asks_again_and_says_why(wrong: Any, why: str) -> None:
    graph = agent(call("pay", amount=3))
    (first,) = asked(begin(graph))
    (again,) = asked(answer(graph, wrong))
    assert {**again, "description": ""} == {**first, "description": ""}, "nothing was run"
    assert again["description"] == (f"pay asks for approval again: {why}" if why else first["description"])
    assert results(answer(graph, {"type": "approve"})) == ["paid 3 to Ada"]


def test_some_tools_ask_and_all_others_run() -> None:
    rules = {"pay": "ask", "*": "allow"}
    assert [v["name"] for v in asked(begin(agent(call("pay", amount=3), approve=rules)))] == ["pay"]
    task = call("task", description="pay 3", subagent_type="general-purpose")
    assert not asked(begin(agent(task, "nested", approve=rules)))


def test_calls_that_wait_together_are_answered_by_id() -> None:
    both = [{"name": "pay", "args": {"amount": n}, "id": f"c{n}"} for n in (1, 2)]
    graph = agent(AIMessage("", tool_calls=both))  # type: ignore[arg-type]
    begin(graph)
    waiting = {i.value["args"]["amount"]: i.id for i in graph.get_state(CONFIG).interrupts}
    result = answer(graph, {waiting[2]: {"type": "approve"}, waiting[1]: {"type": "reject"}})
    assert ["was not run" in text for text in results(result)] == [True, False]


def test_a_subagent_is_asked_about_since_its_calls_are_not() -> None:
    task = call("task", description="pay 3", subagent_type="general-purpose")
    assert [v["name"] for v in asked(begin(agent(task)))] == ["task"]
    assert not asked(begin(agent(task, "nested", approve={"task": "allow"})))


def test_files_on_a_disk_are_asked_about(tmp_path: Path) -> None:
    disk = FilesystemBackend(tmp_path, virtual_mode=True)
    write = call("write_file", file_path="/work/a.txt", content="a")
    assert asked(begin(agent(write, backend=disk)))
    routed = CompositeBackend(StateBackend(), {"/work/": disk})
    assert asked(begin(agent(write, backend=routed)))
    assert not asked(begin(agent(call("write_file", file_path="/a.txt", content="a"), backend=routed)))
    assert asked(begin(agent(call("delete", file_path="/"), backend=routed))), "it has the disk's in it"


def test_read_only_refuses_and_asks_nothing_and_a_mode_that_is_none_is_one_line() -> None:
    result = begin(agent(call("write_file", file_path="/a.txt", content="a"), approve="read-only"))
    assert not asked(result) and "read-only mode" in results(result)[0]
    refused("approve can't be 'sometimes'", ApprovalMiddleware, "sometimes")


BROKEN = AIMessage(
    "",
    invalid_tool_calls=[{"name": "pay", "args": '{"amount": 3', "id": "x", "error": None, "type": "invalid_tool_call"}],
)


@every_row(("wrong", "why"), [
    (call("pya", amount=3), "there is no tool 'pya'. Did you mean pay? Nothing was run. The tools are: balance, "),
    (call("pay", amount="much"), "the arguments do not fit pay: amount: Input should be a valid integer"),
    (call("pay"), "the arguments do not fit pay: amount: Field required"),
    (BROKEN, "the arguments of this call are not JSON, or were cut off."),
])  # fmt: skip
@every_row("way", ["invoke", "ainvoke", "stream", "astream"])
def test_a_call_that_no_tool_can_take_is_told_at_once(wrong: Any, why: str, way: str) -> None:
    graph = agent(wrong)
    given: Any = {"messages": "go"}

    async def awaited() -> Any:
        if way == "ainvoke":
            return await graph.ainvoke(given, CONFIG)
        return [part async for part in graph.astream(given, CONFIG, stream_mode="messages")]

    if way in ("ainvoke", "astream"):
        asyncio.run(awaited())
    else:
        list(graph.stream(given, CONFIG, stream_mode="messages")) if way == "stream" else graph.invoke(given, CONFIG)
    state = graph.get_state(CONFIG)
    assert not state.interrupts and results(state.values)[0].startswith(f"Error: {why}")
    assert state.values["messages"][-1].text == "done"


def test_an_answer_in_a_given_form_is_none_of_its_calls() -> None:
    class Sum(BaseModel):
        total: int

    model = ScriptedModel(answers=[call("Sum", total=3)])
    graph = create_agent(
        model, [pay], middleware=[ApprovalMiddleware()], response_format=ToolStrategy(Sum), checkpointer=InMemorySaver()
    )
    assert begin(graph)["structured_response"] == Sum(total=3)
