"""An asynchronous stream read by a thread: what of a graph is only a coroutine runs in the thread that reads it.

So an interrupt, a limit and a cancelled run end it as they end a synchronous one. The loops are kept: clients of
models stay bound to the loop that they were first used on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_LOOK_UP = 0.1
"""Seconds after which a thread that waits for the loop runs a bytecode: what is raised in it comes through then."""

_FREE: list[asyncio.AbstractEventLoop] = []
"""Loops that nobody runs just now."""


def read(begin: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """What `begin` gives, item by item; it goes on only while somebody waits for the next one."""
    loop = _FREE.pop() if _FREE else asyncio.new_event_loop()
    items = begin()
    try:
        while True:
            task = loop.create_task(_next(items))
            while not task.done():
                loop.run_until_complete(asyncio.wait({task}, timeout=_LOOK_UP))
            if not (found := task.result()):
                return
            yield found[0]
    finally:
        _cancel_all(loop)
        _FREE.append(loop)


async def _next(items: AsyncIterator[T]) -> tuple[T, ...]:
    """The next item; nothing at the end."""
    async for item in items:
        return (item,)
    return ()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    """Let everything end that a reader who went away has left running."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
