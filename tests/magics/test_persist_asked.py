"""Calls that wait for approval, and turns that were cut, as the next kernel of a kept session shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.approvals import ASK, TWO
from tests.support.shells import Shell

CARD = "needs your approval · "
SENDS = """
from tests.support.scripted import Scripted, call
sent = []
def send(text: str) -> str:
    "Send it."
    sent.append(text)
    return "sent"
m = Scripted(answers=[call("send", "s", text="hi"), "It is sent."])
%agent use m
%agent tools add send
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return folder


def loaded(*cells: str) -> Shell:
    shell = Shell()
    for cell in ("%load_ext deepnb", "%agent mount /work disk:work", *cells):
        shell.ok(cell)
    return shell


def restarted(shell: Shell, *cells: str) -> tuple[Shell, str]:
    """Another kernel, and what the cell shows that keeps its session."""
    shell.session.close()
    made = loaded(*cells)
    return made, made.ok("%agent persist s.db")


def test_the_card_is_shown_again_each_time_the_cell_is_run():
    second, shown = restarted(loaded("%agent persist s.db", ASK))
    assert CARD + "1 call" in shown and "+hello world" in shown and "%agent approve runs it" in shown
    assert CARD + "1 call" in second.ok("%agent persist s.db")
    assert "I wrote 1 line" in second.ok("%agent approve")
    assert Path("work/report.md").read_text() == "hello world\n"
    assert CARD not in second.ok("%agent persist s.db")


def test_of_two_calls_that_which_is_decided_is_shown_as_such():
    first = loaded("%agent persist s.db", TWO, "%agent go", "%agent reject 1 not this")
    second, shown = restarted(first, TWO)
    assert "back from" in shown and "1 call that needs your approval" in shown and CARD + "2 calls" in shown
    assert [d.reason for d in second.session.approvals.decided().values()] == ["not this"]
    second.ok("%agent approve 2")
    assert [p.name for p in Path("work").iterdir()] == ["b"]


def test_calls_of_other_threads_are_named_and_their_card_comes_with_the_switch():
    first = loaded("%agent persist s.db", ASK, "%agent new side", "%agent hello")
    second, shown = restarted(first)
    needs = "thread main: write_file needs your approval: %agent switch main, then %agent panel approvals shows it, then %agent approve, or %agent reject WHY"
    assert needs in " ".join(shown.split()) and CARD not in shown
    assert CARD + "1 call" in second.ok("%agent switch main")
    assert CARD not in second.ok("%agent switch side")
    assert CARD not in second.ok("%agent switch main"), "the card is open already"
    assert "I wrote" in second.ok("%agent approve")


def test_what_another_users_kernel_asked_is_asked_anew(home: Path):
    first = loaded("%agent persist s.db", ASK)
    (home / ".deepnb" / "key").unlink()
    second, shown = restarted(first)
    line = "a call waits that this user's kernels did not ask about: %agent resume asks about it"
    assert line in shown and CARD not in shown
    second.ok("%agent new side")
    second.ok("%agent hello")
    (home / ".deepnb" / "key").unlink()
    third, shown = restarted(second)
    assert "thread main: a call waits" in shown and "%agent switch main, then %agent resume" in " ".join(shown.split())
    third.ok("%agent switch main")
    assert CARD + "1 call" in third.ok("%agent resume")
    third.ok("%agent approve")
    assert Path("work/report.md").exists()


def test_a_call_whose_tool_the_kernel_has_not_got_yet_waits_for_it():
    second, shown = restarted(loaded("%agent persist s.db", SENDS, "%agent go"))
    assert "1 · send" in shown
    told = second.fails("%agent approve")
    assert told == "the tool send is not there in this kernel yet: run the cell that adds it, then decide again"
    second.ok(SENDS + 'm.answers = ["It is sent."]')
    assert "It is sent." in second.ok("%agent approve")
    assert second.ip.user_ns["sent"] == ["hi"]
