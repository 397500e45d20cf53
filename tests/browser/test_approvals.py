"""Approvals in JupyterLab and Notebook 7, in a real Chromium: buttons, keys, and edited arguments.

What both front ends show alike is asked of JupyterLab alone.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, Workspace, marks, script
from tests.support.dashboards import FRONTS, violations

pytestmark = [*marks("jupyterlab", "axe_playwright_python"), pytest.mark.slow]

TWO = """
from langchain_core.messages import AIMessage
from tests.support.scripted import Scripted
two = Scripted(answers=[AIMessage("", tool_calls=[
    {"name": "write_file", "args": {"file_path": f"/work/{n}.txt", "content": n}, "id": n} for n in "ab"]),
    "both are decided", "hi", "hi again"])
%agent use two
"""

LAB_ALONE = pytest.mark.parametrize("opened", FRONTS[:1], indirect=True)


class Lab:
    def __init__(self, notebook: Notebook, work: Path) -> None:
        self.notebook, self.work = notebook, work

    def ask(self, source: str) -> Any:
        cell = self.notebook.run(source)
        cell.get_by_role("button", name="Approve", exact=True).first.wait_for()
        return cell

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.work.iterdir()) if self.work.exists() else []


@pytest.fixture(scope="module", params=FRONTS)
def opened(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Lab]:
    name = str(request.param)[:3]
    notebook = workspace.run(f"{name}/cards.ipynb", [f"{IMPORT_TESTS}import deepnb"], request.param)
    yield Lab(notebook, workspace.place / name / "work")
    notebook.close()


@pytest.fixture
def lab(opened: Lab) -> Lab:
    shutil.rmtree(opened.work, ignore_errors=True)
    opened.notebook.run("%reload_ext deepnb\n%agent mount /work disk:work")
    opened.notebook.errors.clear()  # Notebook 7 has some of its own while it loads
    return opened


@LAB_ALONE
def test_approve_and_reject_by_keyboard(lab: Lab) -> None:
    cell, page = lab.ask("%agent write a file /work/two.md with: hello two"), lab.notebook.page
    cell.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Tab")
    page.keyboard.type("not this one")
    page.keyboard.press("Tab")
    focused = "document.activeElement.title"
    assert page.evaluate(focused).startswith("reject call 1"), "the order of the keys is that of the eye"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    cell.get_by_text("so I did not run it").wait_for()
    assert "two.md" not in lab.files
    assert "rejected" in cell.inner_text()
    cell = lab.ask("%agent write a file /work/space.md with: hello space")
    cell.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Space")
    cell.get_by_text("I wrote 1 line to /work/space.md.").wait_for()


@LAB_ALONE
def test_edit_by_keyboard(lab: Lab) -> None:
    cell, page = lab.ask("%agent write a file /work/keys.md with: hello keys"), lab.notebook.page
    cell.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Space")
    area = cell.get_by_role("textbox", name="arguments")
    area.wait_for()
    for typed, told in (
        ("{oops", "not valid JSON"),
        ('{"file_path": "/work/typed.md", "content": "typed"}', "approved with edits"),
    ):
        area.focus()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(typed)
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        cell.get_by_text(told).first.wait_for()
    cell.get_by_text("I wrote").first.wait_for()
    assert lab.files == ["typed.md"]


def holes(cell: Any) -> list[float]:
    return list(cell.locator(".jp-OutputArea").first.evaluate(script("holes")))


def test_there_is_no_hole_under_a_card_live_and_reopened(lab: Lab, workspace: Workspace) -> None:
    """What is saved are records without buttons; without a kernel and untrusted they are read as they were."""
    before = lab.notebook.page.locator(".jp-CodeCell").count()
    cell = lab.ask("%agent write a file /work/plain.md with: hello plain")
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("I wrote 1 line to /work/plain.md.").wait_for()
    assert lab.files == ["plain.md"] and lab.notebook.errors == []
    assert cell.get_by_role("button", name="Approve", exact=True).count() == 0, "the buttons are gone"
    text = cell.inner_text()
    assert "approved" in text and text.index("approved") < text.index("I wrote 1 line"), "it streamed below the card"
    lab.notebook.run("%agent new holes")
    cell = lab.ask("%agent write a file /work/hole.md with: hello hole")
    assert holes(cell) == []
    text = cell.inner_text()
    assert text.index("needs your approval") < text.index("Reject\n") < text.index("turn 1 ·")
    cell.get_by_role("button", name="Edit").click()
    cell.get_by_role("textbox", name="arguments").fill('{"file_path": "/work/filled.md", "content": "other"}')
    cell.get_by_role("button", name="Approve with edits").click()
    cell.get_by_text("I wrote").first.wait_for()
    assert holes(cell) == []
    text = cell.inner_text()
    assert 'write_file(file_path="/work/filled.md"' in text and text.count("turn 1 ·") == 1, "what ran, and one footer"
    there = workspace.reopen(lab.notebook)
    for n, cell in enumerate(there.page.locator(".jp-CodeCell").all()):
        assert holes(cell) == []
        assert "button" not in cell.locator(".jp-OutputArea").first.inner_text(), n
    there.page.locator(".jp-CodeCell", has_text="filled.md").first.screenshot(path=lab.work.parent / "reopened.png")
    there.close()
    saved = nbformat.read(lab.work.parent / "cards.ipynb", 4)
    shown = [o for cell in saved.cells[before:] for o in cell.get("outputs", ()) if "data" in o]
    assert not any("application/vnd.jupyter.widget-view+json" in o["data"] for o in shown)
    assert sum("approved" in o["data"].get("text/plain", "") for o in shown) >= 2
    assert all(len(cell.get("outputs", ())) <= 20 for cell in saved.cells)


def test_a_card_in_a_page_that_was_loaded_again_becomes_a_record(lab: Lab) -> None:
    """Such a page knows no output by its display id: what happens is shown where the buttons are, and so once more loaded."""
    notebook = lab.notebook
    notebook.run(TWO)
    lab.ask("%agent write two files anew")
    for left in (2, 1, 0):
        notebook.save()
        notebook.page.reload()
        notebook.page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        cell = notebook.cell("write two files anew")
        cell.locator(".jupyter-widgets").first.wait_for()
        text = cell.inner_text()
        assert text.count("approved\n") == 2 - left and ("needs your approval" in text) == bool(left), text
        if left:
            cell.get_by_role("button", name="Approve", exact=True).first.click()
            cell.get_by_text("both are decided" if left == 1 else "1 · write_file · approved").first.wait_for()
    assert "both are decided" in text and "decided · 2 calls" in text and lab.files == ["a.txt", "b.txt"]
    told = [notebook.run("%agent hello").inner_text() for _ in range(2)]
    assert ["decided above (thread main, turn 1)" in one for one in told] == [True, False] and "hi again" in told[1]


@LAB_ALONE
def test_axe_finds_nothing_in_an_open_card(lab: Lab) -> None:
    notebook = lab.notebook
    panel = notebook.run("%agent panel approvals")
    notebook.run(TWO)
    cell = lab.ask("%agent go on with two files")
    cell.get_by_role("button", name="Edit").first.click()
    cell.get_by_role("textbox", name="arguments").first.wait_for()
    for role in ("button", "textbox"):
        controls = cell.locator(".jupyter-widgets").get_by_role(role).all()
        assert controls
        for control in controls:
            named = control.evaluate(
                "n => n.innerText || n.ariaLabel || n.title || (n.labels && n.labels[0].innerText)"
            )
            assert named.strip(), control.evaluate("n => n.outerHTML")
    for shown in (cell, panel):
        shown.evaluate("cell => cell.setAttribute('data-looked-at', '')")
    for theme in (DARK, LIGHT):
        notebook.theme(theme)
        for name, shown in (("card", cell), ("panel", panel)):
            shown.scroll_into_view_if_needed()
            shown.screenshot(path=lab.work.parent / f"{name}-{theme.split()[-1]}.png")
        assert violations(notebook.page, "[data-looked-at]") == []
    cell.get_by_role("button", name="Approve", exact=True).first.click()
    cell.get_by_text("approved").first.wait_for()
    assert violations(notebook.page, "[data-looked-at]") == []


def test_a_card_of_a_killed_kernel_is_decided_in_the_next(workspace: Workspace) -> None:
    """JupyterLab starts another kernel by itself; its user runs the first cells again, and clicks the button there."""
    setup = f"{IMPORT_TESTS}import os\n%load_ext deepnb\n%agent mount /work disk:work\nprint('process', os.getpid())"
    notebook = workspace.run("killed/kept.ipynb", [setup, "%agent persist kept.db"])
    work, cells = workspace.place / "killed/work", notebook.page.locator(".jp-CodeCell")

    def process() -> int:
        return int(cells.first.locator(".jp-OutputArea").inner_text().split("process")[1].split()[0])

    cell = notebook.run("%agent write a file /work/one.md with: hello one")
    cell.get_by_role("button", name="Approve", exact=True).wait_for()
    assert "the cell with %agent persist shows this card again" in cell.inner_text()
    killed = process()
    os.kill(killed, signal.SIGKILL)
    dialog = notebook.page.locator(".jp-Dialog", has_text="Kernel Restarting")
    dialog.get_by_role("button", name="Ok").click()
    dialog.wait_for(state="detached")
    notebook.ready()
    for number in (0, 1):
        cells.nth(number).locator(".cm-content").click()
        notebook.page.keyboard.press("Control+Enter")
    shown = cells.nth(1)
    shown.get_by_role("button", name="Approve", exact=True).wait_for()
    assert process() != killed
    text = shown.inner_text()
    assert "1 call that needs your approval" in text and "hello one" in text and "turn 1 · main" in text
    assert not work.exists() or not list(work.iterdir())
    shown.get_by_role("button", name="Approve", exact=True).click()
    shown.get_by_text("I wrote 1 line to /work/one.md.").wait_for()
    assert (work / "one.md").read_text() == "hello one\n"
    assert shown.get_by_role("button", name="Approve", exact=True).count() == 0, "the buttons are gone"
    assert "turn 2 ·" in notebook.run("%agent thanks").inner_text()
    assert notebook.errors == []
    notebook.close()
