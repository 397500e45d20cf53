"""JupyterLab on the first notebook, on loopback with its token."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deepnb.values.errors import NotInstalledError

START = "00_start_here.ipynb"
"""The notebook that `python -m deepnb lab` opens."""
FIRST = "01_first_agent.ipynb"
"""The notebook that the tour plays."""


def run_lab(*, port: int, browser: bool) -> int:
    """Run JupyterLab until it ends; gives its exit status."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise NotInstalledError("JupyterLab is not installed", 'pip install "deepnb[lab]"')
    notebook = open_copy(Path.cwd())
    print(f"deepnb: JupyterLab on {notebook}")
    return subprocess.call(lab_command(notebook, port=port, browser=browser, root=is_root()))


def is_root() -> bool:
    """Return whether the process has all rights, with which JupyterLab does not start unasked."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def lab_command(notebook: Path, *, port: int, browser: bool, root: bool) -> list[str]:
    command = [sys.executable, "-m", "jupyterlab", str(notebook), "--ip=127.0.0.1", f"--port={port}"]
    command += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    command.append(f"--LabApp.default_url=/lab/tree/{notebook.name}")  # so that the printed address leads there, too
    if not browser:
        command.append("--no-browser")
    if root:
        print("deepnb: running as root, so JupyterLab is given --allow-root")
        command.append("--allow-root")
    return command


def open_copy(here: Path) -> Path:
    """Return the notebook to begin with: the clone's own where `here` is one, else a copy made in `here`."""
    source = notebooks()
    if source.parent == here:
        return source / START
    target = here / "deepnb-notebooks"
    if not target.exists():
        shutil.copytree(source, target)
    return target / START


def notebooks() -> Path:
    """Return the directory that holds the notebooks and their data."""
    package = Path(__file__).resolve().parents[2]
    for place in (package / "notebooks", package.parent / "notebooks"):
        if (place / "data" / "planets.csv").is_file():
            return place
    what = "the notebooks are not installed with this copy of deepnb"
    raise NotInstalledError(what, "install it from its wheel or its repository")
