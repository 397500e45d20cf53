"""What ARCHITECTURE.md says of the engine and where it keeps what we read: a failure names what upstream changed."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
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
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from deepnb import Session
from deepnb.engine import keys
from deepnb.engine.attached_graph import graph_parts
from deepnb.engine.checkpoints import FAR
from deepnb.engine.probe import snapshot
from deepnb.engine.state_backend import MessagesChannel
from deepnb.subagents.delegation import nested_graph
from deepnb.testing import RequestRecorder, ScriptedModel, call
from deepnb.values.agent import Skill
from tests import DATA
from tests.support.databases import checkpointer as checkpointer  # a fixture
from tests.support.graphs import GRAPHS, lookup, model
from tests.support.scripted import Scripted
from tests.support.tables import every_row

CONFIG: Any = {"configurable": {"thread_id": "main"}}
MEMORY = ["/AGENTS.md"]


def agent(*answers: Any, **options: Any) -> Any:
    model = options.pop("model", None) or ScriptedModel(answers=list(answers))
    return create_deep_agent(model, checkpointer=InMemorySaver(), **options)


def file(text: str) -> dict[str, Any]:
    return {"/AGENTS.md": {"content": text, "encoding": "utf-8"}}


def ask(graph: Any, prompt: str, **more: Any) -> RequestRecorder:
    recorder = RequestRecorder()
    graph.invoke({"messages": prompt, **more}, {**CONFIG, "callbacks": [recorder]})
    return recorder


def test_the_state_backend_works_only_inside_a_run_and_memory_is_read_once_in_a_thread():
    with pytest.raises(RuntimeError):
        StateBackend().download_files(["/AGENTS.md"])
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


def test_a_call_whose_arguments_are_not_json_ends_the_run_and_a_failed_one_leaves_its_prompt():
    wrong: Any = [{"name": "ls", "args": "path=/", "id": "c1", "error": None, "type": "invalid_tool_call"}]
    assert len(ask(agent(AIMessage("", invalid_tool_calls=wrong), "never"), "p").requests) == 1
    chunk = tool_call_chunk(name="write_file", args='{"content": "half of i', id="c1", index=0)
    message = AIMessageChunk(content="", tool_call_chunks=[chunk])
    assert (message.tool_calls[0]["args"], message.invalid_tool_calls) == ({"content": "half of i"}, [])
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
    assert given == {"a": 3} and made.metadata is not None and made.metadata["deepnb_effect"] == "reads"


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


def test_what_is_sent_again_after_a_failure(monkeypatch):
    model = ScriptedModel(answers=[ConnectionError("gone")])
    upstream = SummarizationMiddleware(model, trigger=("messages", 2))
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda seconds: None)
    with pytest.raises(ConnectionError):
        upstream._create_summary([HumanMessage("one"), AIMessage("two")])
    assert len(model.requests) == 3
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


SKILL = "---\nname: csv-report\ndescription: Reports on a CSV.\n---\n\n# Do it\n"


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    """The state of a small agent that has used all of it: files, memory, a skill, a compaction."""
    model = Scripted(answers=["one", "two", "summary", "three"])
    s = Session(model=model, trigger=("messages", 5), keep=("messages", 2))
    s.memory.add("likes tea")
    s.files["/skills/csv-report/SKILL.md"] = SKILL
    for prompt in "abc":
        s.run(prompt)
    return dict(s.graph.get_state(s.config).values)


def test_the_state_holds_what_we_read(state):
    kinds = {keys.MESSAGES: list, keys.FILES: dict, keys.MEMORY: dict, keys.SKILLS: list, keys.SKILL_ERRORS: list}
    kinds |= {keys.OFFLOAD: dict, keys.OFFLOAD_ID: str}
    moved = {key: type(state.get(key)).__name__ for key, kind in kinds.items() if not isinstance(state.get(key), kind)}
    assert moved == {}, f"upstream moved them: it has {sorted(state)}"
    assert state[keys.FILES]["/conversation_history/main.md"].keys() >= {"content", "encoding"}
    assert state[keys.MEMORY] == {"/AGENTS.md": "- likes tea\n"}
    assert state[keys.SKILLS][0].keys() >= {"name", "description", "path"}
    assert state[keys.OFFLOAD].keys() >= {"cutoff_index", "summary_message", "file_path"}
    assert state[keys.OFFLOAD_ID] == "main"


def test_the_copy_node_and_the_interrupt_chunk():
    def ask() -> str:
        """Ask the user."""
        return str(interrupt("may I?"))

    s = Session(model=Scripted(answers=["one", call("ask")]), tools=[ask], checkpointer=InMemorySaver())
    config = s.config
    s.run("p")
    before = s.graph.get_state(config)
    s.graph.update_state(before.config, None, as_node=keys.COPY_NODE)
    after = s.graph.get_state(config)
    assert after.config != before.config and after.values == before.values
    chunks = list(s.graph.stream({"messages": [("user", "q")]}, config, stream_mode="updates"))
    assert keys.INTERRUPT in chunks[-1]


def test_the_snapshot_of_it(state):
    seen = snapshot("main", state)
    assert seen.memory == {"/AGENTS.md": "- likes tea\n"}
    assert seen.skills == (Skill("csv-report", "Reports on a CSV.", "/skills/csv-report/SKILL.md"),)
    assert (seen.offload.path, seen.offload.cutoff) == ("/conversation_history/main.md", 3) and seen.offload.at
    assert [m.role for m in seen.messages] == ["user", "assistant"] * 3
    assert snapshot("main", state, last=seen).messages is seen.messages


THEIR_MODEL = model()


@every_row("name", GRAPHS)
def test_the_model_and_the_tools_of_each_of_eight_graphs(name: str, tmp_path: Path) -> None:
    parts = graph_parts(GRAPHS[name].make(tmp_path))
    assert [type(one).__name__ for one in parts.models] == ["ScriptedModel"]
    assert GRAPHS[name].tool in [one.name for one in parts.tools] and parts.is_async is (name == "async only")
    if name.startswith("deepagents"):
        assert list(parts.of("MemoryMiddleware").sources) == ["/AGENTS.md"]
        assert None not in (parts.of("FilesystemMiddleware"), parts.of("SummarizationMiddleware"))


def test_a_model_of_a_node_of_a_function_or_of_another_graph() -> None:
    graph = StateGraph(MessagesState).add_node("a", _node).add_edge(START, "a").add_edge("a", END).compile()
    assert graph_parts(graph).models == (THEIR_MODEL,)
    inner = create_agent(THEIR_MODEL, [lookup])
    graph = StateGraph(MessagesState).add_node("agent", inner).add_edge(START, "agent").add_edge("agent", END).compile()
    assert graph_parts(graph).models == (THEIR_MODEL,)
    assert [one.name for one in graph_parts(graph).tools] == ["lookup"]


def _node(state: Any) -> Any:
    return {"messages": [THEIR_MODEL.invoke(state["messages"])]}


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


STEPS = 12
"""More than a turn with one tool call takes."""


@every_row("key", [keys.MESSAGES, keys.FILES])
def test_what_grows_with_a_thread_is_a_delta_channel(key):
    model = Scripted(answers=["ok"])
    nested = nested_graph({"name": "n", "description": "d", "system_prompt": "p", "model": model, "tools": []})
    for graph in (Session(model=model).graph, nested):
        found = graph.channels[key]
        assert isinstance(found, DeltaChannel), f"{key} is a {type(found).__name__}: every checkpoint holds all of it"


def test_files_that_rest_are_not_walked_back_to_their_first_write(checkpointer):
    s = Session(model=Scripted(answers=[call("ls", path="/"), "ok"] * 30), checkpointer=checkpointer)
    s.memory.add("likes tea")
    for n in range(20):
        s.run(f"look {n}")
        metadata = checkpointer.get_tuple({"configurable": {"thread_id": "main"}}).metadata
        _, steps = metadata["counters_since_delta_snapshot"].get(keys.FILES, (0, 0))
        assert steps <= FAR + STEPS and s.files["/AGENTS.md"] == "- likes tea\n"


def test_a_thread_goes_back_to_before_its_files_were_written_whole(checkpointer):
    s = Session(model=Scripted(answers=["ok"]), checkpointer=checkpointer)
    s.files["/a.txt"] = "first"
    s.run("one")
    s.files["/a.txt"] = "second"
    for n in range(30):
        s.run(f"turn {n}")
    s.rewind(1)
    assert s.files["/a.txt"] == "first"
    s.undo()
    assert s.files["/a.txt"] == "second"
    s.fork("other", at=1)
    assert s.files["/a.txt"] == "first"


def test_a_checkpoint_holds_no_whole_thread(tmp_path):
    file = tmp_path / "threads.db"
    with SqliteSaver.from_conn_string(str(file)) as saver:
        s = Session(model=Scripted(answers=["x" * 3_000]), checkpointer=saver)
        for n in range(12):
            s.run(f"turn {n}")
        saver.conn.commit()
    with sqlite3.connect(file) as connection:
        (largest,) = connection.execute("SELECT max(length(checkpoint)) FROM checkpoints").fetchone()
    assert largest < 3 * 3_000, "a thread of 36,000 characters is in one checkpoint"


def test_snapshots_come_the_more_seldom_the_longer_the_thread_is():
    channel = MessagesChannel(lambda held, writes: [*held, *writes], list, snapshot_frequency=50)
    assert channel.snapshot_frequency == 50
    held = channel.from_checkpoint([HumanMessage("x")] * 1_000)
    assert held.snapshot_frequency == 250 and held.copy().snapshot_frequency == 250
    assert channel.from_checkpoint([]).snapshot_frequency == 50
