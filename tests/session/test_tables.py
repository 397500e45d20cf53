"""Tables for reading: time, turn, who and text first, ids last, an ellipsis where words are cut."""

from __future__ import annotations

import pandas as pd

from deepnb import Session
from deepnb.backends.journal import Entry
from deepnb.session.tables import journal, log_in_short, origins_in_short, transcript_in_short
from deepnb.testing import ScriptedModel, call

DIFF = "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+- a rule of {} words\n+- another\n"


def entry(id_: str, at: str) -> Entry:
    return Entry(id_, at, "/AGENTS.md", "user", DIFF.format("very many and long " * 9), turn=2)


def test_the_log_begins_with_the_time_and_ends_with_the_id():
    same_day = [entry("1", "2026-01-31T09:00:00.123+00:00"), entry("2", "2026-01-31T10:00:00+00:00")]
    shown = log_in_short(journal(same_day))
    assert list(shown) == ["time", "turn", "origin", "change", "path", "note", "id"]
    assert list(shown["time"]) == ["09:00:00", "10:00:00"] and list(shown["id"]) == ["1", "2"]
    assert shown["change"][0].endswith("… (+1)") and len(shown["change"][0]) < 44
    several = log_in_short(journal([*same_day, entry("3", "2026-02-01T08:00:00+00:00")]))
    assert list(several["time"]) == ["2026-01-31 09:00:00", "2026-01-31 10:00:00", "2026-02-01 08:00:00"]
    assert list(log_in_short(journal([]))) == list(shown)


def test_a_transcript_says_what_was_said_and_by_whom():
    task = call("task", description="add them", subagent_type="helper")
    s = Session(
        model=ScriptedModel(answers=[task, "inside", "two\nlines"]),
        subagents=[{"name": "helper", "description": "adds", "system_prompt": "Add."}],
    )
    s.run("what is\n1 + 1?")
    shown = transcript_in_short(s.transcript())
    assert list(shown) == ["time", "turn", "what", "text"]
    said = list(zip(shown["what"], shown["text"], strict=True))
    for line in (("user", "what is 1 + 1?"), ("assistant", "calls task"), ("tool", "task: inside")):
        assert line in said
    assert ("assistant (helper)", "inside") in said and ("assistant", "two lines") in said
    with pd.option_context("display.width", 100, "display.max_columns", 20):
        first = repr(shown).splitlines()
    assert max(map(len, first)) <= 100 and not any("..." in line.split("  ")[0] for line in first)


def test_where_a_line_comes_from_begins_with_the_line():
    s = Session(model=ScriptedModel(answers=["ok"]))
    s.memory.add("tea at five")
    shown = origins_in_short(s.memory.why("tea"))
    assert list(shown) == ["text", "path", "line", "time", "turn", "origin", "entry"]
    assert shown["text"][0] == "- tea at five" and shown["entry"][0] == s.memory.log_entries()[0].id
