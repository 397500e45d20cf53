"""Sessions of OpenCode: of its database and of its export, and what a database may hold that it should not."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from deepnb.values.turn import ToolEnded, ToolStarted, Usage
from deepnb.wings.open import opencode
from deepnb.wings.open.opening import list_sessions, open_session
from deepnb.wings.open.values import OTHER_BRANCHES
from deepnb.wings.open.view import opened_view
from tests.support.tables import every_row, refused
from tests.wings.open.hostile_values import evil_folder, watched
from tests.wings.open.session_files import OpenCode, figures, of_kind, opencode_database, opencode_file, ran, says
from tests.wings.open.test_hostile import JUNK, read_all

DATABASE, EXPORT, PRETTY = "opencode.db", "export.json", "pretty.json"


def written(folder: Path, how: str, log: OpenCode) -> Path:
    if how == DATABASE:
        opencode_database(folder / how, log).close()
    else:
        (folder / how).write_text(json.dumps(log.export(), indent=2 if how == PRETTY else None))
    return folder / how


def session_of(folder: Path, log: OpenCode, how: str = EXPORT) -> Any:
    return open_session(written(folder, how, log))


@every_row("how", [DATABASE, EXPORT, PRETTY])
def test_each_form_tells_the_same(tmp_path, how):
    log = OpenCode()
    hidden = {"type": "text", "text": "a file's text", "synthetic": True}
    log.user("m1", says("Fix it"), hidden, {"type": "file", "filename": "a.py"})
    ls = ran("t1", output="a.py", command="ls")
    log.reply("m2", {"type": "reasoning", "text": "hm"}, ls, {"type": "patch", "files": []}, given=5_310, out=200)
    log.reply("m3", says("Done."), given=5_400)
    log.user("m4", says("Thanks"))
    file = written(tmp_path, how, log)
    (row,) = list_sessions(file)
    assert (row.kind, row.id, row.prompt, row.problem) == ("OpenCode", "ses_1", "A session", "")
    assert row.at == "2026-01-01T10:00:00.000Z"
    session = open_session(file, "ses_1")
    index = session.index
    assert (index.kind, index.id, index.title) == ("OpenCode", "ses_1", "A session")
    assert (index.cwd, index.version) == ("/w", "1.2.3")
    first, second = index.turns
    assert (first.prompt, second.prompt) == ("Fix it\n\n[file: a.py]", "Thanks")
    assert (first.tools, first.models) == ({"bash": 1}, ("m",))
    assert [c.usage for c in first.calls] == [Usage(5_310, 200, 5_300, 0.01), Usage(5_400, 10, 5_390, 0.01)]
    assert (index.context, index.bad, index.counts, index.notices) == (5_400, 0, {}, ())
    assert [(m.role, m.text, m.source) for m in session.index.turns[0].messages] == [
        ("user", "Fix it\n\n[file: a.py]", None), ("user", "a file's text", "synthetic"),
        ("assistant", "", None), ("tool", "a.py", None), ("assistant", "Done.", None),
    ]  # fmt: skip
    assert of_kind(session, ToolEnded, "name", "result", "status", "seconds") == [("bash", "a.py", "ok", 3.0)]
    refused(r"no session other: .*ses_1", open_session, file, "other")


def test_a_database_with_a_subagent_a_compaction_and_memory(tmp_path):
    file = opencode_file(tmp_path)
    assert [(row.id, row.several) for row in list_sessions(file)] == [("ses_2", True), ("ses_1", True)]
    session = open_session(file)
    index = session.index
    first, second = index.turns
    several = "the database has 2 sessions: this is ses_2; --list shows them, --thread NAME opens another"
    assert (index.notices, index.counts, index.context) == ((several,), {"subagents": 1}, 100)
    assert (first.prompt, second.prompt) == ("Remember tabs", "And blanks?")
    assert [(c.path, c.agent, c.usage.input) for c in first.calls if c.path] == [(("t1",), "explore", 50)]
    (offload,) = first.compactions
    assert (offload.summary, offload.before, offload.cause) == ("We use tabs.", 900, "trigger")
    assert [c.purpose for c in first.calls if not c.path] == ["answer", "answer", "summary"]
    assert [(edit.path, edit.after) for edit in session.index.turns[0].edits] == [("/w/AGENTS.md", "- tabs\n")]
    assert open_session(file, "ses_3").index.turns[0].prompt == "Look for tabs"
    assert [e.status for e in session.index.turns[1].events if isinstance(e, ToolEnded)] == ["cut"]


@every_row(("revert", "prompts", "left", "calls"), [
    ({"messageID": "m3"}, ["First"], 1, 1), ({"messageID": "m2"}, ["First"], 1, 0),
    ({"messageID": "gone"}, ["First", "Second"], 0, 1),
])  # fmt: skip
@every_row("how", [DATABASE, EXPORT])
def test_what_was_taken_back_does_not_count(tmp_path, how, revert, prompts, left, calls):
    folder = tmp_path / how / json.dumps(sorted(revert.values())).strip('[]"').replace('", "', "-")
    folder.mkdir(parents=True)
    log = OpenCode(revert=revert).user("m1", says("First")).reply("m2", ran("t1"), ran("t2"))
    session = session_of(folder, log.user("m3", says("Second")).reply("m4", says("Two.")), how)
    assert [turn.prompt for turn in session.index.turns] == prompts
    assert session.index.counts.get(OTHER_BRANCHES, 0) == left
    assert of_kind(session, ToolStarted, "id") == (["t1", "t2"] if calls else [])


FAILED = {"status": "error", "input": {}, "error": "no such file"}
DIFF = {"filediff": {"file": "/w/AGENTS.md", "before": "- blanks\n", "after": "- tabs\n"}}


def test_what_failed_says_nothing_of_the_context(tmp_path):
    log = OpenCode().user("m1", says("Go"))
    log.reply("m2", {"type": "tool", "tool": "bash", "callID": "t1", "state": FAILED}, given=700)
    log.reply("m3", given=9, error={"name": "APIError", "data": {"message": "overloaded"}})
    log.user("m4", {"type": "compaction", "auto": False})
    log.reply("m5", says("Half a sum"), summary=True, finish=None, error={"name": "MessageAbortedError"})
    told = {"context": 700, "compactions": 0, "interrupted": "stopped by the user", "results": ["no such file"]}
    told |= {"statuses": [("t1", "error")], "notes": ["overloaded", "a compaction that did not end"]}
    assert figures(session_of(tmp_path, log), told) == told


def test_an_edit_tells_the_whole_file(tmp_path):
    log = OpenCode().user("m1", says("Go"))
    log.reply("m2", ran("t1", "edit", metadata=DIFF, filePath="/w/AGENTS.md", oldString="blanks", newString="tabs"))
    log.reply("m3", ran("t2", "edit", filePath="/w/CLAUDE.md", oldString="a", newString="b"))
    session = session_of(tmp_path, log)
    assert session.index.turns[0].edits[0].before == "- blanks\n"
    assert figures(session, ["hunks"]) == {"hunks": [(("blanks", "tabs"),), (("a", "b"),)]}


def test_no_value_of_another_type_raises(tmp_path, monkeypatch):
    evil_folder(tmp_path, monkeypatch)
    stored: list[Any] = [None if one is None else json.dumps(one) for one in JUNK]
    stored += [5, 1.5, b"\xff\x00", "{", "[" * 100_000, '{"a":' * 900 + "1" + "}" * 900]
    for n, value in enumerate(stored):
        file = tmp_path / f"{n}.db"
        log, other = OpenCode().user("m1", says("Go")), OpenCode("ses_2", "ses_1")
        log.reply("m2", ran("t1", deep=json.loads('{"a":' * 300 + "1" + "}" * 300)))
        with closing(opencode_database(file, log, other)) as connection:
            for place in ("message data", "part data", "message id", "part message_id", "session revert"):
                table, column = place.split()
                names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
                copy = ", ".join("?" if name == column else name for name in names)
                where = "" if table == "session" else " LIMIT 1"
                connection.execute(f"INSERT INTO {table} SELECT {copy} FROM {table}{where}", (value,))
            connection.executemany("UPDATE session SET title = ?, directory = ?, version = ?", [(value, value, value)])
            connection.commit()
        with watched() as events:
            read_all(file)
        assert not [one for one in events if "deepnb-" not in str(one)]


def test_text_that_is_not_utf8_is_read(tmp_path):
    with closing(opencode_database(tmp_path / DATABASE, OpenCode().user("m1", says("Go")))) as connection:
        connection.execute("UPDATE session SET title = CAST(x'41ff42' AS TEXT)")
        connection.execute("INSERT INTO part VALUES ('m1-09', 'm1', 'ses_1', CAST(x'7bff7d' AS TEXT))")
        connection.commit()
    session = open_session(tmp_path / DATABASE)
    assert (session.index.title, session.index.bad, session.index.turns[0].prompt) == ("A\ufffdB", 1, "Go")
    assert "unreadable    1 line\n" in opened_view(session.index, "x").text()


def test_sessions_that_started_each_other_end(tmp_path):
    ring = (
        OpenCode(one, other).user(f"{one}-m", says("Go")) for one, other in (("ses_1", "ses_2"), ("ses_2", "ses_1"))
    )
    opencode_database(tmp_path / DATABASE, OpenCode("ses_0"), *ring).close()
    assert open_session(tmp_path / DATABASE, "ses_1").index.turns


def test_a_session_is_bounded(tmp_path, monkeypatch):
    log, other = (one.user(f"{one.id}-m", says("x" * 600)) for one in (OpenCode(), OpenCode("ses_2", "ses_1")))
    opencode_database(tmp_path / DATABASE, log, other).close()
    assert open_session(tmp_path / DATABASE).index.turns
    monkeypatch.setattr(opencode, "_MOST_BYTES", 1_000)
    refused("session ses_1 has more than", open_session, tmp_path / DATABASE)


@every_row("column", ["session time_updated", "message data", "part message_id"])
def test_a_database_of_another_version_is_one_line(tmp_path, column):
    table, name = column.split()
    with closing(opencode_database(tmp_path / DATABASE, OpenCode())) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {name} TO other")
        connection.commit()
    refused(r"can't be read as a database \(no such column", open_session, tmp_path / DATABASE)


def test_a_database_without_sessions(tmp_path):
    opencode_database(tmp_path / DATABASE).close()
    refused("has no sessions: choose another database", open_session, tmp_path / DATABASE)
    with closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
