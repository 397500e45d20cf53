"""`%load_ext deepnb` beside a bare IPython shell, in processes of their own: time and memory."""

import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from tests.bench.row import Row, added

QUICK = True
PAIRS = 11
MORE_MS, MORE_MIB = 50, 5
# Both run a cell: what any first cell costs (3.5 MiB) is not deepnb's.
_BARE = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("pass")
"""
_LOADED = f"{_BARE}shell.run_cell('%load_ext deepnb')\n"
_SAY = """
print(flush=True)
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith(("VmHWM", "VmRSS"))))
"""


def rows() -> Iterator[Row]:
    pairs = [(_start(_BARE), _start(_LOADED)) for _ in range(1 + PAIRS)][1:]
    for at, (what, unit, more) in enumerate(
        (("time to a ready shell", "ms", MORE_MS), ("resident memory", "MiB", MORE_MIB), ("its peak", "MiB", MORE_MIB))
    ):
        over = median(loaded[at] - bare[at] for bare, loaded in pairs)
        bare = median(one[at] for one, _ in pairs)
        yield added(what, bare + over, bare, unit, more)


def _start(code: str) -> tuple[float, float, float]:
    begin = perf_counter()
    with subprocess.Popen([sys.executable, "-c", code + _SAY], stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        seconds = perf_counter() - begin
        peak, resident = (int(kib) / 1024 for kib in process.stdout.read().split())
    return seconds * 1000, resident, peak
