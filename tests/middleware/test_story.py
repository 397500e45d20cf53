"""The five parts together in a deep agent and in a plain one, in a process that has no IPython, and on a LangGraph server."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_sync_client

from tests import ROOT
from tests.middleware import story
from tests.support.environments import environment
from tests.support.langgraph_server import CLI, langgraph_server
from tests.support.tables import every_row

UPDATE = "--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+- tabs\n"


def check(told: dict[str, Any], kind: str) -> None:
    """Look at what must come of the story, wherever it is told."""
    *turn, summary, last = told["requests"]
    (first, second, third, fourth, _), history = turn, told["history"]
    # memory
    assert "(nothing yet" in first[0][1] and "/AGENTS.md starts it" in first[0][1]
    assert second[-1][0] == "human" and second[-1][1].endswith(UPDATE), "the edit is in the very next call"
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(turn)), "what was sent stays as it was"
    assert len([text for _, text in last if UPDATE in text]) == 1, "a compaction does not lose it"
    # skills
    assert "- **greeting**: How to greet. -> read_file `/skills/greeting/SKILL.md`" in first[0][1]
    assert "Say hello." not in first[0][1]
    # approvals
    (asked,) = told["asked"]
    assert (asked["type"], asked["name"], asked["args"]) == ("tool_approval", "pay", {"amount": 3})
    assert third[-1] == ["tool", "paid 3"]
    # the guard
    role, answer = fourth[-1]
    assert role == "tool" and answer.startswith("Error: not written to /AGENTS.md: a credential")
    assert told["memory"] == "- tabs\n"
    assert story.KEY not in str(told), f"{kind}: neither in the state nor in what was sent or kept"
    # compaction
    assert history.startswith("## Summarized at ") and "Remember that I like tabs, then pay 3." in history
    assert "[redacted: Anthropic key]" in history and "→ pay" in history
    assert any("What is the colour?" in said for _, said in summary)
    assert "/conversation_history/" in last[1][1] and "(the summary)" in last[1][1]
    talk = [text for _, text in last if not text.startswith("Memory has changed")]  # which comes before the prompt
    assert talk[talk.index("Go on.") - 1] == "the colour is red"


@pytest.mark.slow
@every_row("kind", ["deep", "plain"])
def test_the_parts_in_an_agent(kind: str, tmp_path: Any) -> None:
    command = [sys.executable, str(story.__file__), kind, str(tmp_path / "told")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told) == ["invoke", "ainvoke", "astream"]
    for one in told.values():
        check(one, kind)


# -- in an environment of its own, with the server's watch for blocking calls on


NEEDED = [CLI, "deepagents>=0.7.32,<0.8", "filelock>=3.30", "numpy>=1.26", "pyyaml>=6"]
"""Of what deepnb needs, what its middleware does: neither IPython nor ipywidgets nor pandas."""


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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_the_server_would_have_stopped_a_blocking_call(server: tuple[str, Path]) -> None:
    url, _ = server
    client = get_sync_client(url=url)
    with pytest.raises(Exception, match="BlockingError"):
        client.runs.wait(None, "blocks", input={"messages": "hello"})
