"""Long-term memory is for main threads alone: no copy of it lies where a subagent or a shared thread can read."""

import re
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.memory.layers import Scope
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.turn import Compacted, ToolEnded
from tests.support.compactions import AT_LENGTH
from tests.support.scripted import Scripted, call, sent, session, unasked, walked
from tests.support.tables import every_row

SECRET = "the merger is in May"
TASK = call("task", id="t1", description="look around", subagent_type="general-purpose")
LOOK = call("grep", id="n1", pattern="merger", path="/", output_mode="content")
COMPACTS: dict[str, Any] = {"trigger": ("messages", 6), "keep": ("messages", 1)}


def nested_results(s: Session) -> str:
    return "\n".join(e.result for e in s.last.events if isinstance(e, ToolEnded) and e.path)


def compactions(s: Session) -> list[Compacted]:
    return [e for t in s.turns for e in t.events if isinstance(e, Compacted)]


def told(s: Session) -> Session:
    s.run(f"one {AT_LENGTH}")
    s.memory.add(SECRET, "/MEMORY.md")
    s.run("two")
    assert SECRET in sent(s)
    walked(s, "run three", "compact")
    return s


@every_row("by", ["trigger", "hand"])
def test_a_change_of_memory_that_was_told_is_not_offloaded(by: str):
    s = session(**(COMPACTS if by == "trigger" else {}))
    s.run(f"one {AT_LENGTH}")
    s.memory.add(SECRET, "/MEMORY.md")
    s.run("two")
    assert any(m.source == MEMORY_UPDATE for m in s.snapshot.messages) and SECRET in sent(s)
    s.run("three")
    if by == "hand":
        s.compact()
    (done,) = compactions(s)
    gone = s.snapshot.messages[: done.offload.cutoff]
    original = [m for m in gone if m.source != MEMORY_UPDATE]
    assert len(original) == len(gone) - 1
    text = s.files["/conversation_history/main.md"]
    assert SECRET not in text and "Memory has changed" not in text
    (section,) = s.history()
    assert section.messages == done.offload.messages == len(original)
    assert [item.text for item in section.items] == [m.text for m in original]


def test_every_message_but_a_change_of_memory_is_in_the_history_once_and_can_be_found():
    s = session(**COMPACTS)
    for i in range(9):
        s.memory.add(f"fact {i}", "/MEMORY.md")
        s.run(f"prompt {i}")
    assert len(compactions(s)) > 1
    gone = [m for m in s.snapshot.messages[: s.snapshot.offload.cutoff] if m.source is None]
    stored = [item.text for section in s.history() for item in section.items]
    assert stored == [m.text for m in gone] and "fact" not in s.files["/conversation_history/main.md"]
    s = told(session())
    s.bring_back(1)
    s.run("four")
    messages = [m for m in s.options.model.requests[-1][1:] if m.additional_kwargs.get("lc_source") != MEMORY_UPDATE]
    assert "From earlier in this conversation" in str(messages) and SECRET not in str(messages)
    s = told(session("1", "2", "3", "summary", TASK, LOOK, call("read_file", id="n2", file_path="/conversation_history/main.md"), "nested", "end"))  # fmt: skip
    s.run("delegate")
    assert nested_results(s) and SECRET not in nested_results(s)


def test_where_only_a_change_of_memory_could_go_there_is_no_compaction():
    def learn() -> str:
        """Learn."""
        s.memory.add("likes tea")
        return "learned"

    both = AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": f"c{i}"} for i in (2, 3)])
    answers = [call("learn"), both, "summary", "one is done", "two is done"]
    s = session(*answers, trigger=("messages", 7), keep=("messages", 4), **unasked(learn))
    s.run("one")
    assert s.snapshot.messages[s.snapshot.offload.cutoff].source == MEMORY_UPDATE
    s.configure(memory_refresh="call")  # which leaves the update where it is
    s.run("two")
    assert s.text == "two is done" and [done.offload.messages for done in compactions(s)] == [3]


# -- what a subagent can read


READS = [
    call("read_file", file_path="/MEMORY.md"), call("grep", pattern="merger", output_mode="content"),
    call("memory_search", query="merger"), call("memory_get", path="/MEMORY.md"),
]  # fmt: skip


@every_row("read", READS, ids=lambda w: w.tool_calls[0]["name"])
def test_what_the_main_agent_read_of_it_is_nowhere_for_a_subagent(read):
    write = call("edit_file", id="c2", file_path="/MEMORY.md", old_string="May", new_string="May, or June")
    s = session(read, write, "1", "2", "summary", TASK, LOOK, "nested", "end", eviction_threshold=200)
    s.memory.write("/MEMORY.md", f"- {SECRET}\n" + "- nobody knows it yet\n" * 100)
    s.run("read it")
    assert SECRET in sent(s, 1)
    walked(s, "run go on", "compact")
    assert SECRET in s.files["/conversation_history/main.md"], "the user's record keeps what was read"
    s.run("delegate")
    assert nested_results(s) and SECRET not in nested_results(s)
    readable = [path for path in s.files if Scope().inside.may_read(path)]
    assert not any(SECRET in s.files[path] for path in readable), readable


def test_a_subagent_reads_its_own_history_and_long_prompts_and_results():
    def long_result(n: int) -> str:
        """Give much."""
        return "many words " * 200

    task = call("task", id="t1", description="THE TASK", subagent_type="general-purpose")
    nested = [call("long_result", id=f"n{i}", n=i) for i in range(3)]
    find = call("grep", id="n8", pattern="THE TASK", path="/", output_mode="content")
    paste = call("grep", id="n9", pattern="PASTED", path="/conversation_history/prompts", output_mode="files_with_matches")  # fmt: skip
    s = session(
        task, *nested, "summary", paste, find, "nested", "end",
        tools=[long_result], approve={"long_result": "allow"}, eviction_threshold=100, max_input_tokens=1_000_000, **COMPACTS,
    )  # fmt: skip
    s.run("PASTED " + "x " * 110_000)
    assert any(e.path == ("t1",) for e in compactions(s))
    assert re.search(r"/conversation_history/prompts/[0-9a-f-]{36}\.md", nested_results(s))
    assert re.search(r"/conversation_history/session_[0-9a-f]{32}\.md", nested_results(s))
    assert any(path.startswith("/large_tool_results/") and Scope().inside.may_read(path) for path in s.files)


def test_another_agents_graph_as_a_subagent_is_given_neither_the_file_nor_what_was_told():
    other, notes = session("I am the other"), call("write_file", file_path="/memory/x.md", content="- noted there\n")
    other.memory.add("drinks mate")
    model = Scripted(answers=[notes, "I am a bare one"])
    bare = create_deep_agent(model, memory=["/AGENTS.md"], backend=StateBackend())
    runnables = {"other": other.graph, "bare": bare}
    tasks = [call("task", id=f"t-{name}", description="look", subagent_type=name) for name in runnables]
    specs = [{"name": name, "description": "d", "runnable": one} for name, one in runnables.items()]
    s = session("one", *tasks, "end", subagents=specs, approve={"task": "allow"})
    s.memory.add("likes tea")
    s.memory.add(SECRET, "/MEMORY.md")
    walked(s, "run first", "run delegate")
    asked = "\n".join(str(m.content) for m in model.requests[-1])
    assert "likes tea" in asked and "likes tea" not in sent(other), "a session's graph has its own memory"
    assert "drinks mate" in sent(other) and SECRET not in sent(other) + asked
    assert s.files["/MEMORY.md"] == f"- {SECRET}\n" and s.files["/memory/x.md"] == "- noted there\n"
    assert [e.origin for e in s.memory.log_entries() if e.path == "/memory/x.md"] == ["agent"]


def test_a_runnable_is_given_no_state_of_memory():
    given: list[dict[str, Any]] = []

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        given.append(state)
        return {"messages": [AIMessage("done")]}

    spec = {"name": "other", "description": "d", "runnable": RunnableLambda(answer)}
    task = call("task", id="t1", description="look", subagent_type="other")
    s = session(task, "end", subagents=[spec], approve={"task": "allow"})
    s.memory.add(SECRET, "/MEMORY.md")
    s.files["/a.csv"] = "a\n"
    s.run("delegate")
    (state,) = given
    assert list(state["files"]) == ["/a.csv"]
    assert SECRET not in str(state) and not [key for key in state if "memory" in key]


def test_what_it_left_as_it_was_does_not_undo_what_is_written_beside_it():
    def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "messages": [AIMessage("done")]}

    spec = {"name": "other", "description": "d", "runnable": RunnableLambda(answer)}
    edit = {"file_path": "/a.csv", "old_string": "a", "new_string": "b"}
    task = {"description": "look", "subagent_type": "other"}
    calls = [{"name": "edit_file", "args": edit, "id": "c1"}, {"name": "task", "args": task, "id": "t1"}]
    s = session(AIMessage("", tool_calls=calls), "end", subagents=[spec], approve={"task": "allow"})
    s.memory.add(SECRET, "/MEMORY.md")
    s.files["/a.csv"] = "a\n"
    s.run("delegate")
    assert dict(s.files) == {"/MEMORY.md": f"- {SECRET}\n", "/a.csv": "b\n"}


def test_a_shared_thread_reads_the_history_of_shared_threads_alone(tmp_path: Path):
    s = session(
        "1", "2", "3", "summary",  # main, which is compacted
        "4", "5", "summary", LOOK,
        call("read_file", id="c2", file_path="/conversation_history/main.md"),
        call("grep", id="c3", pattern="spoken openly", path="/conversation_history", output_mode="content"), "end",
        call("read_file", id="c4", file_path="/conversation_history/open.md"), "end",
        backend=DiskBackend(tmp_path),
    )  # fmt: skip
    told(s)
    s.new("open", shared=True)
    s.run(f"spoken openly {AT_LENGTH}")
    walked(s, "run and again", "compact", "run look around")
    results = [e.result for e in s.last.events if isinstance(e, ToolEnded)]
    assert "No matches" in results[0]
    assert "/conversation_history/main.md is kept from a thread that others can read" in results[1]
    assert "/conversation_history/open.md" in results[2] and "main.md" not in results[2]
    walked(s, "fork side", "run what was said?")
    (found,) = [e.result for e in s.last.events if isinstance(e, ToolEnded)]
    assert "spoken openly" in found, "its fork has to find it, too"


def test_a_private_thread_is_not_read_since_a_shared_one_had_its_name(tmp_path: Path):
    path = "/conversation_history/talk.md"
    s = session(
        "1", "2", "3", "summary", call("read_file", id="c1", file_path=path), "end", backend=DiskBackend(tmp_path)
    )  # fmt: skip
    s.new("talk", shared=True)
    walked(s, "undo", "new talk")
    told(s)
    s.new("open", shared=True)
    s.run("look around")
    (result,) = [e.result for e in s.last.events if isinstance(e, ToolEnded)]
    assert f"{path} is kept from a thread that others can read" in result


def test_transcripts_that_a_shared_thread_may_search_tell_nothing_of_it():
    s = told(session())
    s.new("open", shared=True)
    s.run("four")
    assert s.memory.search_hits("merger", transcripts=True) == ()
    s.switch("main")
    assert {hit.path for hit in s.memory.search_hits("merger", transcripts=True)} == {"/MEMORY.md"}


@every_row(
    ("path", "may"),
    [("/conversation_history/main.md", False), ("/Conversation_History/MAIN.md", False),
     ("/x/../conversation_history//main.md", False), ("/mounted/conversation_history/main.md", False),
     ("/conversation_history/session_1.md", False), ("/conversation_history/Open.md", True),
     ("/conversation_history", True), ("/conversation_history/media/0a.png", True), ("/conversation_history/prompts/1.md", True),
     (f"/conversation_history/session_{'0a' * 16}.md", True), ("/notes/main.md", True)],
)  # fmt: skip
def test_whose_history_is_kept_back(path: str, may: bool):
    assert Scope(shared=True, readable=frozenset({"open"})).may_read(path) is may
    assert Scope(readable=frozenset({"open"})).inside.may_read(path) is may and Scope().may_read(path)


# -- what is forgotten is in no later request, but for what was said in the conversation itself


@every_row("refresh", ["delta", "call", "thread"])
def test_what_is_forgotten_is_not_in_the_next_request(refresh: str):
    s = session(memory_refresh=refresh)
    s.memory.write("/AGENTS.md", "- likes tea\n- owns a zeppelin\n")
    s.run("one")
    assert "zeppelin" in sent(s)
    walked(s, "memory.forget zeppelin", "run two")
    assert "zeppelin" not in sent(s) and "likes tea" in sent(s)


def test_neither_is_what_an_update_told_nor_in_another_thread():
    s = walked(session(), "memory.add likes tea", "run one", "memory.add owns a zeppelin", "run two")
    assert "+- owns a zeppelin" in sent(s)
    walked(s, "memory.forget zeppelin", "run three")
    assert "zeppelin" not in sent(s) and "likes tea" in sent(s)
    s = walked(session(), "memory.add owns a zeppelin", "run one", "new b", "run two")
    s.run("three", max_steps=0)
    assert s.pending
    s.memory.forget("zeppelin")
    for thread in ("b", "main"):
        s.run("next", thread=thread)
        assert "zeppelin" not in sent(s), thread
