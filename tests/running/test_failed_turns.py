"""A turn in which the model never answered is taken back whole; one that failed after that stays and can go on."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.exceptions import ContextOverflowError
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from deepnb import Session
from deepnb.values.turn import ModelStarted
from deepnb.views.turn import TurnView
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call, session
from tests.support.walks import walked

DOWN = RuntimeError("down")
LONG = [ContextOverflowError("prompt is too long")] * 4
"""The request, the flush and the summary of the compaction that it leads to, and the request after that."""


@pytest.fixture(params=["given none", "memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "sqlite":
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            yield saver
    else:
        yield InMemorySaver() if request.param == "memory" else None


def sent(s: Session) -> list[str]:
    return [m.text for m in s.options.model.requests[-1][1:]]


def run(s: Session, prompt: str, **options: Any) -> None:
    s.run(prompt, **options)


def arun(s: Session, prompt: str, **options: Any) -> None:
    asyncio.run(s.arun(prompt, **options))


def in_a_thread(s: Session, prompt: str, **options: Any) -> None:
    failed: list[Exception] = []

    def read() -> None:
        try:
            list(s.stream(prompt, **options))
        except Exception as failure:
            failed.append(failure)

    reader = Thread(target=read)
    reader.start()
    reader.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("way", [run, arun, in_a_thread])
def test_running_the_cell_again_sends_the_prompt_once(way: Callable[..., None], checkpointer: Any) -> None:
    s = session("one", DOWN, *LONG, ValueError("no key"), "two", checkpointer=checkpointer)
    way(s, "first")
    for _ in range(3):
        refused("", way, s, "do it", cell="c")
        assert [m.text for m in s.snapshot.messages] == ["first", "one"]
        assert (s.turns[-1].prompt, s.turns[-1].after.messages[-1].text, s.pending) == ("do it", "one", None)
    way(s, "do it", cell="c")
    assert sent(s) == ["first", "one", "do it"]
    assert [(t.number, t.error is None) for t in s.turns] == [(1, True), (2, False), (3, False), (4, False), (5, True)]
    if checkpointer is not None:
        other = session("three", checkpointer=checkpointer)
        assert [(t.prompt, t.text) for t in other.turns] == [("first", "one"), ("do it", "two")]
        other.run("on")
        assert sent(other) == ["first", "one", "do it", "two", "on"]


def test_the_turn_is_shown_as_one_that_failed() -> None:
    s = session(DOWN, "fine")
    refused(r"^RuntimeError: down: nothing was lost; fix it and run the cell again$", s.run, "do it")
    (turn,) = s.turns
    assert (turn.prompt, turn.error, turn.after.messages) == ("do it", "RuntimeError: down", turn.before.messages)
    assert any(isinstance(e, ModelStarted) for e in turn.events)
    text = TurnView(turn).text()
    assert "do it" in text and "error: RuntimeError: down" in text and "%agent resume" not in text
    table = s.transcript()
    assert list(table[table["live"] & (table["type"] == "message")]["text"]) == []


def test_a_request_that_does_not_fit_does_not_grow() -> None:
    s = Session(model=Scripted(answers=[ContextOverflowError("prompt is too long")]), max_input_tokens=20_000)
    for _ in range(6):
        refused("the request of", s.run, "word " * 200)
    counts = {
        e.call.budget.total
        for t in s.turns
        for e in t.events
        if isinstance(e, ModelStarted) and e.call.purpose == "answer"
    }
    assert len(counts) == 1


def test_the_second_run_of_a_cell_that_replaces_its_turn() -> None:
    s = session("one", "two", DOWN, "three")
    s.run("first")
    s.run("second", cell="c", rerun="replace")
    refused("", s.run, "second", cell="c", rerun="replace")
    s.run("second", cell="c", rerun="replace")
    assert sent(s) == ["first", "one", "second"] and [t.error for t in s.turns] == [None, None]


def test_a_turn_that_was_interrupted_keeps_its_prompt_until_it_fails() -> None:
    s = session(KeyboardInterrupt(), DOWN, "two")
    with pytest.raises(KeyboardInterrupt):
        s.run("do it")
    expected = ("interrupted while the model answered", "interrupted before model: %agent resume")
    assert (s.turns[0].interrupted, s.pending) == expected
    assert [m.text for m in s.snapshot.messages] == ["do it"]
    refused("down", lambda: list(s.resume()))
    assert (list(s.snapshot.messages), s.pending, len(s.turns)) == ([], None, 1)
    s.run("do it")
    assert sent(s) == ["do it"]


def test_a_thread_that_another_program_began_and_nobody_answered_in() -> None:
    saver = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "main"}}
    bare = create_agent(Scripted(answers=[DOWN]), checkpointer=saver)
    with pytest.raises(RuntimeError):
        bare.invoke({"messages": [{"role": "user", "content": "do it"}]}, config)
    s = session(DOWN, "fine", checkpointer=saver)
    assert [t.prompt for t in s.turns] == ["do it"]
    refused("down", lambda: list(s.resume()))
    s.run("do it")
    assert sent(s) == ["do it"]


@pytest.mark.parametrize("refresh", ["delta", "call", "thread"])
def test_an_edit_of_memory_is_told_once(refresh: Any, checkpointer: Any) -> None:
    s = session("one", DOWN, DOWN, "two", "three", checkpointer=checkpointer, memory_refresh=refresh)
    walked(s, "memory.add drinks coffee", "run first", "memory.add drinks tea")
    for _ in range(2):
        refused("", s.run, "do it")
        assert [m.text for m in s.snapshot.messages] == ["first", "one"]
    s.memory.add("drinks milk")
    for prompt in ("do it", "and on"):
        s.run(prompt)
        request = "\n".join(m.text for m in s.options.model.requests[-1])
        told = 0 if refresh == "thread" else 1
        expected = [1 + (refresh == "delta"), told, told]
        assert [request.count(f"drinks {what}") for what in ("coffee", "tea", "milk")] == expected
        assert request.count("do it") == 1
    assert s.files["/AGENTS.md"] == "- drinks coffee\n- drinks tea\n- drinks milk\n"


class Writing(AgentMiddleware):
    def before_agent(self, state: Any, runtime: Any) -> Any:
        from deepagents.backends.utils import create_file_data

        return {"files": {"/log.txt": create_file_data("begun")}}


def test_files_that_were_written_are_kept() -> None:
    s = session(DOWN, "fine", middleware=[Writing()])
    refused("", s.run, "do it")
    assert s.files["/log.txt"] == "begun" and list(s.snapshot.messages) == []
    assert s.turns[0].after.files == {"/log.txt": "begun"}


def test_a_turn_that_failed_after_tool_calls_stays_and_says_how_to_go_on(checkpointer: Any) -> None:
    both = call("write_file", id="a", file_path="/a.md", content="x")
    both.tool_calls.append({"name": "ls", "args": {"path": "/"}, "id": "b", "type": "tool_call"})
    s = session(both, DOWN, DOWN, "done", checkpointer=checkpointer)
    refused(r"^RuntimeError: down: fix it, then session.resume\(\)$", s.run, "do it")
    assert [m.role for m in s.snapshot.messages] == ["user", "assistant", "tool", "tool"]
    assert s.files["/a.md"] == "x"
    assert "the turn can go on from where it stopped: %agent resume" in TurnView(s.turns[0]).text()
    refused("down", lambda: list(s.resume()))
    list(s.resume())
    assert (s.text, len(s.turns), s.turns[0].error, s.pending) == ("done", 1, None, None)
    assert s.options.model.requests[-1] == s.options.model.requests[1]
