"""Turns on an event loop: one, three at once, cancelled; tools that are only coroutines; and how a thread reads them."""

import asyncio
import ctypes
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool, tool

from deepnb import Asked, Session, TextDelta, ToolEnded, ToolStarted
from deepnb.engine import coroutines
from deepnb.running.runner import Arrivals, AsyncTurnStream
from tests.support.scripted import TASK, call, gives, session, unasked
from tests.support.tables import every_row


def test_a_turn_is_awaited_and_so_is_its_failure():
    s = session("one two three", ValueError("no such thing"), "four")
    turn = asyncio.run(s.arun("p"))
    assert turn is s.turns[-1] and turn.text == s.text == "one two three"
    with pytest.raises(Exception, match="no such thing"):
        asyncio.run(s.arun("p"))
    assert s.turns[-1].error and s.workspace.current.is_idle and s.run("q").number == 3


def test_the_events_are_those_of_a_synchronous_run():
    def one() -> Session:
        return session(call("write_file", file_path="/a.md", content="x"), "done")

    async def read(stream: AsyncTurnStream) -> list[type]:
        return [type(event) async for event in stream]

    assert asyncio.run(read(one().astream("p"))) == [type(event) for event in one().stream("p")]


def test_three_at_once_on_three_sessions():
    meeting = threading.Barrier(3, timeout=20)

    @tool
    def meet() -> str:
        """Wait for the others."""
        meeting.wait()
        return "met"

    sessions = [session(call("meet"), f"answer {n}", **unasked(meet)) for n in range(3)]

    async def all_three() -> list[Any]:
        return await asyncio.gather(*(s.arun(f"p{n}") for n, s in enumerate(sessions)))

    turns = asyncio.run(all_three())
    assert [t.text for t in turns] == ["answer 0", "answer 1", "answer 2"]
    assert [[e.result for e in t.events if isinstance(e, ToolEnded)] for t in turns] == [["met"]] * 3


@every_row("how", ["cancelled", "closed"])
def test_a_turn_that_is_cut_in_a_coroutine_cancels_it_and_keeps_what_was_reached(how: str):
    entered, left = threading.Event(), threading.Event()

    @tool
    async def wait() -> str:
        """Wait for ever."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return "never"

    s = session(call("wait"), "after", **unasked(wait))

    async def cancelled() -> None:
        task = asyncio.create_task(s.arun("p"))
        assert await asyncio.to_thread(entered.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    if how == "cancelled":
        asyncio.run(cancelled())
    else:
        stream = s.stream("p")
        while not isinstance(next(stream), ToolStarted):
            pass
        assert entered.wait(20)
        stream.close()
    assert left.wait(20) and s.turns[-1].interrupted == "interrupted in the tool wait"
    assert s.pending is not None and s.workspace.current.is_idle
    assert [type(e) for e in s.resume("skip")][-1] and s.text == "after"


@every_row("steps", range(8))
def test_a_cancellation_as_an_event_arrives_is_not_lost(steps: int):
    """At whichever step of the event loop; `asyncio.wait_for` of Python 3.11 loses one there."""

    async def cancelled() -> bool:
        arrivals = Arrivals()
        arrivals.begin()
        task = asyncio.create_task(arrivals.wait())
        await asyncio.sleep(0.01)
        arrivals.notify()
        for _ in range(steps):
            await asyncio.sleep(0)
        ended = task.done() or not task.cancel()
        await asyncio.wait([task])
        return ended or task.cancelled()

    assert asyncio.run(cancelled())


def test_a_stream_that_is_closed_or_dropped_stops():
    for leave in ("close", "drop"):
        s = session("many words to be said here")

        async def first(s: Session = s, leave: str = leave) -> None:
            stream = s.astream("p")
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
            if leave == "close":
                await stream.aclose()

        asyncio.run(first())
        assert s.workspace.current.is_idle and s.turns[-1].interrupted, leave


def test_a_decision_is_resumed():
    s = session(call("launch"), "done", tools=[gives("launch", "launched")])

    async def run() -> list[Any]:
        turn = await s.arun("p")
        assert any(isinstance(e, Asked) for e in turn.events) and not s.text
        return [event async for event in s.aresume(s.asked[0].approve())]

    events = asyncio.run(run())
    assert any(isinstance(e, ToolEnded) and e.result == "launched" for e in events) and s.text == "done"


async def slow_sum(a: int, b: int) -> str:
    """Add two numbers, slowly."""
    await asyncio.sleep(0.01)
    return f"{a + b} on {threading.current_thread().name}"


class OnlyAwaited(BaseTool):
    name: str = "slow_sum"
    description: str = "Add two numbers, slowly."

    def _run(self, a: int, b: int) -> str:
        raise NotImplementedError("use the coroutine")

    async def _arun(self, a: int, b: int) -> str:
        return await slow_sum(a, b)


KINDS = {
    "function": lambda: slow_sum, "decorated": lambda: tool(slow_sum),
    "structured": lambda: StructuredTool.from_function(coroutine=slow_sum), "class": OnlyAwaited,
}  # fmt: skip


@every_row("kind", KINDS)
@every_row("way", ["run", "arun"])
@every_row("nested", [False, True])
def test_a_coroutine_is_a_tool(kind: str, way: str, nested: bool):
    answers = [call("slow_sum", a=2, b=3), "done"]
    if nested:
        answers = [TASK, *answers, "end"]
    s = session(*answers, tools=[KINDS[kind]()], approve={"slow_sum": "allow"})
    turn = s.run("p") if way == "run" else asyncio.run(s.arun("p"))
    ended = next(e for e in turn.events if isinstance(e, ToolEnded))
    assert (ended.status, ended.result) == ("ok", "5 on deepnb-loop")


@every_row("stop", [SystemExit(), KeyboardInterrupt(), TimeoutError("its own")])
def test_what_a_coroutine_stops_by_is_raised_and_leaves_the_loop_running(stop: BaseException):
    async def leave() -> None:
        await asyncio.sleep(0.2)
        raise stop

    with pytest.raises(type(stop)):
        coroutines.run(leave())
    assert coroutines.run(asyncio.sleep(0, "still there")) == "still there"


async def items(ended: list[str], fails: BaseException | None = None) -> AsyncIterator[int]:
    try:
        for n in range(3):
            await asyncio.sleep(0)
            yield n
        if fails is not None:
            raise fails
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    finally:
        ended.append("ended")


def test_every_item_comes_in_order_and_a_reader_that_goes_away_ends_it() -> None:
    ended: list[str] = []
    assert list(coroutines.read(lambda: items(ended))) == [0, 1, 2]
    read = coroutines.read(lambda: items(ended))
    assert next(read) == 0
    read.close()  # type: ignore[attr-defined]
    assert ended == ["ended", "ended"]


@every_row("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_comes_through_and_the_loop_can_be_used_again(error: BaseException) -> None:
    ended: list[str] = []
    with pytest.raises(type(error)):
        list(coroutines.read(lambda: items(ended, error)))
    assert ended == ["ended"]
    assert list(coroutines.read(lambda: items([]))) == [0, 1, 2]


def test_what_waits_is_ended_by_what_is_raised_in_the_thread_that_reads() -> None:
    begun, raised = threading.Event(), list[str]()

    async def waits() -> AsyncIterator[int]:
        begun.set()
        await asyncio.sleep(600)
        yield 1

    def read() -> None:
        try:
            list(coroutines.read(waits))
        except KeyboardInterrupt:
            raised.append("interrupted")

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(30) and thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))
    thread.join(30)
    assert raised == ["interrupted"]


def test_two_threads_read_at_once() -> None:
    together, found = threading.Barrier(2, timeout=30), list[int]()

    async def meets() -> AsyncIterator[int]:
        together.wait()
        yield 1

    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            pool.submit(lambda: found.extend(coroutines.read(meets)))
    assert found == [1, 1]


def test_a_thread_whose_loop_has_cancelled_it_waits_for_nothing_more_there() -> None:
    begun, ended, loop = threading.Event(), threading.Event(), asyncio.new_event_loop()
    found = []

    async def waits() -> None:
        begun.set()
        await asyncio.sleep(600)

    def work() -> None:
        for _ in range(2):
            try:
                coroutines.run(waits())
            except BaseException as error:
                found.append(type(error))
        ended.set()

    async def until_begun() -> None:
        while not begun.is_set():
            await asyncio.sleep(0.01)

    task = loop.create_task(coroutines.in_thread(work))
    loop.run_until_complete(until_begun())
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    assert ended.wait(30), "the loop does not run any more"
    assert found == [asyncio.CancelledError] * 2, "no `except Exception` goes on"
    coroutines._cancel_all(loop)
    loop.close()
