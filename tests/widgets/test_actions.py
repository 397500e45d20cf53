"""Widgets that act: panels with buttons, the buttons of a card, the editor of a memory file, the chooser of a model."""

import json
from functools import partial
from typing import Any

import pytest
from ipywidgets import Widget

from deepnb.values.agent import ModelInfo
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.errors import DeepnbError, InvalidError
from deepnb.views.approval import CallCard
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import ActionPanel, Row, Switches, Tabs
from deepnb.widgets.approval import ApprovalButtons
from deepnb.widgets.models import ModelPanel
from tests.support.screen import Cell, below
from tests.support.shells import Shell
from tests.support.tables import every_row


def buttons(panel: ActionPanel) -> list:
    return [
        b for row in panel.widget.children[1].children if hasattr(row, "children") for b in row.children[1].children
    ]


def test_a_click_acts_and_a_mistake_is_one_line_above_the_rows():
    items = ["a", "b"]
    panel = ActionPanel(
        lambda: [Row(i, notice_view(i), [("drop", partial(items.remove, i))]) for i in items], notice_view("none")
    )
    assert [b.description for b in buttons(panel)] == ["Drop", "Drop"]
    buttons(panel)[0].click()
    assert items == ["b"]
    assert len(buttons(panel)) == 1
    buttons(panel)[0].click()
    assert "none" in panel.widget.children[1].children[0].value

    def fails() -> None:
        raise DeepnbError("it is <gone>", "type something else")

    panel = ActionPanel(lambda: [Row("a", notice_view("a"), [("go", fails)])], notice_view("none"))
    buttons(panel)[0].click()
    assert "it is &lt;gone&gt;: type something else" in panel.widget.children[0].value


def test_of_tabs_the_one_that_is_seen_follows_and_the_others_when_turned_to():
    items: list[str] = []
    rows = lambda: [Row(i, notice_view(i), []) for i in items]  # noqa: E731
    tabs = Tabs({name: lambda: ActionPanel(rows, notice_view("none")) for name in ("One", "Two")})

    tab = tabs.widget.children[-1]
    assert [len(place.children) for place in tab.children] == [1, 0], "a panel is made when it is turned to"
    tab.selected_index, tab.selected_index = 1, 0
    items.append("new")
    tabs.refresh()
    lists = [place.children[0].children[1] for place in tab.children]
    assert [hasattr(one.children[0], "children") for one in lists] == [True, False]
    assert tabs.open("Two") and not tabs.open("Two") and not tabs.open("Three")
    assert [hasattr(one.children[0], "children") for one in lists] == [True, True]


def test_a_row_that_stays_keeps_its_buttons() -> None:
    items = {"a": 2, "b": 1}

    def drop(name: str) -> None:
        items[name] -= 1

    def row(name: str) -> Row:
        acts = [(f"drop {n}", partial(drop, name)) for n in range(items[name])]
        return Row(name, notice_view(f"{name} {items[name]}"), acts)

    panel = ActionPanel(lambda: [row(name) for name in items if items[name]], notice_view("none"))
    kept = buttons(panel)[0]
    buttons(panel)[1].click()
    assert buttons(panel)[0] is kept and "a 1" in panel.widget.children[1].children[0].children[0].value
    buttons(panel)[0].click()
    assert [one.tooltip for one in buttons(panel)] == ["drop 0 b"]


def test_a_box_switches_what_it_names_and_shows_what_is() -> None:
    states = {"ls": True, "grep": False}

    def turn(name: str, on: bool) -> None:
        if name == "ls":
            raise DeepnbError("not now", "wait")
        states[name] = on

    panel = Switches(lambda: {name: (f"{name} · 9", on) for name, on in states.items()}, turn)
    said, boxes = panel.widget.children
    ls, grep = boxes.children
    grep.value = True
    ls.value = False
    assert states == {"ls": True, "grep": True} and "not now: wait" in said.value
    assert (ls.value, grep.value, grep.description) == (True, True, "grep · 9"), "a refused switch goes back"
    del states["ls"]
    panel.refresh()
    assert boxes.children == (grep,) and ls.comm is None


def test_a_row_changes_in_its_place_and_goes_with_what_it_is_of() -> None:
    state = ["one"]
    panel = ActionPanel(lambda: [Row("a", notice_view(state[0]), [("go", lambda: None)])], notice_view(""))
    state[0] = "two"
    panel.refresh()
    (row,) = panel.widget.children[1].children
    assert "two" in row.children[0].value and buttons(panel)[0].tooltip == "go a"
    names = ["a", "b"]
    panel = ActionPanel(lambda: [Row(name, notice_view(name), []) for name in names], notice_view("none"))
    first, second = panel.widget.children[1].children
    names[:] = ["c", "a"]
    panel.refresh()
    new, stayed = panel.widget.children[1].children
    assert stayed is first and stayed.comm is not None and "c" in new.children[0].value
    assert second.comm is None, "what goes is closed"


CODE = PendingCall("c1", "run_python", {"code": "x.sum()\r\ny"}, "d", "k", parameters={"code": "string"})
WRITE = PendingCall("c2", "send", {"to": "a", "n": 1}, "d", "k", parameters={"to": "string", "n": "integer"})


class Card:
    def __init__(self, call: PendingCall, offer: tuple[str, ...] = ()) -> None:
        self.made: list[Decision] = []
        self.buttons = ApprovalButtons([CallCard(1, call)], self.made.append, offer)
        self.parts = below(self.buttons.widget)
        (self.area,) = (part for part in self.parts if type(part).__name__ == "Textarea")

    def button(self, word: str) -> Any:
        (found,) = (
            one for one in self.parts if getattr(one, "description", "").startswith(word) and hasattr(one, "click")
        )
        return found

    def click(self, word: str) -> None:
        self.button(word).click()


@every_row("word", ["Approve", "Allow run_python in this thread", "Allow write_file"])
def test_each_button_that_runs_a_call_runs_what_the_text_holds(word):
    row = Card(CODE, ("write_file", "run_python"))
    row.click("Edit")
    assert row.area.layout.display == "" and row.button("Approve").description == "Approve with edits"
    row.area.value = "x.max()\ny"
    row.click(word)
    (made,) = row.made
    assert (made.kind, made.args) == ("edit", {"code": "x.max()\ny"})
    assert made.remember == word.endswith("in this thread") and bool(made.also) == (word == "Allow write_file")
    assert not [one for one in row.parts if getattr(one, "button_style", "") == "success"][1:], (
        "there is one green button"
    )


@every_row("call", [CODE, WRITE], ids=lambda call: call.name)
def test_what_was_not_changed_runs_as_it_is(call):
    """A page gives back the lines of a text with line feeds at their ends."""
    for open_first in (False, True):
        row = Card(call)
        if open_first:
            row.click("Edit")
            row.area.value = row.area.value.replace("\r\n", "\n")
        row.click("Approve")
        assert [(d.kind, d.args, d.remember) for d in row.made] == [("approve", None, False)]
        row.click(f"Allow {call.name} in this thread")
        assert [(d.kind, d.args, d.remember) for d in row.made[1:]] == [("approve", None, True)]


def test_edits_that_are_discarded_do_not_run_and_can_not_hide():
    row = Card(WRITE)
    row.click("Edit")
    row.area.value = json.dumps({"to": "b", "n": 2})
    row.click("Discard edits")
    assert row.area.layout.display == "none" and row.button("Approve").description == "Approve"
    row.click("Approve")
    assert row.made[0].kind == "approve"


@every_row("typed", ["{oops", '{"to": 1, "n": 1}', '{"who": "b"}'])
def test_a_mistake_in_the_text_runs_nothing(typed):
    row = Card(WRITE)
    row.click("Edit")
    row.area.value = typed
    row.click("Approve")
    row.click("Allow")
    assert not row.made and row.buttons._said.value


def test_what_can_not_be_read_has_no_button_that_runs_it():
    words = {getattr(p, "description", "") for p in below(ApprovalButtons([CallCard(1,
        PendingCall("c", "sh", {"cmd": "[redacted: private key]"}, "d", "k", allowed=("reject",)))
    ], print, ("sh",)).widget) if hasattr(p, "click")}  # fmt: skip
    assert words == {"Reject"}


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
    shown = (editor.area.value, editor.save.description, editor.cancel.description)
    assert shown == ("- likes tea\n", "Save", "Cancel")
    assert "%%memory /AGENTS.md" in cell.last[0] and "- likes tea" in cell.last[1]
    editor.type("- likes coffee\n")
    assert editor.file == "- likes coffee\n"
    assert cell.last[0].startswith("saved /AGENTS.md   (thread main")
    assert "-- likes tea" in cell.last[0] and "+- likes coffee" in cell.last[0]
    assert "- likes tea" in cell.last[1], "the twin stays"
    assert [e.origin for e in editor.memory.log_entries()] == ["user", "user"]
    assert editor.area.comm is None, "the widget is closed"


def test_cancel_changes_nothing_and_in_a_conflict_says_that_both_texts_stand(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    editor.type("- something else\n", editor.cancel)
    assert editor.file == "- likes tea\n"
    assert cell.last[0] == "note: cancelled: /AGENTS.md is unchanged" and editor.area.comm is None
    editor = Editor(shell, cell, "- due on Fridays\n")
    editor.memory.write(FILE, "- due on Mondays\n")
    editor.type("- due on Tuesdays\n")
    editor.cancel.click()
    assert cell.last[2] == "note: closed: /AGENTS.md holds both texts"


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


def test_a_credential_is_refused_in_one_line_and_the_text_stays(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- likes tea\n")
    typed = f"- likes tea\n- the token is {TOKEN}\n"
    editor.type(typed)
    assert editor.area.value == typed and editor.file == "- likes tea\n"
    said = "not written to /AGENTS.md: it holds what looks like a GitHub token (line 2)"
    assert said in editor.told.value and TOKEN not in editor.told.value
    editor.type("- likes tea\n- the token is in the vault\n")
    assert "vault" in editor.file and cell.last[0].startswith("saved /AGENTS.md")
    editor = Editor(shell, cell, "- likes tea\n")
    editor.memory.write(FILE, "- likes milk\n- and cake\n")
    editor.type(f"- likes coffee\n- the token is {TOKEN}\n")
    assert "(line 2)" in editor.told.value, "it is told as it was typed, whatever came meanwhile"
    assert editor.file == "- likes milk\n- and cake\n"


def test_line_ends_of_a_file_from_windows_stay(shell: Shell, cell: Cell) -> None:
    editor = Editor(shell, cell, "- one\r\n- two\r\n")
    editor.type("- one\n- 2\n")
    assert editor.file == "- one\r\n- 2\r\n"


def test_a_wrong_path_is_one_line(shell: Shell, cell: Cell) -> None:
    assert "'../x.md' is not the path of a file" in shell.fails("%memory edit ../x.md")
    assert cell.widgets == []


KEY = "sk-page-0123456789-abcdefghijk"


def test_a_key_goes_through_the_field_and_stays_in_no_widget() -> None:
    kept, used = list[tuple[str, str]](), list[str]()

    def keep(provider: str, key: str) -> View:
        if provider == "xai":
            raise InvalidError("what was entered is not a key", "%agent key xai asks again")
        kept.append((provider, key))
        return notice_view(f"key for {provider} kept")

    def use(name: str) -> View:
        used.append(name)
        return notice_view(f"{name} from the next turn on")

    def models() -> list[ModelInfo]:
        return [ModelInfo("offline", True, note="in use"), *(ModelInfo(f"{name}:one", True) for name, _ in kept)]

    panel = ModelPanel(models, use, ["openai", "xai"], keep)
    (choice, button), (provider, field) = (row.children for row in panel.widget.children[:2])
    said = panel.widget.children[2]
    assert [*choice.options] == [("offline · in use", "offline")] and not field.continuous_update
    field.value = KEY
    assert kept == [("openai", KEY)] and "key for openai kept" in said.value
    assert choice.value == "openai:one", "what has become usable is the next to choose"
    button.click()
    assert used == ["openai:one"] and "from the next turn on" in said.value
    provider.value = "xai"
    field.value = KEY
    assert "not a key: %agent key xai asks again" in said.value and len(kept) == 1
    assert field.value == "" and KEY not in json.dumps(Widget.get_manager_state())
