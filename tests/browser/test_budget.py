"""The budget item by item in JupyterLab and Notebook 7: live, and from the file, untrusted and without a kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import DARK, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.dashboards import FRONTS, Page

pytestmark = [*marks("jupyterlab", "axe_playwright_python"), pytest.mark.slow]

CELLS = (
    "%load_ext deepnb\ndef convert(miles: float) -> float:\n    'Convert miles to kilometres.'\n    return miles * 1.609",
    "%agent tools add convert",
    "%skills add explore-dataframe",
    "%agent Remember that I prefer tabs",
    f"%agent {'Mind that the pump is called Berta. ' * 20}",
    "%agent budget --items",
    "%agent panel budget",
)
ROWS = (
    ("T", "grep", "enable_filesystem=False"),
    ("T", "task", "enable_subagents=False"),
    ("T", "convert", "%agent tools remove convert"),
    ("K", "explore-dataframe", "%skills disable explore-dataframe"),
    ("U", "user: Mind that the pump", "%agent compact"),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Where the notebooks are that were run and saved, and by front end the rows that were seen live."""
    place = tmp_path_factory.mktemp("budget")
    seen: dict[str, Any] = {"axe": []}
    for front in FRONTS:
        written(place / "notebooks" / f"{front[:3]}.ipynb", CELLS)
    with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium(1000, 1300) as context:
        for front in FRONTS:
            notebook = Notebook(context, address, f"{front[:3]}.ipynb", front)
            notebook.run_all()
            seen[front] = rows(notebook)
            seen["axe"] += Page(notebook, place).violations()
            pictures(notebook, place, "live")  # in the dark
            seen["axe"] += Page(notebook, place).violations()
            panel = notebook.cell("%agent panel budget")
            panel.locator("summary", has_text="what takes each out").first.click()
            assert "%agent tools remove convert" in panel.inner_text()
            panel.screenshot(path=place / f"{front[:3]}-panel.png")
            save(notebook, place / "notebooks" / notebook.name)
            notebook.page.close()
    yield place, seen
    print(f"screenshots in {place}")


def save(notebook: Notebook, file: Path) -> None:
    """Save until the file holds the outputs: in Notebook 7 no mark tells that it does."""
    until = time.monotonic() + 60
    while "what takes each out" not in file.read_text():
        assert time.monotonic() < until, "the notebook is not saved"
        notebook.page.locator(".jp-InputPrompt").first.click()
        notebook.save()
        notebook.page.wait_for_timeout(500)


def rows(notebook: Notebook) -> list[list[str]]:
    """The table of items, as it is read."""
    table = notebook.cell("%agent budget --items").locator("details[open] table")
    table.wait_for()
    script = "table => [...table.rows].map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    found: list[list[str]] = table.evaluate(script)
    return found


def pictures(notebook: Notebook, place: Path, name: str) -> None:
    """The cell in a light and a dark page, at two widths."""
    for theme in ("light", "dark"):
        if theme == "dark":
            notebook.theme(DARK)
        for width in (1000, 600):
            notebook.page.set_viewport_size({"width": width, "height": 1300})
            cell = notebook.cell("%agent budget --items")
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=place / f"{notebook.front[:3]}-{name}-{theme}-{width}.png")
        notebook.page.set_viewport_size({"width": 1000, "height": 1300})


def test_each_item_is_a_row_with_what_takes_it_out(saved: Any) -> None:
    for live in (saved[1][front] for front in FRONTS):
        assert live[0] == ["", "item", "tokens", "to take it out"]
        for letter, name, out in ROWS:
            (row,) = [row for row in live if row[0] == letter and row[1].startswith(name)]
            assert row[3] == out and int(row[2].replace(",", "")) > 0


def test_axe_finds_nothing_serious_in_light_and_dark_pages(saved: Any) -> None:
    assert saved[1]["axe"] == []


@pytest.mark.parametrize("front", FRONTS)
def test_the_file_shows_the_same_without_a_kernel(saved: Any, front: str) -> None:
    place, live = saved
    with jupyter_lab(place / "notebooks", place / "other") as address, open_chromium(1000, 1300) as context:
        notebook = Notebook(context, address, f"{front[:3]}.ipynb", front)
        assert rows(notebook) == live[front]
        pictures(notebook, place, "reopened")
        notebook.page.close()
