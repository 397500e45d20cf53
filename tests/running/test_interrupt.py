"""Interrupts: whenever they come, the thread stays readable and can go on, resumed or not."""

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr

from deepnb import Session
from deepnb.engine import run as engine_run
from deepnb.values.turn import ModelStarted, TextDelta, ToolEnded, ToolStarted
from tests.support.scripted import TASK, Scripted, call, calls, unasked
from tests.support.tables import every_row, refused

LONG = " ".join(["word"] * 400)


HANG = 120
"""Seconds after which a test is taken to hang."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that can end is waited for, however busy the machine is: the wait ends when the run does."""
    monkeypatch.setattr(engine_run, "_GRACE", HANG)


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError("the test hung")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG)
    yield
    signal.alarm(0)


def interrupted(s: Session, prompt: str, *signs: threading.Event, at: Callable[[object], bool] | None = None) -> None:
    """Run a turn and send SIGINT once all signs are given, and an event that `at` holds for has been read."""
    read = threading.Event()

    def send() -> None:
        if all(sign.wait(HANG) for sign in (*signs, read)):
            os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt), contextlib.closing(s.stream(prompt)) as events:
        for event in events:
            if at is None or at(event):
                read.set()
        sender.join()
    sender.join()


def runs_end() -> None:
    for thread in threading.enumerate():
        if thread.name == "deepnb-run":
            thread.join()


class Stuck(Scripted):
    """Says the beginning of its first answer, or blocks in C before it, and says no more until it is let go."""

    deaf: bool = False
    _begun: threading.Event = PrivateAttr(default_factory=threading.Event)
    _go: threading.Event = PrivateAttr(default_factory=threading.Event)

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        is_first = not self.requests
        if is_first and self.deaf:
            self._next(*args[:1])
            self._begun.set()
            self._go.wait()
            return
        for n, chunk in enumerate(super()._stream(*args, **kwargs)):
            if is_first and n == 20:
                self._begun.set()
                while not self._go.is_set():
                    time.sleep(0.001)  # where an interrupt can end it
            yield chunk


@pytest.fixture(autouse=True)
def no_open_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Providers refuse a request in which a tool call has no result right behind it, or has two: none is sent here."""
    requests, real = list[list[BaseMessage]](), Scripted._next

    def heard(self: Scripted, sent: list[BaseMessage]) -> Any:
        requests.append(list(sent))
        return real(self, sent)

    monkeypatch.setattr(Scripted, "_next", heard)
    yield
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
    assert s.turns[-1].interrupted and s.snapshot == s._workspace.thread.snapshot
    assert s.threads and dict(s.files) == dict(s.snapshot.files)


@every_row("resumes", [True, False])
def test_in_the_model_and_on(resumes):
    s = Session(model=Stuck(answers=[LONG, "second", "third"]))
    interrupted(s, "p", s.options.model._begun, at=lambda e: isinstance(e, TextDelta))
    turn = s.turns[0]
    assert turn.interrupted == "interrupted while the model answered" and turn.text.startswith("word")
    assert len(turn.text) < len(LONG) and [m.role for m in turn.after.messages] == ["user"]
    assert s.pending == "interrupted before model: %agent resume"
    readable(s)
    if resumes:
        list(s.resume())
        assert (s.pending, s.text, len(s.turns)) == (None, "second", 1) and s.turns[0].interrupted is None
    s.run("q")
    assert s.pending is None and [t.number for t in s.turns] == [1, 2]
    assert [m.text for m in s.snapshot.messages] == (["p", "second", "q", "third"] if resumes else ["p", "q", "second"])


def test_before_anything_was_produced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine_run, "_GRACE", 0.0)
    s = Session(model=Stuck(answers=["late answer", "second"], deaf=True))
    interrupted(s, "p", s.options.model._begun, at=lambda e: isinstance(e, ModelStarted))
    assert s.turns[0].text == "" and s.turns[0].interrupted is not None
    assert s.turns[0].interrupted.startswith("interrupted while the model answered; it is still running")
    readable(s)
    assert s.run("q").text == "second"
    s.options.model._go.set()
    runs_end()


def test_an_iterator_closed_before_its_first_event_is_no_turn():
    s = Session(model=Scripted(answers=["one"]))
    s.stream("p").close()
    assert (s.turns, s.options.model.requests) == ((), [])
    events = s.stream("p", cell="c")
    list(events)
    again = s.stream("p", cell="c")
    next(again)
    again.close()
    assert s.turns[1].interrupted == "interrupted between two steps" and s.pending is None
    assert s.run("q").text == "one"


class Tools:
    """Tools that do not end in their first call before they are cut or let go, and what became of them."""

    def __init__(self) -> None:
        self.began = 0
        self.ended = 0
        self.quick = 0
        self.begun = threading.Event()
        self.go = threading.Event()

    def _begin(self) -> bool:
        self.began += 1
        self.begun.set()
        return self.began == 1

    def busy(self) -> str:
        """Work in Python."""
        if self._begin():
            while not self.go.is_set():
                time.sleep(0.001)
        self.ended += 1
        return "busy is done"

    def blocked(self) -> str:
        """Work in C, longer than an interrupt waits for."""
        if self._begin():
            self.go.wait()
        self.ended += 1
        return f"blocked is done, call {self.began}"

    def stubborn(self) -> str:
        """Work on through any interrupt, and give a result in the end."""
        if self._begin():
            while not self.go.is_set():
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

    def let_go(self) -> None:
        """Let a call end that no interrupt ends, and wait until its run has."""
        self.go.set()
        runs_end()


def apart(*functions: Callable[[], str]) -> dict[str, Any]:
    """Options of a session with the tools of a middleware: unlike the user's functions they run in the run's own thread."""
    middleware = AgentMiddleware[Any, Any]()
    middleware.tools = [as_tool(one) for one in functions]
    return {"middleware": [middleware], "approve": {one.__name__: "allow" for one in functions}}


def is_start(name: str) -> Callable[[object], bool]:
    return lambda e: isinstance(e, ToolStarted) and e.name == name


@pytest.fixture(params=["busy", "blocked", "stubborn"])
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def in_tool(tool: str) -> Iterator[tuple[Session, Tools]]:
    tools = Tools()
    s = Session(model=Scripted(answers=[call(tool), "after the tool", "next"]), **apart(*tools.all))
    with patch.object(engine_run, "_GRACE", HANG if tool == "busy" else 0.0):
        interrupted(s, "p", tools.begun, at=is_start(tool))
    try:
        yield s, tools
    finally:
        tools.let_go()


def test_in_a_tool(tool):
    with in_tool(tool) as (s, _):
        turn = s.turns[0]
        assert turn.interrupted is not None and turn.interrupted.startswith(f"interrupted in the tool {tool}")
        assert ("it is still running" in turn.interrupted) == (tool != "busy")
        assert [e.status for e in turn.events if isinstance(e, ToolEnded)] == ["cut"]
        assert s.pending == f"the tool {tool} was interrupted: %agent resume again, or %agent resume skip"
        readable(s)
        refused("was interrupted and may have done part of its work", lambda: list(s.resume()))
        refused(r"session.resume\('again'\) runs it again, session.resume\('skip'\)", lambda: list(s.resume("maybe")))
        assert s.turns == (turn,)


@every_row("decision, began", [("again", 2), ("skip", 1), (None, 1)])
def test_in_a_tool_and_on(tool, decision, began):
    with in_tool(tool) as (s, tools):
        if decision:
            list(s.resume(decision))
        else:
            s.run("q")
        assert (tools.began, s.pending, s.text) == (began, None, "after the tool")
        result = s.snapshot.messages[2]
        if decision == "again":
            assert "is done" in result.text
            assert [e.status for e in s.turns[0].events if isinstance(e, ToolEnded)] == ["cut", "ok"]
        if decision == "skip":
            assert result.text.startswith("Skipped: the user interrupted this call") and result.status == "error"
        refused("nothing to resume", lambda: list(s.resume("again")))
        assert s.run("r").text == "next"


@every_row("interrupts, name", [(1, "busy"), (2, "stubborn")])
def test_in_a_function_of_the_user(interrupts, name):
    """It runs in the thread of the cells: an interrupt ends it as it ends a cell, and a second one what catches the first."""
    tools = Tools()
    s = Session(model=Scripted(answers=[call(name), "after the tool", "next"]), **unasked(*tools.all))

    def send() -> None:
        assert tools.begun.wait(HANG)
        for _ in range(interrupts):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        s.run("p")
    sender.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert s.turns[0].interrupted == f"interrupted in the tool {name}"
    assert s.pending == f"the tool {name} was interrupted: %agent resume again, or %agent resume skip"
    readable(s)
    list(s.resume("again"))
    assert (tools.began, tools.ended, s.pending, s.text) == (2, 1, None, "after the tool")


@every_row("resumes", [True, False])
def test_a_late_result_is_never_used(resumes):
    with in_tool("stubborn") as (s, tools):
        if not resumes:
            s.run("q")
        tools.let_go()
        assert tools.ended == 1
        if resumes:
            assert "was interrupted" in str(s.pending)
            list(s.resume("again"))
            assert s.snapshot.messages[2].text == "stubborn is done, call 2"
            return
        assert s.run("r").text == "next" and [t.prompt for t in s.turns] == ["p", "q", "r"]
        assert not any("stubborn is done" in m.text for m in s.snapshot.messages)
        assert not any("stubborn is done" in str(r) for r in s.options.model.requests)


def kept_writes(monkeypatch: pytest.MonkeyPatch, call_id: str) -> threading.Event:
    """An event that is set once what a call gave is kept in the checkpoint of its step."""
    kept, put = threading.Event(), InMemorySaver.put_writes

    def put_writes(self: InMemorySaver, config: Any, writes: Any, *args: Any, **options: Any) -> None:
        put(self, config, writes, *args, **options)
        if f"tool_call_id={call_id!r}" in repr(writes):
            kept.set()

    monkeypatch.setattr(InMemorySaver, "put_writes", put_writes)
    return kept


@every_row("decision", ["again", "skip", None])
def test_of_tools_side_by_side_only_the_cut_one_is_asked_about_and_what_others_wrote_is_kept(decision, monkeypatch):
    write = call("write_file", "w", file_path="/AGENTS.md", content="- tea\n")
    made = calls(write, *(call(name, name) for name in ("fast", "busy")))
    tools = Tools()
    s = Session(model=Scripted(answers=[made, "after"]), **apart(*tools.all))
    interrupted(
        s, "p", tools.begun, kept_writes(monkeypatch, "w"), kept_writes(monkeypatch, "fast"), at=is_start("busy")
    )
    assert "the tool busy was interrupted" in str(s.pending) and dict(s.files) == {"/AGENTS.md": "- tea\n"}
    s.files["/mine.md"] = "waits"
    if decision:
        list(s.resume(decision))
    else:
        s.run("q")
    assert dict(s.files) == dict(s.snapshot.files) == {"/AGENTS.md": "- tea\n", "/mine.md": "waits"}
    assert (s.text, s.pending, tools.quick) == ("after", None, 1)
    assert tools.began == (2 if decision == "again" else 1)
    results = {m.tool_call_id: m.text for m in s.snapshot.messages if m.role == "tool"}
    assert set(results) == {"w", "fast", "busy"}
    assert not decision or results["fast"] == "fast is done"


class Waits(AgentMiddleware):
    go = False

    def before_model(self, state: Any, runtime: Any) -> None:
        run = engine_run.current_run()
        while state["messages"][-1].type == "tool" and not (self.go or run is None or run.listener.is_cancelled):
            time.sleep(0.001)


def test_between_steps():
    waits = Waits()
    s = Session(model=Scripted(answers=[call("ls", path="/"), "end"]), middleware=[waits])
    events = s.stream("p")
    for event in events:
        if isinstance(event, ToolEnded):
            break
    events.close()
    readable(s)
    assert s.pending == "interrupted before model: %agent resume", "the result is kept"
    waits.go = True
    list(s.resume())
    assert s.text == "end" and [e.status for e in s.turns[0].events if isinstance(e, ToolEnded)] == ["ok"]
    assert s.run("q").text == "end"


@every_row("ids, lost", [("a", "a"), ("ab", "a"), ("ab", "b"), ("abc", "b"), ("a", "-")])
def test_a_call_without_a_stored_result_asks_whatever_its_card_says(ids, lost):
    """The tool has ended, and the interrupt comes before its result is in the state."""
    ran = []

    def order(n: str) -> str:
        "Order."
        ran.append(n)
        return f"ordered {n}"

    class Lost(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            result = handler(request)
            if request.tool_call["id"] == lost:
                raise KeyboardInterrupt
            return result

    made = calls(*(call("order", n, n=n) for n in ids))
    s = Session(model=Scripted(answers=[made, "after"]), middleware=[Lost()], **unasked(order))
    with contextlib.suppress(KeyboardInterrupt):
        s.run("p")
    if lost in ids:
        assert s.pending == "the tool order was interrupted: %agent resume again, or %agent resume skip"
        refused("was interrupted and may have done part of its work", lambda: list(s.resume()))
        list(s.resume("skip"))
    assert sorted(ran) == sorted(ids) and (s.text, s.pending) == ("after", None)
    assert {m.tool_call_id: m.text for m in s.snapshot.messages if m.role == "tool"} == {n: f"ordered {n}" for n in ids}


def test_a_call_asks_whose_beginning_nobody_had_read(monkeypatch: pytest.MonkeyPatch):
    """The interrupt comes between the event and the one who takes it down."""

    class Events(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if isinstance(event := super().get(block, timeout), ToolStarted):
                tools.begun.wait(HANG)
                raise KeyboardInterrupt
            return event

    tools = Tools()
    s = Session(model=Scripted(answers=[call("busy"), "after"]), **apart(*tools.all))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(queue, "SimpleQueue", Events)
        s.run("p")
    assert [type(e) for e in s.turns[0].events if isinstance(e, ToolStarted | ToolEnded)] == [ToolStarted, ToolEnded]
    refused("the tool busy was interrupted", lambda: list(s.resume()))
    assert tools.began == 1


def test_what_repeats_an_id_of_an_earlier_step_is_asked_about_by_itself():
    """Some servers give each answer's calls the same ids."""
    tools = Tools()
    answers = [call("fast", "call_0"), call("fast", "call_0"), call("busy", "call_0"), "after"]
    s = Session(model=Scripted(answers=answers), **apart(*tools.all))
    interrupted(s, "p", tools.begun, at=is_start("busy"))
    assert s.pending == "the tool busy was interrupted: %agent resume again, or %agent resume skip"
    list(s.resume("skip"))
    assert (tools.quick, tools.began, s.text) == (2, 1, "after")


def test_a_signal_just_before_the_reader_waits_is_seen(monkeypatch: pytest.MonkeyPatch):
    """No call of the system is ended by a signal that came before it began: so it is here, with the signal held back."""

    hung: list[float | None] = []

    class Events(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if not tools.begun.is_set() or not self.empty():
                return super().get(block, timeout)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                signal.raise_signal(signal.SIGINT)
                return super().get(block, timeout)
            except TimeoutError:
                hung.append(timeout)
                raise
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    tools = Tools()
    s = Session(model=Scripted(answers=[call("busy"), "after"]), **apart(*tools.all))
    monkeypatch.setattr(queue, "SimpleQueue", Events)
    with pytest.raises(KeyboardInterrupt):
        s.run("p")
    assert not hung, "only the alarm ended the wait"
    assert s.turns[0].interrupted == "interrupted in the tool busy"


def test_a_second_interrupt_while_the_first_is_served(monkeypatch: pytest.MonkeyPatch):
    """The second one comes while the run that was cancelled is waited for."""
    tools = Tools()
    s = Session(model=Scripted(answers=[call("blocked"), "after"]), **apart(*tools.all))
    cancel = engine_run.Run.cancel

    def cancel_interrupted(self: engine_run.Run) -> Any:
        monkeypatch.setattr(engine_run.Run, "cancel", cancel)
        monkeypatch.setattr(engine_run, "_GRACE", 0.0)
        threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()
        return cancel(self)

    monkeypatch.setattr(engine_run.Run, "cancel", cancel_interrupted)
    interrupted(s, "p", tools.begun, at=is_start("blocked"))
    assert len(s.turns) == 1 and s.run("q").text == "after"
    assert tools.began == 1
    tools.let_go()


def test_a_resumed_turn_can_be_interrupted_again():
    with in_tool("busy") as (s, _):
        s.options.model.delay = 1
        events = s.resume("again")
        for event in events:
            if isinstance(event, ModelStarted):
                break
        events.close()
        assert s.pending == "interrupted before model: %agent resume" and len(s.turns) == 1
        s.options.model.delay = 0
        list(s.resume())
        assert s.text == "next"


def test_rewinding_to_an_interrupted_turn_asks_again():
    with in_tool("busy") as (s, tools):
        pending = s.pending
        s.run("q")
        assert s.pending is None
        s.rewind(1)
        assert s.pending == pending
        refused("was interrupted", lambda: list(s.resume()))
        list(s.resume("skip"))
        assert tools.began == 1


def test_in_a_subagent():
    tools = Tools()
    s = Session(model=Scripted(answers=[TASK, call("busy", id="n1"), "nested end", "end"]), **unasked(*tools.all))
    interrupted(s, "p", tools.begun, at=is_start("busy"))
    cut = [(e.name, e.path) for e in s.turns[0].events if isinstance(e, ToolEnded) and e.status == "cut"]
    assert cut == [("busy", ("t1",)), ("task", ())]
    assert s.pending == "the tool task was interrupted: %agent resume again, or %agent resume skip"
    list(s.resume("skip"))
    assert (tools.began, s.pending) == (1, None)


def test_while_a_turn_runs_no_other_begins():
    s = Session(model=Scripted(answers=["one two three", "later"], delay=0.02))
    events = s.stream("p")
    next(events)
    for attempt in (lambda: s.run("q"), lambda: s.new("b"), lambda: s.rewind(0), lambda: s.use("offline"), s.undo):
        refused("a turn is running: interrupt it, or wait until it ends", attempt)
    list(events)
    assert s.text == "one two three" and s.run("q").text == "later"
