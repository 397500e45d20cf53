"""The buttons of a card: what runs is what can be seen."""

import json
from typing import Any

from deepnb.values.approvals import Decision, PendingCall
from deepnb.views.approval import CallCard
from deepnb.widgets.approval import ApprovalButtons
from tests.support.tables import every_row

CODE = PendingCall("c1", "run_python", {"code": "x.sum()\r\ny"}, "d", "k", parameters={"code": "string"})
WRITE = PendingCall("c2", "send", {"to": "a", "n": 1}, "d", "k", parameters={"to": "string", "n": "integer"})


def parts(widget: Any) -> list[Any]:
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts(child))]


class Row:
    def __init__(self, call: PendingCall, offer: tuple[str, ...] = ()) -> None:
        self.made: list[Decision] = []
        self.buttons = ApprovalButtons([CallCard(1, call)], self.made.append, offer)
        self.parts = parts(self.buttons.widget)
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
    row = Row(CODE, ("write_file", "run_python"))
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
        row = Row(call)
        if open_first:
            row.click("Edit")
            row.area.value = row.area.value.replace("\r\n", "\n")
        row.click("Approve")
        assert [(d.kind, d.args, d.remember) for d in row.made] == [("approve", None, False)]
        row.click(f"Allow {call.name} in this thread")
        assert [(d.kind, d.args, d.remember) for d in row.made[1:]] == [("approve", None, True)]


def test_edits_that_are_discarded_do_not_run_and_can_not_hide():
    row = Row(WRITE)
    row.click("Edit")
    row.area.value = json.dumps({"to": "b", "n": 2})
    row.click("Discard edits")
    assert row.area.layout.display == "none" and row.button("Approve").description == "Approve"
    row.click("Approve")
    assert row.made[0].kind == "approve"


@every_row("typed", ["{oops", '{"to": 1, "n": 1}', '{"who": "b"}'])
def test_a_mistake_in_the_text_runs_nothing(typed):
    row = Row(WRITE)
    row.click("Edit")
    row.area.value = typed
    row.click("Approve")
    row.click("Allow")
    assert not row.made and row.buttons._said.value


def test_what_can_not_be_read_has_no_button_that_runs_it():
    words = {getattr(p, "description", "") for p in parts(ApprovalButtons([CallCard(1,
        PendingCall("c", "sh", {"cmd": "[redacted: private key]"}, "d", "k", allowed=("reject",)))
    ], print, ("sh",)).widget) if hasattr(p, "click")}  # fmt: skip
    assert words == {"Reject"}
