"""`%agent persist`: a file, what is back in the next kernel, and the line without an argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shells import Shell


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


def loaded() -> Shell:
    shell = Shell()
    shell.ok("%load_ext deepnb")
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
    assert "likes tea" in second.ok("%memory show")
    assert "hello" in second.ok("%agent turns")
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


def test_a_prompt_that_begins_with_persist_is_one():
    shell = loaded()
    shell.ok("%agent persist in asking me for more detail")
    assert shell.session.turns[-1].prompt == "persist in asking me for more detail"


def test_a_mistake_is_one_line(tmp_path):
    shell = loaded()
    (tmp_path / "other.db").write_text("no database")
    assert "is damaged, or no SQLite file" in shell.fails("%agent persist other.db")
    assert "is no database that deepnb knows" in shell.fails("%agent persist mysql://a/b")


def test_a_reload_forgets_nothing_that_is_kept():
    shell = loaded()
    shell.ok("%agent persist notes.db")
    shell.ok("%memory add likes tea")
    shell.ok("%agent hello")
    assert shell.ok("%reload_ext deepnb") == "note: this session is kept: %agent persist notes.db continues it\n"
    assert "1 turn in thread main" in shell.ok("%agent persist notes.db")
    assert "likes tea" in shell.ok("%memory show")
    shell.ok("%memory add likes cake")
    shell.ok("%agent again")
    assert [turn.number for turn in shell.session.turns] == [1, 2]


def test_forgetting_names_the_records_of_the_database():
    shell = loaded()
    shell.ok("%agent persist notes.db")
    shell.ok("%memory add owns a zeppelin")
    shell.ok("%agent hello")
    found = shell.ok("%memory forget zeppelin")
    assert "the database" in found and "of earlier turns" in found
    assert "forgotten" in shell.ok("%memory forget --yes zeppelin")
    assert "is not in anything deepnb recorded" in shell.ok("%memory forget zeppelin")
    assert not [f for f in Path().glob("notes.db*") if b"zeppelin" in f.read_bytes()]
