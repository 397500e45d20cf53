"""A kept session whose kernel is killed at a card, in JupyterLab: Restart, the cells again, and the button is clicked."""

from __future__ import annotations

import os
import signal

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import Notebook, Workspace, marks

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

SETUP = f"{IMPORT_TESTS}%load_ext deepnb\n%agent mount /work disk:work\nimport os\nprint('process', os.getpid())"


def process(notebook: Notebook) -> int:
    """The kernel's, as its first cell says."""
    words = notebook.page.locator(".jp-CodeCell").first.locator(".jp-OutputArea").inner_text().split()
    return int(words[words.index("process") + 1])


def restarted(notebook: Notebook) -> None:
    """Wait until JupyterLab has a new kernel in the place of the one that died, and close its dialog."""
    dialog = notebook.page.locator(".jp-Dialog", has_text="Kernel Restarting")
    dialog.get_by_role("button", name="Ok").click()
    dialog.wait_for(state="detached")
    notebook.ready()


def run_again(notebook: Notebook, number: int) -> None:
    """Run a cell by the keyboard."""
    cell = notebook.page.locator(".jp-CodeCell").nth(number)
    cell.locator(".cm-content").click()
    notebook.page.keyboard.press("Control+Enter")


def test_a_card_of_a_killed_kernel_is_decided_in_the_next(workspace: Workspace) -> None:
    notebook = workspace.run("kept.ipynb", [SETUP, "%agent persist kept.db"])
    cell = notebook.run("%agent write a file /work/one.md with: hello one")
    cell.get_by_role("button", name="Approve", exact=True).wait_for()
    assert "the cell with %agent persist shows this card again" in cell.inner_text()
    notebook.save()
    killed = process(notebook)
    os.kill(killed, signal.SIGKILL)
    restarted(notebook)
    for number in (0, 1):
        run_again(notebook, number)
    shown = notebook.page.locator(".jp-CodeCell").nth(1)
    shown.get_by_role("button", name="Approve", exact=True).wait_for()
    assert process(notebook) != killed
    text = shown.inner_text()
    assert "1 call that needs your approval" in text and "hello one" in text and "turn 1 · main" in text
    work = workspace.place / "work"
    assert not work.exists() or list(work.iterdir()) == []
    shown.get_by_role("button", name="Approve", exact=True).click()
    shown.get_by_text("I wrote 1 line to /work/one.md.").wait_for()
    assert (work / "one.md").read_text() == "hello one\n"
    assert shown.get_by_role("button", name="Approve", exact=True).count() == 0, "the buttons are gone"
    assert "turn 2 ·" in notebook.run("%agent thanks").inner_text()
    assert notebook.errors == []
    notebook.close()
