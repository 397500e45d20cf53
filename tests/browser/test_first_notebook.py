"""The first notebook in JupyterLab, in a real Chromium: what only a browser shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepnb.tour.places import FIRST, notebooks
from tests.support.browsers import CONTRAST, DARK, Notebook, jupyter_lab, marks, open_chromium, setting

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

STREAMED = """
new Promise(done => {
  const cell = [...document.querySelectorAll('.jp-CodeCell')].pop(), seen = new Set()
  const look = () => {
    const area = cell.querySelector('.jp-OutputArea')
    const text = area ? area.innerText : ''
    if (text.includes('I am deepnb')) seen.add(text)
    if (text.includes('turn 3')) done([...seen])
    else setTimeout(look, 30)
  }
  look()
})
"""


class Lab:
    """One JupyterLab, one browser, and the notebook as it was run."""

    def __init__(self, address: str, context: Any, home: Path, shots: Path) -> None:
        self.address, self.context, self.home, self.shots = address, context, home, shots
        self.notebook = Notebook(context, address, FIRST)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    place = tmp_path_factory.mktemp("lab")
    shutil.copytree(notebooks(), place / "notebooks")
    with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium() as context:
        lab = Lab(address, context, place / "home", place)
        lab.notebook.run_all()
        yield lab
        print(f"screenshots in {place}")


def shot(lab: Lab, name: str) -> None:
    """The notebook as pictures of 1,400 pixels each, to look at."""
    page, outer = lab.notebook.page, ".jp-WindowedPanel-outer"
    height = min(int(page.evaluate(f"document.querySelector('{outer}').scrollHeight")) + 120, 12_000)
    page.set_viewport_size({"width": 1280, "height": height})
    page.evaluate(f"document.querySelector('{outer}').scrollTop = 0")
    page.wait_for_timeout(300)
    for at in range(0, height, 1400):
        clip = {"x": 280, "y": at, "width": 1000, "height": min(1400, height - at)}
        page.screenshot(path=lab.shots / f"{name}-{at // 1400}.png", clip=clip)
    page.set_viewport_size({"width": 1280, "height": 1000})


def test_everything_that_was_run_is_there(lab: Lab) -> None:
    shot(lab, "light")
    text = lab.notebook.text
    for sight in (
        "Jupiter has the highest gravity_m_s2 in planets: 23.1.",
        "inspect_variable(name=",
        "of 5,000 tokens",
        "compacts at 85 %",
        "context compacted (at the trigger): ",
        '"The user prefers metric units with one decimal place"',
    ):
        assert sight in text, sight
    assert "Error displaying widget" not in text and "Traceback" not in text
    assert lab.notebook.errors == []


def test_a_tool_card_unfolds(lab: Lab) -> None:
    card = lab.notebook.cell("What is in the DataFrame planets?").locator("details").first
    inside = card.locator("pre").last
    assert not inside.is_visible()
    card.locator("summary").first.click()
    inside.wait_for(state="visible")
    assert "142984" in card.inner_text()


def test_the_memory_diff_and_the_gauge_are_drawn(lab: Lab) -> None:
    diff = lab.notebook.cell("%memory diff")
    assert "+" in diff.inner_text() and "The user prefers metric units" in diff.locator("pre").last.inner_text()
    gauge = lab.notebook.cell("calls = %agent budget").locator(".jp-RenderedHTMLCommon").first
    wide = "nodes => nodes.filter(n => n.offsetWidth > 20 && getComputedStyle(n).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert gauge.locator("div, span").evaluate_all(wide) >= 4, "the parts have colours that survive"


def test_panels_above_change_with_a_turn_below(lab: Lab) -> None:
    notebook = lab.notebook
    memory = notebook.cell("%memory panel")
    memory.get_by_role("spinbutton", name="turn").first.wait_for()
    assert "likes green tea" not in memory.inner_text()
    notebook.run("%%agent\nRemember that I like green tea")
    memory.get_by_text("green tea").first.wait_for()
    twin = memory.locator(".jp-RenderedHTMLCommon").last
    twin.locator("summary").first.click()
    assert "green tea" in twin.inner_text(), "the static twin follows as well"
    assert notebook.cell("%agent panel").locator(".widget-tab").count() == 1


def test_an_answer_streams_in_place(lab: Lab) -> None:
    notebook = lab.notebook
    notebook.run("from deepnb.models.teaching import TeachingModel\nslow = TeachingModel(delay=0.02)\n%agent use slow")
    notebook.run("%agent new streaming\n%agent thanks\n%agent thanks")
    notebook.ask("%agent what can you do?")
    states = notebook.page.evaluate(STREAMED)
    notebook.finished()
    assert len(states) >= 5
    assert max(len(state) for state in states) > 2 * min(len(state) for state in states)
    assert notebook.errors == []


def test_the_dark_theme(lab: Lab) -> None:
    lab.notebook.save()
    setting(lab.home, "apputils-extension/themes", {"theme": DARK})
    lab.notebook.page.reload()
    lab.notebook.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    lab.notebook.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    lab.notebook.ready()
    shot(lab, "dark")
    low = lab.notebook.page.evaluate(CONTRAST)
    assert low == [], f"hard to read in the dark: {low[:5]}"


def test_a_saved_notebook_reads_well_without_its_kernel(lab: Lab) -> None:
    lab.notebook.page.close()
    for kernel in lab.context.request.get(f"{lab.address}/api/sessions?token=deepnb-tests").json():
        lab.context.request.delete(f"{lab.address}/api/sessions/{kernel['id']}?token=deepnb-tests")
    lab.notebook = Notebook(lab.context, lab.address, FIRST)
    lab.notebook.page.wait_for_timeout(2000)
    shot(lab, "reopened")
    text = lab.notebook.text
    for sight in ("Jupiter has the highest gravity_m_s2", "compacts at 85 %", "inspect_variable(name=", "green tea"):
        assert sight in text, sight
    twin = lab.notebook.cell("%memory panel").locator(".jp-RenderedHTMLCommon").last
    twin.locator("summary").first.click()
    assert "green tea" in twin.inner_text()
