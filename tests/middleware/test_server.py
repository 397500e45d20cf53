"""The story on a LangGraph server, in an environment of its own and with its watch for blocking calls on.

`langgraph-cli[inmem]` is under the Elastic License 2.0: it is in no extra of ours, and is installed here alone.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests.middleware import story
from tests.middleware.checks import check

ROOT = Path(__file__).parents[2]
NEEDED = ["langgraph-cli[inmem]", "deepagents>=0.7.32,<0.8", "filelock>=3.30", "numpy>=1.26", "pyyaml>=6"]
"""Of what deepnb needs, what its middleware does: neither IPython nor ipywidgets nor pandas."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """(address, directory of the story) of a server that serves a copy of the story's file."""
    place = tmp_path_factory.mktemp("server")
    programs = place / "env" / ("Scripts" if os.name == "nt" else "bin")
    venv.create(place / "env", with_pip=True)
    pip = [str(programs / "pip"), "install", "--quiet", "--retries", "1"]
    got = subprocess.run([*pip, *NEEDED], capture_output=True, text=True, timeout=900)
    if "No matching distribution" in got.stderr:
        pytest.skip("pip has no registry to install langgraph-cli from")
    assert got.returncode == 0, got.stderr
    installed = Path(subprocess.check_output([programs / "python", "-c", _SITE], text=True).strip())
    shutil.copytree(ROOT / "deepnb", installed / "deepnb", ignore=shutil.ignore_patterns("__pycache__"))
    app = place / "app"
    for name in ("app", "told/deep", "told/plain"):
        (place / name).mkdir(parents=True)
    shutil.copy(story.__file__, app / "story.py")
    graphs = {kind: f"./story.py:{kind}" for kind in ("deep", "plain", "blocks")}
    (app / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "STORY": str(place / "told"), "HOME": str(place)}
    command = [str(programs / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)]
    with open(place / "log", "w") as log:
        process = subprocess.Popen(command, cwd=app, env=env, stdout=log, stderr=log)
    try:
        _await_server(f"http://127.0.0.1:{port}", process, place / "log")
        yield f"http://127.0.0.1:{port}", place / "told"
    finally:
        process.terminate()
        process.wait(30)


_SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def _await_server(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    client = get_sync_client(url=url)
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            client.assistants.search()
        except Exception:
            time.sleep(0.5)
        else:
            return
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")


@pytest.mark.parametrize("kind", ["deep", "plain"])
def test_the_parts_on_a_server_that_allows_no_blocking_call(server: tuple[str, Path], kind: str) -> None:
    url, folder = server
    client = get_sync_client(url=url)
    thread = client.threads.create()["thread_id"]

    def run(**given: Any) -> Any:
        return client.runs.wait(thread, kind, **given)

    asked = [i["value"] for i in run(input=story.first(kind))["__interrupt__"]]
    run(command={"resume": {"type": "approve"}})
    run(input={"messages": [("user", story.PROMPTS[1])]})
    last: Any = {"messages": [("user", story.PROMPTS[2])]}
    streamed = list(client.runs.stream(thread, kind, input=last, stream_mode=["updates", "events", "custom"]))
    assert not [part for part in streamed if part.event == "error"]
    values: Any = client.threads.get_state(thread)["values"]
    check(story.told(kind, folder / kind, thread, values, asked), kind)


def test_the_server_would_have_stopped_a_blocking_call(server: tuple[str, Path]) -> None:
    url, _ = server
    client = get_sync_client(url=url)
    with pytest.raises(Exception, match="BlockingError"):
        client.runs.wait(None, "blocks", input={"messages": "hello"})
