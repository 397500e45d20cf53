"""Code of the agent in JupyterLab and Notebook 7, in a real Chromium: read, edited, approved by button, put into a cell.

What both front ends show alike is asked of JupyterLab alone.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import Notebook, Workspace, marks, reads
from tests.support.dashboards import FRONTS, NOTEBOOK_BY_NIGHT

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

CSV = "region,month,units\n" + "".join(f"{r},{m},{r * 3 + m}\n" for r in range(1, 5) for m in range(1, 7))

SETUP = f"""{IMPORT_TESTS}%load_ext deepnb
import pandas as pd
from deepnb.testing import ScriptedModel, call
sales = pd.read_csv("sales.csv")
CODE = '''totals = sales.groupby("region").units.sum()
print("best:", totals.idxmax())
totals.plot.bar(title="Units by region")
totals.to_frame()'''
"""
PLOTTER = """plotter = ScriptedModel(answers=[call("run_python", code=CODE), "Region 4 sold the most."])
%agent use plotter"""

SLOW = """slow = ScriptedModel(answers=[
    call("run_python", code="import time\\nprint('it begins')\\nfor _ in range(600): time.sleep(0.1)"), "Never said.",
])
%agent use slow"""

CHAIN = """def printed(word):
    code = f"print('{word}', threading.current_thread() is threading.main_thread())"
    return call("run_python", code=f"import threading; {code}")
chain = ScriptedModel(answers=[printed("one"), printed("two"), printed("three"), "Done at last."])
%agent use chain"""


WAITS = """import time
def wait() -> str:
    "Wait for a minute."
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(0.02)
    return "nothing to be seen there"
waits = ScriptedModel(answers=[call("wait"), "All is done."])
%agent tools add wait
%agent tools allow wait
%agent use waits"""

LAB_ALONE = pytest.mark.parametrize("opened", FRONTS[:1], indirect=True)


@pytest.fixture(scope="module", params=NOTEBOOK_BY_NIGHT)
def opened(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Notebook]:
    name = str(request.param)[:3]
    (workspace.place / name).mkdir()
    (workspace.place / name / "sales.csv").write_text(CSV)
    notebook = workspace.run(f"{name}/code.ipynb", [SETUP], request.param)
    yield notebook
    notebook.close()


@pytest.fixture
def notebook(opened: Notebook) -> Notebook:
    opened.run(f"%reload_ext deepnb\n{PLOTTER}")
    return opened


def asked(notebook: Notebook, prompt: str) -> Any:
    cell = notebook.run(prompt)
    cell.get_by_role("button", name="Approve", exact=True).first.wait_for()
    return cell


def test_from_a_file_to_a_plotted_answer(notebook: Notebook) -> None:
    cell = asked(notebook, "%agent plot the units by region")
    card = cell.inner_text()
    assert "needs your approval" in card and "Approved code can do all that you can" in card
    for line in ("totals = sales.groupby", "print(", "totals.plot.bar", "totals.to_frame()"):
        assert line in card, "all of the code is there before it can be approved"
    assert "a call needs your approval" in card, "the line that stops Run All"
    cell.get_by_role("button", name="Edit").click()
    area = cell.get_by_role("textbox", name="Code")
    area.wait_for()
    assert area.input_value().startswith("totals = sales.groupby"), "the code itself, not JSON"
    area.fill(area.input_value().replace("Units by region", "Units sold, by region"))
    cell.get_by_role("button", name="Approve with edits").click()
    cell.get_by_text("Region 4 sold the most.").wait_for()
    text = cell.inner_text()
    assert "approved with edits" in text and "best: 4" in text
    assert text.index("approved with edits") < text.index("best: 4") < text.index("Region 4 sold the most.")
    assert cell.locator("img[src^='data:image/png']").count() == 1, "the plot is below the card"
    assert cell.locator("table.dataframe").count() == 1, "a table as Jupyter shows it"
    assert "93" in notebook.run("print(totals.loc[4])").inner_text()


@LAB_ALONE
def test_calls_that_follow_a_click_are_decided_by_clicks_too(notebook: Notebook) -> None:
    notebook.run(CHAIN)
    cell = asked(notebook, "%agent go on")
    approve = cell.get_by_role("button", name="Approve", exact=True)
    approve.click()
    cell.locator("pre:visible", has_text="one True").first.wait_for()
    cell.get_by_role("button", name="Edit").click()
    area = cell.locator("textarea")
    area.fill(area.input_value().replace("two", "2"))
    cell.get_by_role("button", name="Approve with edits").click()
    cell.locator("pre:visible", has_text="2 True").first.wait_for()
    approve.click()
    cell.locator("pre:visible", has_text="three True").first.wait_for()
    cell.get_by_text("Done at last.").wait_for()
    assert "main thread alone" not in cell.inner_text()


@LAB_ALONE
def test_code_that_a_click_began_can_be_interrupted(notebook: Notebook) -> None:
    notebook.run(SLOW)
    cell = asked(notebook, "%agent and for a long time?")
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("it begins").first.wait_for()
    notebook.page.keyboard.press("Escape")
    notebook.command("Kernel > Interrupt Kernel")
    cell.get_by_text("interrupted").first.wait_for()
    assert "Never said" not in cell.inner_text()
    assert "2" in notebook.run("1 + 1").inner_text(), "the kernel is free"


@LAB_ALONE
def test_a_turn_is_stopped_by_its_button(notebook: Notebook) -> None:
    notebook.run(WAITS)
    notebook.errors.clear()
    cell = notebook.ask("%%agent\nlook again and again")
    reads(cell, re.compile(r"\d s · wait"))
    cell.get_by_role("button", name="Stop").click()
    reads(cell, "UsageError: interrupted in the tool wait")
    notebook.finished()
    assert cell.get_by_role("button", name="Stop").count() == 0, "the button has gone with the line"
    text = cell.inner_text()
    assert not re.search(r"\d s · wait", text.partition("turn 1")[0])
    assert "%agent resume again" in text and notebook.errors == []
