"""Values show themselves: the same pictures as the magics show, in a notebook, a terminal and a plain Python."""

import copy
import importlib
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from deepnb import Session
from deepnb.magics.pictures import picture
from deepnb.magics.shell import NAMES
from deepnb.values.approvals import PendingCall, PendingCalls
from deepnb.values.budget import Budget, rule_for
from deepnb.values.files import FileDiff, FileDiffs, file_diffs
from deepnb.values.offload import HistorySection, HistorySections, Offload
from deepnb.values.turn import (
    Notice,
    Snapshot,
    TextDelta,
    ThreadInfo,
    ThreadInfos,
    ToolEnded,
    ToolStarted,
    Turn,
    Turns,
    Usage,
)
from deepnb.values.wings import WINGS
from deepnb.values.xray import Layer, Stack
from deepnb.views.values import html_text
from tests.support.harmless import harmless
from tests.support.kernels import Kernel
from tests.support.shells import Shell
from tests.support.tables import every_row

MADE = """
import tempfile
import deepnb
from deepnb import Session
from deepnb.values.wings import WINGS
session = Session(max_input_tokens=6_500)
for prompt in ("Remember that I prefer tabs over spaces", "what can you do?", "thanks"):
    turn = session.run(prompt)
offload = session.compact()
if "compare" in WINGS:
    comparison = session.compare("thanks", memory_refresh=["call", "delta"])
_ = session.fork("other")
_ = session.configure(approve="writes")
waiting = session.run("write a file /a.txt with: hello")
call = session.asked[0]
if "course" in WINGS:
    from deepnb.wings.course.exercises import CheckPart
    from deepnb.wings.course.grading import CheckView
    from deepnb.wings.course.story import story_of
    check = CheckView("02", "revert a mistake", (CheckPart("it is there"), CheckPart("it is not", "nothing is")))
    story = story_of(session)
if "open" in WINGS:
    with tempfile.TemporaryDirectory() as folder:
        kept = session.export(folder + "/kept.jsonl", "main")
        opened, rows = deepnb.open_session(kept), deepnb.list_sessions(kept)
        _ = [turn.text for turn in opened.turns]
"""
CELLS = {
    "deepnb.session.session.Session": "session", "deepnb.wings.open.session.OpenedSession": "opened",
    "deepnb.wings.open.session.OpenedMemory": "opened.memory", "deepnb.wings.open.values.SessionRows": "rows",
    "deepnb.session.memory.SessionMemory": "session.memory", "deepnb.session.skills.SessionSkills": "session.skills",
    "deepnb.session.subagents.SessionSubagents": "session.subagents",
    "deepnb.wings.compare.comparison.Comparison": "comparison", "deepnb.session.part.Files": "session.files",
    "deepnb.values.turn.Turn": "session.turns[0]", "deepnb.values.turn.Turns": "session.turns",
    "deepnb.values.turn.ThreadInfo": "session.threads[0]", "deepnb.values.turn.ThreadInfos": "session.threads",
    "deepnb.values.agent.ModelInfo": "session.models()[0]", "deepnb.values.agent.ModelInfos": "session.models()",
    "deepnb.values.offload.HistorySections": "session.history()", "deepnb.values.offload.Offload": "offload",
    "deepnb.values.budget.Budget": "session.budget()", "deepnb.values.xray.Xray": "session.xray()",
    "deepnb.values.xray.Stack": "session.stack()",
    "deepnb.wings.package.values.Package": "session.package('an-agent')",
    "deepnb.values.files.FileDiff": "session.memory.diff(0)[0]",
    "deepnb.values.files.FileDiffs": "session.memory.diff(0)", "deepnb.values.approvals.PendingCall": "call",
    "deepnb.values.approvals.PendingCalls": "session.asked", "deepnb.wings.course.grading.CheckView": "check",
    "deepnb.wings.course.story.StoryView": "story",
}  # fmt: skip
"""The name of each kind of value, and a cell that ends in one."""
CELLS = {
    name: cell
    for name, cell in CELLS.items()
    if not name.startswith("deepnb.wings.") or name.split(".")[2] in WINGS  # a wing may be left out
}


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    """The expression of each cell -> its value."""
    made: dict[str, Any] = {}
    exec(MADE, made)
    return {cell: eval(cell, made) for cell in CELLS.values()}


def test_each_value_has_a_picture_by_its_own_name_and_plain_python_shows_one_line(values: Mapping[str, Any]) -> None:
    by_base = {"deepnb.wings.open.session.OpenedMemory"}  # shown by the name of its base class
    assert set(CELLS) - by_base == set(NAMES)
    for name, cell in CELLS.items():
        module, _, kind = name.rpartition(".")
        assert type(values[cell]) is getattr(importlib.import_module(module), kind)
        picture(values[cell])
    for cell, value in values.items():
        if cell != "offload":
            assert len(repr(value)) < 300 and "\n" not in repr(value) and " object at " not in repr(value), cell
            assert str(value) == repr(value)


def test_what_a_line_says() -> None:
    turn = _turn("What is in planets?\nAll of it.", "Eight " * 40)
    assert repr(turn).startswith("<Turn 3 of main: 'What is in planets? All of it.' → 'Eight Eight")
    assert repr(FileDiff("/a.md", None, "x" * 10_000)) == "<FileDiff /a.md added>"
    assert repr(file_diffs({}, {f"/{n}": "" for n in range(9)})).endswith("<FileDiff /3 added>, and 5 more>")
    assert repr(FileDiff("/a\x1b[31m\u202e\ud800", None, "")) == "<FileDiff /a\ufffd[31m\ufffd\ufffd added>"
    assert repr(FileDiffs()) == "<FileDiffs (empty)>"
    assert repr(Session(model="offline")) == "<Session offline, thread main>"


@every_row("kind", [Turns, ThreadInfos, HistorySections, FileDiffs, PendingCalls])
def test_a_listing_is_a_tuple_in_all_else(kind: Any) -> None:
    items = (FileDiff("/a", "1", "2"), FileDiff("/b", None, "2"))
    made = kind(items)
    assert made == items and hash(made) == hash(items) and made[::-1] == items[::-1] and [*made] == [*items]
    assert isinstance(made, tuple) and made[0] is items[0] and len(made) == 2 and items[1] in made
    assert copy.deepcopy(made) == items and type(pickle.loads(pickle.dumps(made))) is kind


def _turn(prompt: str, text: str, calls: int = 0) -> Turn:
    events: list[Any] = [TextDelta(text, 1)]
    for n in range(calls):
        events += [ToolStarted(f"{n}", "write_file", {"content": text}), ToolEnded(f"{n}", "write_file", text, "ok", 1)]
    empty = Snapshot("main")
    return Turn(3, "main", prompt, text, tuple(events), empty, empty, Usage(10, 2), None, "offline")


def long_values(text: str) -> Iterator[Any]:
    """Values that hold a long text wherever there may be one, and many of all that there may be many of."""
    call = PendingCall("1", "write_file", {"content": text, text: text}, "", "k", "main")
    turn = _turn(text, text, 40)
    yield from (turn, replace(turn, error=text), replace(turn, interrupted=text, asked=(call,) * 30), _turn("", ""))
    yield replace(turn, text="", events=(Notice(text),) * 50)
    yield Turns([turn] * 60)
    yield from (ThreadInfos([ThreadInfo(f"{text}{n}", 900, 9, n == 3) for n in range(60)]), ThreadInfo(text, 1, 1))
    sections = [HistorySection(text, text, text, 5, (), Offload(text, text, 5)) for _ in range(60)]
    yield from (HistorySections(sections), HistorySections(sections[:1]), sections[0].offload)
    diffs = [FileDiff(f"/{n}{text}", text, f"{text}\n{n}\n{text}") for n in range(60)]
    yield from (FileDiffs(diffs), diffs[0], FileDiff("/a", None, "line\n" * 5_000))
    yield from (PendingCalls([call] * 60), call)
    yield Stack(tuple(Layer(text, text, text, tools=(text,) * 30) for _ in range(60)), text)
    yield Budget({text: 9, "user": 9}, rule_for(1_000), 9, growth=(1,) * 5_000)


@pytest.mark.slow
@every_row("text", ["word " * 2_000, "x" * 9_000, "line\n" * 3_000, "漢字" * 3_000, "<b>&amp;" * 2_000, ""])
def test_a_picture_has_less_than_2_kb_of_text_whatever_the_value_holds(text: str) -> None:
    for value in long_values(text):
        shown = picture(value)
        for form in (shown.text(), html_text(shown.html())):
            assert len(form.encode()) < 2_000, type(value)
        harmless(shown.html())
        assert len(repr(value)) < 300 or isinstance(value, Offload)


def test_the_parts_of_a_large_session_are_short_and_say_where_what_is_left_out_is() -> None:
    session = Session(model="offline")
    for n in range(60):
        session.files[f"/work/{'deep/' * 20}{n}.md"] = "- word\n" * 500
    for name in ("AGENTS", "USER", "SOUL", "IDENTITY", "TOOLS", "MEMORY"):
        session.memory.write(f"/{name}.md", f"- what {name} says\n" * 400)
    for n in range(40):
        session.skills.write(f"skill-{n}", f"---\nname: skill-{n}\ndescription: {'useful ' * 100}\n---\nDo it.\n")
        session.files[f"/agents/agent-{n}.md"] = f"---\ndescription: {'useful ' * 100}\n---\nDo it.\n"
    for part in (session, session.memory, session.skills, session.subagents, session.files):
        shown = picture(part)
        for form in (shown.text(), html_text(shown.html())):
            assert len(form.encode()) < 2_000, part
    text = picture(session.memory).text()
    assert "- what AGENTS says" in text and text.endswith("all of it: %memory")
    assert "skill-0" in picture(session.skills).text() and "all of it: %skills" in picture(session.skills).text()
    text = picture(_turn("go", "word " * 2_000, 9)).text()
    assert text.startswith("  │ go\n\nword word") and text.endswith("…\n" + text.rpartition("\n")[2])
    assert text.endswith("all that happened: %agent transcript")
    assert "%agent transcript" not in picture(_turn("go", "word")).text()
    session = Session(model="offline")
    session.run("thanks")
    assert picture(session.xray()).text().endswith("to read what was sent: %agent xray 1.1")


def test_inside_a_list_a_value_is_one_line_and_so_is_why_it_cannot_be_shown(shell: Shell) -> None:
    shell.ok("import deepnb\nbad = deepnb.Session(model='openai:gpt-5.2')")
    ran = shell.run("bad")
    assert ran.error is None and "Traceback" not in ran.out + ran.err and "error: " in ran.out
    shell.ok(MADE)
    assert shell.ok("[turn, turn]").count("\n") <= 3
    assert shell.ok("{'a': session.threads, 'b': session.memory}").count("\n") <= 3
    assert "<Turn 3 of main: 'thanks'" in shell.ok("[turn]")


def _data(kernel: Kernel, cell: str) -> dict[str, str]:
    ran = kernel.ok(cell)
    data: dict[str, str] = ran.of("execute_result")[0]["data"]
    return data


@pytest.mark.kernel
def test_cells_that_end_in_a_value_show_it_short_with_and_without_the_extension(one_kernel: Kernel) -> None:
    one_kernel.ok(MADE)
    without = {cell: _data(one_kernel, cell) for cell in CELLS.values()}
    for cell, data in without.items():
        assert set(data) == {"text/html", "text/plain"}, cell
        assert data["text/html"].startswith("<div"), cell
        for form in (data["text/plain"], html_text(data["text/html"])):
            assert 20 < len(form.encode()) < 2_000, cell
    one_kernel.ok("%load_ext deepnb")
    assert {cell: _data(one_kernel, cell) for cell in CELLS.values()} == without
    assert "magics" not in one_kernel.value("session.pending")
