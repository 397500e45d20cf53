"""Code of the agent in JupyterLab and Notebook 7, in a real Chromium: read, edited, approved by button, its plot below the card."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.dashboards import FRONTS

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
plotter = ScriptedModel(answers=[
    call("run_python", code=CODE), "Region 4 sold the most.",
    call("run_python", code="import threading\\nthreading.current_thread() is threading.main_thread()"), "It ran.",
    call("run_python", code="import time\\nprint('it begins')\\nfor _ in range(600): time.sleep(0.1)"), "Never said.",
])
%agent use plotter"""

CHAIN = """from deepnb.testing import ScriptedModel, call
def printed(word):
    code = f"print('{word}', threading.current_thread() is threading.main_thread())"
    return call("run_python", code=f"import threading; {code}")
chain = ScriptedModel(answers=[printed("one"), printed("two"), printed("three"), "Done at last."])
%agent use chain"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Any]]:
    place = tmp_path_factory.mktemp("code")
    with jupyter_lab(place, place / "home") as address, open_chromium() as context:
        yield address, place, context
        print(f"screenshots in {place}")


@pytest.fixture(scope="module", params=FRONTS)
def notebook(request: pytest.FixtureRequest, server: tuple[str, Path, Any]) -> Iterator[Notebook]:
    address, place, context = server
    name = str(request.param)[:3]
    written(place / name / "code.ipynb", [SETUP])
    (place / name / "sales.csv").write_text(CSV)
    notebook = Notebook(context, address, f"{name}/code.ipynb", request.param)
    notebook.run_all()
    notebook.errors.clear()  # Notebook 7 has some of its own while it loads
    yield notebook
    notebook.page.close()


def place_of(notebook: Notebook, server: tuple[str, Path, Any]) -> Path:
    return server[1] / notebook.name.split("/")[0]


def asked(notebook: Notebook, prompt: str) -> Any:
    """Run a prompt, wait for the buttons of its card; gives the cell."""
    cell = notebook.run(prompt)
    cell.get_by_role("button", name="Approve", exact=True).first.wait_for()
    return cell


def test_from_a_file_to_a_plotted_answer(notebook: Notebook, server: tuple[str, Path, Any]) -> None:
    cell = asked(notebook, "%agent plot the units by region")
    card = cell.inner_text()
    assert "needs your approval" in card and "Approved code can do all that you can" in card
    for line in ("totals = sales.groupby", "print(", "totals.plot.bar", "totals.to_frame()"):
        assert line in card, "all of the code is there before it can be approved"
    assert "a call needs your approval" in card, "the line that stops Run All"
    for theme in (DARK, LIGHT):
        notebook.theme(theme)
        cell.screenshot(path=place_of(notebook, server) / f"card-{theme.split()[-1]}.png")

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
    for theme in (DARK, LIGHT):
        notebook.theme(theme)
        cell.screenshot(path=place_of(notebook, server) / f"plot-{theme.split()[-1]}.png")
    assert "93" in notebook.run("print(totals.loc[4])").inner_text()


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
    notebook.run("%agent use plotter")


def test_a_click_runs_code_in_the_main_thread(notebook: Notebook) -> None:
    cell = asked(notebook, "%agent where does it run?")
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("It ran.").wait_for()
    assert "True" in cell.inner_text() and "main thread alone" not in cell.inner_text()


def test_code_that_a_click_began_can_be_interrupted(notebook: Notebook) -> None:
    cell = asked(notebook, "%agent and for a long time?")
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("it begins").first.wait_for()
    notebook.page.keyboard.press("Escape")
    notebook.command("Kernel > Interrupt Kernel")
    cell.get_by_text("interrupted").first.wait_for()
    assert "Never said" not in cell.inner_text()
    assert "2" in notebook.run("1 + 1").inner_text(), "the kernel is free"


def test_the_saved_file_shows_the_plot_without_a_kernel(notebook: Notebook, server: tuple[str, Path, Any]) -> None:
    notebook.save()
    file = place_of(notebook, server) / "code.ipynb"
    until = time.monotonic() + 30
    while "image/png" not in file.read_text():
        assert time.monotonic() < until, "it is not saved"
        time.sleep(0.2)
    saved = nbformat.read(file, 4)
    pictures = [o for cell in saved.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
    assert len(pictures) == 1
    assert all(len(cell.get("outputs", ())) <= 20 for cell in saved.cells)

    address, _, context = server
    copy = place_of(notebook, server) / "reopened.ipynb"
    nbformat.write(saved, copy)
    again = Notebook(context, address, f"{copy.parent.name}/{copy.name}", notebook.front)
    try:
        picture = again.page.locator("img[src^='data:image/png']")
        picture.wait_for()
        picture.scroll_into_view_if_needed()
        assert "Region 4 sold the most." in again.text
        again.page.screenshot(path=copy.parent / "reopened.png")
    finally:
        again.page.close()


def test_the_code_becomes_a_cell_that_is_not_run(notebook: Notebook) -> None:
    """Last, since a cell that is not run stays."""
    notebook.page.bring_to_front()
    notebook.run("%agent new again")
    model = "ScriptedModel(answers=[call('run_python', code=CODE), 'Region 4 sold the most.'])"
    notebook.run(f"again = {model}\n%agent use again")
    cells = notebook.page.locator(".jp-CodeCell")
    cell = asked(notebook, "%agent plot it again")
    cell.get_by_role("button", name="Approve", exact=True).click()
    cell.get_by_text("Region 4 sold the most.").wait_for()
    assert "%agent code" in cell.inner_text(), "a click can't make a cell: the line that can is there"
    before = cells.count()
    notebook.ask("%agent code")
    made = cells.nth(before + 1)
    made.get_by_text("totals.plot.bar").wait_for()
    assert made.locator(".jp-InputPrompt").inner_text().strip() in ("[ ]:", "[]:"), "it is not run"
