"""The editor of a memory file: saved with what came meanwhile, refused in one line, closed without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import Widget

from deepnb.views.view import View
from tests.support.shells import Shell

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


class Page:
    """A notebook's screen: what stands in each output now, and the widgets."""

    notebook = True

    def __init__(self) -> None:
        self.outputs: list[str] = []
        self.widgets: list[Any] = []

    def show(self, view: View) -> Any:
        self.outputs.append(view.text())
        return _Place(self.outputs, len(self.outputs) - 1)

    def widget(self, widget: Any, text: str) -> Any:
        self.widgets.append(widget)
        self.outputs.append(text)
        return _Place(self.outputs, len(self.outputs) - 1)


class _Place:
    def __init__(self, outputs: list[str], at: int) -> None:
        self.outputs, self.at = outputs, at

    def update(self, view: View) -> None:
        self.outputs[self.at] = view.text()


@pytest.fixture
def page(shell: Shell) -> Iterator[Page]:
    shell.ip._deepnb.scene.screen = made = Page()
    yield made
    Widget.close_all()


def parts(page: Page) -> tuple[Any, Any, Any, Any]:
    """Text area, line below it, save, cancel, of the last editor."""
    _, area, told, buttons = page.widgets[-1].children
    return area, told, *buttons.children


def test_a_text_is_edited_and_saved(shell: Shell, page: Page) -> None:
    shell.session.memory.add("likes tea")
    shell.ok("%memory edit")
    area, _, save, cancel = parts(page)
    assert (area.value, save.description, cancel.description) == ("- likes tea\n", "Save", "Cancel")
    assert "%%memory /AGENTS.md" in page.outputs[0] and "- likes tea" in page.outputs[1]
    area.value = "- likes coffee\n"
    save.click()
    assert shell.session.files["/AGENTS.md"] == "- likes coffee\n"
    assert page.outputs[0].startswith("saved /AGENTS.md   (thread main")
    assert "-- likes tea" in page.outputs[0] and "+- likes coffee" in page.outputs[0]
    assert "- likes tea" in page.outputs[1], "the twin stays"
    assert [e.origin for e in shell.session.memory.log_entries()] == ["user", "user"]
    assert area.comm is None, "the widget is closed"


def test_cancel_changes_nothing(shell: Shell, page: Page) -> None:
    shell.session.memory.add("likes tea")
    shell.ok("%memory edit")
    area, _, _, cancel = parts(page)
    area.value = "- something else\n"
    cancel.click()
    assert shell.session.files["/AGENTS.md"] == "- likes tea\n"
    assert page.outputs[0] == "note: cancelled: /AGENTS.md is unchanged" and area.comm is None


def test_a_file_that_is_not_there_yet_is_begun(shell: Shell, page: Page) -> None:
    shell.ok("%memory edit /memory/team.md")
    area, _, save, _ = parts(page)
    assert area.value == ""
    area.value = "- Ana owns the data\n"
    save.click()
    assert shell.session.files["/memory/team.md"] == "- Ana owns the data\n"


def test_what_was_saved_in_a_file_that_is_not_of_memory_is_shown(shell: Shell, page: Page) -> None:
    shell.ok("%memory edit /plan.md")
    area, _, save, _ = parts(page)
    area.value = "- buy milk\n"
    save.click()
    assert "saved /plan.md" in page.outputs[0] and "+- buy milk" in page.outputs[0]


def test_what_changed_meanwhile_is_merged(shell: Shell, page: Page) -> None:
    shell.session.memory.write("/AGENTS.md", "- one\n- two\n- three\n")
    shell.ok("%memory edit")
    area, _, save, _ = parts(page)
    shell.session.memory.add("four")
    area.value = "- ONE\n- two\n- three\n"
    save.click()
    assert shell.session.files["/AGENTS.md"] == "- ONE\n- two\n- three\n- four\n"
    assert page.outputs[0].startswith("saved /AGENTS.md") and shell.session.memory.log_entries()[-1].note == "merged"


def test_a_conflict_is_shown_with_both_texts_and_can_be_mended(shell: Shell, page: Page) -> None:
    shell.session.memory.write("/AGENTS.md", "- due on Fridays\n")
    shell.ok("%memory edit")
    area, told, save, _ = parts(page)
    shell.session.memory.write("/AGENTS.md", "- due on Mondays\n")
    area.value = "- due on Tuesdays\n"
    save.click()
    both = shell.session.files["/AGENTS.md"]
    assert area.value == both and both == "- due on Mondays\n- due on Tuesdays\n"
    assert "/AGENTS.md was also changed elsewhere: line 1" in told.value
    assert "conflict" in shell.session.memory.log_entries()[-1].note
    area.value = "- due on Tuesdays\n"
    save.click()
    assert shell.session.files["/AGENTS.md"] == "- due on Tuesdays\n" and page.outputs[0].startswith("saved /AGENTS.md")


def test_a_credential_is_refused_in_one_line_and_the_text_stays(shell: Shell, page: Page) -> None:
    shell.session.memory.add("likes tea")
    shell.ok("%memory edit")
    area, told, save, _ = parts(page)
    typed = f"- likes tea\n- the token is {TOKEN}\n"
    area.value = typed
    save.click()
    assert area.value == typed and shell.session.files["/AGENTS.md"] == "- likes tea\n"
    assert (
        "not written to /AGENTS.md: it holds what looks like a GitHub token (line 2)" in told.value
        and TOKEN not in told.value
    )
    area.value = "- likes tea\n- the token is in the vault\n"
    save.click()
    assert "vault" in shell.session.files["/AGENTS.md"] and page.outputs[0].startswith("saved /AGENTS.md")


def test_line_ends_of_a_file_from_windows_stay(shell: Shell, page: Page) -> None:
    shell.session.memory.write("/AGENTS.md", "- one\r\n- two\r\n")
    shell.ok("%memory edit")
    area, _, save, _ = parts(page)
    area.value = "- one\n- 2\n"
    save.click()
    assert shell.session.files["/AGENTS.md"] == "- one\r\n- 2\r\n"


def test_a_wrong_path_is_one_line(shell: Shell, page: Page) -> None:
    assert "'../x.md' is not the path of a file" in shell.fails("%memory edit ../x.md")
    assert page.widgets == []


def test_a_refused_line_is_told_as_it_was_typed_whatever_came_meanwhile(shell: Shell, page: Page) -> None:
    shell.session.memory.write("/AGENTS.md", "- likes tea\n")
    shell.ok("%memory edit")
    area, told, save, _ = parts(page)
    shell.session.memory.write("/AGENTS.md", "- likes milk\n- and cake\n")
    area.value = f"- likes coffee\n- the token is {TOKEN}\n"
    save.click()
    assert "(line 2)" in told.value and shell.session.files["/AGENTS.md"] == "- likes milk\n- and cake\n"


def test_cancelling_a_conflict_says_that_both_texts_stand(shell: Shell, page: Page) -> None:
    shell.session.memory.write("/AGENTS.md", "- due on Fridays\n")
    shell.ok("%memory edit")
    area, _, save, cancel = parts(page)
    shell.session.memory.write("/AGENTS.md", "- due on Mondays\n")
    area.value = "- due on Tuesdays\n"
    save.click()
    cancel.click()
    assert page.outputs[0] == "note: closed: /AGENTS.md holds both texts"
