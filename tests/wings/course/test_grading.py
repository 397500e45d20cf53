"""Grading: notebooks of a class run in kernels of their own, and what was checked, as JSON."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import deepnb
from tests.support.notebooks import ALL, BESIDE, HERE, read
from tests.wings.course.solutions import SOLUTIONS


def handed_in(directory: Path, path: Path, *, solved: bool) -> None:
    directory.mkdir(exist_ok=True)
    for name in BESIDE:
        if not (directory / name).exists():
            shutil.copytree(HERE / name, directory / name)
    notebook = read(path)
    if solved:
        cells = [nbformat.v4.new_code_cell(cell) for cell in SOLUTIONS[path.name[:2]]]
        notebook.cells[-1:-1] = cells
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, directory / path.name)


@pytest.mark.kernel
@pytest.mark.nightly
def test_every_notebook_with_its_solution_and_none_without(tmp_path: Path) -> None:
    for path in ALL:
        handed_in(tmp_path / "ana", path, solved=True)
    handed_in(tmp_path / "ben", ALL[1], solved=False)
    rows = deepnb.course.grade(tmp_path)
    assert [row["file"] for row in rows] == [*(f"ana/{path.name}" for path in ALL), f"ben/{ALL[1].name}"]
    assert [row["done"] for row in rows] == [*[True] * len(ALL), False], rows


@pytest.mark.slow
@pytest.mark.kernel
def test_a_broken_notebook_is_a_row_of_its_own(tmp_path: Path) -> None:
    def write(name: str, *cells: str) -> None:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        nbformat.write(notebook, tmp_path / name)

    write("01_loaded.ipynb", "%load_ext deepnb", "1 / 0", "%agent new exercise")
    write("02_not_loaded.ipynb", "print('no')")
    write("notes.ipynb", "1 / 0")
    ran = subprocess.run(
        [sys.executable, "-m", "deepnb.course", str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    one, two = json.loads(ran.stdout)
    assert (one["file"], one["exercise"], one["done"], len(one["parts"])) == ("01_loaded.ipynb", "01", False, 3)
    assert "deepnb is not loaded in this shell" in two["error"] and not two["done"]


def test_the_command_says_how_it_is_used(tmp_path: Path) -> None:
    for arguments, code, said in (([], 2, "usage: "), ([str(tmp_path)], 1, "deepnb: no notebooks of the course")):
        ran = subprocess.run([sys.executable, "-m", "deepnb.course", *arguments], capture_output=True, text=True)
        assert ran.returncode == code and ran.stderr.startswith(said) and not ran.stdout
