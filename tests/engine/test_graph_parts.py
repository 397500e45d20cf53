"""What is found in compiled graphs: models, middleware, tools, and what runs only as a coroutine."""

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.graph import END, START, MessagesState, StateGraph

from deepnb.engine.attached_graph import graph_parts
from tests.support.graphs import GRAPHS, lookup, model
from tests.support.tables import every_row

THEIR_MODEL = model()


@every_row("name", GRAPHS)
def test_the_model_and_the_tools_of_each_of_eight_graphs(name: str, tmp_path: Path) -> None:
    parts = graph_parts(GRAPHS[name].make(tmp_path))
    assert [type(one).__name__ for one in parts.models] == ["ScriptedModel"]
    assert GRAPHS[name].tool in [one.name for one in parts.tools]
    assert parts.is_async is (name == "async only")
    if name.startswith("deepagents"):
        assert list(parts.of("MemoryMiddleware").sources) == ["/AGENTS.md"]
        assert None not in (parts.of("FilesystemMiddleware"), parts.of("SummarizationMiddleware"))


def test_a_model_that_is_a_global_of_the_node_or_of_a_function_it_calls() -> None:
    graph = StateGraph(MessagesState).add_node("a", _node).add_edge(START, "a").add_edge("a", END).compile()
    assert graph_parts(graph).models == (THEIR_MODEL,)


def _node(state: Any) -> Any:
    return {"messages": [_asked(state["messages"])]}


def _asked(messages: Any) -> Any:
    return THEIR_MODEL.invoke(messages)


def test_an_agent_that_is_a_node_of_another_graph() -> None:
    inner = create_agent(THEIR_MODEL, [lookup])
    graph = StateGraph(MessagesState).add_node("agent", inner).add_edge(START, "agent").add_edge("agent", END).compile()
    assert graph_parts(graph).models == (THEIR_MODEL,)
    assert [one.name for one in graph_parts(graph).tools] == ["lookup"]


def test_what_is_only_a_coroutine() -> None:
    async def wait(state: MessagesState) -> dict[str, Any]:
        return {}

    class Later(AgentMiddleware):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    builder = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END)
    assert graph_parts(builder.compile()).is_async
    assert graph_parts(create_agent(model(), [], middleware=[Later()])).is_async
    assert not graph_parts(create_agent(model(), [])).is_async
