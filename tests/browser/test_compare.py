"""A comparison in JupyterLab, in a real Chromium: side by side, below each other when narrow, in both themes."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import CONTRAST, DARK, LIGHT, Notebook, Workspace, marks
from tests.support.tables import wing

pytestmark = [*marks("jupyterlab"), pytest.mark.slow, wing("compare")]

SETUP = f"""{IMPORT_TESTS}
%load_ext deepnb
import time, deepnb
from tests.support.scripted import Scripted, call
table = "| month | units |\\n|---|---|\\n| May | 12 |\\n\\nThe **best** month is May: $x^2$ is no help, and it cost $5 and $7."
short = Scripted(answers=[call("ls", id="a", path="/"), table])
long = Scripted(answers=[call("ls", id="a", path="/"), call("glob", id="b", pattern="*.csv"), table.replace("May", "June")])
@deepnb.reads
def wait() -> str:
    "Wait."
    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.02)
    return "done"
quick, slow = Scripted(answers=["done at once"]), Scripted(answers=[call("wait", id="w"), "never"])
"""
CELLS = [
    SETUP, "%memory add The release is on Friday.",
    "%%agent\nWrite a file /plan.md with: buy milk, and then walk the dog; " + "then rest, " * 60,
    "%agent when is the release?", "%%memory /AGENTS.md\n- The release is on Monday.",
    "%%agent --compare memory_refresh=thread,call,delta\nwhen is the release?",
    "%%agent --compare model=short,long --keep\nwhich month is best?",
]  # fmt: skip


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Iterator[Notebook]:
    notebook = workspace.run("compare.ipynb", CELLS, size=(1400, 1000))
    yield notebook
    notebook.close()


def cards(cell: Any) -> list[Any]:
    found = cell.locator(".jp-OutputArea-output div[style*='wrap'] > div[style*='border']")
    return [found.nth(n).bounding_box() for n in range(found.count())]


def test_the_policies_side_by_side_and_below_each_other(lab: Notebook) -> None:
    cell = lab.cell("memory_refresh=thread")
    text = cell.inner_text()
    assert "Friday" in text and "Monday" in text and "prompt is older than /AGENTS.md" in text
    assert cell.locator("mark").all_inner_texts() == ["Friday", "Monday"], "two columns share one answer"
    first, *others = cards(cell)
    assert len(others) == 2 and all(abs(one["y"] - first["y"]) < 2 for one in others), "side by side"
    lab.page.set_viewport_size({"width": 700, "height": 1000})
    for at, one in enumerate(below := cards(cell)):
        assert at == 0 or one["y"] >= below[at - 1]["y"] + below[at - 1]["height"], "below each other"
        assert abs(one["x"] - below[0]["x"]) < 2
    lab.page.set_viewport_size({"width": 1400, "height": 1000})


def test_both_themes_and_reopened_without_trust(lab: Notebook, workspace: Workspace) -> None:
    cell = lab.cell("model=short")
    for theme in (DARK, LIGHT):
        lab.theme(theme)
        assert lab.page.evaluate(CONTRAST) == []
    assert cell.locator("mjx-container").count() == 2 and "cost $5 and $7" in cell.inner_text()
    assert {"May", "June"} < set(cell.locator("mark").all_inner_texts()) and "kept as compare-1" in cell.inner_text()
    there = workspace.reopen(lab)
    there.page.set_viewport_size({"width": 1400, "height": 1000})
    cell = there.cell("memory_refresh=thread")
    assert cell.locator("mark").all_inner_texts() == ["Friday", "Monday"], "two columns share one answer"
    assert len({round(one["y"]) for one in cards(cell)}) == 1, "side by side there, too"
    there.close()
