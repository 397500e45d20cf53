"""The stop button in a real kernel: one line, everything kept, Run All stopped, and it goes on."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.kernels import Kernel, Ran

pytestmark = pytest.mark.kernel

TAG = re.compile(r"<[^>]*>")

MODELS = """
import time
from tests.support.scripted import Scripted, call
from tests.support.endless import Endless

def sleeper() -> str:
    "Sleep."
    time.sleep(60)
    return "slept"

def busy() -> str:
    "Count for ever."
    until = time.monotonic() + 60
    while time.monotonic() < until:
        sum(range(1000))
    return "counted"

deepnb_session = __import__("deepnb").current()
deepnb_session.configure(tools=[sleeper, busy], approve={"sleeper": "allow", "busy": "allow"})
slow, slow_at_last = Endless(), Endless(first=2, words=1)
sleeps = Scripted(answers=[call("sleeper"), "after sleeping"])
counts = Scripted(answers=[call("busy"), "after counting"])
"""


@pytest.fixture
def models(kernel: Kernel) -> Kernel:
    kernel.ok(IMPORT_TESTS + MODELS)
    return kernel


def stopped(kernel: Kernel, cell: str, sign: str) -> tuple[Ran, Ran]:
    """Run a cell and one queued behind it; interrupt when an output shows `sign`.

    The picture of an answer grows; its text is sent when it has ended.
    """
    done: list[bool] = []

    def when(kernel: Kernel, message: dict[str, Any]) -> None:
        data = message["content"].get("data", {})
        seen = unescape(TAG.sub("", str(data.get("text/html", "")))) + str(data.get("text/plain", ""))
        if not done and sign in seen:
            done.append(True)
            kernel.interrupt()

    kernel.run("reached = False")
    first, second = kernel.send(cell), kernel.send("reached = True")
    ran = kernel.wait(first, when)
    assert done, f"{sign!r} was never shown: {ran.text}"
    return ran, kernel.wait(second)


def check(kernel: Kernel, ran: Ran, queued: Ran, where: str) -> None:
    assert ran.status == "error" and queued.status == "aborted"
    assert not ran.of("error"), "a traceback"
    (line,) = ran.printed.strip().splitlines()
    assert line.startswith(f"UsageError: interrupted {where}"), line
    assert "%agent resume" in line
    assert f"interrupted {where}" in ran.text
    assert kernel.value("reached") == "False"


def test_in_the_model(models: Kernel) -> None:
    ran, queued = stopped(models, "%%agent --model slow\nwhat can you do?", "I am")
    check(models, ran, queued, "while the model answered")
    assert "teaching model" in models.ok("%agent resume").text
    assert "You are welcome" in models.ok("%%agent\nthanks").text


def test_in_a_tool(models: Kernel) -> None:
    """One that sleeps in C, and one that works in Python."""
    tools = (("sleeps", "sleeper", "after sleeping"), ("counts", "busy", "after counting"))
    for turns, (model, tool, answer) in enumerate(tools, 1):
        models.ok(f"%agent use {model}")
        ran, queued = stopped(models, "%%agent\ngo", f"→ {tool}()")
        check(models, ran, queued, f"in the tool {tool}")
        assert "%agent resume again" in ran.printed and "%agent resume skip" in ran.printed
        unsure = models.run("%agent resume")
        assert unsure.status == "error" and "may have done part of its work" in unsure.printed
        assert answer in models.ok("%agent resume skip").text
        assert models.value("len(deepnb_session.turns)") == str(turns)


def test_a_new_prompt_after_an_interrupted_tool(models: Kernel) -> None:
    models.ok("%agent use sleeps")
    stopped(models, "%%agent\ngo", "→ sleeper()")
    models.ok("%agent use offline")
    assert "You are welcome" in models.ok("%%agent\nthanks").text
    assert models.value("[t.prompt for t in deepnb_session.turns]") == "['go', 'thanks']"


def test_between_two_steps(models: Kernel) -> None:
    models.ok("%agent use slow_at_last")
    ran, queued = stopped(models, "%%agent\nRemember that I like tea", "→ write_file(")
    check(models, ran, queued, "")
    models.ok("slow_at_last.first = 0")
    in_the_call = "write_file was interrupted" in models.value("str(deepnb_session.pending)")
    assert "tea" in models.ok(f"%agent resume{' again' if in_the_call else ''}").text
    assert models.ok("%memory").text.count("likes tea") == 1


def test_an_interrupt_while_idle_harms_nothing(models: Kernel) -> None:
    models.interrupt()
    assert "You are welcome" in models.ok("%agent thanks").text
