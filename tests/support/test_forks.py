"""Programs that begin as forks: they are started, signalled, killed and ended as any other."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests import ROOT
from tests.support.forks import python

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no forks here")]


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*python(), "-c", code], capture_output=True, text=True, timeout=60)


def begun(code: str) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [*python(), "-c", f"import os, time; print(os.getpid(), flush=True); {code}"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def gone(number: int) -> bool:
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{number}") and time.monotonic() < until:
        time.sleep(0.01)
    return not os.path.exists(f"/proc/{number}")


def test_an_error_a_signal_and_a_kill_end_both() -> None:
    failed = ran("1 / 0")
    assert failed.returncode == 1 and failed.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert ran("import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL
    process, _ = begun("time.sleep(60)")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    process, number = begun("time.sleep(60)")
    process.kill()
    process.communicate(timeout=60)  # whose other end the fork has
    assert gone(number)


STARTER = """
import os, subprocess, sys
from tests.support.forks import python
code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
subprocess.Popen([*python(), "-c", code], start_new_session=True, stdin=subprocess.DEVNULL)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_none_outlives_the_process_that_began_to_fork(number: signal.Signals) -> None:
    """As a front end's kernels, which hear nothing of a signal to the process that started them."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", STARTER]
    starter = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
    assert starter.stdout is not None
    fork = int(starter.stdout.readline())
    os.killpg(starter.pid, number)
    starter.wait(60)
    assert gone(fork)
