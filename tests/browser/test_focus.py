"""What has the focus after an action by keyboard, in JupyterLab and Notebook 7: never the page's body."""

from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import Notebook, Workspace, marks
from tests.support.dashboards import NOTEBOOK_BY_NIGHT

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

PREPARE = f"""{IMPORT_TESTS}import deepnb
from langchain_core.messages import AIMessage
from tests.support.scripted import Scripted
def calls(names):
    return AIMessage("", tool_calls=[
        {{"name": "write_file", "args": {{"file_path": f"/w/{{n}}.txt", "content": n}}, "id": n}} for n in names])
model = Scripted(answers=[calls("ab"), "both are decided", calls("c"), "c is decided", calls("d"), "d is decided", "it is explained"])
%load_ext deepnb
%skills add explore-dataframe
%memory add I like tea
%memory add I like cake
%agent tools ask write_file
%agent use model"""
PANELS = {
    "%agent panel memory": (("Revert", "done: revert 3"),),
    "%agent panel skills": (("Disable", "Enable"),),
    "%memory edit /new.md": (("Cancel", "is unchanged"),),
    "%memory edit /other.md": (("Save", "saved /other.md"),),
}
CARDS = {
    "%agent write two": (
        ("Reject", "done: reject call 1, write_file"),
        ("Edit", "Discard"),
        ("Discard", "Edit"),
        ("Approve", "both are decided"),
    ),
    "%agent write one": (("Edit", "Discard"), ("Approve with edits", "c is decided")),
    "%agent write the last": (("", "d is decided"),),
    "1 / 0": (("Explain", "it is explained"),),
}
FOCUSED = """() => {
  const one = document.activeElement
  return one === document.body ? 'body' : one.closest('.jp-Cell') === one ? 'cell' : one.innerText.trim()
}"""


def press(notebook: Notebook, cell: Any, name: str, shows: str) -> None:
    if name == "Save":
        cell.locator("textarea").fill("- a line")
    if name:
        cell.get_by_role("button", name=name).locator("visible=true").first.focus()
        notebook.page.keyboard.press("Space")
    else:
        cell.get_by_role("textbox", name="reason").focus()
        notebook.page.keyboard.type("no")
        notebook.page.keyboard.press("Enter")
    cell.get_by_text(shows).locator("visible=true").first.wait_for(timeout=15_000)
    buttons = {"Edit": "Discard edits", "Discard": "Edit ...", "Disable": "Enable"}
    wanted = shows if shows.startswith("done") else buttons.get(name, "cell")
    notebook.page.wait_for_function(f"wanted => ({FOCUSED})() === wanted", arg=wanted, timeout=15_000)


@pytest.mark.parametrize("front", NOTEBOOK_BY_NIGHT)
def test_after_each_action_something_near_has_the_focus(workspace: Workspace, front: str) -> None:
    notebook = workspace.run(f"{front[:3]}.ipynb", [PREPARE, *PANELS], front)
    for source, actions in {**PANELS, **CARDS}.items():
        cell = notebook.cell(source) if source in PANELS else notebook.run(source)
        for name, shows in actions:
            press(notebook, cell, name, shows)
    notebook.close()
