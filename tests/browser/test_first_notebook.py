"""The first notebook in JupyterLab, in a real Chromium: what only a browser shows."""

import shutil
from collections.abc import Iterator

import pytest

from tests.support.browsers import CONTRAST, DARK, Notebook, Workspace, marks
from tests.support.notebooks import FIRST, HERE

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Iterator[Notebook]:
    shutil.copytree(HERE, workspace.place, dirs_exist_ok=True)
    notebook = workspace.open(FIRST)
    notebook.run_all()
    yield notebook
    notebook.close()


def test_what_was_run_is_drawn_and_unfolds(lab: Notebook) -> None:
    assert "Error displaying widget" not in lab.text and "Traceback" not in lab.text
    assert lab.errors == []
    card = lab.cell("What is in the DataFrame planets?").locator("details").first
    inside = card.locator("pre").last
    assert not inside.is_visible()
    card.locator("summary").first.click()
    inside.wait_for(state="visible")
    assert "142984" in card.inner_text()
    gauge = lab.cell("calls = %agent budget").locator(".jp-RenderedHTMLCommon").first
    wide = "nodes => nodes.filter(n => n.offsetWidth > 20 && getComputedStyle(n).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert gauge.locator("div, span").evaluate_all(wide) >= 4, "the parts have colours that survive"


def test_a_saved_notebook_reads_well_in_the_dark_without_its_kernel(lab: Notebook, workspace: Workspace) -> None:
    there = workspace.reopen(lab, DARK)
    low = there.page.evaluate(CONTRAST)
    assert low == [], f"hard to read in the dark: {low[:5]}"
    sights = (
        "Jupiter has the highest gravity_m_s2 in planets: 23.1.",
        "inspect_variable(name=",
        "of 6,200 tokens",
        "compacts at 85 %",
        "context compacted (at the trigger): ",
        '"The user prefers metric units with one decimal place"',
    )
    text = there.text
    assert [sight for sight in sights if sight not in text] == []
    twin = there.cell("%memory panel").locator(".jp-RenderedHTMLCommon").last
    twin.locator("summary").first.click()
    assert "The user prefers metric units" in twin.inner_text()
    there.close()
