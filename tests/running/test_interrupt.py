"""Interrupts: whenever they come, the thread stays readable and can go on, resumed or not."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from deepnb import DeepnbError, Session
from deepnb.core.values import ModelStarted, TextDelta, ToolEnded, ToolStarted
from deepnb.engine import run as engine_run
from tests.support.scripted import Scripted, call, unasked
from tests.support.tables import every_row

LONG = " ".join(["word"] * 400)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_run, "_GRACE", 0.3)


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """A test that hangs is ended by an alarm."""

    def stop(*_: object) -> None:
        raise TimeoutError("the test hung")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)


def ctrl_c(after: float = 0.0) -> None:
    """What `Interrupt kernel` does: SIGINT, while the main thread is in the turn."""
    threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)).start()


def interrupted(s: Session, prompt: str, at: Callable[[object], bool], after: float = 0.05) -> None:
    """Run a turn and send SIGINT shortly after the first event that `at` holds for."""
    sent = False
    with pytest.raises(KeyboardInterrupt):
        for event in s.stream(prompt):
            if not sent and at(event):
                sent = True
                ctrl_c(after)
        time.sleep(5)  # the signal may come when the turn has just ended


def no_open_calls(requests: list[list[BaseMessage]]) -> None:
    """Providers refuse a request in which a tool call has no result right behind it, or has two."""
    for messages in requests:
        open_: list[str | None] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                assert message.tool_call_id in open_, messages
                open_.remove(message.tool_call_id)
            else:
                assert not open_, messages
            if isinstance(message, AIMessage):
                open_ = [c["id"] for c in message.tool_calls]
        assert not open_, messages


def readable(s: Session) -> None:
    assert s.turns[-1].interrupted
    assert s.snapshot == s._workspace.thread.snapshot
    assert s.threads
    assert dict(s.files) == dict(s.snapshot.files)


def test_in_the_model():
    s = Session(model=Scripted(answers=[LONG, "second", "third"], delay=0.02))
    interrupted(s, "p", lambda e: isinstance(e, TextDelta))
    turn = s.turns[0]
    assert turn.interrupted == "interrupted while the model answered"
    assert turn.text.startswith("word")
    assert len(turn.text) < len(LONG)
    assert [m.role for m in turn.after.messages] == ["user"]
    assert s.pending == "interrupted before model: %agent resume"
    readable(s)
    list(s.resume())
    assert (s.pending, s.text, len(s.turns)) == (None, "second", 1)
    assert s.turns[0].interrupted is None
    s.run("q")
    assert [m.text for m in s.snapshot.messages] == ["p", "second", "q", "third"]


def test_in_the_model_and_on_without_resume():
    s = Session(model=Scripted(answers=[LONG, "second"], delay=0.02))
    interrupted(s, "p", lambda e: isinstance(e, TextDelta))
    s.run("q")
    assert s.pending is None
    assert [m.text for m in s.snapshot.messages] == ["p", "q", "second"]
    assert [t.number for t in s.turns] == [1, 2]


def test_before_anything_was_produced():
    s = Session(model=Scripted(answers=["late answer", "second"], delay=0.6))
    interrupted(s, "p", lambda e: isinstance(e, ModelStarted), after=0)
    assert s.turns[0].text == ""
    assert s.turns[0].interrupted is not None
    assert s.turns[0].interrupted.startswith("interrupted while the model answered; it is still running")
    readable(s)
    assert s.run("q").text == "second"


def test_closing_the_iterator_is_an_interrupt():
    s = Session(model=Scripted(answers=[LONG, "second"], delay=0.02))
    events = s.stream("p")
    for event in events:
        if isinstance(event, TextDelta):
            break
    events.close()
    assert s.turns[0].interrupted == "interrupted while the model answered"
    readable(s)
    list(s.resume())
    assert s.text == "second"


def test_an_iterator_closed_before_its_first_event_is_no_turn():
    s = Session(model=Scripted(answers=["one"]))
    s.stream("p").close()
    assert (s.turns, s.options.model.requests) == ((), [])
    events = s.stream("p", cell="c")
    list(events)
    again = s.stream("p", cell="c")
    next(again)
    again.close()
    assert s.turns[1].interrupted == "interrupted between two steps"
    assert s.pending is None
    assert s.run("q").text == "one"


class Tools:
    """Tools that take their time, and what became of them."""

    def __init__(self) -> None:
        self.began = 0
        self.ended = 0
        self.quick = 0

    def busy(self) -> str:
        """Work in Python."""
        self.began += 1
        while self.began == 1:  # only the first time
            time.sleep(0.001)
        self.ended += 1
        return "busy is done"

    def blocked(self) -> str:
        """Work in C, longer than an interrupt waits for."""
        self.began += 1
        if self.began == 1:
            time.sleep(1.0)
        self.ended += 1
        return f"blocked is done, call {self.began}"

    def stubborn(self) -> str:
        """Work on through any interrupt, and give a result in the end."""
        self.began += 1
        until = time.monotonic() + (1.0 if self.began == 1 else 0)
        while time.monotonic() < until:
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(0.01)
        self.ended += 1
        return f"stubborn is done, call {self.began}"

    def fast(self) -> str:
        """Work that takes no time."""
        self.quick += 1
        return "fast is done"

    @property
    def all(self) -> list[Callable[[], str]]:
        return [self.busy, self.blocked, self.stubborn, self.fast]


def is_start(name: str) -> Callable[[object], bool]:
    return lambda e: isinstance(e, ToolStarted) and e.name == name


@pytest.fixture(params=["busy", "blocked", "stubborn"])
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def in_tool(tool: str) -> tuple[Session, Tools]:
    tools = Tools()
    s = Session(model=Scripted(answers=[call(tool), "after the tool", "next"]), **unasked(*tools.all))
    interrupted(s, "p", is_start(tool))
    return s, tools


def test_in_a_tool(tool):
    s, _ = in_tool(tool)
    turn = s.turns[0]
    assert turn.interrupted is not None
    assert turn.interrupted.startswith(f"interrupted in the tool {tool}")
    assert ("it is still running" in turn.interrupted) == (tool != "busy")
    assert [e.status for e in turn.events if isinstance(e, ToolEnded)] == ["cut"]
    assert s.pending == f"the tool {tool} was interrupted: %agent resume again, or %agent resume skip"
    readable(s)
    with pytest.raises(DeepnbError, match="was interrupted and may have done part of its work"):
        list(s.resume())
    with pytest.raises(DeepnbError, match=r"session.resume\('again'\) runs it again, session.resume\('skip'\)"):
        list(s.resume("maybe"))
    assert s.turns == (turn,)


def test_in_a_tool_and_again(tool):
    s, tools = in_tool(tool)
    list(s.resume("again"))
    assert tools.began == 2
    assert (s.pending, s.text, len(s.turns)) == (None, "after the tool", 1)
    assert "is done" in s.snapshot.messages[2].text
    no_open_calls(s.options.model.requests)
    statuses = [e.status for e in s.turns[0].events if isinstance(e, ToolEnded)]
    assert statuses == ["cut", "ok"]
    assert s.run("q").text == "next"


def test_in_a_tool_and_skip(tool):
    s, tools = in_tool(tool)
    list(s.resume("skip"))
    assert tools.began == 1
    assert (s.pending, s.text) == (None, "after the tool")
    assert s.snapshot.messages[2].text.startswith("Skipped: the user interrupted this call")
    assert s.snapshot.messages[2].status == "error"
    no_open_calls(s.options.model.requests)
    assert s.run("q").text == "next"


def test_in_a_tool_and_on_without_resume(tool):
    s, tools = in_tool(tool)
    assert s.run("q").text == "after the tool"
    assert (tools.began, s.pending) == (1, None)
    no_open_calls(s.options.model.requests)
    with pytest.raises(DeepnbError, match="nothing to resume"):
        list(s.resume("again"))


def test_a_late_result_is_never_used():
    s, tools = in_tool("stubborn")
    s.run("q")
    while tools.ended == 0:
        time.sleep(0.02)
    time.sleep(0.2)
    assert s.run("r").text == "next"
    assert not any("stubborn is done" in m.text for m in s.snapshot.messages)
    assert not any("stubborn is done" in str(r) for r in s.options.model.requests)
    assert [t.prompt for t in s.turns] == ["p", "q", "r"]
    no_open_calls(s.options.model.requests)


def test_a_late_result_is_not_used_by_resume_either():
    s, tools = in_tool("stubborn")
    while tools.ended == 0:
        time.sleep(0.02)
    time.sleep(0.2)
    assert s.pending is not None
    assert "was interrupted" in s.pending
    list(s.resume("again"))
    assert s.snapshot.messages[2].text == "stubborn is done, call 2"
    no_open_calls(s.options.model.requests)


def side_by_side() -> tuple[Session, Tools]:
    """One tool ends, the one beside it is cut."""
    tools = Tools()
    calls: list[Any] = [{"name": name, "args": {}, "id": f"id-{name}"} for name in ("fast", "busy")]
    s = Session(model=Scripted(answers=[AIMessage("", tool_calls=calls), "after", "next"]), **unasked(*tools.all))
    interrupted(s, "p", is_start("busy"), after=0.2)
    return s, tools


@every_row("decision", ["again", "skip", None])
def test_of_tools_side_by_side_only_the_cut_one_is_asked_about(decision):
    s, tools = side_by_side()
    assert s.pending is not None
    assert "the tool busy was interrupted" in s.pending
    if decision:
        list(s.resume(decision))
    else:
        s.run("q")
    assert s.text == "after"
    assert tools.quick == 1
    assert tools.began == (2 if decision == "again" else 1)
    no_open_calls(s.options.model.requests)
    results = {m.tool_call_id: m.text for m in s.snapshot.messages if m.role == "tool"}
    assert set(results) == {"id-fast", "id-busy"}
    if decision:
        assert results["id-fast"] == "fast is done"


@every_row("decision", ["again", "skip", None])
def test_what_a_tool_wrote_beside_a_cut_one_is_kept(decision):
    calls = [
        {"name": "write_file", "args": {"file_path": "/AGENTS.md", "content": "- tea\n"}, "id": "w"},
        {"name": "busy", "args": {}, "id": "b"},
    ]
    s = Session(model=Scripted(answers=[AIMessage("", tool_calls=calls), "after"]), **unasked(*Tools().all))
    interrupted(s, "p", is_start("busy"), after=0.2)
    assert dict(s.files) == {"/AGENTS.md": "- tea\n"}
    s.files["/mine.md"] = "waits"
    if decision:
        list(s.resume(decision))
    else:
        s.run("q")
    assert dict(s.files) == dict(s.snapshot.files) == {"/AGENTS.md": "- tea\n", "/mine.md": "waits"}
    assert (s.text, s.pending) == ("after", None)
    no_open_calls(s.options.model.requests)


def test_between_steps():
    s = Session(model=Scripted(answers=[call("ls", path="/"), "end"]))
    events = s.stream("p")
    for event in events:
        if isinstance(event, ToolEnded):
            break
    events.close()
    readable(s)
    assert s.pending in ("interrupted before model: %agent resume", "interrupted before tools: %agent resume", None)
    if s.pending:
        list(s.resume())
        assert s.text == "end"
    assert s.run("q").text == "end"
    no_open_calls(s.options.model.requests)


def test_a_second_interrupt_while_the_first_is_served():
    s, tools = Session(model=Scripted(answers=[call("blocked"), "after"]), **unasked(*(t := Tools()).all)), t
    with pytest.raises(KeyboardInterrupt):
        for event in s.stream("p"):
            if is_start("blocked")(event):
                ctrl_c(0.05)
                ctrl_c(0.15)
        time.sleep(5)
    assert len(s.turns) == 1
    assert s.run("q").text == "after"
    assert tools.began == 1
    no_open_calls(s.options.model.requests)


def test_a_resumed_turn_can_be_interrupted_again():
    s, _ = in_tool("busy")
    s.options.model.delay = 0.3
    events = s.resume("again")
    for event in events:
        if isinstance(event, ModelStarted):
            break
    events.close()
    assert s.pending == "interrupted before model: %agent resume"
    assert len(s.turns) == 1
    list(s.resume())
    assert s.text == "next"
    no_open_calls(s.options.model.requests)


def test_rewinding_to_an_interrupted_turn_asks_again():
    s, tools = in_tool("busy")
    pending = s.pending
    s.run("q")
    assert s.pending is None
    s.rewind(1)
    assert s.pending == pending
    with pytest.raises(DeepnbError, match="was interrupted"):
        list(s.resume())
    list(s.resume("skip"))
    assert tools.began == 1
    no_open_calls(s.options.model.requests)


def test_a_fork_of_an_interrupted_turn_goes_on():
    s, tools = in_tool("busy")
    s.fork("f")
    assert s.pending is not None
    assert s.run("q").text == "after the tool"
    assert tools.began == 1
    no_open_calls(s.options.model.requests)


def test_in_a_subagent():
    tools = Tools()
    task = call("task", id="t1", description="work", subagent_type="general-purpose")
    s = Session(model=Scripted(answers=[task, call("busy", id="n1"), "nested end", "end"]), **unasked(*tools.all))
    interrupted(s, "p", is_start("busy"))
    cut = [(e.name, e.path) for e in s.turns[0].events if isinstance(e, ToolEnded) and e.status == "cut"]
    assert cut == [("busy", ("t1",)), ("task", ())]
    assert s.pending == "the tool task was interrupted: %agent resume again, or %agent resume skip"
    list(s.resume("skip"))
    assert (tools.began, s.pending) == (1, None)
    no_open_calls(s.options.model.requests)


def test_nothing_to_resume_is_one_line():
    s = Session(model=Scripted(answers=["one"]))
    for _ in range(2):
        with pytest.raises(DeepnbError, match=r"nothing to resume in this thread: session.run\(PROMPT\) starts a turn"):
            list(s.resume())
        s.run("p")


def test_while_a_turn_runs_no_other_begins():
    s = Session(model=Scripted(answers=["one two three", "later"], delay=0.02))
    events = s.stream("p")
    next(events)
    for attempt in (lambda: s.run("q"), lambda: s.new("b"), lambda: s.rewind(0), lambda: s.use("offline"), s.undo):
        with pytest.raises(DeepnbError, match="a turn is running"):
            attempt()
    list(events)
    assert s.text == "one two three"
    assert s.run("q").text == "later"
