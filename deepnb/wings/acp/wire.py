"""The pipes to the client: what comes is messages of JSON-RPC, a line each; what goes wrong is one line on stderr."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.streams import FlowControlMixin
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

LONGEST = 32 * 1024 * 1024
"""Bytes of a line."""
MOST = 1_000
"""Requests and notifications that are worked on; with that many the client is not read."""


class Log(logging.Handler):
    """Prints each line once where the client keeps what an agent logs, and no traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()
        self.is_over = False
        """Whether nothing more is said: what fails since the client has gone is no news."""

    def say(self, line: str) -> None:
        if not self.is_over and line not in self._said:
            self._said.add(line)
            with suppress(OSError, ValueError):
                print(f"deepnb: {' '.join(line.split())}", file=sys.stderr, flush=True)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.say(f"{record.getMessage()}{f' ({type(error).__name__}: {error})' if error else ''}")


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return input and output of the process. From now on nothing else reads the one, and what is printed goes to stderr."""
    pipes = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return pipes


async def open_pipes(pipes: tuple[BinaryIO, BinaryIO], log: Log) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    """Return what writes to the client, and the lines that it sent, without those that are no messages."""
    loop = asyncio.get_running_loop()
    raw, lines = asyncio.StreamReader(LONGEST), asyncio.StreamReader(2 * LONGEST)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(raw), pipes[0])
    transport, protocol = await loop.connect_write_pipe(lambda: _Output(lines.feed_eof), pipes[1])
    lines.pump = asyncio.create_task(_pump(raw, lines, log))  # type: ignore[attr-defined]  # as long as they are read
    return asyncio.StreamWriter(transport, protocol, None, loop), lines


class _Output(FlowControlMixin):
    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__()
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._lost()


async def _pump(raw: asyncio.StreamReader, lines: asyncio.StreamReader, log: Log) -> None:
    try:
        while line := await raw.readline():
            if _is_message(line):
                lines.feed_data(line)
            elif line.strip():
                log.say("a line of the client is no message of JSON-RPC, and was skipped; so is any other")
            while len(asyncio.all_tasks()) > MOST:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0)
    except (ValueError, OSError):
        log.say(f"the client sent a line of more than {LONGEST // 2**20} MB: that ends the connection")
    lines.feed_eof()


def _is_message(line: bytes) -> bool:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not line.endswith(b"\n") or not isinstance(value, dict) or not isinstance(value.get("id"), int | str | None):
        return False
    return isinstance(value["method"], str) if "method" in value else isinstance(value.get("id"), int)
