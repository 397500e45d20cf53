"""Codex's rollouts."""

import json
import sys
from typing import Any

import pytest

from deepnb.values.errors import NotInstalledError
from deepnb.values.turn import Compacted, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Codex, calls_before, figures, jsonl, of_kind, turns

CONTEXT = "<environment_context>x</environment_context>"


@pytest.fixture
def read(tmp_path):
    return lambda log: open_session(jsonl(tmp_path / "rollout-2026-01-01T10-00-00-u.jsonl", *log.lines))


def said(text):
    return [{"type": "input_text", "text": text}]


def first_turn(log):
    log.put("turn_context", turn_id="t1", model="gpt-x", effort="high", cwd="/w").event("token_count", info=None)
    log.prompt("List files").item("message", role="user", content=said(CONTEXT))
    log.item("reasoning", summary=[{"type": "summary_text", "text": "look"}], encrypted_content="zzz")
    log.call("c1", cmd="ls").output("c1", "a\nb").tokens(9_000, 40, 8_000, times=2)
    return log.says("There are two.").tokens(9_100, 10, 9_000, times=3)


def test_each_thing_is_told_once(read):
    session = read(first_turn(Codex(base_instructions={"text": "You are Codex."})))
    index, content = session.index, session.index.turns[0]
    (turn,) = index.turns
    assert (turn.prompt, turn.tools, turn.models) == ("List files", {"exec_command": 1}, ("gpt-x",))
    assert [call.usage for call in turn.calls] == [Usage(9_000, 40, 8_000), Usage(9_100, 10, 9_000)]
    assert (index.context, index.window, index.system_prompt) == (9_100, 258_400, "You are Codex.")
    assert (index.kind, index.id, index.cwd, index.version) == ("Codex", "u", "/w", "0.120.0")
    assert (index.bad, turn.calls[0].budget.rule.window) == (0, 258_400)
    assert [type(event).__name__ for event in content.events] == [
        *("ModelStarted", "ThinkingDelta", "ModelEnded", "ToolStarted", "ToolEnded"),
        *("ModelStarted", "TextDelta", "ModelEnded"),
    ]
    assert [(m.role, m.text) for m in content.messages] == [
        ("user", "List files"), ("user", CONTEXT), ("assistant", ""), ("tool", "a\nb"), ("assistant", "There are two."),
    ]  # fmt: skip
    assert of_kind(session, ToolStarted, "args") == [{"cmd": "ls"}]


def prompts(*texts):
    log = Codex()
    for text in texts:
        log.item("message", role="user", content=said(text))
    return log


ENCRYPTED = {"type": "compaction", "encrypted_content": "zzz"}
PATCH = """*** Begin Patch
*** Update File: docs/AGENTS.md
@@ rules
 - a
-- b
+- c
*** Add File: memory/new.md
+one
+two
*** Update File: src/x.py
-1
+2
*** End Patch"""
SHELL = ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]
PATCHED = {
    "edits": [("docs/AGENTS.md", None), ("memory/new.md", "one\ntwo\n")],
    "edited": ["docs/AGENTS.md", "memory/new.md"],
    "hunks": [(("- a\n- b", "- a\n- c"),)],
}
CASES: dict[str, tuple[Codex, dict[str, Any]]] = {
    "without events of prompts the injected ones are left out": (
        prompts("# AGENTS.md instructions", CONTEXT, "List files")
        .item("message", role="assistant", content=[{"type": "output_text", "text": "Two."}]),
        {"turns": [("List files", 1)], "prompt": "List files",
         "sources": [("# AGENTS.md instructions", "context"), (CONTEXT, "context")]},
    ),
    "events that replay instructions are no prompts": (
        Codex().event("user_message", message="Be brief.", kind="user_instructions")
        .event("user_message", message=CONTEXT).prompt("Go"),
        {"prompts": ["Go"]},
    ),
    "a turn that was rolled back is out": (
        first_turn(Codex()).prompt("Wrong way").says("Hm.").tokens(9_500).event("thread_rolled_back", num_turns=1)
        .prompt("Right way").says("Yes.").tokens(9_300),
        {"turns": [("List files", 2), ("Right way", 1)], "context": 9_300, "counts": {OTHER_BRANCHES: 1}},
    ),
    "a compaction that is encrypted": (
        first_turn(Codex()).item(**ENCRYPTED).put("compacted", message="", replacement_history=[ENCRYPTED]),
        {"summaries": ["(hidden by the provider)"]},
    ),
    "tokens of the summary are no context": (
        first_turn(Codex()).put("compacted", message="Two files.").tokens(200_000),
        {"context": None, "purposes": ["answer", "answer", "summary"]},
    ),
    "a patch of memory files by a tool": (
        Codex().prompt("Remember").item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1")
        .item("custom_tool_call_output", call_id="c1", output="ok"),
        PATCHED,
    ),
    "a patch of memory files in a shell": (
        Codex().prompt("Remember").call("c1", "shell", command=SHELL).output("c1"), PATCHED,
    ),
    "an aborted turn, and errors": (
        Codex().prompt("Go").call("c1").event("turn_aborted", reason="interrupted")
        .event("stream_error", message="retrying 1/5").event("moon_phase").put("telepathy").put("world_state"),
        {"interrupted": "stopped: interrupted", "notes": ["retrying 1/5"], "statuses": [("c1", "cut")]},
    ),
    "a fork says that it begins with a copy": (
        first_turn(Codex(forked_from_id="v")), {"notices": ("it begins with a copy of another session's lines: their turns and tokens are counted here, too",)},
    ),
}  # fmt: skip


@every_row("name", CASES)
def test_what_is_read(tmp_path, name):
    log, told = CASES[name]
    assert figures(open_session(jsonl(tmp_path / "rollout-x-u.jsonl", *log.lines)), told) == told


@every_row("echo", [True, False])
def test_a_compaction(read, echo):
    log = first_turn(Codex())
    log.put("compacted", message="Two files.", replacement_history=[])
    if echo:
        log.event("context_compacted")
    index = read(log).index
    assert (index.context, index.compactions) == (None, 1)
    last, total = {"input_tokens": 0, "total_tokens": 3_000}, {"input_tokens": 1, "total_tokens": 2}
    log.event("token_count", info={"last_token_usage": last, "total_token_usage": total})
    index = read(log).index
    (one,) = index.turns[0].compactions
    assert (index.context, calls_before(index.turns[0]), one.summary) == (3_000, 2, "Two files.")
    assert (one.before, one.after) == (9_100, 3_000)
    log.prompt("More")
    log.says("Here.")
    log.tokens(3_200)
    session = read(log)
    assert (session.index.context, len(session.index.turns)) == (3_200, 2)
    assert [offload.summary for offload in of_kind(session, Compacted, "offload")] == ["Two files."]


def test_outputs_in_their_forms(read):
    log = Codex()
    log.prompt("Go")
    in_json = json.dumps({"output": "JSON", "metadata": {"exit_code": 1}})
    for n, output in enumerate(("text", in_json, said("block"), {"content": "object", "success": False})):
        log.call(f"c{n}")
        log.output(f"c{n}", output)
    log.item("custom_tool_call", name="notes", input="free text", call_id="x", id="i")
    log.item("custom_tool_call_output", call_id="x", output="done")
    log.item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "q"})
    log.tokens(100)
    session = read(log)
    assert of_kind(session, ToolEnded, "result", "status") == [
        *(("text", "ok"), ("JSON", "error"), ("block", "ok"), ("object", "error"), ("done", "ok"), ("completed", "ok"))
    ]
    assert (turns(session.index), session.index.turns[0].tools) == (
        [("Go", 1)],
        {"exec_command": 4, "notes": 1, "web_search": 1},
    )
    assert dict(of_kind(session, ToolStarted, "name", "args"))["notes"] == {"input": "free text"}


def test_a_compressed_rollout(tmp_path, monkeypatch):
    packed = tmp_path / "rollout-x.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfdxx")
    with monkeypatch.context() as patch, pytest.raises(NotInstalledError, match="pip install zstandard"):
        patch.setitem(sys.modules, "zstandard", None)
        open_session(packed)
    zstandard = pytest.importorskip("zstandard")
    plain = jsonl(tmp_path / "x.jsonl", *first_turn(Codex()).lines)
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    session = open_session(packed)
    assert (session.index.context, session.index.turns[0].text) == (9_100, "There are two.")
