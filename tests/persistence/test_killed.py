"""`kill -9` of a kernel whose session is kept, at random points of all that it does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def rounds(where: str, folder: Path, seed: str, count: int) -> None:
    command = [sys.executable, "-m", "tests.support.killed_session", where, str(folder), seed, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["problem"] == "", f"round {told.get('round')}: {told['problem']}"
    assert told["killed"] == count


@pytest.mark.slow
def test_every_restart_resumes(where, tmp_path):
    rounds(where, tmp_path, "short", 2)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [f"seed{n}" for n in range(5)])
def test_every_restart_resumes_at_a_hundred_points(where, tmp_path, seed):
    rounds(where, tmp_path, seed, 20)
