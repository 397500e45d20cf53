"""Sessions of pi, versions 1 to 3, and of OpenClaw; and conversations as `{"messages": [...]}`."""

import json
from typing import Any

import pytest

from deepnb.values.errors import NotFoundError
from deepnb.values.turn import ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import list_sessions, open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Pi, figures, jsonl, of_kind, says, turns


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
    assert [(m.role, m.text) for m in session.index.turns[0].messages] == [
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
    assert (index.context, index.compactions) == (None, 1) and index.turns[0].compactions[0].before == 175_004
    log.message("a3", "user", "Second")
    log.answer("a4", says("two"))
    session = read(log)
    assert (session.index.context, session.index.compactions, len(session.index.turns)) == (100, 1, 2)
    assert session.index.turns[0].compactions[0].summary == "So far."


CALL = {"id": "c1", "type": "function", "function": {"name": "calc", "arguments": '{"x":"2+2"}'}}
MESSAGES = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "4"}, {"role": "assistant", "content": "4"},
]  # fmt: skip
OLD = [
    *MESSAGES[:2], {"role": "assistant", "content": None, "function_call": CALL["function"]},
    {"role": "function", "name": "calc", "content": "4"}, MESSAGES[-1],
]  # fmt: skip


def check(session):
    index, content = session.index, session.index.turns[0]
    assert (turns(index), index.turns[0].tools) == ([("2+2?", 2)], {"calc": 1})
    assert (index.context, index.system_prompt) == (None, "Be brief.")
    assert (content.prompt, content.text) == ("2+2?", "4")
    assert of_kind(session, ToolStarted, "name", "args") == [("calc", {"x": "2+2"})]
    assert of_kind(session, ToolEnded, "result") == ["4"]
    assert index.turns[0].calls[0].budget.parts["system"] == 3


@every_row("value", [{"messages": MESSAGES}, MESSAGES, {"messages": OLD}])
@every_row("indent", [None, 2])
def test_one_value_in_a_file(tmp_path, value, indent):
    (tmp_path / "a.json").write_text(json.dumps(value, indent=indent))
    check(open_session(tmp_path / "a.json"))


def test_several_conversations(tmp_path):
    other = {"messages": [{"role": "user", "content": "Another"}, {"role": "assistant", "content": "Yes."}]}
    file = jsonl(tmp_path / "a.jsonl", {"messages": MESSAGES}, b"broken", other)
    first = open_session(file)
    check(first)
    assert (first.index.bad, first.index.notices[-1]) == (1, "the file has 2 conversations: this is 1")
    assert [(row.id, row.prompt) for row in list_sessions(file)] == [("1", "2+2?"), ("2", "Another")]
    assert open_session(file, "2").index.turns[0].prompt == "Another"
    with pytest.raises(NotFoundError, match="conversations 1 to 2"):
        open_session(file, "3")


def test_arguments_that_are_no_json(tmp_path):
    call = {"id": "c1", "function": {"name": "calc", "arguments": "2+2"}}
    asked = {"role": "assistant", "content": "x", "tool_calls": [call]}
    session = open_session(jsonl(tmp_path / "a.jsonl", {"messages": [MESSAGES[1], asked]}))
    assert of_kind(session, ToolStarted, "args") == [{"arguments": "2+2"}]
