"""Calls that wait for approval, and turns in the background, in a place that outlives the kernel; who may decide what."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from tests.persistence import conftest
from tests.support.scripted import Scripted, Slow, call, calls, unasked
from tests.support.tables import refused, wing

RAN: list[str] = []


def send(text: str) -> str:
    """Send it."""
    RAN.append(text)
    return f"sent {text}"


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


def session(where: Any, *answers: Any, **options: Any) -> Session:
    return conftest.session(where, *answers, **{"tools": [send], **options})


def another_user(home: Path) -> None:
    (home / ".deepnb" / "key").unlink()


def test_a_call_that_waits_is_there_and_can_be_decided(anywhere):
    with session(anywhere, call("send", text="hi")) as first:
        first.run("send hi")
    with session(anywhere, "Sent.") as second:
        (waiting,) = second.asked
        assert (waiting.name, waiting.args) == ("send", {"text": "hi"}) and second.turns[0].asked == second.asked
        if second.restored is not None:
            assert second.restored.lines[0].endswith("1 call that needs your approval")
        list(second.resume(waiting.approve()))
        assert RAN == ["hi"] and "sent hi" in [m.text for m in second.snapshot.messages]
        assert second.turns[0].text == "Sent." and len(second.turns) == 1
    with session(anywhere) as third:
        assert third.asked == () and third.turns[0].text == "Sent."


def test_a_decision_that_was_made_counts_still(where):
    with session(where, calls(call("send", text="a"), call("send", "second", text="b"))) as first:
        first.run("send both")
        list(first.resume(first.asked[0].approve()))
        assert RAN == []
    with session(where, "Sent.") as second:
        assert len(second.approvals.decided()) == 1
        list(second.resume(second.asked[1].reject("no")))
        assert RAN == ["a"]


def test_what_was_allowed_in_a_thread_is_allowed_still(where):
    with session(where, call("send", text="one"), "ok") as first:
        first.run("send")
        list(first.resume(first.asked[0].approve(remember=True)))
    with session(where, call("send", text="two"), "ok") as second:
        second.run("send again")
        assert RAN == ["one", "two"]


def test_a_call_that_another_users_kernel_asked_about_is_asked_anew(where, home):
    with session(where, call("send", text="hi")) as first:
        first.run("send hi")
    another_user(home)
    with session(where, "Sent.") as second:
        assert not second.asked
        line = "a call waits that this user's kernels did not ask about: %agent resume asks about it"
        assert second.pending == line and line in second.restored.lines
        list(second.resume())
        (waiting,) = second.asked
        assert RAN == [] and waiting.args == {"text": "hi"}
        list(second.resume(waiting.approve()))
        assert RAN == ["hi"]


def test_rights_that_another_users_kernel_gave_are_none(where, home):
    with session(where, call("send", text="one"), "ok") as first:
        first.run("send")
        list(first.resume(first.asked[0].approve(remember=True)))
        first.approvals.rule("send", "allow")
    RAN.clear()
    another_user(home)
    with session(where, call("send", text="two"), "ok") as second:
        assert second.options.approve == "outside"
        second.run("send again")
        assert RAN == [] and len(second.asked) == 1


def test_a_call_that_was_changed_in_the_file_is_not_the_one_that_was_shown(tmp_path):
    where = str(tmp_path / "session.db")
    with session(where, call("send", text="harmless")) as first:
        first.run("send")
    db = sqlite3.connect(where)
    changed = 0
    for rowid, value in db.execute("SELECT rowid, value FROM writes WHERE channel = '__interrupt__'").fetchall():
        changed += b"harmless" in value
        db.execute("UPDATE writes SET value = ? WHERE rowid = ?", (value.replace(b"harmless", b"mischief"), rowid))
    db.commit()
    db.close()
    assert changed == 1
    with session(where, "Sent.") as second:
        assert not second.asked
        list(second.resume())
        assert [c.args for c in second.asked] == [{"text": "harmless"}] and RAN == []


def test_a_turn_that_waits_is_decided_before_a_session_is_kept(tmp_path):
    s = Session(model=Scripted(answers=[call("send", text="hi")]), tools=[send])
    s.run("send hi")
    refused("needs your approval for send", s.persist, tmp_path / "session.db")
    assert not (tmp_path / "session.db").exists()


def test_a_call_that_may_have_been_run_when_its_kernel_ended_is_not_run_again_unasked(where, monkeypatch):
    first = session(where, call("send", text="hi"))
    first.run("send hi")

    def ends(*args: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(first.workspace.graphs.checkpointer, "put_writes", ends)
    monkeypatch.setattr(first.workspace.persistence, "end", ends)
    with pytest.raises(SystemExit):
        list(first.resume(first.asked[0].approve()))
    assert RAN == ["hi"]
    first.workspace.persistence.close()
    with session(where, "Sent.") as second:
        assert second.pending == "the tool send was interrupted: %agent resume again, or %agent resume skip"
        refused("may have done part of its work", lambda: list(second.resume()))
        list(second.resume("skip"))
        assert RAN == ["hi"] and second.pending is None and second.turns[0].text == "Sent."


@wing("compare")
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


@wing("compare")
def test_a_call_that_a_job_waits_with_can_be_decided_in_the_next_session(where):
    with session(where, call("send", text="hi")) as first:
        assert first.jobs.start("send hi").wait(60).asked and first.workspace.threads["job-1"].asked
    with session(where, "Sent.") as second:
        line = "thread job-1: send needs your approval: %agent switch job-1, then %agent panel approvals shows it, then %agent approve, or %agent reject WHY"
        assert line in second.restored.lines
        second.switch("job-1")
        (waiting,) = second.asked
        list(second.resume(waiting.approve()))
        assert RAN == ["hi"] and second.turns[-1].text == "Sent." and len(second.turns) == 1


@wing("compare")
def test_the_thread_of_a_job_is_busy_for_other_kernels(where):
    slow = Slow()
    with session(where, call("wait"), "ready", **unasked(slow.wait)) as first:
        job = first.jobs.start("wait for it")
        with slow.held(lambda: job.wait(60)), session(where) as second:
            second.switch("job-1")
            refused("thread job-1 is busy in another kernel", second.run, "me, too")
            assert not any("job-1" in line for line in second.restored.lines), "it is not cut: it runs"
        assert job.wait(60).text == "ready"
    with session(where) as third:
        third.switch("job-1")
        assert [t.text for t in third.turns] == ["ready"]
