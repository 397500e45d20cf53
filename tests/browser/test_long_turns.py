"""A turn that takes long in JupyterLab, in a real Chromium: stopped by its button, and in the background."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import Notebook, Workspace, marks

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

SETUP = f"""{IMPORT_TESTS}
%reload_ext deepnb
import time, deepnb
from tests.support.scripted import Scripted, call
ended = set()
def wait(until: str) -> str:
    "Wait until something has ended, for a minute at most."
    end = time.monotonic() + 60
    while until not in ended and time.monotonic() < end:
        time.sleep(0.02)
    return "nothing to be seen there"
def waits(until, *after):
    return Scripted(answers=[call("wait", id="w", until=until), *(after or ["All is **done**."])])
by_button, long, short = waits("never"), waits("never"), waits("short")
code = waits("code", call("run_python", id="r", code="answer = 6 * 7; answer"), "it is 42")
%agent tools add wait
%agent tools allow wait
"""


@pytest.fixture(scope="module")
def opened(workspace: Workspace) -> Iterator[Notebook]:
    notebook = workspace.run("long.ipynb", ["import deepnb"])
    yield notebook
    notebook.close()


@pytest.fixture
def lab(opened: Notebook) -> Notebook:
    opened.run(SETUP)
    return opened


def seen(cell: Any, words: str) -> None:
    until = time.monotonic() + 60
    while not re.search(words, text := cell.inner_text()):
        assert time.monotonic() < until, text
        cell.page.wait_for_timeout(50)


def test_a_turn_is_stopped_by_its_button(lab: Notebook) -> None:
    cell = lab.ask("%%agent --model by_button\nlook again and again")
    seen(cell, r"\d s · wait")
    cell.get_by_role("button", name="Stop").click()
    seen(cell, "UsageError: interrupted in the tool wait")
    lab.finished()
    assert cell.get_by_role("button", name="Stop").count() == 0, "the button has gone with the line"
    assert not re.search(r"\d s · wait", cell.inner_text().partition("turn 1")[0])
    assert re.search(r"%agent resume again", cell.inner_text()) and lab.errors == []
