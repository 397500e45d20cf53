"""Codex's rollouts."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from deepnb.values.errors import NotInstalledError
from deepnb.values.turn import Compacted, Notice, ThinkingDelta, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Codex, at, jsonl, of_kind, turns

CONTEXT = "<environment_context>x</environment_context>"


@pytest.fixture
def read(tmp_path):
    return lambda log: open_session(jsonl(tmp_path / "rollout-2026-01-01T10-00-00-u.jsonl", *log.lines))


def said(text):
    return [{"type": "input_text", "text": text}]


def first_turn(log):
    """`ls`, and an answer: two calls of a model."""
    log.put("turn_context", turn_id="t1", model="gpt-x", effort="high", cwd="/w")
    log.event("token_count", info=None)
    log.prompt("List files")
    log.item("message", role="user", content=said(CONTEXT))
    log.item("reasoning", summary=[{"type": "summary_text", "text": "look"}], encrypted_content="zzz")
    log.call("c1", cmd="ls")
    log.output("c1", "a\nb")
    log.tokens(9_000, 40, 8_000, times=2)
    log.says("There are two.")
    log.tokens(9_100, 10, 9_000, times=3)
    return log


def test_each_thing_is_told_once(read):
    session = read(first_turn(Codex(base_instructions={"text": "You are Codex."})))
    index, content = session.index, session.content(1)
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


def test_without_events_of_prompts_the_injected_ones_are_left_out(read):
    log = Codex()
    for text in ("# AGENTS.md instructions", CONTEXT, "List files"):
        log.item("message", role="user", content=said(text))
    log.item("message", role="assistant", content=[{"type": "output_text", "text": "Two."}])
    session = read(log)
    assert (turns(session.index), session.content(1).prompt) == ([("List files", 1)], "List files")
    assert [m.source for m in session.content(1).messages] == ["context", "context", None, None]


def test_events_that_replay_instructions_are_no_prompts(read):
    log = Codex()
    log.event("user_message", message="Be brief.", kind="user_instructions")
    log.event("user_message", message=CONTEXT)
    log.prompt("Go")
    assert [t.prompt for t in read(log).index.turns] == ["Go"]


def test_the_bare_items_of_2025(tmp_path):
    values: list[Any] = [
        {"id": "old", "timestamp": at(0), "instructions": "Be brief.", "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": said("List files")},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "zzz"},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{"exit_code":1}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]},
    ]
    session = open_session(jsonl(tmp_path / "rollout-x.jsonl", *values))
    index = session.index
    assert (index.id, turns(index), index.turns[0].tools) == ("old", [("List files", 2)], {"shell": 1})
    assert index.context is None
    assert of_kind(session, ThinkingDelta, "text") == ["(hidden by the provider)"]
    assert of_kind(session, ToolEnded, "result", "status") == [("a", "error")]


def test_a_turn_that_was_rolled_back_is_out(read):
    log = first_turn(Codex())
    log.prompt("Wrong way")
    log.says("Hm.")
    log.tokens(9_500)
    log.event("thread_rolled_back", num_turns=1)
    log.prompt("Right way")
    log.says("Yes.")
    log.tokens(9_300)
    index = read(log).index
    assert (turns(index), index.context) == ([("List files", 2), ("Right way", 1)], 9_300)
    assert index.counts == {OTHER_BRANCHES: 1}


@pytest.mark.parametrize("echo", [True, False])
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
    assert (index.context, one.calls, one.offload.summary) == (3_000, 2, "Two files.")
    assert (one.offload.before, one.offload.after) == (9_100, 3_000)
    log.prompt("More")
    log.says("Here.")
    log.tokens(3_200)
    session = read(log)
    assert (session.index.context, len(session.index.turns)) == (3_200, 2)
    assert [offload.summary for offload in of_kind(session, Compacted, "offload")] == ["Two files."]


def test_a_compaction_that_is_encrypted(read):
    log = first_turn(Codex())
    log.item("compaction", encrypted_content="zzz")
    log.put("compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "zzz"}])
    assert [c.offload.summary for c in read(log).index.turns[0].compactions] == ["(hidden by the provider)"]


def test_tokens_of_the_summary_are_no_context(read):
    log = first_turn(Codex())
    log.put("compacted", message="Two files.")
    log.tokens(200_000)
    index = read(log).index
    assert (index.context, [c.purpose for c in index.turns[0].calls]) == (None, ["answer", "answer", "summary"])


def test_outputs_in_their_forms(read):
    log = Codex()
    log.prompt("Go")
    in_json = json.dumps({"output": "in json", "metadata": {"exit_code": 0}})
    for n, output in enumerate(("text", in_json, said("block"), {"content": "object", "success": False})):
        log.call(f"c{n}")
        log.output(f"c{n}", output)
    log.item("custom_tool_call", name="notes", input="free text", call_id="x", id="i")
    log.item("custom_tool_call_output", call_id="x", output="done")
    log.item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "q"})
    log.tokens(100)
    session = read(log)
    assert of_kind(session, ToolEnded, "result", "status") == [
        *(("text", "ok"), ("in json", "ok"), ("block", "ok"), ("object", "error"), ("done", "ok"), ("completed", "ok")),
    ]
    assert (turns(session.index), session.index.turns[0].tools) == (
        [("Go", 1)],
        {"exec_command": 4, "notes": 1, "web_search": 1},
    )
    assert dict(of_kind(session, ToolStarted, "name", "args"))["notes"] == {"input": "free text"}


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


@every_row("how", ["tool", "shell"])
def test_patches_of_memory_files(read, how):
    log = Codex()
    log.prompt("Remember")
    if how == "tool":
        log.item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1")
        log.item("custom_tool_call_output", call_id="c1", output="ok")
    else:
        log.call("c1", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"])
        log.output("c1")
    session = read(log)
    one, two = session.content(1).edits
    assert (one.path, one.hunks) == ("docs/AGENTS.md", (("- a\n- b", "- a\n- c"),))
    assert (two.path, two.after) == ("memory/new.md", "one\ntwo\n")
    assert [e.path for e in session.index.turns[0].edits] == ["docs/AGENTS.md", "memory/new.md"]


def test_an_aborted_turn_and_errors(read):
    log = Codex()
    log.prompt("Go")
    log.call("c1")
    log.event("turn_aborted", reason="interrupted")
    log.event("stream_error", message="retrying 1/5")
    log.event("moon_phase")
    log.put("telepathy")
    log.put("world_state")
    session = read(log)
    assert session.content(1).interrupted == "stopped: interrupted"
    assert of_kind(session, Notice, "text") == ["retrying 1/5"]
    assert of_kind(session, ToolEnded, "status") == ["cut"]


def test_a_fork_says_that_it_begins_with_a_copy(read):
    assert "copy" in read(first_turn(Codex(forked_from_id="v"))).index.notices[0]


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
    assert (session.index.context, session.content(1).text) == (9_100, "There are two.")
