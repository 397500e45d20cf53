"""Sessions of pi, versions 1 to 3, and of OpenClaw."""

from typing import Any

import pytest

from deepnb.values.turn import Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Pi, figures, jsonl, says


@pytest.fixture
def read(tmp_path):
    return lambda log: open_session(jsonl(tmp_path / "2026-01-01_p.jsonl", *log.lines))


def call(id_="t1", name="read", **args):
    return {"type": "toolCall", "id": id_, "name": name, "arguments": args}


def result(log, id_, text="ok", *, error=False, **more):
    return log.message(id_, "toolResult", [says(text)], toolCallId="t1", toolName="read", isError=error, **more)


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
    return Pi().message("a1", "user", "First").answer("a2", says("one"), given=given)


WRITTEN = {"path": "memory/2026-01-01.md", "content": "note\n"}
CASES: dict[str, tuple[Pi, dict[str, Any]]] = {
    "branches": (
        begun().message("a3", "user", "Wrong way").answer("a4", says("two"), given=900)
        .put("b1", "branch_summary", "a2", fromId="a4", summary="Went wrong.")
        .message("a5", "user", "Right way").answer("a6", says("three")),
        {"prompts": ["First", "Right way"], "counts": {OTHER_BRANCHES: 1}, "context": 100,
         "sources": [("Went wrong.", "branch summary")]},
    ),
    "a leaf says where the session is": (
        begun().message("a3", "user", "Second").put("l", "leaf", leafId="a2"), {"prompts": ["First"]},
    ),
    "and is left behind": (
        begun().message("a3", "user", "Second").put("l", "leaf", leafId="a2").message("a4", "user", "Third", under="a2"),
        {"prompts": ["First", "Third"]},
    ),
    "what failed": (
        result(begun().answer("a3", call()), "a4", "no", error=True).answer("a5", says("hal"), given=3, stop="aborted"),
        {"context": 100, "notes": ["the reply was aborted"], "results": ["no"], "statuses": [("t1", "error")]},
    ),
    "OpenClaw": (
        result(
            Pi().put("x1", "custom", customType="model-snapshot", data={})
            .put("x2", "custom_message", customType="openclaw.runtime-context", content="It is Monday.", display=False)
            .message("a1", "user", "[WhatsApp Mon 10:00] hi")
            .answer("a2", {"type": "tool_use", "id": "t1", "name": "write", "input": WRITTEN}),
            "a3", details={"diff": "+note"},
        ).put("x3", "custom", customType="openclaw:prompt-error", data={"error": "529"}).put("x4", "hologram"),
        {"turns": [("[WhatsApp Mon 10:00] hi", 1)], "edits": [("memory/2026-01-01.md", "note\n")], "notes": ["529"]},
    ),
    "shell commands of the user": (
        begun().put("b", "message", message={"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0}),
        {"prompts": ["First"], "notes": ["!ls", "a"], "messages": ["First", "one", "!ls\na"]},
    ),
}  # fmt: skip


@every_row("name", CASES)
def test_what_is_read(read, name):
    log, told = CASES[name]
    assert figures(read(log), told) == told


@every_row("version", [1, 3])
def test_a_compaction(read, version):
    log = Pi(version)
    log.message("a1", "user", "First")
    log.answer("a2", says("one"), given=175_000)
    kept = {"firstKeptEntryIndex": 2} if version == 1 else {"firstKeptEntryId": "a2"}
    log.put("c1", "compaction", summary="So far.", tokensBefore=175_004, **kept)
    index = read(log).index
    assert (index.context, index.compactions) == (None, 1)
    assert index.turns[0].compactions[0].before == 175_004
    log.message("a3", "user", "Second")
    log.answer("a4", says("two"))
    session = read(log)
    assert (session.index.context, session.index.compactions, len(session.index.turns)) == (100, 1, 2)
    assert session.content(1).compactions[0].summary == "So far."
