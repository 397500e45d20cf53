"""What is only a coroutine, in a synchronous session: on one loop of the process, or in the thread that reads it.

In that thread an interrupt, a limit and a cancelled run end it as they end a synchronous one. Its loops are kept: clients
of models stay bound to the loop that they were first used on.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextvars import ContextVar, copy_context
from functools import cache, partial
from typing import Any, TypeVar

T = TypeVar("T")

_POLL = 0.05
"""Seconds after which a waiting thread looks up: an interrupt reaches it only between two bytecodes."""

_LOOK_UP = 0.1
"""Seconds after which a thread that waits for the loop runs a bytecode: what is raised in it comes through then."""

_FREE: list[asyncio.AbstractEventLoop] = []


_WAITS: ContextVar[tuple[asyncio.AbstractEventLoop, threading.Event] | None] = ContextVar("waits", default=None)
"""The loop that waits for what this thread does, and whether it was cancelled there."""


async def in_thread(work: Callable[..., T], *given: Any, **named: Any) -> T:
    """Do what `asyncio.to_thread` does; what `run` runs meanwhile, the loop that waits here runs, and cancels with this."""
    context, loop, cancelled = copy_context(), asyncio.get_running_loop(), threading.Event()
    context.run(_WAITS.set, (loop, cancelled))
    try:
        return await loop.run_in_executor(None, partial(context.run, work, *given, **named))
    except asyncio.CancelledError:
        cancelled.set()
        raise


def run(work: Awaitable[T]) -> T:
    """Run a coroutine on the loop, in the caller's context; an interrupt cancels it, and so does the end of the wait."""
    if (waiting := _WAITS.get()) is not None and waiting[1].is_set():
        if isinstance(work, Coroutine):
            work.close()
        raise asyncio.CancelledError

    async def ended_work() -> tuple[T] | BaseException:
        try:
            return (await work,)
        except (KeyboardInterrupt, SystemExit) as stop:  # which would end the loop
            return stop

    done = asyncio.run_coroutine_threadsafe(ended_work(), waiting[0] if waiting else _loop())
    try:
        while not wait((done,), _POLL).done:
            if waiting is not None and waiting[1].is_set():
                raise asyncio.CancelledError
        ended = done.result()
    except CancelledError:
        if waiting is None:
            raise
        raise asyncio.CancelledError from None
    finally:
        done.cancel()
    if isinstance(ended, BaseException):
        raise ended
    return ended[0]


class SynchronousBackend:
    """A backend of which some methods may be only coroutines, for those who call the others."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found, awaited = getattr(self._inner, name), getattr(self._inner, f"a{name}", None)
        if awaited is None:
            return found

        def call(*given: Any, **named: Any) -> Any:
            try:
                return found(*given, **named)
            except NotImplementedError:
                return run(awaited(*given, **named))

        return call


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    return asyncio.run_coroutine_threadsafe(work, _loop())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="deepnb-loop").start()
    return loop


def read(begin: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """Yield what `begin` gives; it runs only while somebody waits for the next item."""
    loop = _FREE.pop() if _FREE else asyncio.new_event_loop()
    items = begin()

    async def following() -> tuple[T, ...]:
        async for item in items:
            return (item,)
        return ()

    try:
        while True:
            task = loop.create_task(following())
            while not task.done():
                loop.run_until_complete(asyncio.wait({task}, timeout=_LOOK_UP))
            if not (found := task.result()):
                return
            yield found[0]
    finally:
        _cancel_all(loop)
        _FREE.append(loop)


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    """Let everything end that a reader who went away has left running."""
    for task in (left := asyncio.all_tasks(loop)):
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
