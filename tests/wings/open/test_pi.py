"""Sessions of pi, versions 1 to 3, and of OpenClaw."""

from __future__ import annotations

import pytest

from deepnb.values.turn import Notice, ToolEnded, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Pi, jsonl, of_kind, says, turns


@pytest.fixture
def read(tmp_path):
    return lambda log: open_session(jsonl(tmp_path / "2026-01-01_p.jsonl", *log.lines))


def call(id_="t1", name="read", **args):
    return {"type": "toolCall", "id": id_, "name": name, "arguments": args}


def result(log, id_, text="ok", *, error=False, **more):
    log.message(id_, "toolResult", [says(text)], toolCallId="t1", toolName="read", isError=error, **more)


@every_row("version", [None, 2, 3])
def test_each_version(read, version):
    log = Pi(version)
    log.message("a1", "user", "hi")
    log.answer("a2", {"type": "thinking", "thinking": "x"}, call(path="a.md"), given=5_103, out=20, stop="toolUse")
    result(log, "a3")
    log.answer("a4", says("Done."), given=5_200)
    session = read(log)
    index = session.index
    (turn,) = index.turns
    assert [c.usage for c in turn.calls] == [Usage(5_103, 20, 5_090, 0.01), Usage(5_200, 10, 5_187, 0.01)]
    assert (turn.prompt, turn.tools, turn.models, index.context) == ("hi", {"read": 1}, ("m",), 5_200)
    assert (index.kind, index.id, index.cwd, index.version) == ("pi", "p", "/w", str(version or 1))
    assert [(m.role, m.text) for m in session.content(1).messages] == [
        ("user", "hi"), ("assistant", ""), ("tool", "ok"), ("assistant", "Done."),
    ]  # fmt: skip


def begun(given=100):
    log = Pi()
    log.message("a1", "user", "First")
    log.answer("a2", says("one"), given=given)
    return log


def test_branches(read):
    log = begun()
    log.message("a3", "user", "Wrong way")
    log.answer("a4", says("two"), given=900)
    log.put("b1", "branch_summary", "a2", fromId="a4", summary="Went wrong.")
    log.message("a5", "user", "Right way")
    log.answer("a6", says("three"))
    session = read(log)
    assert [t.prompt for t in session.index.turns] == ["First", "Right way"]
    assert (session.index.counts, session.index.context) == ({OTHER_BRANCHES: 1}, 100)
    assert ("Went wrong.", "branch summary") in [(m.text, m.source) for m in session.content(1).messages]


def test_a_leaf_says_where_the_session_is(read):
    log = begun()
    log.message("a3", "user", "Second")
    log.put("l", "leaf", leafId="a2")
    assert [t.prompt for t in read(log).index.turns] == ["First"]
    log.message("a4", "user", "Third", under="a2")
    assert [t.prompt for t in read(log).index.turns] == ["First", "Third"]


@every_row("version", [1, 3])
def test_a_compaction(read, version):
    log = Pi(version)
    log.message("a1", "user", "First")
    log.answer("a2", says("one"), given=175_000)
    kept = {"firstKeptEntryIndex": 2} if version == 1 else {"firstKeptEntryId": "a2"}
    log.put("c1", "compaction", summary="So far.", tokensBefore=175_004, **kept)
    index = read(log).index
    assert (index.context, index.compactions) == (None, 1)
    assert index.turns[0].compactions[0].offload.before == 175_004
    log.message("a3", "user", "Second")
    log.answer("a4", says("two"))
    session = read(log)
    assert (session.index.context, session.index.compactions, len(session.index.turns)) == (100, 1, 2)
    assert session.content(1).compactions[0].summary == "So far."


def test_what_failed(read):
    log = begun()
    log.answer("a3", call())
    result(log, "a4", "no", error=True)
    log.answer("a5", says("hal"), given=3, stop="aborted")
    session = read(log)
    assert (session.index.context, of_kind(session, Notice, "text")) == (100, ["the reply was aborted"])
    assert of_kind(session, ToolEnded, "result", "status") == [("no", "error")]


def test_openclaw(read):
    log = Pi()
    log.put("x1", "custom", customType="model-snapshot", data={})
    log.put("x2", "custom_message", customType="openclaw.runtime-context", content="It is Monday.", display=False)
    log.message("a1", "user", "[WhatsApp Mon 10:00] hi")
    written = {"path": "memory/2026-01-01.md", "content": "note\n"}
    log.answer("a2", {"type": "tool_use", "id": "t1", "name": "write", "input": written})
    result(log, "a3", details={"diff": "+note"})
    log.put("x3", "custom", customType="openclaw:prompt-error", data={"error": "529"})
    log.put("x4", "hologram")
    session = read(log)
    assert turns(session.index) == [("[WhatsApp Mon 10:00] hi", 1)]
    assert [(edit.path, edit.after) for edit in session.content(1).edits] == [("memory/2026-01-01.md", "note\n")]
    assert of_kind(session, Notice, "text") == ["529"]


def test_shell_commands_of_the_user(read):
    log = begun()
    log.put("b", "message", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0})
    session = read(log)
    assert (len(session.index.turns), of_kind(session, Notice, "text")) == (1, ["!ls", "a"])
    assert "!ls\na" in [m.text for m in session.content(1).messages]
