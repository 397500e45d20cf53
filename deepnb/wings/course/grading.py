"""Notebooks of a class: run from top to bottom in kernels of their own, each exercise checked at the end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from deepnb.values.errors import NotFoundError, NotInstalledError
from deepnb.wings.course.exercises import EXERCISES

_CHECK = "import deepnb\nprint(deepnb.course.check({!r}).json())"
_SECONDS = 120
"""The longest that one cell may take."""


def grade(directory: str | Path) -> list[dict[str, Any]]:
    """Run the notebooks below a directory whose names begin as the course's do (`02_...`); a row for each, for JSON.

    A row has `file`, and what `check(...).json()` gives, or `error`. It runs what is in the cells, with your rights:
    grade a class where that can do no harm.
    """
    place = Path(directory)
    found = [path for path in sorted(place.rglob("*.ipynb")) if _number(path) and "checkpoints" not in str(path.parent)]
    if not found:
        raise NotFoundError(f"no notebooks of the course below {place}", "their names begin with 00_ to 08_")
    return [{"file": str(path.relative_to(place)), **_graded(path)} for path in found]


def _number(path: Path) -> str:
    match = re.match(r"(\d\d)_", path.name)
    return match[1] if match and match[1] in EXERCISES else ""


def _graded(path: Path) -> dict[str, Any]:
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
    except ImportError:
        raise NotInstalledError("nbclient is not installed", 'pip install "deepnb[lab]"') from None
    notebook = nbformat.read(path, as_version=4)
    last = nbformat.v4.new_code_cell(_CHECK.format(_number(path)))
    kernels: list[list[Any]] = [[]]
    for cell in [*notebook.cells, last]:
        if "restart" in cell.metadata.get("tags", ()):
            kernels.append([])
        kernels[-1].append(cell)
    try:
        for cells in kernels:
            part = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
            resources = {"metadata": {"path": str(path.parent)}}
            NotebookClient(part, timeout=_SECONDS, allow_errors=True, resources=resources).execute()
    except (CellTimeoutError, DeadKernelError) as error:
        return {"exercise": _number(path), "done": False, "error": str(error).split("\n")[0]}
    said = "".join(output.get("text", "") for output in last.outputs)
    failed = next((f"{output.ename}: {output.evalue}" for output in last.outputs if output.output_type == "error"), "")
    result: dict[str, Any] = (
        {"exercise": _number(path), "done": False, "error": failed} if failed else json.loads(said.splitlines()[-1])
    )
    return result
