"""A thread written to a file: valid, whole, without credentials, and never over another file unasked."""

import html
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from nbclient import NotebookClient

from deepnb import Session
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import InvalidError, NotFoundError, RefusedError
from deepnb.values.events import without_credentials
from deepnb.values.turn import CodeOutput, ToolEnded, ToolStarted, Turn
from deepnb.views.export import conversation_notebook, conversation_page
from deepnb.views.turn import TurnView
from tests.support.hostile_views import Maker
from tests.support.scripted import Scripted, call, unasked, walked
from tests.support.tables import every_row

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
KINDS = (".ipynb", ".html", ".jsonl")


def weigh(what: str) -> str:
    "Weigh something."
    return f"{what} weighs 3 kg"


def session(*answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers)), **unasked(weigh), **options)


@pytest.fixture
def talked() -> Session:
    s = session(call("weigh", what="<b>lead</b>"), "It is **heavy** & dense", "Bye")
    walked(s, "run how heavy is {lead}?", "run thanks")
    return s


def shown(file: Path) -> str:
    return text_of(re.sub(r"(?s)<style.*?</style>", "", file.read_text(encoding="utf-8").partition("<body>")[2]))


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_a_notebook_has_the_prompts_as_cells_and_what_was_shown_below_them(talked, tmp_path):
    notebook = nbformat.read(talked.export(tmp_path / "a.ipynb"), as_version=4)
    nbformat.validate(notebook)
    prompts = ["%%agent --raw\nhow heavy is {lead}?", "%%agent\nthanks"]
    assert [cell.source for cell in notebook.cells] == ["# Thread main", "%load_ext deepnb", *prompts]
    for cell, turn in zip(notebook.cells[2:], talked.turns, strict=True):
        (output,), view = cell.outputs, TurnView(turn, asked=False)
        assert output.data == {"text/plain": view.text(), "text/html": view.html()}
    assert "<details" in notebook.cells[2].outputs[0].data["text/html"]
    assert len({cell.id for cell in notebook.cells}) == 4


def test_a_page_shows_the_text_of_the_views_and_a_transcript_is_the_lines_that_were_kept(talked, tmp_path):
    file = talked.export(tmp_path / "a.html")
    page = file.read_text(encoding="utf-8")
    seen = shown(file)
    for turn in talked.turns:
        assert text_of(TurnView(turn).html()) in seen
    assert "heavy" in seen and "<b>lead</b>" in seen and "<b>lead</b>" not in page
    assert not re.search(r"<(?:script|link|iframe|img|object)\b|\son\w+=|\burl\(|@import", page)
    assert "default-src 'none'" in page and "color-scheme:light dark" in page
    file = talked.export(tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["type"] for line in lines] == talked.transcript()["type"].tolist()


@every_row("kind", KINDS)
def test_a_file_that_exists_is_overwritten_only_when_asked(kind, talked, tmp_path):
    file = tmp_path / f"a{kind}"
    file.write_text("mine")
    file.chmod(0o640)
    with pytest.raises(RefusedError) as told:
        talked.export(file)
    assert told.value.typed == f"{file} exists already: %agent export --yes {file} overwrites it"
    assert str(told.value) == f"{file} exists already: session.export({str(file)!r}, overwrite=True) overwrites it"
    assert file.read_text() == "mine"
    talked.export(file, overwrite=True)
    assert file.read_text(encoding="utf-8") != "mine" and file.stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_leaves_the_file_as_it_was(talked, tmp_path, monkeypatch):
    file = tmp_path / "a.html"
    file.write_text("mine")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RefusedError, match=r"can't be written \(No space left on device\)"):
        talked.export(file, overwrite=True)
    assert [one.name for one in tmp_path.iterdir()] == ["a.html"] and file.read_text() == "mine"


def test_a_link_stays_one_and_a_missing_directory_is_made(talked, tmp_path):
    (tmp_path / "there.html").write_text("old")
    (tmp_path / "link.html").symlink_to("there.html")
    talked.export(tmp_path / "link.html", overwrite=True)
    assert (tmp_path / "link.html").is_symlink() and "heavy" in (tmp_path / "there.html").read_text(encoding="utf-8")
    assert talked.export(tmp_path / "new" / "a.html").exists()


@every_row(("name", "kind", "line"), [
    ("a.txt", InvalidError, "a.txt has no ending that says what it is: end the name in .ipynb, .html or .jsonl"),
    ("a", InvalidError, "a has no ending"), ("d.html", InvalidError, "d.html is a directory"),
    ("f/a.html", RefusedError, "can't be written"), ("a\0.html", InvalidError, "can't be a file"),
])  # fmt: skip
def test_a_name_that_can_be_no_file_is_one_line(name, kind, line, talked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.html").mkdir()
    (tmp_path / "f").write_text("")
    with pytest.raises(kind) as told:
        talked.export(name)
    assert line in str(told.value) and "\n" not in str(told.value)


def test_another_thread_and_one_without_turns(talked, tmp_path):
    talked.new("b")
    assert "# Thread main" in talked.export(tmp_path / "a.ipynb", "main").read_text(encoding="utf-8")
    with pytest.raises(NotFoundError, match="thread b has no turns yet"):
        talked.export(tmp_path / "b.ipynb")
    with pytest.raises(NotFoundError, match="no thread 'c'"):
        talked.export(tmp_path / "b.ipynb", "c")


@every_row("kind", KINDS)
def test_a_thread_that_a_checkpointer_holds_is_written_too(kind, tmp_path):
    saver = InMemorySaver()
    session("It is heavy", checkpointer=saver).run("how heavy?")
    later = session("x", checkpointer=saver)
    written = later.export(tmp_path / f"a{kind}").read_text(encoding="utf-8")
    assert "how heavy?" in written and "It is heavy" in written


def hostile(text: str) -> Turn:
    return Maker(text).turn()


@every_row("text", ["<script>alert(1)</script>", "\ud800 half", "a\x00b\x1b[31m", "]]></style>{x}", "\u202e"])
def test_whatever_a_turn_holds_the_notebook_is_valid(text):
    written = conversation_notebook(text, [hostile(text)], {}).encode("utf-8", "replace")
    notebook = nbformat.reads(written.decode(), as_version=4)
    nbformat.validate(notebook)
    assert "<script>" not in notebook.cells[2].outputs[0].data["text/html"]


def test_run_all_goes_on_after_a_cell_that_needed_approval(tmp_path):
    s = Session(model=Scripted(answers=["one", call("weigh", what="lead"), "two", "three"]), tools=[weigh])
    walked(s, "run a", "run b")
    list(s.resume(s.asked[0].approve()))
    s.run("c")
    cells = nbformat.read(s.export(tmp_path / "a.ipynb"), as_version=4).cells[2:]
    assert [cell.metadata.get("tags") for cell in cells] == [None, ["raises-exception"], ["raises-exception"]]


def test_code_that_ran_is_a_cell_below_its_prompt():
    ran: Any = (("1", "x = 1", "ok", ()), ("2", "1/0", "error", ()), ("3", "inner", "ok", ("t",)))
    events: list[Any] = []
    for id_, code, status, path in ran:
        events += [ToolStarted(id_, "run", {"code": code}, path), ToolEnded(id_, "run", "", status, 0.1, path)]
    empty = hostile("p")
    turn = Turn(1, "main", "p", "", tuple(events), empty.before, empty.after, empty.usage, None)
    cells = nbformat.reads(conversation_notebook("t", [turn], {"run": "code"}), as_version=4).cells
    assert [cell.source for cell in cells[2:]] == ["%%agent\np", "x = 1"]


def test_what_code_put_out_is_below_its_cell_and_harmless(tmp_path):
    picture = "iVBORw0KGgo="
    s = Session(model=Scripted(answers=[call("run_python", "c", code="print('hi')"), "done"]), namespace={})
    s.run("plot")
    list(s.resume([c.approve() for c in s.asked]))
    (turn,) = s.turns
    data = {"image/png": picture, "text/html": "<b onclick=x()>hi</b><script>x()</script>"}
    put_out = (CodeOutput("c", 50, "rich", "a plot", data), CodeOutput("c", 51, "stdout", f"printed {TOKEN}\n"))
    turn = without_credentials(replace(turn, events=(*turn.events, *put_out)))
    assert TOKEN not in str(turn.events)
    cells = {c.id: c for c in nbformat.reads(conversation_notebook("t", [turn], CODE_TOOLS), as_version=4).cells}
    code = cells["turn-1-code-1"]
    assert code.source == "print('hi')" and code.outputs[0].text.startswith("hi\n")
    kept = [o.data for o in code.outputs if o.output_type == "display_data"][-1]
    assert kept["image/png"].strip() == picture and kept["text/html"] == "<b>hi</b>" and kept["text/plain"] == "a plot"
    assert picture not in str(cells["turn-1"].outputs)
    page = conversation_page("t", [turn])
    assert f"data:image/png;base64,{picture}" in page and "onclick" not in page and "<script" not in page


@pytest.mark.slow
@pytest.mark.kernel
def test_an_exported_notebook_runs_offline(tmp_path):
    s = walked(Session(), "run Remember that I prefer metric units", "run What do you know about me?")
    notebook = nbformat.read(s.export(tmp_path / "a.ipynb"), as_version=4)
    before = [cell.outputs[0].data["text/plain"] for cell in notebook.cells[2:]]
    waits: Any = dict.fromkeys(("timeout", "startup_timeout", "iopub_timeout"), 600)
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}, **waits)
    client.execute(env={**os.environ, "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")})
    after = ["\n".join(o.data["text/plain"] for o in cell.outputs if "data" in o) for cell in notebook.cells[2:]]
    assert all("metric units" in one for one in (*before, *after))


def test_the_magic_writes_it_and_says_where(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell.ok("%agent what can you do?")
    said = shell.ok("%agent export a.html --thread main")
    assert "thread main (1 turn) written to a.html, without credentials" in said
    assert shell.fails("%agent export a.html") == "a.html exists already: %agent export --yes a.html overwrites it"
    shell.ok("%agent export a.html --yes")
