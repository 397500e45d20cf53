"""A graph of one's own in JupyterLab, in a real Chromium: what it lacks, its answer, and its question with a field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

GRAPH = """
from pathlib import Path
from tests.support.graphs import GRAPHS
%load_ext deepnb
my_graph = GRAPHS["question"].make(Path("."))
"""


def test_a_question_of_a_graph_is_answered_in_its_card(tmp_path: Path) -> None:
    written(tmp_path / "graph.ipynb", [IMPORT_TESTS + GRAPH, "%agent use my_graph"])
    with jupyter_lab(tmp_path, tmp_path / "home") as address, open_chromium() as context:
        lab = Notebook(context, address, "graph.ipynb")
        lab.run_all()
        lab.page.get_by_text("thread main on my_graph").first.wait_for()
        lab.page.get_by_text("it lacks checkpointer").click()
        lab.page.get_by_text("add deepagents' FilesystemMiddleware()").wait_for()
        cell = lab.run("%%agent\nHow many seats are there?")
        cell.get_by_role("button", name="Answer").wait_for()
        assert "Which hall?" in cell.inner_text()
        area = cell.get_by_role("textbox", name="answer")
        area.fill('{"hall": 4')
        cell.get_by_role("button", name="Answer").click()
        cell.get_by_text("not valid JSON").wait_for()
        for name, theme in (("dark", DARK), ("light", LIGHT)):
            lab.theme(theme)
            cell.scroll_into_view_if_needed()
            lab.page.screenshot(path=tmp_path / f"question-{name}.png")
        area.fill('{"hall": 4}')
        cell.get_by_role("button", name="Answer").click()
        cell.get_by_text("It is forty two in all.").wait_for()
        text = cell.inner_text()
        assert "The hall is 4." in text and "lookup" in text and 'answered: {"hall": 4}' in text
        assert cell.get_by_role("button", name="Answer").count() == 0, "the buttons are gone"
        lab.page.screenshot(path=tmp_path / "answered.png")
        assert lab.errors == []
    print(f"screenshots in {tmp_path}")
