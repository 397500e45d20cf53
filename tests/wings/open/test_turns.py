"""The turns of an opened session, as what shows a session's own turns takes them."""

from deepnb.values.files import file_diffs
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.session import turns_of
from tests.wings.open.session_files import Claude, calls

EDIT = {"filePath": "/w/CLAUDE.md", "oldString": "coffee", "newString": "tea", "originalFile": "- coffee\n"}
MADE = {"type": "create", "filePath": "/w/memory/a.md", "content": "day\n"}


def test_figures_memory_and_messages_by_turn(tmp_path):
    edit = calls("t1", "Edit", file_path="/w/CLAUDE.md", old_string="coffee", new_string="tea")
    log = (
        Claude().say("u1 Say hello", "a1 Hello.", "u2 Remember tea").reply("a2", "m2", edit, given={"input_tokens": 50})
    )
    log.result("r1", "t1", toolUseResult=EDIT).say("a3 Noted.", "u3 Write it down")
    log.reply("a4", "m4", calls("t2", "Write", file_path="/w/memory/a.md", content="day\n"))
    log.result("r2", "t2", toolUseResult=MADE).boundary("c1", "r2").summary("s1")
    first, second, third = turns = turns_of(open_session(log.write(tmp_path / "s.jsonl")), "night")
    assert [(t.number, t.prompt, t.text, len(t.calls), t.compacted) for t in turns] == [
        *((1, "Say hello", "Hello.", 1, False), (2, "Remember tea", "Noted.", 2, False)),
        (3, "Write it down", "", 1, True),
    ]
    assert {(t.thread, t.model) for t in turns} == {("night", "claude-x")} and second.budget.total == 100
    assert [dict(t.after.memory) for t in turns] == [
        *({"/w/CLAUDE.md": "- coffee\n"}, {"/w/CLAUDE.md": "- tea\n"}),
        {"/w/CLAUDE.md": "- tea\n", "/w/memory/a.md": "day\n"},
    ]
    assert [d.path for d in file_diffs(second.before.memory, second.after.memory)] == ["/w/CLAUDE.md"]
    assert len(third.after.messages) == 10 and third.after.offload.summary == "All so far."
    assert second.before.messages[-1].text == "Hello." and third.before.messages == second.after.messages
    assert third.after.messages.shares(first.after.messages), "messages are shared by all turns"
