"""The turns of an opened session, as what shows a session's own turns takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deepnb.values.events import without_credentials
from deepnb.values.files import file_diffs
from deepnb.views.turn import TurnView
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.turns import SessionTurns
from tests.wings.open.session_files import Claude, calls


class Counting:
    """An opened session that notes which turns are read."""

    def __init__(self, session):
        self.index = session.index
        self.read = []
        self._session = session

    def content(self, turn):
        self.read.append(turn)
        return self._session.content(turn)


@pytest.fixture
def session(tmp_path):
    log = Claude()
    log.say("u1 Say hello", "a1 Hello.", "u2 Remember tea")
    edit = {"file_path": "/w/CLAUDE.md", "old_string": "coffee", "new_string": "tea"}
    log.reply("a2", "m2", calls("t1", "Edit", **edit), given={"input_tokens": 50})
    changed = {"oldString": "coffee", "newString": "tea", "originalFile": "- coffee\n"}
    log.result("r1", "t1", toolUseResult={"filePath": "/w/CLAUDE.md", **changed})
    log.say("a3 Noted.", "u3 Write it down")
    log.reply("a4", "m4", calls("t2", "Write", file_path="/w/memory/a.md", content="day\n"))
    log.result("r2", "t2", toolUseResult={"type": "create", "filePath": "/w/memory/a.md", "content": "day\n"})
    log.boundary("c1", "r2")
    log.summary("s1")
    return Counting(open_session(log.write(tmp_path / "s.jsonl")))


def test_figures_are_there_without_reading(session):
    turns = SessionTurns(session).turns("night")
    assert [(t.number, t.thread, len(t.calls), t.compacted, t.model) for t in turns] == [
        (1, "night", 1, False, "claude-x"), (2, "night", 2, False, "claude-x"), (3, "night", 1, True, "claude-x"),
    ]  # fmt: skip
    assert turns[1].budget.total == 100
    assert [t.figures.prompt for t in turns if t.figures] == ["Say hello", "Remember tea", "Write it down"]
    assert session.read == []


def test_a_turn_is_read_when_it_is_looked_at(session):
    turns = SessionTurns(session).turns("night")
    assert (turns[1].prompt, turns[1].text) == ("Remember tea", "Noted.")
    assert session.read == [2]


def test_the_views_of_a_session_take_it(session):
    turn = SessionTurns(session).turns("night")[1]
    text = TurnView(turn).text()
    assert "Remember tea" in text and "Noted." in text and "Edit" in text
    assert "Noted." in TurnView(without_credentials(turn)).html()


def test_memory_by_turn(session):
    turns = SessionTurns(session).turns("night")
    assert [dict(t.after.memory) for t in turns] == [
        {"/w/CLAUDE.md": "- coffee\n"}, {"/w/CLAUDE.md": "- tea\n"}, {"/w/CLAUDE.md": "- tea\n", "/w/memory/a.md": "day\n"},
    ]  # fmt: skip
    assert [d.path for d in file_diffs(turns[1].before.memory, turns[1].after.memory)] == ["/w/CLAUDE.md"]
    assert 1 not in session.read


def test_messages_are_shared_by_all_turns(session):
    turns = SessionTurns(session).turns("night")
    assert len(turns[2].after.messages) == 10
    assert turns[1].before.messages[-1].text == "Hello."
    assert turns[2].before.messages == turns[1].after.messages
    assert turns[2].after.messages.shares(turns[0].after.messages)
    assert turns[2].after.offload.summary == "All so far."
    assert session.read == [1, 2, 3]


def test_a_copy_is_whole(session):
    turn = SessionTurns(session).turns("night")[1]
    copy = replace(turn, prompt="Another")
    assert (copy.prompt, copy.text, copy.calls == turn.calls, copy.compacted) == ("Another", "Noted.", True, False)
    assert not hasattr(turn, "moon")
    assert repr(turn) == "<LazyTurn 2 of night: 'Remember tea' → 'Noted.'>"
