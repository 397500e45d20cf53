"""deepnb's own transcripts, as a session exports them."""

from datetime import UTC

import pytest

from deepnb import Session
from deepnb.values.turn import TextDelta, ToolEnded, ToolStarted
from deepnb.wings.open.opening import open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from tests.support.clock import Clock
from tests.support.scripted import Paid, call
from tests.wings.open.session_files import at, jsonl, of_kind, turns


@pytest.fixture
def exported(tmp_path):
    task = call("task", id="t0", description="Survey it", subagent_type="general-purpose")
    note = call("write_file", id="w1", file_path="/memory/x.md", content="note\n")
    session = Session(model=Paid(answers=[task, "Surveyed.", "Done.", "Wrong.", note, "Right."]))
    session.run("First")
    session.run("Wrong way")
    session.rewind(1)
    session.run("Right way")
    yield session, session.export(tmp_path / "main.jsonl")
    session.close()


def test_an_exported_thread(exported):
    own, file = exported
    session = open_session(file)
    index = session.index
    assert (index.kind, index.id, index.version, index.bad) == ("deepnb", "main", "1", 0)
    assert [t.prompt for t in index.turns] == ["First", "Right way"]
    assert index.counts == {OTHER_BRANCHES: 1, "subagents": 1}
    for turn, mine in zip(index.turns, own.turns, strict=True):
        assert [c.usage.input for c in turn.calls] == [c.usage.input for c in mine.calls]
        assert (turn.text, turn.prompt) == (mine.text, mine.prompt) and tools(turn) == tools(mine)
    assert [e.path for e in index.turns[1].edits] == ["/memory/x.md"]
    assert of_kind(session, TextDelta, "text", "path") == [("Surveyed.", ("t0",)), ("Done.", ())]


def test_a_turn_takes_as_long_as_it_took(tmp_path):
    now = Clock("2026-03-02T09:00", UTC)
    with Session(model=Paid(answers=["Hello.", "Bye.", "Again."]), clock=now) as session:
        for hour, act in enumerate((session.run, session.run, lambda _: session.rewind(1), session.run), 9):
            now.to(f"2026-03-02T{hour:02}:00")
            act("Go")  # type: ignore[operator]
        opened = open_session(session.export(tmp_path / "main.jsonl"))
    assert [turn.started[11:13] for turn in opened.index.turns] == ["09", "12"]
    assert [turn.ended[11:13] for turn in opened.index.turns] == ["09", "12"]
    assert [turn.seconds for turn in opened.index.turns] == [0.0, 0.0]


def tools(turn):
    started = [(e.id, e.name, dict(e.args), e.path) for e in turn.events if isinstance(e, ToolStarted)]
    return started, [(e.id, e.result, e.status, e.path) for e in turn.events if isinstance(e, ToolEnded)]


def line(n, type_, **more):
    return {"type": type_, "at": at(n), "session": "k", "n": n, **more}


GO = [
    line(1, "session", v=1, thread="main"),
    line(2, "turn", turn=1, model="m"),
    line(3, "message", turn=1, id="1", parent=None, role="user", text="Go"),
    line(4, "message", turn=1, id="2", parent="1", role="assistant", text="Yes.", call=1, usage={"input": 500}),
]


def test_a_compaction_and_a_line_written_twice(tmp_path):
    compacted = line(5, "compacted", turn=1, cutoff=2, summary="So far.", before=900, after=100, cause="by hand")
    index = open_session(jsonl(tmp_path / "a.jsonl", *GO, compacted, GO[3], tail=b'{"type": "mess')).index
    (one,) = index.turns[0].compactions
    assert (one.summary, one.before, one.after, one.cause) == ("So far.", 900, 100, "by hand")
    assert (len(index.turns[0].calls), index.turns[0].models, index.context, index.bad) == (1, ("m",), 100, 1)


def test_what_happened_in_a_turn_that_was_taken_back_is_out(tmp_path):
    lines = [
        *GO, line(5, "turn", turn=2, model="m"),
        line(6, "message", turn=2, id="3", parent="2", role="user", text="Wrong"),
        line(7, "compacted", turn=2, cutoff=2, summary="So far.", before=900, after=100),
        line(8, "notice", turn=2, text="a notice"), line(9, "rewind", what="rewind to 1", head="2"),
    ]  # fmt: skip
    session = open_session(jsonl(tmp_path / "a.jsonl", *lines))
    assert turns(session.index) == [("Go", 1)]
    assert (session.index.compactions, session.index.context, session.index.counts) == (0, 500, {OTHER_BRANCHES: 1})
    assert not any(getattr(e, "text", "") == "a notice" for e in session.index.turns[0].events)
