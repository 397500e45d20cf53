"""The editor of a memory file: saved with what came meanwhile, refused in one line, closed without a trace."""

from typing import Any

import pytest

from tests.support.screen import Cell
from tests.support.shells import Shell
from tests.support.tables import every_row

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"
FILE = "/AGENTS.md"


@pytest.fixture
def cell(shell: Shell) -> Cell:
    shell.ip._deepnb.scene.screen = made = Cell()
    return made


class Editor:
    def __init__(self, shell: Shell, cell: Cell, before: str | None = None, path: str = FILE) -> None:
        self.memory, self._files, self._path = shell.session.memory, shell.session.files, path
        if before is not None:
            self.memory.write(path, before)
        shell.ok(f"%memory edit {path}" if path != FILE else "%memory edit")
        _, self.area, self.told, buttons = cell.widgets[-1].children
        self.save, self.cancel = buttons.children

    def type(self, text: str, button: Any = None) -> None:
        self.area.value = text
        (button or self.save).click()

    @property
    def file(self) -> str:
        return str(self._files[self._path])


def test_a_text_is_edited_and_saved(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    assert (editor.area.value, editor.save.description, editor.cancel.description) == (
        "- likes tea\n",
        "Save",
        "Cancel",
    )
    assert "%%memory /AGENTS.md" in cell.last[0] and "- likes tea" in cell.last[1]
    editor.type("- likes coffee\n")
    assert editor.file == "- likes coffee\n"
    assert cell.last[0].startswith("saved /AGENTS.md   (thread main")
    assert "-- likes tea" in cell.last[0] and "+- likes coffee" in cell.last[0]
    assert "- likes tea" in cell.last[1], "the twin stays"
    assert [e.origin for e in editor.memory.log_entries()] == ["user", "user"]
    assert editor.area.comm is None, "the widget is closed"


def test_cancel_changes_nothing(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    editor.type("- something else\n", editor.cancel)
    assert editor.file == "- likes tea\n"
    assert cell.last[0] == "note: cancelled: /AGENTS.md is unchanged" and editor.area.comm is None


@every_row("path", ["/memory/team.md", "/plan.md"])
def test_a_file_that_is_not_there_yet_is_begun_and_what_was_saved_is_shown(shell: Shell, cell: Cell, path: str) -> None:
    editor = Editor(shell, cell, path=path)
    assert editor.area.value == ""
    editor.type("- buy milk\n")
    assert editor.file == "- buy milk\n"
    shown = cell.last[2 * (len(cell.widgets) - 1)]
    assert f"saved {path}" in shown and "+- buy milk" in shown


def test_what_changed_meanwhile_is_merged(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- one\n- two\n- three\n")
    editor.memory.add("four")
    editor.type("- ONE\n- two\n- three\n")
    assert editor.file == "- ONE\n- two\n- three\n- four\n"
    assert cell.last[0].startswith("saved /AGENTS.md") and editor.memory.log_entries()[-1].note == "merged"


def test_a_conflict_is_shown_with_both_texts_and_can_be_mended(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- due on Fridays\n")
    editor.memory.write(FILE, "- due on Mondays\n")
    editor.type("- due on Tuesdays\n")
    assert editor.area.value == editor.file == "- due on Mondays\n- due on Tuesdays\n"
    assert "/AGENTS.md was also changed elsewhere: line 1" in editor.told.value
    assert "conflict" in editor.memory.log_entries()[-1].note
    editor.type("- due on Tuesdays\n")
    assert editor.file == "- due on Tuesdays\n" and cell.last[0].startswith("saved /AGENTS.md")


def test_cancelling_a_conflict_says_that_both_texts_stand(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- due on Fridays\n")
    editor.memory.write(FILE, "- due on Mondays\n")
    editor.type("- due on Tuesdays\n")
    editor.cancel.click()
    assert cell.last[0] == "note: closed: /AGENTS.md holds both texts"


def test_a_credential_is_refused_in_one_line_and_the_text_stays(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    typed = f"- likes tea\n- the token is {TOKEN}\n"
    editor.type(typed)
    assert editor.area.value == typed and editor.file == "- likes tea\n"
    said = "not written to /AGENTS.md: it holds what looks like a GitHub token (line 2)"
    assert said in editor.told.value and TOKEN not in editor.told.value
    editor.type("- likes tea\n- the token is in the vault\n")
    assert "vault" in editor.file and cell.last[0].startswith("saved /AGENTS.md")


def test_a_refused_line_is_told_as_it_was_typed_whatever_came_meanwhile(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    editor.memory.write(FILE, "- likes milk\n- and cake\n")
    editor.type(f"- likes coffee\n- the token is {TOKEN}\n")
    assert "(line 2)" in editor.told.value and editor.file == "- likes milk\n- and cake\n"


def test_line_ends_of_a_file_from_windows_stay(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- one\r\n- two\r\n")
    editor.type("- one\n- 2\n")
    assert editor.file == "- one\r\n- 2\r\n"


def test_a_wrong_path_is_one_line(shell: Shell, cell: Cell) -> None:
    assert "'../x.md' is not the path of a file" in shell.fails("%memory edit ../x.md")
    assert cell.widgets == []
