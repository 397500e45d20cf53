"""Executing the notebooks. `python -m tests.support.notebooks` runs them all and saves what they showed.

Cells keep their ids and sources. Execution times and widget state are left out: they differ at each run, and a saved
panel's static twin says what it showed.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from tests import ROOT
from tests.support import forks

HERE = ROOT / "notebooks"
FIRST = "01_first_agent.ipynb"
BESIDE = ("data", "tapes")
ALL = tuple(sorted(HERE.glob("*.ipynb")))

_VARYING = re.compile(
    r"(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2})|\b(?P<took>[0-9]+(?:\.[0-9]+)? (?:s|ms|min)\b)|(?<=<!-- flush )(?P<mark>[0-9a-f]{12})(?= -->)|(?P<frame>(?:\b[0-9]+\.[0-9]{3}|(?<=  )[0-9]+\.[0-9]{1,2})(?= *$))",
    re.MULTILINE,
)

PATIENT: dict[str, Any] = {"timeout": 600, "startup_timeout": 600, "iopub_timeout": 600, "raise_on_iopub_timeout": True}
"""Options of nbclient: after its default of 4 s the outputs of a busy machine are missing."""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def execute(
    path: Path, env: Mapping[str, str] | None = None, python: Path | None = None, watch: Callable[[int], object] = id
) -> Any:
    """The notebook with the outputs of fresh kernels in a copy of its directory; a failing cell raises."""
    notebook = read(path)
    with tempfile.TemporaryDirectory() as home, copied(path) as folder:
        variables = {**os.environ, "HOME": home, "MPLCONFIGDIR": _fonts(), **(env or {})}
        for cells in _by_kernel(notebook):
            manager = kernel_manager(python)
            client = NotebookClient(
                nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata),
                km=manager,
                **PATIENT,
                resources={"metadata": {"path": folder}},
                store_widget_state=False,
                record_timing=False,
                coalesce_streams=True,  # how print's words are cut into messages is a matter of time
                on_cell_executed=lambda manager=manager, **_: watch(manager.provisioner.pid),
            )
            client.execute(env=variables, cleanup_kc=True)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def runs(path: Path, times: Sequence[int]) -> Iterator[Any]:
    """The notebook after each Run All and save, as often in a kernel as `times` says of each.

    As from JupyterLab the kernel gets the name of the file and the id of each cell, and a cell that it asks for is put
    below the one that runs.
    """
    notebook = read(path)
    with tempfile.TemporaryDirectory() as home, copied(path) as folder:
        file = Path(folder, path.name)
        for count in times:
            client = NotebookClient(notebook, km=kernel_manager(None), **PATIENT, store_widget_state=False)
            client.record_timing, client.coalesce_streams = False, True
            client.resources = {"metadata": {"path": folder}}
            env = {**os.environ, "HOME": home, "MPLCONFIGDIR": _fonts(), "JPY_SESSION_NAME": str(file)}
            with client.setup_kernel(env=env):
                for _ in range(count):
                    nbformat.write(notebook, file)
                    asked = list[tuple[Any, str]]()
                    client.on_cell_executed = partial(_ask, asked)
                    for n, cell in enumerate(notebook.cells):
                        client.kc.session.metadata = {"cellId": cell.id}
                        client.execute_cell(cell, n)
                    for cell, text in asked:
                        new = nbformat.v4.new_code_cell(text)
                        notebook.cells.insert(notebook.cells.index(cell) + 1, new)
                    yield deepcopy(notebook)


def _ask(asked: list[tuple[Any, str]], cell: Any, cell_index: int, execute_reply: Any) -> None:
    for one in execute_reply["content"].get("payload", ()):
        if one["source"] == "set_next_input":
            asked[:] = [*(pair for pair in asked if pair[0] is not cell), (cell, one["text"])]


def kernel_manager(python: Path | None) -> AsyncKernelManager:
    # of ports, two kernels that start at once can choose one
    manager = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{tempfile.mkdtemp()}/kernel")
    manager.kernel_spec.argv = [*([str(python)] if python else forks.python()), *forks.KERNEL]
    return manager


@contextmanager
def copied(path: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name in BESIDE:
            shutil.copytree(path.parent / name, Path(folder, name))
        yield folder


def _by_kernel(notebook: Any) -> list[list[Any]]:
    kernels: list[list[Any]] = [[]]
    for cell in notebook.cells:
        if "restart" in cell.metadata.get("tags", ()):
            kernels.append([])
        kernels[-1].append(cell)
    return kernels


@cache
def _fonts() -> str:
    """Where matplotlib's list of fonts is: made in the empty home of a kernel, it may take so long that a line tells."""
    import matplotlib.font_manager  # makes the list

    return str(matplotlib.get_cachedir())


def texts(notebook: Any) -> Iterator[tuple[str, str]]:
    """(cell id, text of its outputs one below the other), times and durations masked."""
    for cell in notebook.cells:
        parts = []
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/plain") or output.get("evalue") or ""
            parts += [f"<{kind}>" for kind in data if kind.startswith("image/")] + [text.rstrip("\n")]
        yield cell.id, masked("\n".join(part for part in parts if part.strip()))


def masked(text: str) -> str:
    """A text without what differs at each run; in a line with such a thing, and in rules, widths do not count."""
    lines = []
    for line in text.splitlines():
        mask = _VARYING.sub(lambda found: f"<{found.lastgroup}>", line)
        lines.append(re.sub(r" +|─+", lambda run: run[0][0], mask) if mask != line or "──" in line else line)
    return "\n".join(lines)


if __name__ == "__main__":
    for place in [Path(name) for name in sys.argv[1:]] or ALL:
        nbformat.write(execute(place), place)
        print(f"{place.name}: {place.stat().st_size / 1000:.0f} kB")
