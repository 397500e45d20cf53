"""Editing notebooks in a session: approval, the card, subagents, calls at once."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from langchain_core.messages import AIMessage
from nbformat import v4

from deepnb import Session
from deepnb.values.turn import ToolEnded
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.workshop.notebook_plan import CellDiff, NotebookDiff
from deepnb.workshop.notebooks import version_of
from tests.support.scripted import call, session
from tests.support.tables import every_row

B = "y = <b>2</b>"
NEW = nbformat.writes(v4.new_notebook(cells=[v4.new_code_cell("x = 1"), v4.new_code_cell(B)])).encode()


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    (tmp_path / "a.ipynb").write_bytes(NEW)
    return tmp_path / "a.ipynb"


def cells(file: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(file, 4).cells]


def edit(file: Path, id_: str = "c1", **edits: Any) -> AIMessage:
    version = version_of(file.resolve(), file.read_bytes())
    replace = [{"replace": 1, "source": "x = 2"}]
    return call("edit_notebook", id_, **{"path": "a.ipynb", "edits": replace, "version": version} | edits)


def results(s: Session) -> list[tuple[str, str]]:
    return [(e.status, e.result) for turn in s.turns for e in turn.events if isinstance(e, ToolEnded)]


@every_row("word, left", [
    (lambda c: c.approve(), ["x = 2", B]), (lambda c: c.reject("no"), ["x = 1", B]),
    (lambda c: c.edit({**c.args, "edits": [{"delete": 2}]}), ["x = 1"]),
])  # fmt: skip
def test_it_asks_and_writes_what_was_approved(file: Path, word: Any, left: list[str]):
    file.write_bytes(NEW)
    s = session(edit(file), "done")
    (asked,) = s.run("change it").asked
    assert (asked.effect, file.read_bytes()) == ("outside", NEW)
    change = s.approvals.change(asked)
    assert isinstance(change, NotebookDiff)
    assert change.unified() == "cell 1 · code · changed\n@@ -1 +1 @@\n-x = 1\n+x = 2"
    list(s.resume(word(asked)))
    assert cells(file) == left and s.text == "done"
    assert left != ["x = 2", B] or "replaced cell 1" in results(s)[0][1]


def test_a_file_that_changed_below_its_card_is_not_written(file: Path):
    s = session(edit(file), "done")
    (asked,) = s.run("change it").asked
    file.write_bytes(file.read_bytes().replace(b"x = 1", b"x = 7"))
    changed = file.read_bytes()
    change = s.approvals.change(asked)
    assert change is not None and change.kind.startswith("a.ipynb has changed since that version")
    card = ApprovalView([CallCard(1, asked, change)]).text()
    assert "  a.ipynb has changed since that version" in card and "edits:" in card
    list(s.resume(asked.approve()))
    assert file.read_bytes() == changed and "has changed since that version" in results(s)[0][1]


@every_row("args", [
    {"path": "../a.ipynb"}, {"version": "0"}, {"edits": [{"delete": 9}]}, {"edits": "x"},
    {"edits": [{"insert": 1, "source": "k = 'ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3'"}]},
])  # fmt: skip
def test_nobody_is_asked_about_a_call_that_would_fail(file: Path, args: dict[str, Any]):
    s = session(edit(file, **args), "done")
    assert s.run("change it").asked == () and s.text == "done"
    ((status, result),) = results(s)
    assert status == "error" and result.startswith("Error: ") and "ghp_" not in result
    assert file.read_bytes() == NEW


@every_row("approve", ["outside", {"edit_notebook": "allow"}])
def test_of_two_at_once_one_is_written_and_the_other_is_for_an_old_version(file: Path, approve: Any):
    file.write_bytes(NEW)
    both = edit(file)
    both.tool_calls += edit(file, "c2", edits=[{"insert": 1, "source": "first"}]).tool_calls
    s = session(both, "done", approve=approve)
    asked = s.run("change it").asked
    assert len(asked) == (2 if approve == "outside" else 0)
    if asked:
        list(s.resume([one.approve() for one in asked]))
    said = sorted(result for _, result in results(s))
    assert said[0].startswith("Error: a.ipynb has changed") and said[1].startswith("a.ipynb: ")
    assert cells(file) in (["x = 2", B], ["first", "x = 1", B])


def test_the_card_shows_every_line_of_every_cell(file: Path):
    long = "\n".join(f"line {n}" for n in range(500))
    s = session(edit(file, edits=[{"replace": 2, "source": long}, {"delete": 1}]), "done")
    (asked,) = s.run("go").asked
    view = ApprovalView([CallCard(1, asked, s.approvals.change(asked))])
    text, html = view.text(), view.html()
    assert "cell 2 · code · changed" in text and "cell 1 · code · removed" in text and "  +line 499" in text
    assert "edits" not in text and "version: " in text
    hidden = NotebookDiff("a.ipynb", (CellDiff(1, "code", None, "x = 1  # \u202eevil\u200b"),))
    card = ApprovalView([CallCard(1, asked, hidden)])
    assert all("⟨U+202E⟩evil⟨U+200B⟩" in said and "\u202e" not in said for said in (card.text(), card.html()))
    assert "line 499" in html and "<b>2" not in html and "&lt;b&gt;2" in html
