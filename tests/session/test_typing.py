"""What a type checker knows of a user's own script: no error, no Any, and each slip is found."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.nightly

SCRIPT = '''
import asyncio
from collections.abc import Sequence

import deepnb
from deepnb import Session


def look_up(name: str) -> str:
    """Look up a name."""
    return name.title()


def decisions(calls: Sequence[deepnb.PendingCall]) -> list[deepnb.Decision]:
    return [call.approve() if call.name == "look_up" else call.reject("not now") for call in calls]


def talk() -> str:
    with Session(
        "offline",
        tools=[look_up],
        memory=["/AGENTS.md", "/USER.md"],
        memory_refresh="call",
        max_input_tokens=8_000,
        trigger=("fraction", 0.5),
        approve={"look_up": "ask"},
    ) as session:
        said: list[str] = []
        stream = session.stream("remember that I like tea", max_steps=5)
        for event in stream:
            match event:
                case deepnb.TextDelta(text=text, call=number):
                    said.append(f"{number}: {text}")
                    reveal_type(text)
                case deepnb.ToolStarted(name=name, args=args):
                    reveal_type((name, args))
                case deepnb.ToolEnded() as ended:
                    reveal_type((ended.status, ended.seconds, ended.result))
                case deepnb.Asked(call=call):
                    reveal_type(call.args)
                case deepnb.Compacted(offload=offload):
                    reveal_type(offload.before)
                case deepnb.ModelEnded(call=done):
                    reveal_type(done.usage)
                case _:
                    reveal_type(event)
        reveal_type(stream.turn)
        for event in session.resume(decisions(session.asked)):
            reveal_type(event)
        budget = session.budget()
        if budget is not None:
            reveal_type((budget.total, budget.parts["memory"], budget.left, budget.rule.trigger_tokens))
        for path, text in session.files.items():
            reveal_type((path, text))
        reveal_type(session.files["/AGENTS.md"])
        reveal_type(session.turns[0].usage.input)
        reveal_type(session.memory.log_entries())
        reveal_type(session.memory.search_hits("tea"))
        reveal_type(session.skills.list_skills())
        reveal_type((session.snapshot.files, session.threads, session.history(), session.xray(1, 1)))
        session.configure(max_steps=3, model="offline")
        return "".join(said)


async def wait() -> deepnb.Turn:
    session = Session()
    async for event in session.astream("hi"):
        reveal_type(event)
    turn = await session.arun("hi", thread="main")
    reveal_type(turn)
    try:
        session.switch("b")
    except deepnb.DeepnbError as error:
        reveal_type((error.what, error.do))
    return turn


asyncio.run(wait())
'''

SLIPS = """
import deepnb
s = deepnb.Session(modle="x")
deepnb.Session(memory_refresh="never")
s.configure(max_step=3)
s.run("p", tread="b")
deepnb.Sesion()
deepnb.Session(max_steps="3")
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `mypy --strict` says of both scripts in a folder that knows nothing of this project."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "slips.py").write_text(SLIPS)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "script.py", "slips.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500).stdout


def test_a_users_script_is_known_through_and_through(said: str) -> None:
    revealed = re.findall(r'script.py:\d+: note: Revealed type is "(.*)"', said)
    assert len(revealed) == SCRIPT.count("reveal_type("), said
    assert "script.py" not in "".join(re.findall(r"^.*: error: .*$", said, re.MULTILINE)), said
    assert not [one for one in revealed if re.search(r"\bAny\b", one)]


def test_each_slip_is_found(said: str) -> None:
    assert {int(line) for line in re.findall(r"slips.py:(\d+): error", said)} == {3, 4, 5, 6, 7, 8}, said
