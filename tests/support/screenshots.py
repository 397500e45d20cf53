"""`python -m tests.support.screenshots [DIR]` takes the pictures of the reference in JupyterLab, of what it really shows."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.browsers import Notebook, jupyter_lab, open_chromium, written
from tests.support.notebooks import HERE

LOAD = "%load_ext deepnb\n%config DeepNB.window = 5000\nimport pandas as pd\nplanets = pd.read_csv('data/planets.csv')"


@dataclass(frozen=True)
class Picture:
    name: str
    cells: tuple[str, ...]
    shown: str
    click: str
    height: int


PICTURES = (
    Picture(
        "dashboard",
        (
            LOAD,
            *(f"%agent --quiet {words}" for words in (
                "What is in the DataFrame planets?",
                "Remember that I prefer metric units with one decimal place",
                "what can you do?", "what do you know about my preferences?", "thanks", "what can you do?",
                "What is in the DataFrame planets?", "thanks",
            )),
            "%agent dashboard",
        ),
        "%agent dashboard",
        ".lm-TabBar-tabLabel:text-is('Budget')",
        840,
    ),
    Picture(
        "approval",
        (
            "%load_ext deepnb\n%agent mount /work disk:work",
            "%%agent\nwrite a file /work/units.md with: Give every distance in kilometres.",
        ),
        "%%agent",
        "",
        680,
    ),
)  # fmt: skip


def take(picture: Picture, context: Any, address: str, target: Path) -> None:
    lab = Notebook(context, address, f"{picture.name}.ipynb")
    lab.page.set_viewport_size({"width": 1200, "height": picture.height})
    lab.run_all()
    lab.page.keyboard.press("Control+b")
    if picture.click:
        lab.cell(picture.shown).locator(picture.click).last.click()
    lab.cell(picture.shown).evaluate("node => node.scrollIntoView({block: 'start'})")
    lab.page.mouse.move(5, picture.height - 5)
    lab.page.wait_for_timeout(700)
    lab.page.screenshot(path=target)
    lab.page.close()


@contextmanager
def stage(cells: Mapping[str, Sequence[str]], *size: float) -> Iterator[tuple[Any, str]]:
    """Start JupyterLab with notebooks of these cells beside the course, and a Chromium; yield its context and the address."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        shutil.copytree(HERE, place / "notebooks")
        for title, sources in cells.items():
            written(place / "notebooks" / f"{title}.ipynb", sources)
        with jupyter_lab(place / "notebooks", place / "home") as address, open_chromium(*size) as context:
            yield context, address


def main(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    with stage({picture.name: picture.cells for picture in PICTURES}) as (context, address):
        for picture in PICTURES:
            target = directory / f"{picture.name}.png"
            take(picture, context, address, target)
            print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images")
