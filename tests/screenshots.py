"""`python tests/screenshots.py` takes the picture of the README: cells of the first notebook, run in JupyterLab."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from browsers import Notebook, jupyter_lab, open_chromium

from deepnb.tour.places import notebooks

CELLS = (
    "%load_ext deepnb\n%config DeepNB.window = 6500\nimport pandas as pd\nplanets = pd.read_csv('data/planets.csv')",
    "%agent --quiet --as seen What is in the DataFrame planets?",
    "%%agent\nRemember that I prefer metric units with one decimal place",
    "%memory diff",
    "calls = %agent budget",
)
SHOWN = "%%agent"


def take(picture: Path) -> None:
    """Run the cells in JupyterLab, unfold the tool's card, and take the picture from the question on."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(notebooks(), place / "notebooks")
        (place / "home").mkdir()
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
        nbformat.write(notebook, place / "notebooks" / "agent.ipynb")
        with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium(1200, 900) as context:
            lab = Notebook(context, address, "agent.ipynb")
            lab.run_all()
            lab.page.keyboard.press("Control+b")
            lab.cell(SHOWN).locator("summary").last.click()
            lab.cell(SHOWN).evaluate("node => node.scrollIntoView({block: 'start'})")
            lab.page.mouse.move(5, 895)
            lab.page.wait_for_timeout(700)
            picture.parent.mkdir(exist_ok=True)
            lab.page.screenshot(path=picture)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else notebooks() / "images" / "first_agent.png"
    take(target)
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")
