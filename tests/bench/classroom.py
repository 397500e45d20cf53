"""A class on one machine: 20 kernels at once, each running the first notebook, beside 20 that run an empty cell."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.bench.row import Row, below
from tests.support.memory import Memory, memory_of
from tests.support.notebooks import HERE, copied, kernel_manager, read

QUICK = False
KERNELS = 20
MOST = 200  # MiB of each kernel, its part of the pages that kernels share included
PATIENCE = 900
NOTEBOOK = HERE / "01_first_agent.ipynb"


@dataclass(frozen=True)
class Class:
    seconds: float
    memory: tuple[Memory, ...]


def rows() -> Iterator[Row]:
    empty = _class([nbformat.v4.new_code_cell("pass")])
    full = _class(read(NOTEBOOK).cells)
    yield Row(f"{KERNELS} kernels at once, first notebook to its end", full.seconds, "s", empty.seconds)
    yield below("the largest: its own pages and its part of shared ones (PSS)", *_largest(full, empty, "shared_out"), "MiB", MOST)  # fmt: skip
    for name in ("private", "resident", "peak"):
        figure, baseline = _largest(full, empty, name)
        yield Row(f"  {name}", figure, "MiB", baseline, figure / baseline)
    total, none = (sum(one.shared_out for one in each.memory) for each in (full, empty))
    yield Row("  all of them together (PSS)", total, "MiB", none, total / none)


def _largest(full: Class, empty: Class, name: str) -> tuple[float, float]:
    figure, baseline = (max(getattr(one, name) for one in each.memory) for each in (full, empty))
    return figure, baseline


def _class(cells: Sequence[Any]) -> Class:
    return asyncio.run(_lesson(cells))


async def _lesson(cells: Sequence[Any]) -> Class:
    begin, through = perf_counter(), asyncio.Barrier(KERNELS + 1)
    async with asyncio.TaskGroup() as group:  # where one fails, none waits for it
        kernels = [group.create_task(_kernel(cells, through)) for _ in range(KERNELS)]
        await through.wait()
        seconds = perf_counter() - begin
        await through.wait()
    return Class(seconds, tuple(kernel.result() for kernel in kernels))


async def _kernel(cells: Sequence[Any], through: asyncio.Barrier) -> Memory:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.from_dict(cell) for cell in cells])
    with tempfile.TemporaryDirectory() as home, copied(NOTEBOOK) as folder:
        client = NotebookClient(
            notebook,
            km=kernel_manager(Path(sys.executable)),
            timeout=PATIENCE,
            startup_timeout=PATIENCE,
            resources={"metadata": {"path": folder}},
        )
        async with client.async_setup_kernel(env={**os.environ, "HOME": home}, cleanup_kc=True):
            for at, cell in enumerate(notebook.cells):
                await client.async_execute_cell(cell, at)
            await through.wait()
            memory = memory_of(client.km.provisioner.pid)
            await through.wait()  # none ends before all are measured: they share pages
    return memory
