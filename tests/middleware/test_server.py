"""The story on a LangGraph server, in an environment of its own and with its watch for blocking calls on."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests import ROOT
from tests.middleware import story
from tests.middleware.checks import check
from tests.support.environments import environment
from tests.support.langgraph_server import CLI, langgraph_server

NEEDED = [CLI, "deepagents>=0.7.32,<0.8", "filelock>=3.30", "numpy>=1.26", "pyyaml>=6"]
"""Of what deepnb needs, what its middleware does: neither IPython nor ipywidgets nor pandas."""

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """(address, directory of the story) of a server that serves a copy of the story's file."""
    place = tmp_path_factory.mktemp("server")
    programs = environment(place / "env", NEEDED)
    installed = Path(subprocess.check_output([programs / "python", "-c", _SITE], text=True).strip())
    shutil.copytree(ROOT / "deepnb", installed / "deepnb", ignore=shutil.ignore_patterns("__pycache__"))
    app = place / "app"
    for name in ("app", "told/deep", "told/plain"):
        (place / name).mkdir(parents=True)
    shutil.copy(story.__file__, app / "story.py")
    graphs = {kind: f"./story.py:{kind}" for kind in ("deep", "plain", "blocks")}
    (app / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with langgraph_server(app, programs, place, {"STORY": str(place / "told")}) as url:
        yield url, place / "told"


_SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


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
