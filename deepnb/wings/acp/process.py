"""The process of an agent: its pipes, what it says on stderr, and its end."""

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.streams import FlowControlMixin
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_GRACE = 10.0
"""Seconds after which a process that has to end is ended, whatever a tool does."""
_LONGEST, _MOST = 32 * 2**20, 1_000
"""Bytes of a message, and messages that are worked on: with that many the client is not read."""

_LOG = logging.getLogger(__name__)


class _OneLine(logging.Handler):
    """Prints each line once where the client keeps what an agent logs, and no traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        line = f"{record.getMessage()}{f' ({type(error).__name__}: {error})' if error else ''}"
        if line not in self._said:
            self._said.add(line)
            with suppress(OSError, ValueError):
                print("deepnb:", *line.split(), file=sys.stderr, flush=True)


def run(agent: Any) -> None:
    """Serve the client on the standard input and output until it goes; what is printed meanwhile goes to stderr."""
    pipes = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    logging.basicConfig(handlers=[_OneLine()], level=logging.WARNING)
    asyncio.run(_serve(agent, *pipes))


async def _serve(agent: Any, given: Any, output: Any) -> None:
    from acp import AgentSideConnection

    raw, lines, loop = asyncio.StreamReader(_LONGEST), asyncio.StreamReader(_LONGEST), asyncio.get_running_loop()

    def gone() -> None:
        if agent.is_busy:
            _LOG.warning("the client has gone: its turn was stopped with all kept, and what needs approval waits")
        logging.disable()  # what fails from now on is no news
        loop.call_later(_GRACE, os._exit, 1)
        lines.feed_eof()

    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(raw), given)
        transport, protocol = await loop.connect_write_pipe(lambda: _Output(gone), output)
    except ValueError:  # of asyncio: a file
        _LOG.warning("the Agent Client Protocol is spoken over pipes: let a client start this command")
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, gone)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    client = AgentSideConnection(agent, writer, lines, listening=False, use_unstable_protocol=True)
    tasks = [asyncio.create_task(one) for one in (client.listen(), _read(raw, lines, gone))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    with suppress(Exception):  # of what is still to be written
        await client.close()
    agent.close()


class _Output(FlowControlMixin):
    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__()
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost()


async def _read(raw: asyncio.StreamReader, lines: asyncio.StreamReader, gone: Callable[[], None]) -> None:
    try:
        while line := await raw.readline():
            if _is_message(line):
                lines.feed_data(line)
            elif line.strip():
                _LOG.warning("a line of the client is no message of JSON-RPC, and was skipped; so is any other")
            while len(asyncio.all_tasks()) > _MOST:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0)
    except (ValueError, OSError):
        _LOG.warning("the client sent a line of more than %d MB: that ends the connection", _LONGEST // 2**20)
    gone()


def _is_message(line: bytes) -> bool:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    match value:
        case {"method": str()}:
            return isinstance(value.get("id"), int | str | None)
        case {"id": int()}:
            return "method" not in value
    return False
