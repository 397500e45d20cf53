"""Editing a memory file in JupyterLab, in a real Chromium: typed, saved, cancelled, refused; in light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.browsers import DARK, Notebook, jupyter_lab, marks, open_chromium, setting

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

CELLS = ("%load_ext deepnb\n%memory add I like tea", "%memory edit", "%memory edit /AGENTS.md")
TOKEN = ("ghp_", "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5")

TYPE_AND_SAVE = """
(cell, texts) => {
  const area = cell.querySelector('textarea')
  for (const text of texts) { area.value = text; area.dispatchEvent(new Event('input', {bubbles: true})) }
  [...cell.querySelectorAll('button')].find(one => one.innerText.trim() === 'Save').click()
}
"""


class Lab:
    def __init__(self, address: str, context: Any, place: Path) -> None:
        self.address, self.context, self.place = address, context, place
        self.notebook = Notebook(context, address, "edit.ipynb")

    def editor(self, at: int) -> Any:
        """The output of the cell `at`."""
        return self.notebook.page.locator(".jp-CodeCell").nth(at)

    def file(self, path: str = "/AGENTS.md") -> str:
        """What the kernel has in the file."""
        self.notebook.run(f"import deepnb; print(repr(deepnb.current().files[{path!r}]))")
        return str(self.notebook.page.locator(".jp-CodeCell").last.locator(".jp-OutputArea").inner_text())

    def shot(self, name: str) -> None:
        self.notebook.page.screenshot(path=self.place / f"{name}.png")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    place = tmp_path_factory.mktemp("edit")
    (place / "notebooks").mkdir()
    (place / "home").mkdir()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    nbformat.write(notebook, place / "notebooks" / "edit.ipynb")
    with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium() as context:
        lab = Lab(address, context, place)
        lab.notebook.run_all()
        yield lab
        print(f"screenshots in {place}")


def test_a_text_is_edited_and_saved(lab: Lab) -> None:
    cell = lab.editor(1)
    area = cell.locator("textarea")
    area.wait_for()
    assert area.input_value() == "- I like tea\n"
    area.fill("- I like coffee\n- and cake\n")
    lab.shot("editing")
    cell.get_by_role("button", name="Save").click()
    cell.get_by_text("saved /AGENTS.md").first.wait_for()
    assert cell.locator("textarea").count() == 0, "a record stands in its place"
    assert "+- I like coffee" in cell.inner_text().replace("+\n", "+") or "coffee" in cell.inner_text()
    assert "'- I like coffee\\n- and cake\\n'" in lab.file()


def test_a_credential_is_refused_and_what_was_typed_stays(lab: Lab) -> None:
    cell = lab.editor(2)
    area = cell.locator("textarea")
    typed = f"- I like tea\n- the token is {''.join(TOKEN)}\n"
    area.fill(typed)
    cell.get_by_role("button", name="Save").click()
    cell.get_by_text("it holds what looks like a GitHub token (line 2)").wait_for()
    assert area.input_value() == typed
    lab.shot("refused")
    assert "'- I like coffee\\n- and cake\\n'" in lab.file()


def test_letters_that_the_page_holds_back_are_saved_too(lab: Lab) -> None:
    lab.notebook.ask("%memory edit /held.md")
    cell = lab.notebook.page.locator(".jp-CodeCell").last
    cell.locator("textarea").wait_for()
    cell.evaluate(TYPE_AND_SAVE, ["- one\n", "- one\n- two\n", "- one\n- two\n- three\n"])
    cell.get_by_text("saved /held.md").first.wait_for()
    assert "'- one\\n- two\\n- three\\n'" in lab.file("/held.md")


def test_a_change_made_meanwhile_is_merged_or_shown(lab: Lab) -> None:
    cell = lab.editor(2)
    cell.locator("textarea").fill("- I like milk\n")
    cell.get_by_role("button", name="Save").click()
    cell.get_by_text("was also changed elsewhere").wait_for()
    both = cell.locator("textarea").input_value()
    assert "milk" in both and "coffee" in both and "<<<<<<<" not in both
    lab.shot("conflict")
    cell.locator("textarea").fill("- I like milk\n")
    cell.get_by_role("button", name="Save").click()
    cell.get_by_text("saved /AGENTS.md").first.wait_for()
    assert "'- I like milk\\n'" in lab.file()


def test_cancel_closes_and_changes_nothing(lab: Lab) -> None:
    lab.notebook.ask("%memory edit")
    cell = lab.notebook.page.locator(".jp-CodeCell").last
    cell.locator("textarea").fill("- nothing of this\n")
    cell.get_by_role("button", name="Cancel").click()
    cell.get_by_text("cancelled: /AGENTS.md is unchanged").wait_for()
    assert cell.locator("textarea").count() == 0
    assert "'- I like milk\\n'" in lab.file()
    assert lab.notebook.errors == []


def test_the_dark_theme_and_the_saved_file(lab: Lab) -> None:
    lab.notebook.ask("%memory edit")
    lab.notebook.page.locator(".jp-CodeCell").last.locator("textarea").wait_for()
    lab.notebook.save()
    saved = json.loads((lab.place / "notebooks" / "edit.ipynb").read_text())
    data = [list(o["data"]) for o in saved["cells"][1]["outputs"]]
    assert data == [["text/html", "text/plain"]] * 2, "settled: records only"
    setting(lab.place / "home", "apputils-extension/themes", {"theme": DARK})
    lab.notebook.page.reload()
    lab.notebook.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    lab.notebook.ready()
    lab.notebook.ask("%memory edit")
    lab.notebook.page.locator(".jp-CodeCell").last.locator("textarea").wait_for()
    lab.shot("dark")
    assert "Error displaying widget" not in lab.editor(1).inner_text()
