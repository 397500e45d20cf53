"""What of a graph is only a coroutine, read by a thread."""

import asyncio
import ctypes
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from deepnb.engine import coroutines
from tests.support.tables import every_row


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
