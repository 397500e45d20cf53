"""Where the notebooks are: beside the package in a clone, inside it when installed."""

from pathlib import Path

from deepnb.values.errors import NotInstalledError

START = "00_start_here.ipynb"
"""The notebook that `python -m deepnb lab` opens."""
FIRST = "01_first_agent.ipynb"
"""The notebook whose story the tour tells."""


def notebooks() -> Path:
    """The directory that holds the notebooks and their data."""
    package = Path(__file__).resolve().parents[2]
    for place in (package / "notebooks", package.parent / "notebooks"):
        if (place / "data" / "planets.csv").is_file():
            return place
    raise NotInstalledError(
        "the notebooks are not installed with this copy of deepnb", "install it from its wheel or its repository"
    )
