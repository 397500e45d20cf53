"""`langgraph dev` in an environment of its own, on loopback, with all that asks another host switched off.

`langgraph-cli[inmem]` is under the Elastic License 2.0: it is in no extra of ours, and is installed for tests alone.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph_sdk import get_sync_client

from tests.support.chat_server import OpenAIServer, Say, Use, free_port

CLI = "langgraph-cli[inmem]"

QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}  # no usage data, no look at PyPI, no traces


class LangGraphServer:
    def __init__(self, app: Path, programs: Path, home: Path, env: Mapping[str, str], *options: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._app, self._log = app, home / "log"
        self._command = [
            str(programs / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port), *options,
        ]  # fmt: skip
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


EDIT = {"file_path": "/AGENTS.md", "old_string": "Use tabs.", "new_string": "Use spaces."}
TASK = {"subagent_type": "general-purpose", "description": "Look."}
ANSWERS = [
    *(Say("hello"), Use("edit_file", EDIT), Say("done")), Use("note", {"text": "The colour is red."}, "2"),
    Use("memory_search", {"query": "colour"}, "3"), *(Use("task", TASK, "4"), Say("found it"), Say("bye")),
]  # fmt: skip


def story(app: Path, programs: Path, home: Path) -> dict[str, Any]:
    with OpenAIServer(ANSWERS) as model:
        env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
        env |= {name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ}
        with langgraph_server(app, programs, home, env) as url:
            client = get_sync_client(url=url)
            first, second = (client.threads.create()["thread_id"] for _ in range(2))

            def run(thread: str, **given: Any) -> list[Any]:
                stream: Any = client.runs.stream(thread, "agent", stream_mode=["messages-tuple", "updates"], **given)
                return [part.data for part in stream if part.event in ("updates", "error")]

            def prompt(text: str) -> Any:
                return {"messages": [{"role": "user", "content": text}]}

            run(first, input=prompt("Hello?"))
            asked = run(first, input=prompt("Remember: Use spaces."))
            approved = run(first, command={"resume": {"type": "approve"}})
            last = run(second, input=prompt("Hello again?"))
            items: Any = client.store.search_items(("deepnb",), limit=100)
    files = {i["key"]: i["value"]["content"] for i in items["items"] if i["namespace"][-1] == "files"}
    return {"requests": model.requests, "asked": asked, "approved": approved, "last": last, "files": files}


if __name__ == "__main__":
    print(json.dumps(story(*map(Path, sys.argv[1:]))))
