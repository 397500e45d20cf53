"""Background turns in a place that outlives the kernel."""

import threading
from typing import Any

from deepnb import Session
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.wings import wing

pytestmark = wing("compare")

SENT: list[str] = []


def send(text: str) -> str:
    """Send it."""
    SENT.append(text)
    return f"sent {text}"


def session(where: str, *answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), persist=where, **{"tools": [send], **options})


def test_the_turn_of_a_job_is_there_in_the_next_session_once(where):
    with session(where, "one", "from the job", "two") as first:
        first.run("one")
        first.jobs.start("in the background").wait(60)
        first.run("two")
    with session(where) as second:
        assert [t.prompt for t in second.turns] == ["one", "two"]
        second.switch("job-1")
        assert [(t.prompt, t.text) for t in second.turns] == [("one", "one"), ("in the background", "from the job")]
        assert second.run("on").number == 3


def test_a_call_that_a_job_waits_with_can_be_decided_in_the_next_session(where):
    SENT.clear()
    with session(where, call("send", text="hi")) as first:
        assert first.jobs.start("send hi").wait(60).asked and first.workspace.threads["job-1"].asked
    with session(where, "Sent.") as second:
        line = "thread job-1: send needs your approval: %agent switch job-1, then %agent panel approvals shows it, then %agent approve, or %agent reject WHY"
        assert line in second.restored.lines
        second.switch("job-1")
        (waiting,) = second.asked
        list(second.resume(waiting.approve()))
        assert SENT == ["hi"] and second.turns[-1].text == "Sent." and len(second.turns) == 1


def test_the_thread_of_a_job_is_busy_for_other_kernels(where):
    begun, go = threading.Event(), threading.Event()

    def wait() -> str:
        """Wait."""
        begun.set()
        go.wait(60)
        return "done"

    options = {"tools": [wait], "approve": {"wait": "allow"}}
    with session(where, call("wait"), "ready", **options) as first:
        job = first.jobs.start("wait for it")
        try:
            assert begun.wait(60)
            with session(where) as second:
                second.switch("job-1")
                refused("thread job-1 is busy in another kernel", second.run, "me, too")
                assert not any("job-1" in line for line in second.restored.lines), "it is not cut: it runs"
        finally:
            go.set()
        assert job.wait(60).text == "ready"
    with session(where) as third:
        third.switch("job-1")
        assert [t.text for t in third.turns] == ["ready"]
