"""JupyterLab on the first notebook, on loopback with its token."""

import os
import shutil
from pathlib import Path
from typing import Any

from deepnb.values.errors import NotInstalledError

START = "00_start_here.ipynb"
"""The notebook that `python -m deepnb lab` opens."""
FIRST = "01_first_agent.ipynb"
"""The notebook that the tour plays."""


def run_lab(*, port: int, browser: bool) -> int:
    """Run JupyterLab in this process, so that a signal to it ends JupyterLab, too; gives the exit status."""
    try:
        from jupyterlab.labapp import LabApp
    except ModuleNotFoundError:
        raise NotInstalledError("JupyterLab is not installed", 'pip install "deepnb[lab]"') from None
    notebook = open_copy(Path.cwd())
    print(f"deepnb: JupyterLab on {notebook}", flush=True)
    options = lab_options(notebook, port=port, browser=browser, root=hasattr(os, "geteuid") and os.geteuid() == 0)
    LabApp.initialize_server(options, tornado_settings={"page_config_hook": without_news}).start()
    return 0


def lab_options(notebook: Path, *, port: int, browser: bool, root: bool) -> list[str]:
    """Return JupyterLab's options: as root it needs leave to start, and the address it prints is the notebook's."""
    options = [str(notebook), "--ip=127.0.0.1", f"--port={port}", f"--LabApp.default_url=/lab/tree/{notebook.name}"]
    if not browser:
        options.append("--no-browser")
    if root:
        print("deepnb: running as root, so JupyterLab is given --allow-root")
        options.append("--allow-root")
    return options


def without_news(_: object, page: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a page of JupyterLab that neither asks about news nor looks for updates."""
    return {**page, "disabledExtensions": [*page["disabledExtensions"], "@jupyterlab/apputils-extension:announcements"]}


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
