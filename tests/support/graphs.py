"""Eight graphs as people make them: each looks something up and answers, with a scripted model."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from tests.support.scripted import Scripted, call

ANSWER = "It is forty two in all."
QUESTION = {"question": "Which hall?"}


def lookup(key: str) -> str:
    """Look something up."""
    return f"{key} is 42"


@tool
async def fetch(key: str) -> str:
    """Look something up, over a network."""
    return f"{key} is 42"


def model(name: str = "lookup", *more: Any) -> Scripted:
    return Scripted(answers=[call(name, key="answer"), ANSWER, *(more or ("As before.",))])


@dataclass(frozen=True)
class Kind:
    make: Callable[[Path], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    has: frozenset[str] = frozenset()
    tool: str = "lookup"
    own_checkpointer: bool = False


def _deep_on_disk(folder: Path) -> Any:
    return create_deep_agent(
        model=model(), tools=[lookup], memory=["/AGENTS.md"], backend=FilesystemBackend(folder, virtual_mode=True),
        subagents=[{"name": "critic", "description": "Finds what is wrong", "system_prompt": "Find it."}],
        interrupt_on={"write_file": True},
    )  # fmt: skip


class Added(TypedDict):
    messages: Annotated[list[AnyMessage], operator.add]
    seen: Annotated[list[str], operator.add]


def _own_reducer(folder: Path) -> Any:
    bound, look = model().bind_tools([lookup]), tool(lookup)

    def think(state: Added) -> dict[str, Any]:
        return {"messages": [bound.invoke(state["messages"])], "seen": ["think"]}

    def act(state: Added) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [look.invoke({**one, "type": "tool_call"}) for one in calls], "seen": ["act"]}

    builder = StateGraph(Added).add_node("think", think).add_node("tools", act).add_edge(START, "think")
    return builder.add_conditional_edges("think", tools_condition).add_edge("tools", "think").compile()


def _asking(folder: Path) -> Any:
    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt(QUESTION)
        return {"messages": [AIMessage(f"The hall is {answer['hall']}.")]}

    return _with_tools(MessagesState, builder=StateGraph(MessagesState).add_node("ask", ask), first="ask")


def _async_only(folder: Path) -> Any:
    bound = model("fetch").bind_tools([fetch])

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState).add_node("think", think).add_node("tools", ToolNode([fetch]))
    builder.add_edge(START, "think").add_conditional_edges("think", tools_condition).add_edge("tools", "think")
    return builder.compile()


class Chat(TypedDict):
    chat: Annotated[list[AnyMessage], add_messages]


def _with_tools(state: Any, key: str = "messages", *, builder: Any = None, first: str = "think") -> Any:
    bound = model().bind_tools([lookup])

    def think(values: Any) -> dict[str, Any]:
        return {key: [bound.invoke(values[key])]}

    builder = builder or StateGraph(state)
    builder.add_node("think", think).add_node("tools", ToolNode([lookup], messages_key=key)).add_edge(START, first)
    if first != "think":
        builder.add_edge(first, "think")
    builder.add_conditional_edges("think", lambda values: tools_condition(values, messages_key=key), ["tools", END])
    return builder.add_edge("tools", "think").compile()


ASKS: Any = HumanInTheLoopMiddleware({"send": True})
DEEP = frozenset({"files", "memory", "skills", "subagents", "history"})

GRAPHS: Mapping[str, Kind] = {
    "deepagents": Kind(lambda _: create_deep_agent(model=model(), tools=[lookup], memory=["/AGENTS.md"],
                                                   skills=["/skills/"]),
                       has=DEEP),
    "deepagents on disk": Kind(_deep_on_disk, has=DEEP - {"skills"} | {"approvals"}),
    "create_agent": Kind(lambda _: create_agent(model(), [lookup])),
    "create_agent with checkpointer": Kind(
        lambda _: create_agent(model(), [lookup], checkpointer=InMemorySaver(), middleware=[ASKS]),
        has=frozenset({"checkpointer", "approvals"}), own_checkpointer=True),
    "own reducer": Kind(_own_reducer), "question": Kind(_asking), "async only": Kind(_async_only, tool="fetch"),
    "another key": Kind(lambda _: _with_tools(Chat, "chat"), {"messages_key": "chat"}),
}  # fmt: skip
