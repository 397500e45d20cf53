"""One event loop for the process, in a thread of its own: what is only a coroutine runs on it in a synchronous run."""

import asyncio
import threading
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")

_POLL = 0.05
"""Seconds after which a waiting thread looks up: an interrupt reaches it only between two bytecodes."""


def run(work: Awaitable[T]) -> T:
    """What a coroutine gives, run on the loop with the caller's context variables; an interrupt cancels it there."""
    done = asyncio.run_coroutine_threadsafe(_ended(work), _loop())
    try:
        while True:
            try:
                return _given(done.result(_POLL))
            except TimeoutError:
                if done.done():  # in the meantime, or with a TimeoutError of its own
                    return _given(done.result())
    finally:
        done.cancel()


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """A coroutine begun on the loop, for whoever waits in another way than `run` does."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


async def _ended(work: Awaitable[T]) -> tuple[T] | BaseException:
    """What it gives, or the exception that would end the loop with it."""
    try:
        return (await work,)
    except (KeyboardInterrupt, SystemExit) as stop:
        return stop


def _given(ended: tuple[T] | BaseException) -> T:
    if isinstance(ended, BaseException):
        raise ended
    return ended[0]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="deepnb-loop").start()
    return loop
