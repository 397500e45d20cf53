"""`langgraph dev` in an environment of its own, on loopback, with all that asks another host switched off.

`langgraph-cli[inmem]` is under the Elastic License 2.0: it is in no extra of ours, and is installed for tests alone.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

CLI = "langgraph-cli[inmem]"

QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
"""No usage data, no look at PyPI, no traces."""


class LangGraphServer:
    """One that serves a directory, which it writes to; it can be killed and started again at its address."""

    def __init__(self, app: Path, programs: Path, home: Path, env: Mapping[str, str], *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._app, self._log = app, home / "log"
        self._command = [
            str(programs / "langgraph"),
            "dev",
            "--no-browser",
            "--no-reload",
            "--port",
            str(port),
            *options,
        ]
        self._env = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), **QUIET, **env}
        self._process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        with open(self._log, "a") as log:
            self._process = subprocess.Popen(self._command, cwd=self._app, env=self._env, stdout=log, stderr=log)
        _await(self.url, self._process, self._log)

    def kill(self) -> None:
        self._end(lambda process: process.kill())

    def stop(self) -> None:
        self._end(lambda process: process.terminate())

    def _end(self, how: Callable[[subprocess.Popen[Any]], None]) -> None:
        if self._process is not None:
            how(self._process)
            self._process.wait(60)
            self._process = None


@contextmanager
def langgraph_server(app: Path, programs: Path, home: Path, env: Mapping[str, str]) -> Iterator[str]:
    server = LangGraphServer(app, programs, home, env)
    try:
        server.start()
        yield server.url
    finally:
        server.stop()


def _await(url: str, process: subprocess.Popen[Any], log: Path) -> None:
    client = get_sync_client(url=url, api_key=None)
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            client.assistants.search()
        except Exception:
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")
