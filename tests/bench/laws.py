"""Bounds of nothing: what may never be, each by the tests that look for it, those of the night among them; many minutes."""

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

from tests import ROOT
from tests.bench.row import Row, below

QUICK = False
LAWS = {
    "notebooks of over 500 kB": "tests/notebooks -k small",
    "identifiers that are not found first": "tests/search/test_exact.py -k found_first",
    "changes of memory told late, or in the old prompt": "tests/memory/test_told.py",
    "updates lost by 8 writers of 100 each": "tests/persistence/test_files.py -k eight_kernels",
    "turns lost by 200 interrupts": "tests/magics/test_kernel.py -k each_call_ran_once",
    "facts lost by 100 kernels killed": "tests/persistence/test_killed.py -k 'every_restart and seed and sqlite'",
    "key facts lost by 5 lossy compactions": "tests/context/test_compaction.py -k five_lossy",
    "planted credentials in what is written": "tests/persistence/test_credentials.py",
    "hostile payloads that run in the page": "tests/browser/test_hostile.py",
}
"""What may not be -> the tests."""


def rows() -> Iterator[Row]:
    for what, tests in LAWS.items():
        command = [sys.executable, "-m", "pytest", "-n", "2", "-m", "", *shlex.split(tests)]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
        ended = Counter({word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|error)", said)})
        failed = ended["failed"] + ended["error"] if ended["passed"] else 1
        yield below(f"{what} (tests: {ended.total()})", failed, None, "failed", 0)
