"""`%agent persist`: a file, what is back in the next kernel, and the line without an argument."""

from pathlib import Path

import pytest

from tests.support.approvals import ASK
from tests.support.scripted import enter
from tests.support.shells import Shell


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
    for cell in ("%load_ext deepnb", *cells):
        shell.ok(cell)
    return shell


def test_a_session_is_kept_and_is_back(tmp_path):
    first = loaded()
    first.ok("%memory add likes tea")
    assert "this session is kept in" in first.ok("%agent persist notes.db")
    assert "a restart loses them" not in first.ok("%agent hello")
    first.session.close()
    second = loaded()
    shown = second.ok("%agent persist notes.db")
    assert "back from" in shown and "1 thread, 1 turn in thread main" in shown
    assert "likes tea" in second.ok("%memory show") and "hello" in second.ok("%agent turns")
    kept = "this session is kept in notes.db: notes.db alone is the whole of it between turns; "
    assert second.ok("%agent persist").strip().startswith(kept), "no path of a machine is saved"
    assert "this session is kept in" in second.ok("%agent status")
    again = second.ok("%agent persist notes.db")
    assert "this session is kept in" in again and "back from" not in again, "the cell was run twice"
    second.ok("import os; os.mkdir('below'); os.chdir('below')")
    assert "this session is kept in" in second.ok(f"%agent persist {tmp_path / 'notes.db'}"), "the same by another name"
    assert "is kept in" in second.fails("%agent persist other.db")


def test_alone_it_proposes_a_file_beside_the_notebook(tmp_path, monkeypatch):
    shell = loaded()
    assert "%agent persist session.deepnb.db" in shell.ok("%agent persist")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "my analysis.ipynb"))
    assert '%agent persist "my analysis.deepnb.db"' in shell.ok("%agent persist")
    assert "this session is kept in" in shell.ok('%agent persist "my analysis.deepnb.db"')
    assert (tmp_path / "my analysis.deepnb.db").exists()


def test_a_reload_forgets_nothing_that_is_kept():
    shell = loaded()
    enter(shell, "%agent persist notes.db", "%memory add likes tea", "%agent hello")
    assert shell.ok("%reload_ext deepnb") == "note: this session is kept: %agent persist notes.db continues it\n"
    assert "1 turn in thread main" in shell.ok("%agent persist notes.db")
    assert "likes tea" in shell.ok("%memory show")
    enter(shell, "%memory add likes cake", "%agent again")
    assert [turn.number for turn in shell.session.turns] == [1, 2]


MOUNT = "%agent mount /work disk:work"
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


def restarted(shell: Shell, *cells: str) -> tuple[Shell, str]:
    shell.session.close()
    made = loaded(MOUNT, *cells)
    return made, made.ok("%agent persist s.db")


def test_the_card_is_shown_again_each_time_the_cell_is_run():
    second, shown = restarted(loaded(MOUNT, "%agent persist s.db", ASK))
    assert CARD + "1 call" in shown and "+hello world" in shown and "%agent approve runs it" in shown
    assert CARD + "1 call" in second.ok("%agent persist s.db") and "I wrote 1 line" in second.ok("%agent approve")
    assert Path("work/report.md").read_text() == "hello world\n" and CARD not in second.ok("%agent persist s.db")


def test_calls_of_other_threads_are_named_and_their_card_comes_with_the_switch():
    first = loaded(MOUNT, "%agent persist s.db", ASK, "%agent new side", "%agent hello")
    second, shown = restarted(first)
    needs = "thread main: write_file needs your approval: %agent switch main, then %agent panel approvals shows it, then %agent approve, or %agent reject WHY"
    assert needs in " ".join(shown.split()) and CARD not in shown
    assert CARD + "1 call" in second.ok("%agent switch main") and CARD not in second.ok("%agent switch side")
    assert CARD not in second.ok("%agent switch main"), "the card is open already"
    assert "I wrote" in second.ok("%agent approve")


def test_a_call_whose_tool_the_kernel_has_not_got_yet_waits_for_it():
    second, shown = restarted(loaded(MOUNT, "%agent persist s.db", SENDS, "%agent go"))
    assert "1 · send" in shown
    told = second.fails("%agent approve")
    assert told == "the tool send is not there in this kernel yet: run the cell that adds it, then decide again"
    second.ok(SENDS + 'm.answers = ["It is sent."]')
    assert "It is sent." in second.ok("%agent approve") and second.ip.user_ns["sent"] == ["hi"]
