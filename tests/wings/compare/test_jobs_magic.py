"""`--bg` and `%agent jobs` in a shell: what is said, and what can be done with a job."""

import time
from typing import Any

import pytest

from deepnb.wings.compare.jobs import Job
from tests.support.shells import Shell
from tests.support.tables import every_row

SETUP = """
import threading
from tests.support.scripted import Scripted, call
opened, entered = threading.Event(), threading.Semaphore(0)
def gate() -> str:
    "Wait."
    entered.release()
    assert opened.wait(60)
    return "through"
waits = Scripted(answers=[call("gate"), "all seen"])
codes = Scripted(answers=[call("run_python", code="q = 6 * 7; q"), "it is 42"])
writes = Scripted(answers=[call("write_file", file_path="/AGENTS.md", content="- by the job\\n"), "noted"])
quick = Scripted(answers=["quick"])
%agent tools add gate
%agent tools allow gate
"""


@pytest.fixture
def jobs(shell: Shell) -> Any:
    shell.ok(SETUP)
    yield shell
    shell.ip.user_ns["opened"].set()


def started(shell: Shell, model: str, options: str = "") -> Job:
    shell.ok(f"%%agent --bg --model {model} {options}\nlook at {model}")
    job: Job = shell.session.jobs[-1]
    return job


def at_gate(shell: Shell) -> None:
    assert shell.ip.user_ns["entered"].acquire(timeout=30)
    until = time.monotonic() + 30
    while shell.session.jobs[-1].activity.line != "gate":
        assert time.monotonic() < until
        time.sleep(0.005)


def rows(shell: Shell) -> list[list[str]]:
    return [line.split() for line in shell.ok("%agent jobs").splitlines()[3:] if line]


def test_none_yet(shell: Shell) -> None:
    assert shell.ok("%agent jobs").strip().endswith("no background jobs yet: %%agent --bg starts one")


def test_it_says_how_to_see_and_stop_it_and_other_cells_run(jobs: Shell) -> None:
    said = jobs.ok("%%agent --bg --model waits\nlook around")
    assert said.strip() == "job 1 was started in thread job-1: %agent jobs lists it, %agent jobs stop 1 stops it"
    at_gate(jobs)
    assert jobs.ok("%agent --model quick hello").splitlines()[0] == "quick"
    assert " ".join(rows(jobs)[0]).startswith("1 look around running: gate ") and rows(jobs)[0][-1] == "job-1"
    assert jobs.fails("%agent jobs join 1") == "job 1 is running: wait until it ends, or %agent jobs stop 1"
    jobs.ip.user_ns["opened"].set()
    jobs.session.jobs[0].wait(30)
    assert " ".join(rows(jobs)[0][:4]) == "1 look around done"
    joined = jobs.ok("%agent jobs join 1")
    assert joined.startswith("thread job-1, at turn 1, forked from main") and "all seen" in joined
    assert "the job changed nothing in memory" in joined
    assert jobs.session.thread == "job-1" and "turn 2 · job-1" in jobs.ok("%agent --model quick and now?")


@pytest.mark.usefixtures("short_grace")
def test_one_is_stopped_and_the_other_by_unloading(jobs: Shell) -> None:
    for _ in range(2):
        jobs.ok("waits = waits.model_copy(update={'requests': []})")
        job = started(jobs, "waits")
        at_gate(jobs)
    said = jobs.ok("%agent jobs stop 1")
    assert said.startswith("job 1 stopped after ") and "interrupted in the tool gate" in said
    assert said.endswith(": %agent jobs join 1, then %agent resume\n")
    assert [row[4].rstrip(":") for row in rows(jobs)] == ["stopped", "running"]
    assert jobs.fails("%agent jobs stop 1") == "job 1 is not running: it is stopped: %agent jobs lists the others"
    ran = jobs.run("%unload_ext deepnb")
    assert "note: 1 background job stopped" in ran.lines and job.state == "stopped"


def test_its_code_waits_for_an_approval_and_runs_in_a_cell(jobs: Shell) -> None:
    job = started(jobs, "codes", "--as answer")
    job.wait(30)
    assert job.state == "needs approval" and "q" not in jobs.ip.user_ns
    elsewhere = "no call needs approval in this thread: thread job-1 has one: %agent switch job-1, then %agent approve"
    assert jobs.fails("%agent approve") == elsewhere
    joined = jobs.ok("%agent jobs join 1")
    assert "it needs your approval: %agent panel approvals shows it, then %agent approve" in joined
    assert "q = 6 * 7; q" in joined and "it is 42" in jobs.ok("%agent approve")
    assert jobs.ip.user_ns["q"] == 42 and jobs.ip.user_ns["answer"] == "it is 42" and job.state == "done"


def test_joining_shows_what_it_changed_in_memory(jobs: Shell) -> None:
    job = started(jobs, "writes", "--as got")
    job.wait(30)
    assert jobs.ip.user_ns["got"] == "noted"
    assert "- by the job" in jobs.ok("%memory show"), "it is in every thread's memory"
    joined = jobs.ok("%agent jobs join 1")
    assert "memory changed by job 1" in joined and "+- by the job" in joined
    assert "memory belongs to all threads of the session" in joined


@every_row(("line", "says"), [
    ("%agent jobs stop", "jobs stop needs N: usage: %agent jobs stop N; %agent jobs lists them"),
    ("%agent jobs join 3", "no job 3: %agent jobs lists them"),
    ("%agent --bg --format code x", "--bg can't put code into the next cell: %agent jobs join N, then %agent code"),
])  # fmt: skip
def test_a_mistake_is_one_line(shell: Shell, line: str, says: str) -> None:
    assert shell.fails(line) == says
