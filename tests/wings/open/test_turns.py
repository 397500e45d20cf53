"""The turns of an opened session, as what shows a session's own turns takes them."""

from __future__ import annotations

import pytest

from deepnb.values.events import without_credentials
from deepnb.values.files import file_diffs
from deepnb.views.turn import TurnView
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.session import turns_of
from tests.wings.open.session_files import Claude, calls, says


@pytest.fixture
def session(tmp_path):
    log = Claude()
    log.user("u1", "Say hello")
    log.reply("a1", "m1", says("Hello."))
    log.user("u2", "Remember tea")
    log.reply(
        "a2",
        "m2",
        calls("t1", "Edit", file_path="/w/CLAUDE.md", old_string="coffee", new_string="tea"),
        given={"input_tokens": 50},
    )
    log.result(
        "r1",
        "t1",
        toolUseResult={
            "filePath": "/w/CLAUDE.md",
            "oldString": "coffee",
            "newString": "tea",
            "originalFile": "- coffee\n",
        },
    )
    log.reply("a3", "m3", says("Noted."))
    log.user("u3", "Write it down")
    log.reply("a4", "m4", calls("t2", "Write", file_path="/w/memory/a.md", content="day\n"))
    log.result("r2", "t2", toolUseResult={"type": "create", "filePath": "/w/memory/a.md", "content": "day\n"})
    log.boundary("c1", "r2")
    log.summary("s1")
    return turns_of(open_session(log.write(tmp_path / "s.jsonl")), "night")


def test_the_figures_of_each(session):
    assert [(t.number, t.thread, len(t.calls), t.compacted, t.model) for t in session] == [
        (1, "night", 1, False, "claude-x"), (2, "night", 2, False, "claude-x"), (3, "night", 1, True, "claude-x"),
    ]  # fmt: skip
    assert session[1].budget.total == 100
    assert [(t.prompt, t.text) for t in session] == [
        ("Say hello", "Hello."),
        ("Remember tea", "Noted."),
        ("Write it down", ""),
    ]


def test_the_views_of_a_session_take_it(session):
    text = TurnView(session[1]).text()
    assert "Remember tea" in text
    assert "Noted." in text
    assert "Edit" in text
    assert "Noted." in TurnView(without_credentials(session[1])).html()


def test_memory_by_turn(session):
    assert [dict(t.after.memory) for t in session] == [
        {"/w/CLAUDE.md": "- coffee\n"}, {"/w/CLAUDE.md": "- tea\n"}, {"/w/CLAUDE.md": "- tea\n", "/w/memory/a.md": "day\n"},
    ]  # fmt: skip
    assert [d.path for d in file_diffs(session[1].before.memory, session[1].after.memory)] == ["/w/CLAUDE.md"]


def test_messages_are_shared_by_all_turns(session):
    assert len(session[2].after.messages) == 10
    assert session[1].before.messages[-1].text == "Hello."
    assert session[2].before.messages == session[1].after.messages
    assert session[2].after.messages.shares(session[0].after.messages)
    assert session[2].after.offload.summary == "All so far."
