"""Widgets in JupyterLab, in a real Chromium: memory files edited, the history searched, a key typed; and the first notebook."""

import shutil
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import CONTRAST, DARK, Notebook, Workspace, marks
from tests.support.notebooks import FIRST, HERE

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

CELLS = (
    "%load_ext deepnb\n%memory add I like tea", "%agent The pump in hall 7 is called Berta", "%agent what can you do?",
    "%agent thanks", "%agent compact", '%agent history "hall 7"', "%agent panel", "%memory edit",
    "%memory edit /AGENTS.md",
)  # fmt: skip
TYPE_AND_SAVE = """
(cell, texts) => {
  const area = cell.querySelector('textarea')
  for (const text of texts) { area.value = text; area.dispatchEvent(new Event('input', {bubbles: true})) }
  [...cell.querySelectorAll('button')].find(one => one.innerText.trim() === 'Save').click()
}
"""


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Iterator[Notebook]:
    notebook = workspace.run("memory.ipynb", CELLS, size=(1280, 1500))
    yield notebook
    notebook.close()


def file(lab: Notebook, path: str = "/AGENTS.md") -> str:
    cell = lab.run(f"import deepnb; print(repr(deepnb.current().files[{path!r}]))")
    return str(cell.locator(".jp-OutputArea").first.inner_text())


def editor(lab: Notebook, source: str) -> Any:
    exact = lab.page.locator(".jp-InputArea-editor").get_by_text(source, exact=True)
    return lab.page.locator(".jp-CodeCell").filter(has=exact).last


@pytest.fixture(scope="module")
def edited(lab: Notebook) -> Any:
    cell = editor(lab, CELLS[-2])
    area = cell.locator("textarea")
    area.wait_for()
    assert "- I like tea\n" in area.input_value()
    area.fill("- I like coffee\n- and cake\n")
    cell.get_by_role("button", name="Save").click()
    cell.get_by_text("saved /AGENTS.md").first.wait_for()
    return cell


def test_letters_that_the_page_holds_back_are_saved_too(lab: Notebook) -> None:
    cell = lab.ask("%memory edit /held.md")
    cell.locator("textarea").wait_for()
    cell.evaluate(TYPE_AND_SAVE, ["- one\n", "- one\n- two\n", "- one\n- two\n- three\n"])
    cell.get_by_text("saved /held.md").first.wait_for()
    assert "'- one\\n- two\\n- three\\n'" in file(lab, "/held.md")


def test_a_message_is_found_ticked_by_keyboard_and_brought_back(lab: Notebook) -> None:
    page, panels = lab.page, lab.cell("%agent panel")
    panels.locator(".lm-TabBar-tab", has_text="History").click()
    panel = panels.locator(".widget-tab > .widget-tab-contents > :not(.lm-mod-hidden)")
    panel.scroll_into_view_if_needed()
    boxes = panel.locator("input[type=checkbox]")
    boxes.nth(3).wait_for()
    assert boxes.count() == 4
    panel.locator("input[type=text]").click()
    page.keyboard.type("hall 7")
    panel.get_by_text("search for hall 7").wait_for()
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
    button.focus()
    page.keyboard.press("Enter")
    added = "added to the next prompt: message 1 of section 1"
    panel.get_by_text(added).first.wait_for()
    twin = panels.locator(".jp-RenderedHTMLCommon").last
    twin.locator("summary").first.click()
    twin.get_by_text(added).first.wait_for()
    answer = lab.run("%agent Where is the pump Berta?").inner_text()
    assert "added to this prompt: message 1 of section 1" in answer
    assert '"The pump in hall 7 is called Berta" (user)' in answer
    assert "added to the next prompt:" not in panel.inner_text()
    assert lab.errors == []


@pytest.mark.usefixtures("edited")
def test_the_saved_notebook_in_the_dark(lab: Notebook, workspace: Workspace) -> None:
    there = workspace.reopen(lab, DARK)
    assert there.page.evaluate(CONTRAST) == []
    mark = there.cell('%agent history "hall 7"').locator("mark").first
    assert mark.inner_text() == "hall 7"
    assert mark.evaluate("node => getComputedStyle(node).backgroundColor") not in ("rgba(0, 0, 0, 0)", "")
    assert "Error displaying widget" not in editor(there, CELLS[-2]).inner_text()
    assert "saved /AGENTS.md" in editor(there, CELLS[-2]).inner_text()
    there.close()
    saved = nbformat.read(workspace.place / "memory.ipynb", 4)
    source = next(cell for cell in saved.cells if cell.source == CELLS[-2])
    assert [sorted(o.data) for o in source.outputs] == [["text/html", "text/plain"]] * 2, "settled: records only"


KEY = "sk-page-0123456789-abcdefghijk"
CHOOSER = (f"{IMPORT_TESTS}%load_ext deepnb\n%agent persist kept.db", "%agent use")


def test_a_key_is_typed_into_the_page_and_saved_nowhere(workspace: Workspace) -> None:
    lab = workspace.run("key.ipynb", CHOOSER)
    lab.command("Settings > Save Widget State Automatically")
    cell = lab.cell(CHOOSER[1])
    cell.get_by_role("combobox", name="Provider").select_option("openai")
    cell.get_by_placeholder("Enter keeps it").focus()
    lab.page.keyboard.type(KEY)
    lab.page.keyboard.press("Enter")
    cell.get_by_text("key for openai kept in this process only").first.wait_for()
    assert cell.get_by_placeholder("Enter keeps it").input_value() == ""
    lab.run("%agent hello")
    has = lab.run("from deepnb.models.keys import kept_key; len(kept_key('openai').reveal())").inner_text()
    lab.save()
    lab.command("Settings > Save Widget State Automatically")
    saved = (workspace.place / "key.ipynb").read_text()
    lab.close()
    assert has.endswith(str(len(KEY))) and "PasswordModel" in saved, "the state of the widgets is saved, too"
    assert not [
        file.name for file in workspace.place.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()
    ]


@pytest.fixture(scope="module")
def first(workspace: Workspace) -> Iterator[Notebook]:
    shutil.copytree(HERE, workspace.place, dirs_exist_ok=True)
    notebook = workspace.open(FIRST)
    notebook.run_all()
    yield notebook
    notebook.close()


def test_what_was_run_is_drawn_and_unfolds(first: Notebook) -> None:
    assert "Error displaying widget" not in first.text and "Traceback" not in first.text
    assert first.errors == []
    card = first.cell("What is in the DataFrame planets?").locator("details").first
    inside = card.locator("pre").last
    assert not inside.is_visible()
    card.locator("summary").first.click()
    inside.wait_for(state="visible")
    assert "142984" in card.inner_text()
    gauge = first.cell("calls = %agent budget").locator(".jp-RenderedHTMLCommon").first
    wide = "nodes => nodes.filter(n => n.offsetWidth > 20 && getComputedStyle(n).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert gauge.locator("div, span").evaluate_all(wide) >= 4, "the parts have colours that survive"
