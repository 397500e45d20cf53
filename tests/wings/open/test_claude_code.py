"""Claude Code's session files: the figures of an index, and the content of turns."""

from typing import Any

import pytest

from deepnb.values.turn import Compacted, ModelEnded, TextDelta, ToolEnded, ToolStarted, Usage
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.tables import every_row
from tests.wings.open.session_files import Claude, calls, calls_before, figures, jsonl, of_kind, says, turns


@pytest.fixture
def file(tmp_path):
    return tmp_path / "s.jsonl"


def test_one_reply_in_several_lines_is_one_call_with_the_most_output(file):
    log = Claude().say("u1 Fix the test")
    log.reply("a1", "m1", {"type": "thinking", "thinking": "look first", "signature": "Eo"}, out=2)
    log.reply("a2", "m1", calls("t1", file_path="/w/a.py"), out=180)
    log.reply("a2b", "m1", out=8)
    log.result("u2", "t1", "1 x = 1")
    log.reply("a3", "m2", says("Done."), given={"input_tokens": 10}, out=7)
    session = open_session(log.write(file))
    index, content = session.index, session.index.turns[0]
    (turn,) = index.turns
    assert [call.usage for call in turn.calls] == [Usage(100, 180, 90), Usage(106, 7, 90)]
    assert (index.context, index.usage) == (106, Usage(206, 187, 180))
    assert (turn.tools, turn.models) == ({"Read": 1}, ("claude-x",))
    assert [turn.started, turn.ended] == [f"2026-01-01T10:00:0{s}.000Z" for s in (0, 5)]
    assert (index.kind, index.id, index.cwd, index.version) == ("Claude Code", "s", "/w", "2.1.40")
    assert [type(event).__name__ for event in content.events] == [
        *("ModelStarted", "ThinkingDelta", "ModelEnded", "ToolStarted", "ToolEnded"),
        *("ModelStarted", "TextDelta", "ModelEnded"),
    ]
    assert [(m.role, m.text) for m in content.messages] == [
        ("user", "Fix the test"), ("assistant", ""), ("tool", "1 x = 1"), ("assistant", "Done."),
    ]  # fmt: skip
    assert of_kind(session, ToolStarted, "args") == [{"file_path": "/w/a.py"}]
    assert of_kind(session, ToolEnded, "result", "status", "seconds") == [("1 x = 1", "ok", 3.0)]


@every_row(("said", "told", "counts"), [
    (("u1 First", "a1 one", "u2 Wrong way", "a2 two", "u3<a1 Right way", "a3 three"),
     [("First", 1), ("Right way", 1)], {OTHER_BRANCHES: 1}),
    (("u1 First", "a1 half", "u2<u1 Rather this", "a2 whole"), [("First", 0), ("Rather this", 1)], {}),
    (("u1<a1 Go", "a1<u1 links that go round"), [("Go", 1)], {}),
])  # fmt: skip
def test_what_was_taken_back_is_left_out(tmp_path, said, told, counts):
    index = open_session(Claude().say(*said).write(tmp_path / "s.jsonl")).index
    assert (turns(index), index.counts, index.context) == (told, counts, 100)


ZERO = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0)
SYNTHETIC = {"id": "m3", "model": "<synthetic>", "content": [says("No response requested.")], "usage": {}}
FAILED = {"id": "m4", "model": "x", "content": [says("API Error: 529")]}
REVIEW = "<command-name>/review</command-name><command-message>review</command-message><command-args>a b</command-args>"
KEPT = {"headUuid": "a1", "anchorUuid": "s1", "tailUuid": "a1"}
TWO = [("Before", 1), ("After", 1)]


def begun(*said: str) -> Claude:
    return Claude().say("u1 Before", *said)


CASES: dict[str, tuple[Claude, dict[str, Any]]] = {
    "parallel calls are a ladder, and all found": (
        Claude().say("u1 Go", "a1:m1 +t1 Read", "a2:m1 +t2 Read", "r1<a1 t1 one", "r2<a2 t2 two", "a3<r1 Both read."),
        {"turns": [("Go", 2)], "tools": [{"Read": 2}], "counts": {}, "results": ["one", "two"],
         "statuses": [("t1", "ok"), ("t2", "ok")]},
    ),
    "a block beside the path belongs to its reply": (
        Claude().say("u1 Read", "a1:m1 +t1 Read", "a2:m1 +t2 Read", "r2 t2 two", "u2<a1 Rather stop", "a3 Stopped."),
        {"prompts": ["Read", "Rather stop"], "tools": [{"Read": 2}, {}]},
    ),
    "a branch without a prompt is no rewind": (
        Claude().say("u1 Go", "a1 +t1 Read", "r1 t1 ok").put("n1", "system", "a1", subtype="informational", content="a hook ran")
        .say("a2<r1 done"),
        {"notes": ["a hook ran"]},
    ),
    "progress lines are links of the chain": (
        Claude().say("u1 Go", "a1 +t1 Bash")
        .put("p1", "progress", toolUseID="bash_1", parentToolUseID="t1", data={"type": "bash_progress", "output": "a"})
        .say("r1 t1 ok").put("p2", "progress", data={"type": "dance_progress"}).say("a2 done"),
        {"turns": [("Go", 2)]},
    ),
    "what a compaction says it left is the context until the next reply": (
        begun("a1 long").boundary("c1", "a1", postTokens=30_000).summary("s1"), {"context": 30_000},
    ),
    "messages that a compaction kept are there once": (
        begun("a1 kept").boundary("c1", "a1", preservedSegment=KEPT).summary("s1").say("a1 kept", "u2 After", "a2 new"),
        {"turns": TWO, "compactions": 1, "messages": ["Before", "kept", "All so far."]},
    ),
    "a summary without a boundary is a compaction": (
        begun("a1 long").user("s1", "All so far.", under=None, isCompactSummary=True),
        {"turns": [("Before", 1)], "compactions": 1, "context": None, "summaries": ["All so far."]},
    ),
    "a session that goes on from another was not compacted itself": (
        Claude().summary("s1").say("u1 Go on", "a1 x"), {"turns": [("Go on", 1)], "compactions": 0, "context": 100},
    ),
    "a compaction that the chain passes by counts where it kept messages": (
        begun("a1 kept").boundary("c1", "a1", preservedMessages=["a1"]).summary("s1").say("u2<a1 After", "a2 new"),
        {"turns": TWO, "compactions": 1, "context": 100},
    ),
    "and not where it kept none": (
        begun("a1 kept").boundary("c1", "a1").summary("s1").say("u2<a1 After", "a2 new"),
        {"turns": TWO, "compactions": 0, "context": 100},
    ),
    "cleared results are no compaction": (
        Claude().say("u1 Go", "a1 x").put("c", "system", subtype="microcompact_boundary", microcompactMetadata={"tokensSaved": 4_000}),
        {"compactions": 0, "context": 100, "notes": ["old results of tools were cleared from the context (4,000 tokens)"]},
    ),
    "an interruption ends a turn": (
        Claude().say("u1 Go", "a1 +t1 Read").user("n1", [says("[Request interrupted by user for tool use]")]),
        {"interrupted": "[Request interrupted by user for tool use]", "statuses": [("t1", "cut")]},
    ),
    "a slash command is counted apart": (
        Claude().say("u1 Go", f"c1 {REVIEW}", "c2 <bash-input>ls</bash-input>", "a1 x"),
        {"turns": [("Go", 1)], "counts": {"commands": 2}, "notes": ["/review a b", "!ls"]},
    ),
    "a session that begins with a command has a turn for it": (
        Claude().say("c1 <command-name>/init</command-name>", "a1 x", "u1 Go", "a2 y"),
        {"turns": [("/init", 1), ("Go", 1)]},
    ),
    "a file that begins in the middle": (
        Claude().say("r0<gone t0 a result without its call", "a1 x")
        .user("u1", [says("<ide_opened_file>a.py</ide_opened_file>"), says("Go")]).say("a2 y"),
        {"prompts": ["", "Go"], "results": ["a result without its call"]},
    ),
    "made up and empty replies say nothing of the context": (
        Claude().say("u1 Go", "a1 x").reply("a2", "m2", says("y"), given=ZERO, out=0)
        .put("a3", "assistant", message=SYNTHETIC).put("a4", "assistant", isApiErrorMessage=True, message=FAILED),
        {"context": 100, "turns": [("Go", 2)], "notes": ["No response requested.", "API Error: 529"]},
    ),
    "thinking that is hidden is said to be": (
        Claude().say("u1 Go").reply("a1", "m1", {"type": "thinking", "thinking": "", "signature": "x" * 900},
                                    {"type": "redacted_thinking", "data": "z"}),
        {"thoughts": ["(hidden by the provider)"] * 2},
    ),
    "prompts that are typed ahead are shown where they came": (
        Claude().say("u1 Go", "a1 x").put("q1", "attachment", attachment={"type": "queued_command", "prompt": "also this"})
        .say("a2 x"),
        {"turns": [("Go", 2)], "counts": {"queued prompts": 1}, "sources": [("also this", "queued prompt")]},
    ),
    "what is unknown is passed over": (
        Claude().say("u1 Go").reply("a1", "m1", {"type": "hologram"}, says("x")).put("z1", "telepathy")
        .put("z2", "system", subtype="moon_phase"),
        {"text": "x"},
    ),
}  # fmt: skip


@every_row("name", CASES)
def test_what_is_read(tmp_path, name):
    log, told = CASES[name]
    assert figures(open_session(log.write(tmp_path / "s.jsonl")), told) == told


@every_row("named", ["a1", "gone"])
def test_a_compaction_is_walked_over(tmp_path, named):
    log = begun().reply("a1", "m1", says("long"), given={"input_tokens": 155_000})
    log.boundary("c1", named, trigger="manual").summary("s1")
    index = open_session(log.write(tmp_path / "s.jsonl")).index
    assert (index.context, index.compactions) == (None, 1)
    session = open_session(log.say("u2 After", "a2 short").write(tmp_path / "s.jsonl"))
    index = session.index
    assert (turns(index), index.context, index.compactions) == (TWO, 100, 1)
    (one,) = index.turns[0].compactions
    assert (one.before, one.after, one.cause, calls_before(index.turns[0])) == (155_000, 0, "by hand", 1)
    assert one.summary == "All so far."
    assert [offload.summary for offload in of_kind(session, Compacted, "offload")] == ["All so far."]
    assert session.index.turns[0].messages[-1].source == "summarization"


@every_row(("content", "more"), [
    ("Caveat: ...", {"isMeta": True}), ("<local-command-stdout>ok</local-command-stdout>", {}),
    ("<task-notification>done</task-notification>", {}), ("[Request interrupted by user]", {}),
    ("<system-reminder>be brief</system-reminder>", {}), ("<ide_opened_file>a.py</ide_opened_file>", {}),
    ("<bash-stdout>ok</bash-stdout>", {}), ("Survey", {"isSidechain": True, "under": None}),
])  # fmt: skip
def test_what_travels_as_the_users_is_no_turn(tmp_path, content, more):
    log = Claude().say("u1 Go", "a1 x")
    log.user("n1", content, **more)
    index = open_session(log.say("a2<a1 y" if "under" in more else "a2 y").write(tmp_path / "s.jsonl")).index
    assert turns(index) == [("Go", 2)]


def test_a_prompt_typed_into_a_reply_counts_once_and_a_line_without_parent_follows_the_one_before(file):
    log = Claude().say("u1 Go").reply("a1", "m1", calls("t1", "Bash"), out=2).say("u2 Faster")
    session = open_session(log.say("a2:m1 +t2 Grep", "r1 t1 one", "r2 t2 two").write(file))
    assert turns(session.index) == [("Go", 1), ("Faster", 0)]
    assert [turn.tools for turn in session.index.turns] == [{"Bash": 1}, {"Grep": 1}]
    ended = [[(e.name, e.result) for e in turn.events if isinstance(e, ToolEnded)] for turn in session.index.turns]
    assert ended == [[], [("Bash", "one"), ("Grep", "two")]]
    lines = Claude().say("u1 Go", "a1 x", "u2 Lost", "a2 y").lines
    index = open_session(jsonl(file, *lines[:2], b'{"broken', lines[3])).index
    assert (turns(index), index.bad) == ([("Go", 2)], 1) and "the parent of 1 line of it" in index.notices[0]


def test_titles(file):
    lines = Claude().say("u1 Go").lines
    more = [{"type": "summary", "summary": "Old", "leafUuid": "u1"}]
    assert open_session(jsonl(file, *lines, *more)).index.title == "Old"
    more = [{"type": "custom-title", "customTitle": "Mine", "sessionId": "s"}, *more]
    assert open_session(jsonl(file, *lines, *more)).index.title == "Mine"


def task(prompt="Survey the code"):
    return Claude().say("u1 Go").reply("a1", "m1", calls("t1", "Task", prompt=prompt, subagent_type="explorer"))


def surveyed(log, **more):
    return log.result("r1", "t1", "All surveyed.", **more).say("a2 done")


def side(**more):
    agent = Claude(isSidechain=True, **more).say("x1 Survey the code")
    agent.reply("x2", "m7", calls("n1", "Grep"), given={"input_tokens": 4_000})
    return agent.result("x3", "n1", "found").reply("x4", "m7b", says("All surveyed."), out=5)


def check_nested(session):
    (turn,) = session.index.turns
    own, nested = ([c for c in turn.calls if bool(c.path) is is_nested] for is_nested in (False, True))
    assert (len(own), len(nested), turn.tools, turn.nested_tools) == (2, 2, {"Task": 1}, {"Grep": 1})
    assert {c.agent for c in nested} == {"explorer"}
    assert (session.index.context, session.index.counts) == (100, {"subagents": 1})
    events = session.index.turns[0].events
    assert of_kind(session, TextDelta, "text") == ["All surveyed.", "done"]
    kinds = [(type(e).__name__, e.path) for e in events if isinstance(e, ToolStarted | ToolEnded)]
    assert kinds == [("ToolStarted", ()), ("ToolStarted", ("t1",)), ("ToolEnded", ("t1",)), ("ToolEnded", ())]
    numbers = [call.number for call in of_kind(session, ModelEnded, "call")]
    assert sorted(numbers) == sorted(set(numbers))


def test_a_side_chain_in_the_same_file_is_found_by_its_task(file):
    log = surveyed(task(), under="a1")
    check_nested(open_session(jsonl(file, *log.lines[:2], *side().lines, *log.lines[2:])))


@every_row("folder", ["", "s/subagents/"])
def test_an_agent_with_a_file_of_its_own_is_found_by_its_id(tmp_path, folder):
    log = surveyed(task("other words"), toolUseResult={"agentId": "ab12", "status": "completed"})
    side(agentId="ab12").write(tmp_path / folder / "agent-ab12.jsonl", tail=b'{"cut')
    side(session="another").write(tmp_path / "agent-ff.jsonl")
    session = open_session(log.write(tmp_path / "s.jsonl"))
    check_nested(session)
    assert session.index.notices == ("lines of nested agents' files that can't be read: 1",)


@every_row("has_file", [False, True])
def test_mirrors_stand_in_for_an_agents_file_and_count_nothing_twice_beside_it(tmp_path, has_file):
    log = task()
    for n, line in enumerate(side().lines):
        data = {"type": "agent_progress", "agentId": "ab12", "message": line}
        log.put(f"p{n}", "progress", toolUseID="agent_m1", parentToolUseID="t1", data=data)
    if has_file:
        agent = side(agentId="ab12").write(tmp_path / "s/subagents/agent-ab12.jsonl")
        agent.with_name("agent-ab12.meta.json").write_text('{"agentType": "explorer", "toolUseId": "t1"}')
    check_nested(open_session(surveyed(log).write(tmp_path / "s.jsonl")))


def test_an_agents_file_that_is_a_link_is_not_opened(file):
    log = surveyed(task(), toolUseResult={"agentId": "ab12"})
    elsewhere = side().write(file.parent / "elsewhere/session.jsonl")
    (file.parent / "s/subagents").mkdir(parents=True)
    (file.parent / "s/subagents/agent-ab12.jsonl").symlink_to(elsewhere)
    index = open_session(log.write(file)).index
    assert (index.counts, turns(index)) == ({}, [("Go", 2)])


OLD = {"filePath": "/w/CLAUDE.md", "oldString": "tea", "newString": "coffee", "originalFile": "- tea\n"}
NOTE = {"type": "create", "filePath": "/w/memory/2026-01-01.md", "content": "note\n", "originalFile": None}
MULTI = [{"old_string": "a", "new_string": "b"}]


@every_row(("block", "structured", "found"), [
    (calls("t1", "Edit", file_path="/w/CLAUDE.md", old_string="tea", new_string="coffee"),
     {"toolUseResult": OLD}, [("/w/CLAUDE.md", "- tea\n", None, (("tea", "coffee"),))]),
    (calls("t1", "MultiEdit", file_path="/w/.claude/rules.md", edits=MULTI),
     {"toolUseResult": {"filePath": "/w/.claude/rules.md", "originalFile": None}},
     [("/w/.claude/rules.md", None, None, (("a", "b"),))]),
    (calls("t1", "Write", file_path="/w/memory/2026-01-01.md", content="note\n"),
     {"toolUseResult": NOTE}, [("/w/memory/2026-01-01.md", None, "note\n", None)]),
    (calls("t1", "Write", file_path="/w/AGENTS.md", content="x"), {"error": True}, []),
    (calls("t1", "Write", file_path="/w/memory/pool.c", content="x"), {}, []),
    (calls("t1", "Read", file_path="/w/AGENTS.md"), {}, []),
])  # fmt: skip
def test_edits_of_memory(tmp_path, block, structured, found):
    log = Claude().say("u1 Remember")
    log.reply("a1", "m1", block)
    log.result("r1", "t1", "ok", **structured)
    session = open_session(log.write(tmp_path / "s.jsonl"))
    edits = session.index.turns[0].edits
    assert [(e.path, e.before, e.after, e.hunks if e.after is None else None) for e in edits] == found
    assert [(e.path, e.call, e.turn) for e in edits] == [(path, "t1", 1) for path, *_ in found]
    assert [(e.path, e.turn) for e in session.index.turns[0].edits] == [(e.path, e.turn) for e in edits]


def test_bytes_that_break_naive_readers(file):
    lines = Claude().say("u1 one\u2028two\u2029three\x85four\x0bfive", "a1 fine").lines
    odd = (b"", b"   ", b"not json", b"[1, 2]", b'"text"', b"\xff\xfe", b"[" * 100_000)
    session = open_session(jsonl(file, *lines, *odd, bom=True, tail=b'{"type":"user","uuid":"u9","mess'))
    index = session.index
    assert len(index.turns) == 1 and session.index.turns[0].prompt == "one\u2028two\u2029three\x85four\x0bfive"
    assert index.bad == 6 and index.notices == ("the last line is cut: its writer may still be at work",)
    Claude().say("u1 Go", "a1 x").write(file)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n").replace(b'"Go"', b'"\\ud83d"'))
    session = open_session(file)
    assert (session.index.bad, session.index.turns[0].text) == (0, "x")
    session.index.turns[0].prompt.encode()
    session.index.turns[0].prompt.encode()


def test_each_part_that_is_seen_is_estimated_and_the_rest_is_not_recorded(file):
    log = Claude().say("u1 " + "x" * 40)
    log.reply("a1", "m1", calls("t1"))
    log.result("r1", "t1", "y" * 80)
    first, second = open_session(log.say("a2 z").write(file)).index.turns[0].calls
    assert first.budget.parts == {"user": 10, "not recorded": 90}
    assert second.budget.parts["tool results"] == 20
    assert sum(second.budget.parts.values()) == second.budget.reported == 100


def talk(*numbers: int, root: str | None = None) -> list[dict[str, Any]]:
    lines, above = list[dict[str, Any]](), root
    for n in numbers:
        for who, id_, said in (("user", f"u{n}", f"q{n}"), ("assistant", f"a{n}", f"r{n}")):
            message = {"role": who, "content": said}
            lines.append({"type": who, "uuid": id_, "parentUuid": above, "sessionId": "s", "message": message})
            above = id_
    return lines


def heard(file, lines) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    session = open_session(jsonl(file, *lines))
    told = [(turn.prompt, turn.text) for turn in session.index.turns]
    return told, session.index.notices


@every_row(
    ("lines", "again"),
    [(talk(1, 2, 3) + talk(1, 2, 3)[-2:], 2), (talk(1, 2, 3) * 2, 6), (talk(1, 2, 3) * 5, 24),
     (talk(1, 2) + talk(1, 2)[:3] + talk(3, root="a2"), 3), (talk(1, 2, 3) + talk(1, 2)[2:] + talk(1), 4),
     (talk(1, 2, 3) + talk(3, root="a1"), 2)],
    ids=lambda value: value if isinstance(value, int) else len(value),
)  # fmt: skip
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
    [(talk(1) + talk(9), [1, 9], "once"), (talk(1, 2) + talk(8, 9), [1, 2, 8, 9], "once"),
     (talk(1, 2) + talk(5) + talk(8, 9), [1, 2, 5, 8, 9], "2 times"),
     (talk(1, 2) + talk(8) + talk(1, 2), [1, 2, 8], "once")],
    ids=lambda value: value if isinstance(value, list) else "",
)  # fmt: skip
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
    told, notices = heard(tmp_path / "s.jsonl", lines)
    assert told == [("q1", "r1"), ("q2", "r2"), ("q3", "r3")] and notices == ()
