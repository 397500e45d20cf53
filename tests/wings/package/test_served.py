"""A packaged agent on a LangGraph server: in an environment made of its requirements, where there is no network."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support.chat_server import OpenAIServer, Say
from tests.support.environments import built, environment
from tests.support.kernels import Kernel
from tests.support.langgraph_server import CLI

pytestmark = [pytest.mark.nightly, pytest.mark.kernel]

KEY = "sk-ant-api03-" + "Zq7Rw2Lm9Xc4Vb6Nt8Yp1Ks3Jd5Hf0Ga" * 2
CELLS = (
    "%load_ext deepnb",
    "%agent use openai:gpt-5.2",
    """
import math as m
RATE, SECRET = 1.2, "KEY"

def rounded(value):
    return m.floor(value * RATE)

def price(amount: float) -> str:
    "Give the price of an amount."
    return f"{rounded(amount)} euros"

def leak() -> str:
    "Give a secret away."
    return SECRET
""".replace("KEY", KEY),
    "%agent tools add price leak",
    "%%memory /AGENTS.md\n# Rules\n\n- Use tabs.",
    '%%skills greeting\n---\nname: greeting\ndescription: "How to greet."\n---\nSay hello.',
    "%%agent\nHello?",
    "%%memory /MEMORY.md\nthe user's own",
    "%agent tools allow price",
    "%agent package --yes app",
)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    place = tmp_path_factory.mktemp("notebook")
    with OpenAIServer([Say("hello")]) as model:
        env = {**os.environ, "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none", "IPYTHONDIR": str(place / "ip")}
        kernel = Kernel(str(place), {**env, "PYTHONPATH": str(ROOT)})
        try:
            for cell in CELLS:
                kernel.ok(cell)
        finally:
            kernel.close()
        (request,) = model.requests
    return place / "app", request


@pytest.fixture(scope="module")
def served(notebook: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    package, place = notebook[0], tmp_path_factory.mktemp("server")
    wheels = built(place / "wheel", "wheel").parent
    programs = environment(place / "env", ["--find-links", str(wheels), "-r", str(package / "requirements.txt"), CLI])
    shutil.copytree(package, place / "app")
    (place / "home").mkdir()
    args = [str(place / "app"), str(programs), str(place / "home")]
    command = [sys.executable, "-m", "tests.support.langgraph_server", *args]
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0:
        command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
    got = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert got.returncode == 0, got.stderr + (place / "home" / "log").read_text()[-2000:]
    return json.loads(got.stdout)


def left_out(package: Path) -> set[str]:
    readme = (package / "README.md").read_text()
    return set(re.findall(r"^- (\w+): (?:works on this notebook|holds)", readme, re.MULTILINE))


def test_the_first_request_is_that_of_the_notebook(notebook: Any, served: Any) -> None:
    package, there = notebook
    here = served["requests"][0]
    bound = left_out(package)
    assert {"list_variables", "run_python", "leak"} <= bound and len(bound) == 8
    tools = [tool for tool in there["tools"] if tool["function"]["name"] not in bound]
    assert len(there["tools"]) - len(tools) == len(bound) and here["tools"][-1]["function"]["name"] == "price"
    assert json.dumps({**there, "tools": tools}) == json.dumps(here)


def test_memory_is_asked_about_the_next_thread_has_it_and_notes_search_and_subagents_work(served: Any) -> None:
    (waiting,) = served["asked"][-1]["__interrupt__"]
    assert waiting["value"]["name"] == "edit_file"
    (edited,) = (one for part in served["approved"] for one in (part.get("tools") or {}).get("messages", ()))
    assert edited["status"] == "success" and served["files"]["/AGENTS.md"] == "# Rules\n\n- Use spaces.\n"
    system = json.dumps(served["requests"][3]["messages"][0]["content"])
    assert "Use spaces." in system and "Use tabs." not in system

    noted, found, task = (one["content"] for one in served["requests"][-1]["messages"] if one["role"] == "tool")
    assert noted.startswith("Noted in /memory/") and "The colour is red." in found and task == "found it"
    nested = json.dumps(served["requests"][-2])
    assert "Use spaces." not in nested and '"note"' not in nested, "a subagent has nothing of memory"
