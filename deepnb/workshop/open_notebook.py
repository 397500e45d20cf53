"""Which notebook is open on this kernel, as far as the front end tells: the agent never writes that file behind its back."""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from deepnb.values.errors import DeepnbError
from deepnb.workshop.notebook_file import content_of, parsed

_VSCODE = "__vsc_ipynb_file__"
_JUPYTER = "JPY_SESSION_NAME"


def is_open(file: Path, cells: Collection[str], namespace: Mapping[str, Any]) -> bool:
    """Whether a file is the notebook that is open: by its path, or by the ids of its `cells`.

    VS Code sets the path as a variable. Jupyter's server sets it as the kernel starts, and it is stale once the
    notebook is renamed. So a file that holds a cell which ran here counts as well, unless the path that is set holds
    one: then the file is a copy of that notebook.
    """
    paths = set(_paths(namespace))
    if file in paths:
        return True
    ran: Collection[str] = getattr(namespace, "cell_ids", frozenset())
    return not set(ran).isdisjoint(cells) and not any(_holds(path, ran) for path in paths)


def notebook_path(namespace: Mapping[str, Any]) -> Path | None:
    """The notebook that is open, as far as the front end tells."""
    return next(_paths(namespace), None)


def _paths(namespace: Mapping[str, Any]) -> Iterator[Path]:
    for name in (namespace.get(_VSCODE), os.environ.get(_JUPYTER)):
        if type(name) is str and name.endswith(".ipynb"):
            try:
                yield Path(name).resolve()
            except (OSError, RuntimeError, ValueError):  # a path that can't be one
                continue


def _holds(path: Path, ids: Collection[str]) -> bool:
    """Whether a notebook has a cell of one of these ids."""
    try:
        cells = parsed(content_of(path, path.name), path.name).get("cells") or ()
    except DeepnbError:
        return False
    return any(cell.get("id") in ids for cell in cells)
