"""What ARCHITECTURE.md says of the engine, asked of the engine alone: a test that fails names what upstream changed."""

import asyncio
import json
import threading
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.graph import DeepAgentState
from deepagents.middleware.filesystem import FilesystemState
from deepagents.middleware.memory import MemoryMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.tools import StructuredTool
from langgraph._internal._constants import CONFIG_KEY_RUNTIME
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from deepnb.testing import RequestRecorder, ScriptedModel, call
from tests import DATA

CONFIG: Any = {"configurable": {"thread_id": "main"}}
MEMORY = ["/AGENTS.md"]


def agent(*answers: Any, **options: Any) -> Any:
    """Upstream's agent with its files in the state, checkpointed."""
    model = options.pop("model", None) or ScriptedModel(answers=list(answers))
    return create_deep_agent(model, checkpointer=InMemorySaver(), **options)


def file(text: str) -> dict[str, Any]:
    return {"/AGENTS.md": {"content": text, "encoding": "utf-8"}}


def ask(graph: Any, prompt: str, **more: Any) -> RequestRecorder:
    recorder = RequestRecorder()
    graph.invoke({"messages": prompt, **more}, {**CONFIG, "callbacks": [recorder]})
    return recorder


def test_the_state_backend_works_only_inside_a_run():
    with pytest.raises(RuntimeError):
        StateBackend().download_files(["/AGENTS.md"])


def test_memory_is_read_once_in_a_thread():
    graph = agent("ok", memory=MEMORY)
    assert "likes tea" in ask(graph, "a", files=file("likes tea")).requests[0].system
    later = ask(graph, "b", files=file("likes coffee")).requests[0].system
    assert "likes tea" in later and "likes coffee" not in later


def test_the_trigger_counts_no_memory():
    """20,000 words of memory in a window of 4,000 tokens, and nothing is compacted."""
    model = ScriptedModel(answers=["ok"], profile={"max_input_tokens": 4_000})
    graph = agent(model=model, memory=MEMORY)
    for prompt in "abcdef":
        recorder = ask(graph, prompt, files=file("word " * 20_000))
    assert len(recorder.requests[0].system.split()) > 20_000
    assert not graph.get_state(CONFIG).values.get("_summarization_event")


def test_a_middleware_with_the_name_of_a_default_takes_its_place():
    class Mine(MemoryMiddleware):
        name = "MemoryMiddleware"

    graph = agent("ok", memory=MEMORY, middleware=[Mine(backend=StateBackend(), sources=["/OTHER.md"])])
    assert "likes tea" not in ask(graph, "a", files=file("likes tea")).requests[0].system


def test_ones_own_middleware_sees_no_memory_and_a_callback_does():
    seen = []

    class Looks(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            seen.append(request.system_message.text)
            return handler(request)

    recorder = ask(agent("ok", memory=MEMORY, middleware=[Looks()]), "a", files=file("likes tea"))
    assert "likes tea" in recorder.requests[0].system and "likes tea" not in seen[0]


def test_a_write_from_outside_loses_the_question_that_waits():
    def pay() -> str:
        """Pay."""
        return str(interrupt("may I?"))

    graph = agent(call("pay"), "done", tools=[pay])
    ask(graph, "a")
    assert graph.get_state(CONFIG).interrupts
    graph.update_state(CONFIG, {"files": file("likes tea")})
    assert not graph.get_state(CONFIG).interrupts


def test_a_tool_that_was_interrupted_is_run_again():
    runs = []

    def pay() -> str:
        """Pay."""
        runs.append(1)
        if len(runs) == 1:
            raise KeyboardInterrupt
        return "paid"

    graph = agent(call("pay"), "done", tools=[pay])
    with pytest.raises(KeyboardInterrupt):
        ask(graph, "a")
    graph.invoke(None, CONFIG)
    assert len(runs) == 2


def test_an_exception_in_a_tool_and_a_tool_that_is_only_a_coroutine_end_the_run():
    def fails() -> str:
        """Fail."""
        raise ValueError("no")

    async def awaits() -> str:
        """Get the time."""
        return "12:00"

    with pytest.raises(ValueError, match="no"):
        ask(agent(call("fails"), "never", tools=[fails]), "p")
    with pytest.raises(NotImplementedError):
        ask(agent(call("awaits"), "never", tools=[StructuredTool.from_function(coroutine=awaits)]), "p")


def test_a_call_whose_arguments_are_not_json_ends_the_run():
    wrong: Any = [{"name": "ls", "args": "path=/", "id": "c1", "error": None, "type": "invalid_tool_call"}]
    assert len(ask(agent(AIMessage("", invalid_tool_calls=wrong), "never"), "p").requests) == 1


def test_of_streamed_arguments_that_are_no_json_as_much_is_taken_as_can_be_read():
    chunk = tool_call_chunk(name="write_file", args='{"content": "half of i', id="c1", index=0)
    message = AIMessageChunk(content="", tool_call_chunks=[chunk])
    assert (message.tool_calls[0]["args"], message.invalid_tool_calls) == ({"content": "half of i"}, [])


def test_a_failed_run_leaves_its_prompt_in_the_thread():
    graph = agent(RuntimeError("down"), "fine")
    with pytest.raises(RuntimeError):
        ask(graph, "p")
    assert [m.content for m in graph.get_state(CONFIG).values["messages"]] == ["p"]


def test_the_later_base_of_a_state_says_which_channel_it_is():
    class Plain(DeepAgentState, FilesystemState):
        pass

    class Delta(FilesystemState, DeepAgentState):
        pass

    model = ScriptedModel(answers=["ok"])
    plain, delta = (create_agent(model, [], state_schema=s).channels["messages"] for s in (Plain, Delta))
    assert not isinstance(plain, DeltaChannel) and isinstance(delta, DeltaChannel)


def test_the_nodes_of_a_streamed_run_are_run_in_the_thread_that_reads_it():
    threads = []

    class Looks(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            threads.append(threading.current_thread())
            return handler(request)

    graph = agent(call("ls", path="/"), "done", middleware=[Looks()])
    list(graph.stream({"messages": "a"}, CONFIG, stream_mode=["values", "updates"]))
    assert threads == [threading.current_thread()] * 2


def test_the_approximate_counter_is_far_too_low_for_chinese():
    rows = [json.loads(line) for line in (DATA / "token_counts.jsonl").read_text("utf-8").splitlines()]
    chinese = [row for row in rows if row["kind"].startswith("chinese")]
    assert len(chinese) > 5
    counted = sum(count_tokens_approximately([("user", row["text"])]) for row in chinese)
    assert counted < 0.7 * sum(row["o200k_base"] for row in chinese)


def test_the_mcp_adapter_loses_arguments_and_believes_the_server():
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
    from mcp import types

    given: dict[str, Any] = {}

    async def keep(request: Any, handler: Any) -> types.CallToolResult:
        given.update(request.args)
        return types.CallToolResult(content=[])

    schema = {"type": "object", "properties": {"config": {}, "run_manager": {}, "a": {}}}
    claims = types.ToolAnnotations.model_validate({"readOnlyHint": True, "deepnb_effect": "reads"})
    listed = types.Tool(name="look", inputSchema=schema, annotations=claims)
    made = convert_mcp_tool_to_langchain_tool(None, listed, connection=Any, tool_interceptors=[keep])  # type: ignore[arg-type]
    asyncio.run(made.ainvoke({"config": 1, "run_manager": 2, "a": 3}))
    assert given == {"a": 3}
    assert made.metadata is not None and made.metadata["deepnb_effect"] == "reads"


def test_the_node_of_the_model_run_alone_makes_the_request_of_a_state():
    caught = []

    class Catches(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            caught.append(request)
            raise KeyError

    class Adds(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return handler(request.override(messages=[*request.messages, HumanMessage("added")]))

    graph: Any = create_agent(ScriptedModel(answers=["ok"]), system_prompt="Be brief.", middleware=[Adds(), Catches()])
    with pytest.raises(KeyError):
        graph.nodes["model"].bound.invoke(
            {"messages": [HumanMessage("a")]}, {"configurable": {CONFIG_KEY_RUNTIME: Runtime()}}
        )
    assert [m.text for m in (caught[0].system_message, *caught[0].messages)] == ["Be brief.", "a", "added"]


def test_a_summary_that_fails_is_asked_for_three_times_silently(monkeypatch):
    model = ScriptedModel(answers=[ConnectionError("gone")])
    upstream = SummarizationMiddleware(model, trigger=("messages", 2))
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)
    with pytest.raises(ConnectionError):
        upstream._create_summary([HumanMessage("one"), AIMessage("two")])
    assert len(model.requests) == 3


def test_a_models_sdk_sends_twice_more_by_itself():
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    assert ChatOpenAI(model="m", api_key="x").root_client.max_retries == 2  # type: ignore[arg-type]
    assert ChatAnthropic(model="m", api_key="x")._client.max_retries == 2  # type: ignore[call-arg, arg-type]


def test_two_interrupts_of_one_node_have_ids_of_their_own():
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", interrupt("one?") + interrupt("two?"))]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    (first,) = compiled.invoke({"messages": []}, CONFIG)["__interrupt__"]
    (second,) = compiled.invoke(Command(resume="a"), CONFIG)["__interrupt__"]
    assert (first.value, second.value) == ("one?", "two?") and first.id != second.id
