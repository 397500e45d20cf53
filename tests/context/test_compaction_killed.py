"""A kernel killed in each phase of a compaction: the next one goes on, nothing is lost, nothing is stored twice."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.forks import python


def talk(folder: Path, phase: str) -> subprocess.CompletedProcess[str]:
    command = [*python(), "-m", "tests.support.killed", str(folder), phase]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "phase",
    [*(pytest.param(phase, marks=pytest.mark.nightly) for phase in ("flush", "before", "after")), "torn", "summary", "answer"],
)  # fmt: skip
def test_a_killed_kernel_loses_and_doubles_nothing(tmp_path: Path, phase: str):
    killed = talk(tmp_path, phase)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    after = talk(tmp_path, "none")
    assert after.returncode == 0, after.stderr
    told = json.loads(after.stdout)
    said = [text for prompt in "abde" for text in (f"prompt {prompt}", f"answer to prompt {prompt}")]
    assert (told["said"][:4], told["said"][-4:]) == (said[:4], said[4:])
    history, gone = told["files"]["/conversation_history/main.md"].splitlines(), told["gone"]
    assert len(gone) >= 4 and {text: history.count(text) for text in gone} == dict.fromkeys(gone, 1)
    (note,) = [text for path, text in told["files"].items() if path.startswith("/memory/")]
    assert note.count("a fact") == 1
