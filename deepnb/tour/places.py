"""Where the notebooks are: beside the package in a clone, inside it when installed."""

from pathlib import Path

from deepnb.core.errors import NotInstalledError

FIRST = "01_first_agent.ipynb"


def notebooks() -> Path:
    """The directory that holds the notebooks and their data."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "notebooks", package.parent / "notebooks"):
        if (place / "data" / "planets.csv").is_file():
            return place
    raise NotInstalledError(
        "the notebooks are not installed with this copy of deepnb", "install it from its wheel or its repository"
    )
