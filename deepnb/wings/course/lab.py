"""JupyterLab on the first notebook, on loopback with its token."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deepnb.values.errors import NotInstalledError
from deepnb.wings.course.places import START, notebooks


def run_lab(*, port: int, browser: bool) -> int:
    """Run JupyterLab until it ends; gives its exit status."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise NotInstalledError("JupyterLab is not installed", 'pip install "deepnb[lab]"')
    notebook = open_copy(Path.cwd())
    print(f"deepnb: JupyterLab on {notebook}")
    return subprocess.call(lab_command(notebook, port=port, browser=browser, root=_is_root()))


def lab_command(notebook: Path, *, port: int, browser: bool, root: bool) -> list[str]:
    """The command line: loopback only, Jupyter's own token, no news or update checks over the network."""
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
    """The notebook to begin with: the clone's own where `here` is one, else a copy made in `here`."""
    source = notebooks()
    if source.parent == here:
        return source / START
    target = here / "deepnb-notebooks"
    if not target.exists():
        shutil.copytree(source, target)
    return target / START


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
