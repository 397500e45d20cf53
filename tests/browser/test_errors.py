"""An error explained and corrected in JupyterLab and Notebook 7, in a real Chromium: the next cell has the correction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.dashboards import FRONTS

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

SETUP = """%load_ext deepnb
%config DeepNB.offer_explain = True
prices = {'apple': 1.2, 'pear': 0.8}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Any]]:
    place = tmp_path_factory.mktemp("errors")
    with jupyter_lab(place, place / "home") as address, open_chromium() as context:
        yield address, place, context
        print(f"screenshots in {place}")


@pytest.mark.parametrize("front", FRONTS)
def test_an_error_is_offered_explained_and_corrected(front: str, server: tuple[str, Path, Any]) -> None:
    address, place, context = server
    name = front[:3]
    written(place / name / "errors.ipynb", [SETUP])
    notebook = Notebook(context, address, f"{name}/errors.ipynb", front)
    notebook.run_all()
    failed = notebook.run("total = prices['appel']")
    failed.get_by_text("%agent explain explains this error").wait_for()
    explained = notebook.run("%agent explain")
    explained.get_by_text("the nearest key is").wait_for()
    corrected = notebook.ask("%agent fix")  # `run` would wait for the new cell, which nobody runs
    corrected.get_by_text("the corrected cell is below; nothing was run").wait_for()
    notebook.page.locator(".jp-CodeCell .cm-content", has_text="total = prices['apple']").first.wait_for()
    for theme in (DARK, LIGHT):
        notebook.theme(theme)
        for number, cell in enumerate((failed, explained, corrected)):
            cell.screenshot(path=place / name / f"{number}-{theme.split()[-1]}.png")
    notebook.page.close()
