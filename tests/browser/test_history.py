"""The history panel in JupyterLab, in a real Chromium: searched, ticked by keyboard, brought back; light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.browsers import CONTRAST, DARK, Notebook, jupyter_lab, marks, open_chromium, setting

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

CELLS = (
    "%load_ext deepnb\n%agent The pump in hall 7 is called Berta",
    "%agent Never restart Berta before 2026-12-01",
    "%agent thanks",
    "%agent compact",
    '%agent history "hall 7"',
    "%agent panel",
)


class Lab:
    def __init__(self, address: str, context: Any, place: Path) -> None:
        self.address, self.context, self.place = address, context, place
        self.notebook = Notebook(context, address, "history.ipynb")

    @property
    def panel(self) -> Any:
        """The widget of the panel's cell, its History tab in front."""
        cell = self.notebook.cell("%agent panel")
        cell.locator(".lm-TabBar-tab", has_text="History").click()
        return cell.locator(".widget-tab")

    def shot(self, name: str) -> None:
        self.notebook.page.screenshot(path=self.place / f"{name}.png")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    place = tmp_path_factory.mktemp("history")
    (place / "notebooks").mkdir()
    (place / "home").mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    nbformat.write(notebook, place / "notebooks" / "history.ipynb")
    with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium(1280, 1500) as context:
        lab = Lab(address, context, place)
        lab.notebook.run_all()
        yield lab
        print(f"screenshots in {place}")


def test_the_record_and_the_search_are_there(lab: Lab) -> None:
    record = lab.notebook.cell("%agent compact")
    assert "on request" in record.inner_text() and "4 messages, saved verbatim in" in record.inner_text()
    summary = record.locator("details").filter(has=lab.notebook.page.locator("summary:text-is('summary')")).last
    summary.locator("summary").click()
    assert "Requests so far: 2" in summary.inner_text()
    found = lab.notebook.cell('%agent history "hall 7"')
    mark = found.locator("mark").first
    assert mark.inner_text() == "hall 7"
    assert mark.evaluate("node => getComputedStyle(node).backgroundColor") not in ("rgba(0, 0, 0, 0)", "")
    lab.shot("record")


def test_a_message_is_found_ticked_by_keyboard_and_brought_back(lab: Lab) -> None:
    page, panel = lab.notebook.page, lab.panel
    panel.scroll_into_view_if_needed()
    assert panel.locator("input[type=checkbox]").count() == 4
    panel.locator("input[type=text]").click()
    page.keyboard.type("hall 7")
    panel.get_by_text("search for hall 7").wait_for()
    boxes = panel.locator("input[type=checkbox]")
    page.wait_for_function(
        "panel => panel.querySelectorAll('input[type=checkbox]').length === 2", arg=panel.element_handle()
    )
    assert "1:1" in panel.locator(".widget-checkbox").first.inner_text()
    for _ in range(8):
        page.keyboard.press("Tab")
        if boxes.first.evaluate("node => node === document.activeElement"):
            break
    page.keyboard.press("Space")
    assert boxes.first.is_checked(), "reached and ticked by keyboard alone"
    button = panel.get_by_role("button", name="Add 1 to next prompt")
    button.wait_for()
    lab.shot("chosen")
    button.focus()
    page.keyboard.press("Enter")
    panel.get_by_text("added to the next prompt: message 1 of section 1").first.wait_for()
    twin = lab.notebook.cell("%agent panel").locator(".jp-RenderedHTMLCommon").last
    twin.locator("summary").first.click()
    assert "added to the next prompt: message 1 of section 1" in twin.inner_text(), "the static twin follows"
    lab.shot("brought")


def test_the_next_prompt_has_it_and_then_it_waits_no_more(lab: Lab) -> None:
    lab.notebook.run("%agent Where is the pump Berta?")
    answer = lab.notebook.cell("%agent Where is the pump Berta?").inner_text()
    assert "added to this prompt: message 1 of section 1" in answer
    assert '"The pump in hall 7 is called Berta" (user)' in answer
    assert "added to the next prompt:" not in lab.panel.inner_text()
    assert lab.notebook.errors == []


def test_what_is_refused_is_a_line_in_the_panel(lab: Lab) -> None:
    panel = lab.panel
    panel.locator("input[type=text]").fill("")
    lab.notebook.run("import deepnb; deepnb.current().new('other') and None")
    panel.get_by_text("nothing offloaded yet").first.wait_for()
    lab.notebook.ask("%agent switch main")
    panel.get_by_text("Requests so far").first.wait_for(state="attached")
    assert panel.locator("input[type=checkbox]").count() == 4


def test_dark_and_saved(lab: Lab) -> None:
    lab.notebook.save()
    saved = json.loads((lab.place / "notebooks" / "history.ipynb").read_text())
    texts = [
        "".join(o["data"].get("text/plain", "")) for cell in saved["cells"] for o in cell["outputs"] if "data" in o
    ]
    assert any("context compacted" in t and "on request" in t for t in texts)
    setting(lab.place / "home", "apputils-extension/themes", {"theme": DARK})
    lab.notebook.page.reload()
    lab.notebook.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    lab.notebook.ready()
    for fold in lab.notebook.cell('%agent history "hall 7"').locator("summary").all():
        fold.scroll_into_view_if_needed()
    lab.shot("dark")
    assert lab.notebook.page.evaluate(CONTRAST) == []
    assert lab.notebook.cell('%agent history "hall 7"').locator("mark").count() >= 1, "kept in a notebook not run here"
