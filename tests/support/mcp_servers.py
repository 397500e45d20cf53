"""The commands and addresses of MCP servers for tests, and what their tools give."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from tests.support.chat_server import free_port

HERE = Path(__file__).parent
HANG = 60.0

REAL = f"mcp:{shlex.join([sys.executable, '-P', str(HERE / 'mcp_server.py')])}"


def script(**does: Any) -> str:
    return f"mcp:{shlex.join([sys.executable, '-P', '-S', str(HERE / 'mcp_script.py'), json.dumps(does)])}"


def tool(name: str, description: str = "Look.", schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}, **more}


class WebServer:
    def __init__(self) -> None:
        self.port = free_port()
        self.spec = f"mcp:http://127.0.0.1:{self.port}/mcp"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-P", str(HERE / "mcp_server.py"), "http", str(self.port)]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait(self._answers)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def wait(until: Any) -> None:
    end = time.monotonic() + HANG
    while not until():
        assert time.monotonic() < end, "it does not come to be so"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def given(session: Session, name: str, /, **args: Any) -> tuple[str, str]:
    """(status, text) of what a tool of a session gives, called as the agent's graph calls it, but without asking."""
    (found,) = (t for t in session.options.tools if getattr(t, "name", None) == name)
    message: Any = found.invoke({"name": name, "args": args, "id": "c1", "type": "tool_call"})
    return message.status, message.content


@pytest.fixture
def session() -> Any:
    with Session() as one:
        yield one
