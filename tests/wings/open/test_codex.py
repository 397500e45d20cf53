"""Codex's rollouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deepnb.values.turn import Compacted, Notice, ThinkingDelta, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.wings.open.session_files import Codex, at, jsonl


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rollout-2026-01-01T10-00-00-u.jsonl"


def first_turn(log):
    """`ls`, and an answer: two calls of a model."""
    log.put("turn_context", turn_id="t1", model="gpt-x", effort="high", cwd="/w")
    log.event("token_count", info=None)
    log.prompt("List files")
    log.item(
        "message", role="user", content=[{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    )
    log.item("reasoning", summary=[{"type": "summary_text", "text": "look"}], encrypted_content="zzz")
    log.call("c1", cmd="ls")
    log.output("c1", "a\nb")
    log.tokens(9_000, 40, 8_000, times=2)
    log.says("There are two.")
    log.tokens(9_100, 10, 9_000, times=3)


def test_each_thing_is_told_once(file):
    log = Codex(base_instructions={"text": "You are Codex."})
    first_turn(log)
    session = open_session(jsonl(file, *log.lines))
    index = session.index
    (turn,) = index.turns
    assert (turn.prompt, turn.tools, turn.models) == ("List files", {"exec_command": 1}, ("gpt-x",))
    assert [call.usage for call in turn.calls] == [Usage(9_000, 40, 8_000), Usage(9_100, 10, 9_000)]
    assert (index.context, index.window, index.system_prompt) == (9_100, 258_400, "You are Codex.")
    assert (index.kind, index.id, index.cwd, index.version, index.bad) == (
        "Codex",
        "u",
        "/w",
        "0.120.0",
        0,
    )
    assert turn.calls[0].budget.rule.window == 258_400
    content = session.content(1)
    assert [type(event).__name__ for event in content.events] == [
        *("ModelStarted", "ThinkingDelta", "ModelEnded", "ToolStarted", "ToolEnded"),
        *("ModelStarted", "TextDelta", "ModelEnded"),
    ]
    assert [(m.role, m.text) for m in content.messages] == [
        ("user", "List files"), ("user", "<environment_context>x</environment_context>"), ("assistant", ""),
        ("tool", "a\nb"), ("assistant", "There are two."),
    ]  # fmt: skip
    assert next(e.args for e in content.events if isinstance(e, ToolStarted)) == {"cmd": "ls"}


def test_without_events_of_prompts_the_injected_ones_are_left_out(file):
    log = Codex()
    for said in ("# AGENTS.md instructions", "<environment_context>x</environment_context>", "List files"):
        log.item("message", role="user", content=[{"type": "input_text", "text": said}])
    log.item("message", role="assistant", content=[{"type": "output_text", "text": "Two."}])
    session = open_session(jsonl(file, *log.lines))
    assert [(t.prompt, len(t.calls)) for t in session.index.turns] == [("List files", 1)]
    assert session.content(1).prompt == "List files"
    assert [m.source for m in session.content(1).messages] == ["context", "context", None, None]


def test_the_bare_items_of_2025(file):
    values: list[Any] = [
        {"id": "old", "timestamp": at(0), "instructions": "Be brief.", "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List files"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "zzz"},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a","metadata":{"exit_code":1}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]},
    ]
    session = open_session(jsonl(file, *values))
    (turn,) = session.index.turns
    assert (session.index.id, turn.prompt, turn.tools, len(turn.calls)) == ("old", "List files", {"shell": 1}, 2)
    assert session.index.context is None
    events = session.content(1).events
    assert [e.text for e in events if isinstance(e, ThinkingDelta)] == ["(hidden by the provider)"]
    assert [(e.result, e.status) for e in events if isinstance(e, ToolEnded)] == [("a", "error")]


def test_a_turn_that_was_rolled_back_is_out(file):
    log = Codex()
    first_turn(log)
    log.prompt("Wrong way")
    log.says("Hm.")
    log.tokens(9_500)
    log.event("thread_rolled_back", num_turns=1)
    log.prompt("Right way")
    log.says("Yes.")
    log.tokens(9_300)
    index = open_session(jsonl(file, *log.lines)).index
    assert [t.prompt for t in index.turns] == ["List files", "Right way"]
    assert (index.counts, index.context, sum(len(t.calls) for t in index.turns)) == ({OTHER_BRANCHES: 1}, 9_300, 3)


@pytest.mark.parametrize("echo", [True, False])
def test_a_compaction(file, echo):
    log = Codex()
    first_turn(log)
    log.put("compacted", message="Two files.", replacement_history=[])
    if echo:
        log.event("context_compacted")
    session = open_session(jsonl(file, *log.lines))
    assert (session.index.context, session.index.compactions) == (None, 1)
    total = {"input_tokens": 0, "total_tokens": 3_000}
    log.event(
        "token_count", info={"last_token_usage": total, "total_token_usage": {"input_tokens": 1, "total_tokens": 2}}
    )
    session = open_session(jsonl(file, *log.lines))
    assert session.index.context == 3_000
    (one,) = session.index.turns[0].compactions
    assert (one.offload.before, one.offload.after, one.offload.summary, one.calls) == (9_100, 3_000, "Two files.", 2)
    log.prompt("More")
    log.says("Here.")
    log.tokens(3_200)
    session = open_session(jsonl(file, *log.lines))
    assert (session.index.context, len(session.index.turns)) == (3_200, 2)
    assert [e.offload.summary for e in session.content(1).events if isinstance(e, Compacted)] == ["Two files."]


def test_a_compaction_that_is_encrypted(file):
    log = Codex()
    first_turn(log)
    log.item("compaction", encrypted_content="zzz")
    log.put("compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "zzz"}])
    index = open_session(jsonl(file, *log.lines)).index
    assert [c.offload.summary for c in index.turns[0].compactions] == ["(hidden by the provider)"]


def test_tokens_of_the_summary_are_no_context(file):
    log = Codex()
    first_turn(log)
    log.put("compacted", message="Two files.")
    log.tokens(200_000)
    index = open_session(jsonl(file, *log.lines)).index
    assert (index.context, [c.purpose for c in index.turns[0].calls]) == (None, ["answer", "answer", "summary"])


def test_outputs_in_their_forms(file):
    log = Codex()
    log.prompt("Go")
    for n, output in enumerate(
        ("text", json.dumps({"output": "in json", "metadata": {"exit_code": 0}}), [{"type": "input_text", "text": "block"}],
         {"content": "object", "success": False})
    ):  # fmt: skip
        log.call(f"c{n}")
        log.output(f"c{n}", output)
    log.item("custom_tool_call", name="notes", input="free text", call_id="x", id="i")
    log.item("custom_tool_call_output", call_id="x", output="done")
    log.item("web_search_call", id="ws", status="completed", action={"type": "search", "query": "q"})
    log.tokens(100)
    session = open_session(jsonl(file, *log.lines))
    ended = [(e.result, e.status) for e in session.content(1).events if isinstance(e, ToolEnded)]
    assert ended == [
        ("text", "ok"),
        ("in json", "ok"),
        ("block", "ok"),
        ("object", "error"),
        ("done", "ok"),
        ("completed", "ok"),
    ]
    assert (len(session.index.turns[0].calls), session.index.turns[0].tools) == (
        1,
        {"exec_command": 4, "notes": 1, "web_search": 1},
    )
    args = {e.name: e.args for e in session.content(1).events if isinstance(e, ToolStarted)}
    assert args["notes"] == {"input": "free text"}


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


@pytest.mark.parametrize("how", ["tool", "shell"])
def test_patches_of_memory_files(file, how):
    log = Codex()
    log.prompt("Remember")
    if how == "tool":
        log.item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1")
        log.item("custom_tool_call_output", call_id="c1", output="ok")
    else:
        log.call("c1", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"])
        log.output("c1")
    session = open_session(jsonl(file, *log.lines))
    one, two = session.content(1).edits
    assert (one.path, one.hunks) == ("docs/AGENTS.md", (("- a\n- b", "- a\n- c"),))
    assert (two.path, two.after) == ("memory/new.md", "one\ntwo\n")
    assert [e.path for e in session.index.turns[0].edits] == ["docs/AGENTS.md", "memory/new.md"]


def test_events_that_replay_instructions_are_no_prompts(file):
    log = Codex()
    log.event("user_message", message="Be brief.", kind="user_instructions")
    log.event("user_message", message="<environment_context>x</environment_context>")
    log.prompt("Go")
    assert [t.prompt for t in open_session(jsonl(file, *log.lines)).index.turns] == ["Go"]


def test_an_aborted_turn_and_errors(file):
    log = Codex()
    log.prompt("Go")
    log.call("c1")
    log.event("turn_aborted", reason="interrupted")
    log.event("stream_error", message="retrying 1/5")
    log.event("moon_phase")
    log.put("telepathy")
    log.put("world_state")
    session = open_session(jsonl(file, *log.lines))
    content = session.content(1)
    assert content.interrupted == "stopped: interrupted"
    assert [e.text for e in content.events if isinstance(e, Notice)] == ["retrying 1/5"]
    assert [e.status for e in content.events if isinstance(e, ToolEnded)] == ["cut"]


def test_a_fork_says_that_it_begins_with_a_copy(file):
    log = Codex(forked_from_id="v")
    first_turn(log)
    assert "copy" in open_session(jsonl(file, *log.lines)).index.notices[0]


def test_a_compressed_rollout(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    log = Codex()
    first_turn(log)
    plain = jsonl(tmp_path / "x.jsonl", *log.lines)
    packed = tmp_path / "rollout-x.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    session = open_session(packed)
    assert (session.index.context, session.content(1).text) == (9_100, "There are two.")


def test_without_the_package_the_install_line(tmp_path, monkeypatch):
    from deepnb.values.errors import NotInstalledError

    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    (tmp_path / "x.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfdxx")
    with pytest.raises(NotInstalledError, match="pip install zstandard"):
        open_session(tmp_path / "x.jsonl.zst")
