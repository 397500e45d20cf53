"""A turn in which a tool answers 200 MB, beside the same turn with a short answer: its seconds, and the memory it takes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tests.bench.row import Row, added, below

QUICK = False
SIZE = 200_000_000
SECONDS, MEGABYTES = 10, 150

SCRIPT = """
import json, resource, sys, time
from pathlib import Path
from deepnb import Session
from tests.support.scripted import Scripted, call, unasked
size, kept, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
whole = "the quick brown fox, 12345.6\\n" * (200_000_000 // 29)
def rows() -> str:
    "Rows."
    return whole[:size] if size < len(whole) else whole
s = Session(model=Scripted(answers=["warm", call("rows"), "done"]), **unasked(rows),
            persist=folder / "k.db" if kept == "persist" else None)
if kept == "keep":
    (folder / "mind").mkdir()
    s.memory.keep(folder / "mind")
s.run("warm")
began = time.perf_counter()
s.run("go")
took = time.perf_counter() - began
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000]))
"""


def rows() -> Iterator[Row]:
    for kept in ("kernel", "keep", "persist"):
        (took, peak), (short, least) = _measured(SIZE, kept), _measured(20, kept)
        yield below(f"a tool answers 200 MB, {kept}: the turn", took, short, "s", SECONDS)
        yield added(f"a tool answers 200 MB, {kept}: memory", peak, least, "MB", MEGABYTES)


def _measured(size: int, kept: str) -> list[float]:
    """(seconds of the turn, peak in megabytes) of a process of its own, which holds the 200 MB in any case."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SCRIPT, str(size), kept, folder]
        found: list[float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found
