"""What a session leaves in the notebook's file: small, and readable with every style taken away."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.notebooks import PATIENT

TURNS = (
    "Remember that I prefer metric units with one decimal place",
    "What is in the DataFrame planets?",
    "What do you know about me?",
    "Write a note /notes/plan.md that says: look at gravity first",
    "What can you do?",
)


@pytest.mark.slow
@pytest.mark.kernel
def test_a_demo_of_twenty_turns_is_under_500_kb(tmp_path: Path) -> None:
    setup = "%load_ext deepnb\n%config DeepNB.window = 8000\nimport pandas as pd\nplanets = pd.DataFrame({'name': ['Earth', 'Mars'] * 200, 'gravity': [9.8, 3.7] * 200})"
    cells = [
        setup,
        *(f"%%agent\n{TURNS[i % len(TURNS)]} ({i})" for i in range(20)),
        "%memory",
        "%agent budget",
        "%agent history",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(
        notebook, kernel_name="python3", **PATIENT, resources={"metadata": {"path": str(tmp_path)}}
    )
    home = {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    client.execute(env={**os.environ, **home})
    place = tmp_path / "demo.ipynb"
    nbformat.write(notebook, place)
    assert len(turns_of(notebook)) == 20
    print(f"{place.stat().st_size / 1000:.0f} kB")
    assert place.stat().st_size < 500_000


def turns_of(notebook: Any) -> list[str]:
    """The text of every turn's footer."""
    texts = [o.data.get("text/plain", "") for cell in notebook.cells for o in cell.outputs if o.output_type == "display_data"]
    return [text for text in texts if re.match(r"turn \d+ ", text)]
