"""`kill -9` of a kernel whose session is kept, at random points of all that it does."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.forks import python


def rounds(where: str, folder: Path, seed: str, count: int, *ops: str) -> None:
    command = [*python(), "-m", "tests.support.killed_session", where, str(folder), seed, str(count), *ops]
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


@pytest.mark.slow
def test_a_kill_between_the_write_of_memory_and_the_checkpoint_neither_loses_nor_doubles_a_fact(where, tmp_path):
    rounds(where, tmp_path, "memory", 4, "memory")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [f"memory{n}" for n in range(5)])
def test_no_fact_is_lost_or_doubled_at_two_hundred_points(where, tmp_path, seed):
    rounds(where, tmp_path, seed, 20, "memory")
