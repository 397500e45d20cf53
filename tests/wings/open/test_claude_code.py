"""Claude Code's session files: the figures of an index, and the content of turns."""

from __future__ import annotations

from typing import Any

import pytest

from deepnb.values.turn import Compacted, ModelEnded, Notice, TextDelta, ThinkingDelta, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Claude, calls, jsonl, says


@pytest.fixture
def file(tmp_path):
    return tmp_path / "s.jsonl"


def prompts(index):
    return [turn.prompt for turn in index.turns]


def test_one_reply_in_several_lines_is_one_call_with_the_most_output(file):
    log = Claude()
    log.user("u1", "Fix the test")
    log.reply("a1", "m1", {"type": "thinking", "thinking": "look first", "signature": "Eo"}, out=2)
    log.reply("a2", "m1", calls("t1", file_path="/w/a.py"), out=180)
    log.reply("a2b", "m1", out=8)
    log.result("u2", "t1", "1 x = 1")
    log.reply("a3", "m2", says("Done."), given={"input_tokens": 10}, out=7)
    session = open_session(log.write(file))
    (turn,) = session.index.turns
    assert [call.usage for call in turn.calls] == [Usage(100, 180, 90), Usage(106, 7, 90)]
    assert (session.index.context, session.index.usage) == (106, Usage(206, 187, 180))
    assert (turn.tools, turn.models, turn.started, turn.ended) == (
        {"Read": 1},
        ("claude-x",),
        *(f"2026-01-01T10:00:0{s}.000Z" for s in (0, 5)),
    )
    assert (session.index.kind, session.index.id, session.index.cwd, session.index.version) == (
        "Claude Code",
        "s",
        "/w",
        "2.1.40",
    )
    content = session.content(1)
    assert content.text == "Done."
    assert [type(event).__name__ for event in content.events] == [
        *("ModelStarted", "ThinkingDelta", "ModelEnded", "ToolStarted", "ToolEnded"),
        *("ModelStarted", "TextDelta", "ModelEnded"),
    ]
    assert [(m.role, m.text) for m in content.messages] == [
        ("user", "Fix the test"), ("assistant", ""), ("tool", "1 x = 1"), ("assistant", "Done."),
    ]  # fmt: skip
    started, ended = (next(e for e in content.events if isinstance(e, kind)) for kind in (ToolStarted, ToolEnded))
    assert (started.args, ended.result, ended.status, ended.seconds) == ({"file_path": "/w/a.py"}, "1 x = 1", "ok", 3.0)


def test_parallel_calls_are_a_ladder_and_all_found(file):
    log = Claude()
    log.user("u1", "Read both")
    log.reply("a1", "m1", calls("t1"))
    log.reply("a2", "m1", calls("t2"))
    log.result("r1", "t1", "one", under="a1")
    log.result("r2", "t2", "two", under="a2")
    log.reply("a3", "m2", says("Both read."), under="r1")
    session = open_session(log.write(file))
    (turn,) = session.index.turns
    assert (turn.tools, len(turn.calls), session.index.counts) == ({"Read": 2}, 2, {})
    ended = [e for e in session.content(1).events if isinstance(e, ToolEnded)]
    assert [(e.id, e.result, e.status) for e in ended] == [("t1", "one", "ok"), ("t2", "two", "ok")]


def test_a_block_beside_the_path_belongs_to_its_reply(file):
    log = Claude()
    log.user("u1", "Read both")
    log.reply("a1", "m1", calls("t1"))
    log.reply("a2", "m1", calls("t2"))
    log.result("r2", "t2", "two")
    log.user("u2", "Rather stop", under="a1")
    log.reply("a3", "m2", says("Stopped."))
    index = open_session(log.write(file)).index
    assert [(t.prompt, t.tools) for t in index.turns] == [("Read both", {"Read": 2}), ("Rather stop", {})]


def test_a_rewind_leaves_the_other_prompt_out(file):
    log = Claude()
    log.user("u1", "First")
    log.reply("a1", "m1", says("one"))
    log.user("u2", "Wrong way")
    log.reply("a2", "m2", says("two"), given={"input_tokens": 500})
    log.user("u3", "Right way", under="a1")
    log.reply("a3", "m3", says("three"))
    index = open_session(log.write(file)).index
    assert prompts(index) == ["First", "Right way"]
    assert (len([c for t in index.turns for c in t.calls]), index.counts, index.context) == (
        2,
        {OTHER_BRANCHES: 1},
        100,
    )


def test_a_prompt_typed_over_a_reply_takes_it_back(file):
    log = Claude()
    log.user("u1", "First")
    log.reply("a1", "m1", says("half"))
    log.user("u2", "Rather this", under="u1")
    log.reply("a2", "m2", says("whole"))
    index = open_session(log.write(file)).index
    assert prompts(index) == ["First", "Rather this"]
    assert [len(turn.calls) for turn in index.turns] == [0, 1]


def test_a_branch_without_a_prompt_is_no_rewind(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1"))
    log.result("r1", "t1")
    log.put("n1", "system", "a1", subtype="informational", content="a hook ran")
    log.reply("a2", "m2", says("done"), under="r1")
    session = open_session(log.write(file))
    assert [e.text for e in session.content(1).events if isinstance(e, Notice)] == ["a hook ran"]


def test_progress_lines_are_links_of_the_chain(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1", "Bash", command="ls"))
    log.put("p1", "progress", toolUseID="bash_1", parentToolUseID="t1", data={"type": "bash_progress", "output": "a"})
    log.result("r1", "t1")
    log.put("p2", "progress", data={"type": "dance_progress"})
    log.reply("a2", "m2", says("done"))
    index = open_session(log.write(file)).index
    assert (prompts(index), len(index.turns[0].calls)) == (["Go"], 2)


@pytest.mark.parametrize("named", ["a1", "gone"])
def test_a_compaction_is_walked_over(file, named):
    log = Claude()
    log.user("u1", "Before")
    log.reply("a1", "m1", says("long"), given={"input_tokens": 155_000})
    log.boundary("c1", named, trigger="manual")
    log.summary("s1")
    index = open_session(log.write(file)).index
    assert (index.context, index.compactions) == (None, 1)
    log.user("u2", "After")
    log.reply("a2", "m2", says("short"))
    session = open_session(log.write(file))
    index = session.index
    assert (prompts(index), index.context, index.compactions) == (["Before", "After"], 100, 1)
    (one,) = index.turns[0].compactions
    assert (one.offload.before, one.offload.after, one.offload.cause, one.calls) == (155_000, 0, "by hand", 1)
    assert one.offload.summary == "All so far."
    (event,) = [e for e in session.content(1).events if isinstance(e, Compacted)]
    assert event.offload.summary == "All so far."
    assert session.content(1).messages[-1].source == "summarization"


def test_what_a_compaction_says_it_left_is_the_context_until_the_next_reply(file):
    log = Claude()
    log.user("u1", "Before")
    log.reply("a1", "m1", says("long"))
    log.boundary("c1", "a1", postTokens=30_000)
    log.summary("s1")
    assert open_session(log.write(file)).index.context == 30_000


def test_messages_that_a_compaction_kept_are_there_once(file):
    log = Claude()
    log.user("u1", "Before")
    log.reply("a1", "m1", says("kept"))
    log.boundary("c1", "a1", preservedSegment={"headUuid": "a1", "anchorUuid": "s1", "tailUuid": "a1"})
    log.summary("s1")
    log.reply("a1", "m1", says("kept"))
    log.user("u2", "After")
    log.reply("a2", "m2", says("new"))
    session = open_session(log.write(file))
    assert (prompts(session.index), session.index.compactions) == (["Before", "After"], 1)
    assert [len(turn.calls) for turn in session.index.turns] == [1, 1]
    assert [m.text for m in session.content(1).messages] == ["Before", "kept", "All so far."]


def test_a_summary_without_a_boundary_is_a_compaction(file):
    log = Claude()
    log.user("u1", "Before")
    log.reply("a1", "m1", says("long"), given={"input_tokens": 155_000})
    log.user("s1", "All so far.", under=None, isCompactSummary=True)
    session = open_session(log.write(file))
    assert (prompts(session.index), session.index.compactions, session.index.context) == (["Before"], 1, None)
    assert session.content(1).compactions[0].summary == "All so far."


def test_a_session_that_goes_on_from_another_was_not_compacted_itself(file):
    log = Claude()
    log.summary("s1")
    log.user("u1", "Go on")
    log.reply("a1", "m1", says("x"))
    index = open_session(log.write(file)).index
    assert (prompts(index), index.compactions, index.context) == (["Go on"], 0, 100)


@pytest.mark.parametrize("kept", [{"preservedMessages": ["a1"]}, {}])
def test_a_compaction_that_the_chain_passes_by_counts_where_it_kept_messages(file, kept):
    log = Claude()
    log.user("u1", "Before")
    log.reply("a1", "m1", says("kept"))
    log.boundary("c1", "a1", **kept)
    log.summary("s1")
    log.user("u2", "After", under="a1")
    log.reply("a2", "m2", says("new"))
    index = open_session(log.write(file)).index
    assert (prompts(index), index.compactions, index.context) == (["Before", "After"], len(kept), 100)


def test_cleared_results_are_no_compaction(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", says("x"))
    log.put(
        "c", "system", subtype="microcompact_boundary", microcompactMetadata={"preTokens": 90_000, "tokensSaved": 4_000}
    )
    session = open_session(log.write(file))
    assert (session.index.compactions, session.index.context) == (0, 100)
    assert "4,000 tokens" in next(e.text for e in session.content(1).events if isinstance(e, Notice))


NO_PROMPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "meta": ("Caveat: ...", {"isMeta": True}),
    "output": ("<local-command-stdout>ok</local-command-stdout>", {}),
    "task": ("<task-notification>done</task-notification>", {}),
    "interrupted": ("[Request interrupted by user]", {}),
    "reminder": ("<system-reminder>be brief</system-reminder>", {}),
    "open file": ("<ide_opened_file>a.py</ide_opened_file>", {}),
    "bash": ("<bash-stdout>ok</bash-stdout>", {}),
    "side": ("Survey", {"isSidechain": True, "under": None}),
}


@pytest.mark.parametrize("name", NO_PROMPTS)
def test_what_travels_as_the_users_is_no_turn(file, name):
    content, more = NO_PROMPTS[name]
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", says("x"))
    log.user("n1", content, **more)
    log.reply("a2", "m2", says("y"), under="a1" if name == "side" else "")
    index = open_session(log.write(file)).index
    assert prompts(index) == ["Go"]
    assert len(index.turns[0].calls) == 2


def test_an_interruption_ends_a_turn(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1"))
    log.user("n1", [says("[Request interrupted by user for tool use]")])
    content = open_session(log.write(file)).content(1)
    assert content.interrupted == "[Request interrupted by user for tool use]"
    assert [(e.id, e.status) for e in content.events if isinstance(e, ToolEnded)] == [("t1", "cut")]


def test_a_prompt_typed_into_a_reply_counts_nothing_twice(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1", "Bash"), out=2)
    log.user("u2", "Faster")
    log.reply("a2", "m1", calls("t2", "Grep"), out=80)
    log.result("r1", "t1", "one")
    log.result("r2", "t2", "two")
    session = open_session(log.write(file))
    assert [(t.prompt, len(t.calls), t.tools) for t in session.index.turns] == [
        ("Go", 1, {"Bash": 1}),
        ("Faster", 0, {"Grep": 1}),
    ]
    ended = [[(e.name, e.result) for e in session.content(n).events if isinstance(e, ToolEnded)] for n in (1, 2)]
    assert ended == [[], [("Bash", "one"), ("Grep", "two")]]


def test_a_line_whose_parent_could_not_be_read_follows_the_one_before(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", says("x"))
    log.user("u2", "Lost")
    log.reply("a2", "m2", says("y"))
    index = open_session(jsonl(file, *log.lines[:2], b'{"broken', log.lines[3])).index
    assert (prompts(index), len(index.turns[0].calls), index.bad) == (["Go"], 2, 1)
    assert "the parent of 1 line of it" in index.notices[0]


def test_a_slash_command_is_counted_apart(file):
    log = Claude()
    log.user("u1", "Go")
    log.user(
        "c1",
        "<command-name>/review</command-name><command-message>review</command-message><command-args>a b</command-args>",
    )
    log.user("c2", "<bash-input>ls</bash-input>")
    log.reply("a1", "m1", says("x"))
    session = open_session(log.write(file))
    assert (prompts(session.index), session.index.counts) == (["Go"], {"commands": 2})
    assert [e.text for e in session.content(1).events if isinstance(e, Notice)] == ["/review a b", "!ls"]


def test_a_session_that_begins_with_a_command_has_a_turn_for_it(file):
    log = Claude()
    log.user("c1", "<command-name>/init</command-name>")
    log.reply("a1", "m1", says("x"))
    log.user("u1", "Go")
    log.reply("a2", "m2", says("y"))
    index = open_session(log.write(file)).index
    assert [(t.prompt, len(t.calls)) for t in index.turns] == [("/init", 1), ("Go", 1)]


def test_a_file_that_begins_in_the_middle(file):
    log = Claude()
    log.last = "gone"
    log.result("r0", "t0", "a result without its call")
    log.reply("a1", "m1", says("x"))
    log.user("u1", [says("<ide_opened_file>a.py</ide_opened_file>"), says("Go")])
    log.reply("a2", "m2", says("y"))
    session = open_session(log.write(file))
    assert [t.prompt for t in session.index.turns] == ["", "Go"]
    assert [e.result for e in session.content(1).events if isinstance(e, ToolEnded)] == ["a result without its call"]


def test_made_up_and_empty_replies_say_nothing_of_the_context(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", says("x"))
    zero = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0)
    log.reply("a2", "m2", says("y"), given=zero, out=0)
    log.put(
        "a3",
        "assistant",
        message={"id": "m3", "model": "<synthetic>", "content": [says("No response requested.")], "usage": {}},
    )
    log.put(
        "a4",
        "assistant",
        isApiErrorMessage=True,
        message={"id": "m4", "model": "x", "content": [says("API Error: 529")]},
    )
    session = open_session(log.write(file))
    assert (session.index.context, len(session.index.turns[0].calls)) == (100, 2)
    assert [e.text for e in session.content(1).events if isinstance(e, Notice)] == [
        "No response requested.",
        "API Error: 529",
    ]


def test_thinking_that_is_hidden_is_said_to_be(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply(
        "a1",
        "m1",
        {"type": "thinking", "thinking": "", "signature": "x" * 900},
        {"type": "redacted_thinking", "data": "z"},
    )
    content = open_session(log.write(file)).content(1)
    assert [e.text for e in content.events if isinstance(e, ThinkingDelta)] == ["(hidden by the provider)"] * 2


def test_titles(file):
    log = Claude()
    log.user("u1", "Go")
    more = [{"type": "summary", "summary": "Old", "leafUuid": "u1"}]
    assert open_session(jsonl(file, *log.lines, *more)).index.title == "Old"
    more = [{"type": "custom-title", "customTitle": "Mine", "sessionId": "s"}, *more]
    assert open_session(jsonl(file, *log.lines, *more)).index.title == "Mine"


def test_typed_ahead_prompts_are_shown_where_they_came(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1"))
    log.result("r1", "t1")
    log.put("q1", "attachment", attachment={"type": "queued_command", "prompt": "also this"})
    log.reply("a2", "m2", says("x"))
    session = open_session(log.write(file))
    assert (prompts(session.index), session.index.counts) == (["Go"], {"queued prompts": 1})
    assert ("user", "also this", "queued prompt") in [(m.role, m.text, m.source) for m in session.content(1).messages]


# Nested agents


def task(log, prompt="Survey the code"):
    log.user("u1", "Go")
    log.reply("a1", "m1", calls("t1", "Task", prompt=prompt, subagent_type="explorer"))


def side(call="m7", **more):
    agent = Claude(isSidechain=True, **more)
    agent.user("x1", "Survey the code")
    agent.reply("x2", call, calls("n1", "Grep"), given={"input_tokens": 4_000})
    agent.result("x3", "n1", "found")
    agent.reply("x4", f"{call}b", says("All surveyed."), out=5)
    return agent


def check_nested(session):
    (turn,) = session.index.turns
    own, nested = ([c for c in turn.calls if bool(c.path) is is_nested] for is_nested in (False, True))
    assert (len(own), len(nested), turn.tools, turn.nested_tools) == (2, 2, {"Task": 1}, {"Grep": 1})
    assert {c.agent for c in nested} == {"explorer"}
    assert (session.index.context, session.index.counts) == (100, {"subagents": 1})
    events = session.content(1).events
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["All surveyed.", "done"]
    kinds = [(type(e).__name__, e.path) for e in events if isinstance(e, ToolStarted | ToolEnded)]
    assert kinds == [("ToolStarted", ()), ("ToolStarted", ("t1",)), ("ToolEnded", ("t1",)), ("ToolEnded", ())]
    numbers = [e.call.number for e in events if isinstance(e, ModelEnded)]
    assert sorted(numbers) == sorted(set(numbers))


def test_a_side_chain_in_the_same_file_is_found_by_its_task(file):
    log, agent = Claude(), side()
    task(log)
    log.result("r1", "t1", "All surveyed.", under="a1")
    log.reply("a2", "m2", says("done"))
    check_nested(open_session(jsonl(file, *log.lines[:2], *agent.lines, *log.lines[2:])))


@pytest.mark.parametrize("folder", ["", "s/subagents/"])
def test_an_agent_with_a_file_of_its_own_is_found_by_its_id(file, folder):
    log = Claude()
    task(log, prompt="other words")
    log.result("r1", "t1", "All surveyed.", toolUseResult={"agentId": "ab12", "status": "completed"})
    log.reply("a2", "m2", says("done"))
    side(agentId="ab12").write(file.parent / folder / "agent-ab12.jsonl", tail=b'{"cut')
    side(session="another").write(file.parent / "agent-ff.jsonl")
    session = open_session(log.write(file))
    check_nested(session)
    assert session.index.notices == ("lines of nested agents' files that can't be read: 1",)


def test_the_file_beside_an_agents_own_names_its_call(file):
    log = Claude()
    task(log, prompt="other words")
    log.result("r1", "t1", "All surveyed.")
    log.reply("a2", "m2", says("done"))
    side(agentId="ab12").write(file.parent / "s/subagents/agent-ab12.jsonl")
    (file.parent / "s/subagents/agent-ab12.meta.json").write_text('{"agentType": "explorer", "toolUseId": "t1"}')
    check_nested(open_session(log.write(file)))


def test_an_agents_file_that_is_a_link_is_not_opened(file):
    log = Claude()
    task(log)
    log.result("r1", "t1", "x", toolUseResult={"agentId": "ab12"})
    elsewhere = side().write(file.parent / "elsewhere/session.jsonl")
    (file.parent / "s/subagents").mkdir(parents=True)
    (file.parent / "s/subagents/agent-ab12.jsonl").symlink_to(elsewhere)
    index = open_session(log.write(file)).index
    assert (index.counts, len(index.turns[0].calls)) == ({}, 1)


# Memory files


def edits(file, block, structured=None, *, error=False):
    log = Claude()
    log.user("u1", "Remember")
    log.reply("a1", "m1", block)
    log.result("r1", "t1", "ok", error=error, **({"toolUseResult": structured} if structured else {}))
    session = open_session(log.write(file))
    found = session.content(1).edits
    assert [(e.path, e.turn) for e in session.index.turns[0].edits] == [(e.path, e.turn) for e in found]
    return found


def test_an_edit_of_memory_with_the_file_it_changed(file):
    block = calls("t1", "Edit", file_path="/w/CLAUDE.md", old_string="tea", new_string="coffee")
    structured = {
        "filePath": "/w/CLAUDE.md",
        "oldString": "tea",
        "newString": "coffee",
        "originalFile": "- tea\n",
    }
    (edit,) = edits(file, block, structured)
    assert (edit.path, edit.call, edit.turn) == ("/w/CLAUDE.md", "t1", 1)
    assert (edit.before, edit.hunks) == ("- tea\n", (("tea", "coffee"),))


def test_an_edit_of_memory_without_it_has_what_was_replaced(file):
    block = calls("t1", "MultiEdit", file_path="/w/.claude/rules.md", edits=[{"old_string": "a", "new_string": "b"}])
    (edit,) = edits(file, block, {"filePath": "/w/.claude/rules.md", "originalFile": None})
    assert (edit.before, edit.after, edit.hunks) == (None, None, (("a", "b"),))


def test_a_memory_file_that_was_written(file):
    block = calls("t1", "Write", file_path="/w/memory/2026-01-01.md", content="note\n")
    structured = {"type": "create", "filePath": "/w/memory/2026-01-01.md", "content": "note\n", "originalFile": None}
    (edit,) = edits(file, block, structured)
    assert (edit.before, edit.after) == (None, "note\n")


def test_what_failed_or_is_no_memory_is_no_edit(file):
    assert edits(file, calls("t1", "Write", file_path="/w/AGENTS.md", content="x"), error=True) == ()
    assert edits(file, calls("t1", "Write", file_path="/w/memory/pool.c", content="x")) == ()
    assert edits(file, calls("t1", "Read", file_path="/w/AGENTS.md")) == ()


# Files as they are


def test_bytes_that_break_naive_readers(file):
    log = Claude()
    log.user("u1", "one\u2028two\u2029three\x85four\x0bfive")
    log.reply("a1", "m1", says("fine"))
    lines: list[Any] = [*log.lines, b"", b"   ", b"not json", b"[1, 2]", b'"text"', b"\xff\xfe", b"[" * 100_000]
    session = open_session(jsonl(file, *lines, bom=True, tail=b'{"type":"user","uuid":"u9","mess'))
    index = session.index
    assert len(index.turns) == 1
    assert session.content(1).prompt == "one\u2028two\u2029three\x85four\x0bfive"
    assert index.bad == 6
    assert index.notices == ("the last line is cut: its writer may still be at work",)


def test_lines_with_carriage_returns(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", says("x"))
    log.write(file)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    session = open_session(file)
    assert (session.index.bad, session.content(1).text) == (0, "x")


def test_half_of_a_surrogate_pair_can_be_shown(file):
    log = Claude()
    log.user("u1", "Go")
    line = log.write(file).read_bytes().replace(b'"Go"', b'"\\ud83d"')
    file.write_bytes(line)
    session = open_session(file)
    session.content(1).prompt.encode()
    session.index.turns[0].prompt.encode()


def test_what_is_unknown_is_passed_over(file):
    log = Claude()
    log.user("u1", "Go")
    log.reply("a1", "m1", {"type": "hologram"}, says("x"))
    log.put("z1", "telepathy")
    log.put("z2", "system", subtype="moon_phase")
    session = open_session(log.write(file))
    assert session.content(1).text == "x"


def test_links_that_go_round_end(file):
    log = Claude()
    log.user("u1", "Go", under="a1")
    log.reply("a1", "m1", says("x"), under="u1")
    assert prompts(open_session(log.write(file)).index) == ["Go"]


def test_each_part_that_is_seen_is_estimated_and_the_rest_is_not_recorded(file):
    log = Claude()
    log.user("u1", "x" * 40)
    log.reply("a1", "m1", calls("t1"))
    log.result("r1", "t1", "y" * 80)
    log.reply("a2", "m2", says("z"))
    first, second = open_session(log.write(file)).index.turns[0].calls
    assert first.budget.parts == {"user": 10, "not recorded": 90}
    assert second.budget.parts["tool results"] == 20
    assert sum(second.budget.parts.values()) == second.budget.reported == 100


# -- lines that are in the file again, that begin anew, and that name no parents


def talk(*numbers: int, root: str | None = None) -> list[dict[str, Any]]:
    """Questions and their answers, each below the one before; the first below `root`."""
    lines, above = list[dict[str, Any]](), root
    for n in numbers:
        for who, id_, said in (("user", f"u{n}", f"q{n}"), ("assistant", f"a{n}", f"r{n}")):
            message = {"role": who, "content": said}
            lines.append({"type": who, "uuid": id_, "parentUuid": above, "sessionId": "s", "message": message})
            above = id_
    return lines


def heard(file, lines) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    session = open_session(jsonl(file, *lines))
    told = [(session.content(n + 1).prompt, session.content(n + 1).text) for n in range(len(session.index.turns))]
    return told, session.index.notices


@every_row(
    ("lines", "again"),
    [
        (talk(1, 2, 3) + talk(1, 2, 3)[-2:], 2),
        (talk(1, 2, 3) * 2, 6),
        (talk(1, 2, 3) * 5, 24),
        (talk(1, 2) + talk(1, 2)[:3] + talk(3, root="a2"), 3),
        (talk(1, 2, 3) + talk(1, 2)[2:] + talk(1), 4),
        (talk(1, 2, 3) + talk(3, root="a1"), 2),
    ],
    ids=lambda value: value if isinstance(value, int) else len(value),
)
def test_what_is_in_the_file_again_is_read_once(tmp_path, lines, again):
    told, notices = heard(tmp_path / "s.jsonl", lines)
    assert told == [("q1", "r1"), ("q2", "r2"), ("q3", "r3")]
    assert [line for line in notices if line.startswith(f"{again} lines are in the file again")]


def test_of_a_line_that_is_there_again_the_later_words_count(tmp_path):
    lines = talk(1, 2)
    later = {**lines[1], "message": {"role": "assistant", "content": "r1, and all of it"}}
    assert heard(tmp_path / "s.jsonl", [*lines, later])[0] == [("q1", "r1, and all of it"), ("q2", "r2")]


@every_row(
    ("lines", "numbers", "times"),
    [
        (talk(1) + talk(9), [1, 9], "once"),
        (talk(1, 2) + talk(8, 9), [1, 2, 8, 9], "once"),
        (talk(1, 2) + talk(5) + talk(8, 9), [1, 2, 5, 8, 9], "2 times"),
        (talk(1, 2) + talk(8) + talk(1, 2), [1, 2, 8], "once"),
    ],
    ids=lambda value: value if isinstance(value, list) else "",
)
def test_what_was_said_before_the_context_was_cleared_is_shown_before(tmp_path, lines, numbers, times):
    lines[-1]["isSidechain"] = False
    told, notices = heard(tmp_path / "s.jsonl", lines)
    assert told == [(f"q{n}", f"r{n}") for n in numbers]
    assert any(f"the context was cleared {times}:" in line for line in notices)


def test_what_was_taken_back_before_the_context_was_cleared_stays_out(tmp_path):
    taken = [line for line in talk(1, 2, 3) if line["uuid"] not in ("u1", "a1")]
    lines = [*talk(1), *taken[:2], *talk(4, root="a1"), *talk(9)]
    session = open_session(jsonl(tmp_path / "s.jsonl", *lines))
    assert [turn.prompt for turn in session.index.turns] == ["q1", "q4", "q9"]
    assert session.index.counts[OTHER_BRANCHES] == 1


@every_row("gone", [("parentUuid",), ("parentUuid", "uuid")])
def test_lines_that_name_no_parents_are_read_in_order(tmp_path, gone):
    lines = [{k: v for k, v in line.items() if k not in gone} for line in talk(1, 2, 3)]
    assert heard(tmp_path / "s.jsonl", lines) == ([("q1", "r1"), ("q2", "r2"), ("q3", "r3")], ())
