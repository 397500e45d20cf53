"""Threads that a given checkpointer holds already: read when they are looked at, and gone on with."""

from time import sleep
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.values.turn import ToolEnded
from tests.persistence.conftest import session
from tests.support.databases import checkpointer as checkpointer  # a fixture
from tests.support.scripted import Scripted, call, gives, unasked, walked
from tests.support.tables import refused


def sent(s: Session) -> str:
    return "\n".join(str(m.content) for m in s.options.model.requests[-1])


def test_memory_is_there_and_added_to(checkpointer):
    walked(session(checkpointer), "memory.add old", "run one")
    second = walked(session(checkpointer), "memory.add new", "run x")
    assert second.files["/AGENTS.md"] == "- old\n- new\n" and "- old" in sent(second) and "- new" in sent(second)


def test_turns_are_there_and_numbered_on(checkpointer):
    first = session(checkpointer, call("ls", path="/"), "It is empty.", "Second.")
    walked(first, "run look", "run and then?")
    second = session(checkpointer, "Third.")
    expected = [(1, "look", "It is empty."), (2, "and then?", "Second.")]
    assert [(t.number, t.prompt, t.text) for t in second.turns] == expected
    assert [e.name for e in second.turns[0].events if isinstance(e, ToolEnded)] == ["ls"]
    assert second.text == "Second." and second.run("on").number == 3
    assert "and then?" in sent(second)


def test_nothing_is_read_before_it_is_looked_at():
    class Watched(InMemorySaver):
        looks = 0

        def get_tuple(self, config: Any) -> Any:
            self.looks += 1
            return super().get_tuple(config)

    saver = Watched()
    first = session(saver)
    for name in ("main", "b", "c"):
        if name != "main":
            first.new(name)
        first.run("one")
    saver.looks = 0
    second = session(saver)
    assert second.options.checkpointer is saver and saver.looks == 0
    assert second.workspace.threads.names == ("main", "c", "b")
    read = [t.name for t in second._workspace.threads if t.turns]
    assert read == [], "memory is in a home of its own: no thread is read to know it"
    second.switch("b")
    assert len(second.turns) == 1


def test_turns_of_another_session_appear_in_a_thread_that_is_open(checkpointer):
    first, second = session(checkpointer), session(checkpointer)
    first.run("one")
    assert len(second.turns) == 1
    first.run("two")
    assert second.run("three").number == 3 and [t.prompt for t in second.turns] == ["one", "two", "three"]


def test_other_threads_are_there(checkpointer):
    walked(session(checkpointer), "run in main", "new b", "run in b", "run again")
    second = session(checkpointer)
    assert [(t.name, t.turns) for t in second.threads] == [("main", 1), ("b", 2)]
    refused("a thread 'b' already exists", second.new, "b")
    assert second.run("x", thread="b").number == 3


def test_a_shared_thread_stays_shared(checkpointer):
    first = session(checkpointer)
    first.memory.write("/MEMORY.md", "- the merger is in May\n")
    first.run("one")
    first.new("open", shared=True)
    walked(first, "run hello", "rewind 1")
    second = session(checkpointer, call("read_file", file_path="/MEMORY.md"), "no")
    second.run("tell me", thread="open")
    assert "merger" not in sent(second) and second.switch("main") and "merger" in second.files["/MEMORY.md"]
    assert next(t for t in second.threads if t.name == "open").shared


def test_an_empty_thread_keeps_what_it_learned_to_itself(checkpointer):
    first = walked(session(checkpointer), "memory.add common", "run one")
    first.new("apart", empty=True)
    walked(first, "memory.add alone", "run two", "fork child", "run three")
    second = session(checkpointer)
    assert second.files["/AGENTS.md"] == "- common\n"
    for name in ("apart", "child"):
        second.switch(name)
        assert second.files["/AGENTS.md"] == "- alone\n"
    walked(second, "memory.add more", "switch apart")
    assert second.files["/AGENTS.md"] == "- alone\n- more\n"
    assert [(t.name, t.parent) for t in second.threads if t.parent] == [("child", "apart@1")]


def test_a_tool_that_was_running_is_not_run_again_unasked(checkpointer):
    runs: list[int] = []

    def slow() -> str:
        """Takes long."""
        runs.append(1)
        if len(runs) == 1:
            raise KeyboardInterrupt
        return "done"

    first = session(checkpointer, call("slow"), "Ended.", **unasked(slow))
    with pytest.raises(KeyboardInterrupt):
        first.run("go")
    second = session(checkpointer, "Ended.", **unasked(slow))
    assert "was interrupted" in str(second.pending)
    refused("may have done part of its work", lambda: list(second.resume()))
    list(second.resume("again"))
    assert runs == [1, 1] and second.text == "Ended."


def test_a_thread_of_a_bare_graph_is_gone_on_with(checkpointer):
    graph: Any = create_deep_agent(Scripted(answers=["hi there"]), backend=StateBackend(), checkpointer=checkpointer)
    for prompt in ("one", "two"):
        graph.invoke({"messages": [("user", prompt)]}, {"configurable": {"thread_id": "main"}})
    s = session(checkpointer, "three")
    assert [(t.prompt, t.text) for t in s.turns] == [("one", "hi there"), ("two", "hi there")]
    s.memory.add("likes tea")
    assert s.run("on").number == 3 and "hi there" in sent(s) and "likes tea" in sent(s)


def until(full: InMemorySaver, last: str, *, is_written: bool) -> InMemorySaver:
    """What is kept where the kernel ends behind a checkpoint of the thread main, before or after its step has written."""
    kept = InMemorySaver()
    kept.blobs.update(full.blobs)
    for thread, spaces in full.storage.items():
        for space, held in spaces.items():
            kept.storage[thread][space] = {id_: one for id_, one in held.items() if thread != "main" or id_ <= last}
    for (thread, space, id_), writes in full.writes.items():
        if thread != "main" or id_ < last or (id_ == last and is_written):
            kept.writes[thread, space, id_] = dict(writes)
    return kept


def made(kind: str, tool: Any, checkpointer: Any, *answers: Any) -> Session:
    """A session with deepnb's own agent, or with an attached one."""
    if kind == "attached":
        return Session(graph=create_agent(Scripted(answers=[*answers]), [tool], checkpointer=checkpointer))
    return session(checkpointer, *answers, **unasked(tool))


@pytest.mark.parametrize("kind", ["own", "attached"])
def test_a_turn_goes_on_wherever_its_kernel_ended(kind):
    look, full = gives("look", "seen"), InMemorySaver()
    first = made(kind, look, full, "zero", call("look"), "end")
    first.run("before")
    known = set(full.storage["main"][""])
    first.run("cut")
    places = [(id_, is_written) for id_ in sorted({*full.storage["main"][""]} - known) for is_written in (False, True)]
    for id_, is_written in places:
        s = made(kind, look, until(full, id_, is_written=is_written), "later")
        assert [t.prompt for t in s.turns] == ["before", "cut"], (id_, is_written)
        assert (s.pending is None) == (id_ == places[-1][0]), (id_, is_written, s.pending)
        if s.pending:
            list(s.resume("again" if s.workspace.thread.cut else None))
        prompts = [m.text for m in s.snapshot.messages if m.role == "user"]
        assert (s.pending, s.text in ("later", "end"), prompts) == (None, True, ["before", "cut"]), (id_, is_written)
        assert [t.prompt for t in s.turns] == ["before", "cut"], (id_, is_written)


class SlowSaver(InMemorySaver):
    def put(self, *args: Any) -> Any:
        sleep(0.1)
        return super().put(*args)


@pytest.mark.parametrize("kind", ["own", "attached"])
def test_a_tool_begins_once_its_call_is_stored(kind):
    stored: list[str] = []

    def look() -> str:
        "Look."
        stored.extend(c.id for m in made(kind, look, slow).snapshot.messages for c in m.tool_calls)
        return "seen"

    slow = SlowSaver()
    assert made(kind, look, slow, call("look", id="c1"), "end").run("go").text == "end" and stored == ["c1"]
