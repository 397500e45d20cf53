"""Approvals in JupyterLab and Notebook 7, in a real Chromium: buttons, keys, edited arguments, two calls at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.dashboards import FRONTS, Page

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

TWO = """
from langchain_core.messages import AIMessage
from tests.support.scripted import Scripted
two = Scripted(answers=[AIMessage("", tool_calls=[
    {"name": "write_file", "args": {"file_path": f"/work/{n}.txt", "content": n}, "id": n} for n in "ab"]),
    "both are decided"])
%agent use two
"""


class Lab:
    """One JupyterLab with one notebook, and the directory that is mounted in it."""

    def __init__(self, notebook: Notebook, work: Path) -> None:
        self.notebook, self.work = notebook, work

    def ask(self, source: str) -> Any:
        """Run a cell, wait for its buttons; gives the cell."""
        cell = self.notebook.run(source)
        cell.get_by_role("button", name="Approve", exact=True).first.wait_for()
        return cell

    def until(self, names: list[str]) -> None:
        """Wait until the mounted directory has these files."""
        until = time.monotonic() + 30
        while self.files != names:
            assert time.monotonic() < until, f"there is {self.files}"
            time.sleep(0.1)

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.work.iterdir()) if self.work.exists() else []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Any]]:
    place = tmp_path_factory.mktemp("cards")
    with jupyter_lab(place, place / "home") as address, open_chromium() as context:
        yield address, place, context
        print(f"screenshots in {place}")


def opened(server: tuple[str, Path, Any], name: str, front: str) -> Lab:
    """A new notebook in a directory of its own."""
    address, place, context = server
    setup = f"{IMPORT_TESTS}%load_ext deepnb\n%agent mount /work disk:work"
    written(place / name / "cards.ipynb", [setup])
    lab = Lab(Notebook(context, address, f"{name}/cards.ipynb", front), place / name / "work")
    lab.notebook.run_all()
    lab.notebook.errors.clear()  # Notebook 7 has some of its own while it loads
    return lab


@pytest.fixture(scope="module", params=FRONTS)
def lab(request: pytest.FixtureRequest, server: tuple[str, Path, Any]) -> Iterator[Lab]:
    lab = opened(server, str(request.param)[:3], request.param)
    yield lab
    lab.notebook.page.close()


def test_approve_by_button(lab: Lab) -> None:
    cell = lab.ask("%agent write a file /work/one.md with: hello one")
    assert "needs your approval" in cell.inner_text() and "hello one" in cell.inner_text()
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("I wrote 1 line to /work/one.md.").wait_for()
    assert lab.files == ["one.md"]
    assert cell.get_by_role("button", name="Approve", exact=True).count() == 0, "the buttons are gone"
    text = cell.inner_text()
    assert "approved" in text and text.index("approved") < text.index("I wrote 1 line"), "it streamed below the card"
    assert lab.notebook.errors == []


def test_reject_by_keyboard(lab: Lab) -> None:
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
    assert lab.files == ["one.md"]
    assert "rejected" in cell.inner_text()


def test_space_approves(lab: Lab) -> None:
    cell, page = lab.ask("%agent write a file /work/space.md with: hello space"), lab.notebook.page
    cell.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Space")
    cell.get_by_text("I wrote 1 line to /work/space.md.").wait_for()
    (lab.work / "space.md").unlink()


def test_edit_by_keyboard(lab: Lab) -> None:
    cell, page = lab.ask("%agent write a file /work/keys.md with: hello keys"), lab.notebook.page
    cell.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Space")
    area = cell.get_by_role("textbox", name="arguments")
    area.wait_for()
    area.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"file_path": "/work/typed.md", "content": "typed"}')
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    cell.get_by_text("approved with edits").wait_for()
    cell.get_by_text("I wrote").first.wait_for()
    assert "typed.md" in lab.files
    (lab.work / "typed.md").unlink()


def test_edit_the_arguments(lab: Lab) -> None:
    cell = lab.ask("%agent write a file /work/three.md with: hello three")
    cell.get_by_role("button", name="Edit").click()
    area = cell.get_by_role("textbox", name="arguments")
    area.fill("{oops")
    cell.get_by_role("button", name="Approve with edits").click()
    cell.get_by_text("not valid JSON").wait_for()
    area.fill('{"file_path": "/work/edited.md", "content": "other"}')
    cell.get_by_role("button", name="Approve with edits").click()
    cell.get_by_text("approved with edits").wait_for()
    lab.until(["edited.md", "one.md"])


def test_two_at_once(lab: Lab) -> None:
    lab.notebook.run(TWO)
    cell = lab.ask("%agent go on with two files")
    approve = cell.get_by_role("button", name="Approve", exact=True)
    assert approve.count() == 2
    cell.get_by_role("textbox", name="Reason").last.fill("one is enough")
    lab.notebook.page.keyboard.press("Enter")
    cell.get_by_text("rejected: one is enough").first.wait_for()
    assert approve.count() == 1 and "both are decided" not in cell.inner_text()
    approve.click()
    cell.get_by_text("both are decided").wait_for()
    assert lab.files == ["a.txt", "edited.md", "one.md"]


def test_every_control_has_a_name(lab: Lab) -> None:
    lab.notebook.run("%agent use offline")
    cell = lab.ask("%agent write a file /work/four.md with: hello four")
    for role in ("button", "textbox"):
        for control in cell.locator(".jupyter-widgets").get_by_role(role).all():
            named = control.evaluate(
                "n => n.innerText || n.ariaLabel || n.title || (n.labels && n.labels[0].innerText)"
            )
            assert named.strip(), control.evaluate("n => n.outerHTML")
    cell.get_by_role("button", name="Allow write_file in this thread").click()
    cell.get_by_text("I wrote 1 line to /work/four.md.").wait_for()
    cell = lab.notebook.run("%agent write a file /work/five.md with: hello five")
    cell.get_by_text("I wrote 1 line to /work/five.md.").wait_for()
    assert "five.md" in lab.files


# The pixels of a cell's outputs in which nothing can be seen: outputs without anything, and gaps of more than a margin.
HOLES = """
area => {
  const seen = n => n.innerText.trim() || n.querySelector('img, button')
  const parts = [...area.querySelectorAll('.jp-OutputArea-child')].map(n => [n.getBoundingClientRect(), seen(n)])
  const full = parts.filter(([, seen]) => seen).map(([box]) => box).sort((a, b) => a.top - b.top)
  const gaps = full.slice(1).map((box, i) => box.top - full[i].bottom).filter(gap => gap > 12)
  return gaps.concat(parts.filter(([box, seen]) => !seen && box.height > 0).map(([box]) => box.height))
}
"""


def holes(cell: Any) -> list[float]:
    return list(cell.locator(".jp-OutputArea").first.evaluate(HOLES))


def test_there_is_no_hole_under_a_card_and_its_footer_is_below_it(lab: Lab) -> None:
    lab.notebook.run("%agent new holes")
    cell = lab.ask("%agent write a file /work/hole.md with: hello hole")
    assert holes(cell) == []
    text = cell.inner_text()
    assert text.index("needs your approval") < text.index("Reject\n") < text.index("turn 1 ·")
    for theme in (DARK, LIGHT):
        lab.notebook.theme(theme)
        cell.screenshot(path=lab.work.parent / f"open-{theme.split()[-1]}.png")
    cell.get_by_role("button", name="Edit").click()
    cell.get_by_role("textbox", name="arguments").fill('{"file_path": "/work/filled.md", "content": "other"}')
    cell.get_by_role("button", name="Approve with edits").click()
    cell.get_by_text("I wrote").first.wait_for()
    assert holes(cell) == []
    text = cell.inner_text()
    assert 'write_file(file_path="/work/filled.md"' in text and text.count("turn 1 ·") == 1, "what ran, and one footer"
    (lab.work / "filled.md").unlink()


def test_the_saved_notebook_holds_records_and_no_buttons(lab: Lab) -> None:
    lab.notebook.save()
    until = time.monotonic() + 30
    while "hello five" not in (text := (lab.work.parent / "cards.ipynb").read_text()):
        assert time.monotonic() < until, "it is not saved"
        time.sleep(0.2)
    saved = nbformat.reads(text, 4)
    shown = [o for cell in saved.cells for o in cell.get("outputs", ()) if "data" in o]
    assert not any("application/vnd.jupyter.widget-view+json" in o["data"] for o in shown)
    assert sum("approved" in o["data"].get("text/plain", "") for o in shown) >= 3
    assert all(len(cell.get("outputs", ())) <= 20 for cell in saved.cells)


def test_a_reopened_notebook_has_no_hole_and_speaks_of_no_buttons(lab: Lab, server: tuple[str, Path, Any]) -> None:
    place = lab.work.parent
    foreign = nbformat.read(place / "cards.ipynb", 4)
    foreign.cells.append(nbformat.v4.new_markdown_cell("from elsewhere"))  # so its signature is nobody's
    nbformat.write(foreign, place / "foreign.ipynb")
    address, _, context = server
    there = Notebook(context, address, f"{place.name}/foreign.ipynb", lab.notebook.front)
    there.page.get_by_role("paragraph").filter(has_text="from elsewhere").wait_for()
    for n, cell in enumerate(there.page.locator(".jp-CodeCell").all()):
        assert holes(cell) == []
        assert "button" not in cell.locator(".jp-OutputArea").first.inner_text(), n
    there.page.locator(".jp-CodeCell", has_text="filled.md").first.screenshot(path=place / "reopened.png")
    there.page.close()


def test_axe_finds_nothing_in_an_open_card(lab: Lab) -> None:
    pytest.importorskip("axe_playwright_python.sync_playwright")
    notebook = lab.notebook
    notebook.run("%agent new looked-at")
    panel = notebook.run("%agent panel approvals")
    notebook.run(TWO)
    cell = lab.ask("%agent go on with two files")
    cell.get_by_role("button", name="Edit").first.click()
    cell.get_by_role("textbox", name="arguments").first.wait_for()
    page = Page(notebook, lab.work.parent)
    try:
        for theme in (DARK, LIGHT):
            notebook.theme(theme)
            for name, shown in (("card", cell), ("panel", panel)):
                shown.scroll_into_view_if_needed()
                shown.screenshot(path=lab.work.parent / f"{name}-{theme.split()[-1]}.png")
            assert page.violations() == []
    finally:
        notebook.theme(LIGHT)
    cell.get_by_role("button", name="Approve", exact=True).first.click()
    cell.get_by_text("approved").first.wait_for()
    assert page.violations() == []
