"""Threads of LangGraph's SQLite checkpoints, read without the graph that made them."""

import json
import sqlite3
import sys
from contextlib import closing, contextmanager
from typing import Any

import pytest
from deepagents import create_deep_agent
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, _messages_delta_reducer
from langgraph.types import Overwrite

from deepnb import Session
from deepnb.values.errors import DeepnbError, NotFoundError, NotInstalledError
from deepnb.values.turn import TextDelta, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.checkpoints import DataSerializer, Messages, fold
from deepnb.wings.open.opening import list_sessions, open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.databases import execute
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row
from tests.wings.open.session_files import calls_before

USAGE = {"input_tokens": 900, "output_tokens": 7, "total_tokens": 907, "input_token_details": {"cache_read": 800}}


def saver_of(path):
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def config(thread="main", **more) -> Any:
    return {"configurable": {"thread_id": thread}, **more}


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """A deep agent's thread of 30 turns, with a subagent in the first; gives the file and the messages it has."""
    path = tmp_path_factory.mktemp("deep") / "sessions.db"
    task = call("task", id="t0", description="Survey the code", subagent_type="general-purpose")
    answers = [task, AIMessage("All surveyed."), AIMessage("Done.", usage_metadata=USAGE)]
    for n in range(1, 30):
        write = call("write_file", id=f"w{n}", file_path=f"/memory/{n}.md", content=f"note {n}\n")
        answers += [write, AIMessage(f"Written {n}.", usage_metadata=USAGE)]
    saver = saver_of(path)
    agent: Any = create_deep_agent(Scripted(answers=answers), checkpointer=saver)
    for n in range(30):
        agent.invoke({"messages": [("user", f"Step {n}")]}, config(metadata={"cwd": "/w"}))
    messages = agent.get_state(config()).values["messages"]
    saver.conn.close()
    return path, messages


def test_a_deep_agent_without_its_graph(deep):
    path, messages = deep
    session = open_session(path)
    index = session.index
    assert (index.kind, index.id, index.cwd) == ("LangGraph", "main", "/w")
    assert [turn.prompt for turn in index.turns] == [f"Step {n}" for n in range(30)]
    told = [m for turn in index.turns for m in turn.messages]
    assert [m.text for m in told] == [m.text for m in messages] and len(told) == len(messages) == 120
    assert [t.tools for t in index.turns[1:]] == [{"write_file": 1}] * 29
    assert index.turns[5].calls[-1].usage == Usage(900, 7, 800) and index.context == 900
    assert [e.path for e in index.turns[7].edits] == ["/memory/7.md"]
    assert session.index.turns[7].edits[0].after == "note 7\n"
    assert all(turn.started.endswith("Z") for turn in index.turns)


def folded(writes):
    """What writes to the channel of messages come to, once they were stored."""
    found, stored = Messages(), DataSerializer()
    for write in writes:
        fold(found, stored.loads_typed(stored.dumps_typed(write)))
    return list(found.values())


def test_a_subagent_is_nested_in_its_task(deep):
    session = open_session(deep[0])
    assert session.index.counts == {"subagents": 1}
    turn = session.index.turns[0]
    assert [(c.path, c.agent) for c in turn.calls if c.path] == [(("t0",), "general-purpose")]
    said = [(e.text, e.path) for e in session.index.turns[0].events if isinstance(e, TextDelta)]
    assert said == [("All surveyed.", ("t0",)), ("Done.", ())]


@contextmanager
def plain(path, reply=lambda state: {"messages": [AIMessage("yes")]}):
    """A graph of one node that keeps its threads in this file."""
    with closing(saver_of(path).conn) as connection:
        made = StateGraph(MessagesState).add_node("model", reply).add_edge(START, "model")
        yield made.compile(checkpointer=SqliteSaver(connection))


def talk(path, *prompts, thread="main"):
    def reply(state):
        return {"messages": [AIMessage(f"re: {state['messages'][-1].text}")]}

    with plain(path, reply) as agent:
        for prompt in prompts:
            agent.invoke({"messages": [HumanMessage(prompt)]}, config(thread))
    return path


def test_a_plain_graph_and_a_table_without_task_path(tmp_path):
    path = talk(tmp_path / "a.db", "one", "two")
    session = open_session(path)
    assert [(t.prompt, len(t.calls)) for t in session.index.turns] == [("one", 1), ("two", 1)]
    assert session.index.turns[1].text == "re: two"
    assert (session.index.context, session.index.window) == (None, None)
    execute(str(path), "ALTER TABLE writes DROP COLUMN task_path")
    assert [t.prompt for t in open_session(path).index.turns] == ["one", "two"]


def test_threads(tmp_path):
    path = talk(tmp_path / "a.db", "one", thread="a")
    talk(path, "two", thread="b")
    rows = list_sessions(path)
    assert [(r.id, r.prompt, r.kind) for r in rows] == [("b", "two", "LangGraph"), ("a", "one", "LangGraph")]
    assert all(r.at for r in rows) and open_session(path).index.id == "b"
    assert open_session(path, "a").index.turns[0].prompt == "one"
    with pytest.raises(NotFoundError, match="no thread c: it has b, a"):
        open_session(path, "c")


def test_a_fork_made_last_wins(tmp_path):
    path = tmp_path / "a.db"
    with plain(path) as agent:
        agent.invoke({"messages": [HumanMessage("one")]}, config())
        at = agent.get_state(config()).config
        agent.invoke({"messages": [HumanMessage("wrong")]}, config())
        agent.invoke({"messages": [HumanMessage("right")]}, at)
    index = open_session(path).index
    assert [t.prompt for t in index.turns] == ["one", "right"] and index.counts == {OTHER_BRANCHES: 1}


def test_what_is_only_in_the_wal_is_seen_and_nothing_changes(tmp_path):
    path = tmp_path / "a.db"
    with plain(path) as agent:
        agent.invoke({"messages": [HumanMessage("one")]}, config())
        for writer in ("at work", "gone"):
            if writer == "gone":
                (tmp_path / "gone").mkdir()
                for name in ("a.db", "a.db-wal"):
                    (tmp_path / "gone" / name).write_bytes((tmp_path / name).read_bytes())
                path = tmp_path / "gone/a.db"
            before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in path.parent.iterdir() if p.is_file()}
            assert (path.parent / "a.db-wal").stat().st_size > 0
            assert [t.prompt for t in open_session(path).index.turns] == ["one"]
            assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in path.parent.iterdir() if p.is_file()} == before
        agent.invoke({"messages": [HumanMessage("the writer was not blocked")]}, config())


def test_the_thread_that_holds_a_sessions_memory_is_no_session(tmp_path):
    path = tmp_path / "a.db"
    with closing(saver_of(path).conn) as connection:
        s = Session(model=Scripted(answers=["ok"]), checkpointer=SqliteSaver(connection))
        s.run("one")
        s.memory.add("likes tea")
    assert [row.id for row in list_sessions(path)] == ["main"]
    assert [t.prompt for t in open_session(path).index.turns] == ["one"]


def put(path, channel_values, metadata=None, dumps=None):
    with closing(saver_of(path).conn) as connection:
        SqliteSaver(connection).setup()
        kind, blob = (dumps or JsonPlusSerializer().dumps_typed)({"v": 4, "channel_values": channel_values})
        row = ("main", "", "1f0a0000-0000-6000-8000-000000000000", None, kind, blob, metadata or b"{}")
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    return path


@every_row(("kind", "value", "why"), [
    ("pickle", b"\x80\x04.", "'pickle', which are not read"), ("msgpack+aes", b"x", "encrypted"),
    ("msgpack", b"\xc1\xc1", "damaged"),
])  # fmt: skip
def test_what_is_not_read_is_one_line(tmp_path, kind, value, why):
    path = put(tmp_path / "a.db", {}, dumps=lambda _: (kind, value))
    with pytest.raises(DeepnbError, match=why):
        open_session(path)
    assert why.split("'")[-1] in list_sessions(path)[0].problem


def test_messages_in_the_old_json(tmp_path):
    about = {"id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {"content": "hi"}}
    old = {"lc": 1, "type": "constructor", **about}
    path = put(tmp_path / "a.db", {"messages": [old]}, dumps=lambda value: ("json", json.dumps(value).encode()))
    assert [t.prompt for t in open_session(path).index.turns] == ["hi"]


def test_a_compaction_is_where_it_was(tmp_path):
    messages = [HumanMessage("one", id="1"), AIMessage("yes", id="2"), HumanMessage("two", id="3")]
    messages += [AIMessage("no", id="4", usage_metadata=USAGE)]
    event = {
        "cutoff_index": 2, "created_at_index": 3, "file_path": "/conversation_history/x.md",
        "summary_message": HumanMessage("Here: <summary>So far.</summary>", additional_kwargs={"tokens": [170_000, 3_000]}),
    }  # fmt: skip
    path = put(tmp_path / "a.db", {"messages": messages, "_summarization_event": event})
    index = open_session(path).index
    (one,) = index.turns[1].compactions
    assert (one.summary, one.before, one.after, calls_before(index.turns[1])) == ("So far.", 170_000, 3_000, 0)
    assert (index.turns[0].compactions, index.context) == ((), 900)


def test_what_is_not_committed_is_said(tmp_path):
    path = tmp_path / "a.db"

    def fails(state):
        raise ValueError("out of tea")

    with plain(path, fails) as agent, pytest.raises(ValueError, match="tea"):
        agent.invoke({"messages": [HumanMessage("one")]}, config())
    index = open_session(path).index
    assert [t.prompt for t in index.turns] == ["one"]
    assert any("out of tea" in notice for notice in index.notices)


def test_writes_of_other_forms_are_folded():
    writes = [[{"role": "user", "content": "a", "id": "1"}], "b", ("user", "c")]
    assert [one["content"] for one in folded(writes)] == ["a", "b", "c"]


IDS = st.sampled_from("abc")
SAID = st.builds(lambda id_, text: HumanMessage(text, id=id_), IDS, st.text("xyz", max_size=2))
GONE = st.builds(lambda id_: RemoveMessage(id=id_), st.one_of(IDS, st.just(REMOVE_ALL_MESSAGES)))
WRITES = st.one_of(
    SAID,
    st.lists(st.one_of(SAID, GONE), max_size=4),
    st.lists(SAID, max_size=3, unique_by=lambda one: one.id).map(Overwrite),
)


@given(st.lists(WRITES, max_size=8))
def test_a_fold_is_what_the_channel_replays(writes):
    reducer: Any = _messages_delta_reducer
    channel = DeltaChannel(reducer, list).from_checkpoint(None)
    channel.replay_writes([("task", "messages", write) for write in writes])
    assert [(one["id"], one["content"]) for one in folded(writes)] == [(one.id, one.content) for one in channel.get()]


def test_results_and_calls(tmp_path):
    messages = [
        HumanMessage("go", id="1"),
        AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}, {"type": "hologram"}], id="2",
                  tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "c1"}, {"name": "rm", "args": {}, "id": "c2"}]),
        ToolMessage("no", tool_call_id="c1", id="3", status="error"),
    ]  # fmt: skip
    session = open_session(put(tmp_path / "a.db", {"messages": messages}))
    events = session.index.turns[0].events
    assert [(e.name, e.args) for e in events if isinstance(e, ToolStarted)] == [("ls", {"path": "/"}), ("rm", {})]
    assert [(e.id, e.status) for e in events if isinstance(e, ToolEnded)] == [("c1", "error"), ("c2", "cut")]


def test_without_langgraphs_saver_a_line_says_what_to_install(tmp_path, monkeypatch):
    path = talk(tmp_path / "a.db", "one")
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite", None)
    with pytest.raises(NotInstalledError, match=r"deepnb\[sqlite\]"):
        open_session(path)
    assert "langgraph-checkpoint-sqlite" in list_sessions(tmp_path)[0].problem
