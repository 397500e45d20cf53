"""Which file is of which format, what is said of those of none, and lists of directories."""

import json
import os
import sqlite3
from contextlib import closing
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any
from unittest.mock import Mock

import pytest

from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, RefusedError
from deepnb.wings.open.json_values import is_memory_file
from deepnb.wings.open.opening import formats, list_sessions, open_session
from deepnb.wings.open.values import SessionIndex
from tests.support.tables import every_row
from tests.wings.open.session_files import Claude, Codex, Pi, jsonl, says


def claude(path):
    return Claude(session=path.stem).say("u1 Fix it", "a1 x").write(path)


def codex(path):
    log = Codex()
    log.prompt("List files")
    log.says("Two.")
    log.tokens(9_000)
    return jsonl(path, *log.lines)


def pi(path):
    log = Pi()
    log.message("a1", "user", "hi")
    log.answer("a2", says("x"))
    return jsonl(path, *log.lines)


GEMINI = {"projectHash": "x", "messages": [{"type": "user", "content": "hi"}]}
REFUSED = {
    "empty": (b"", "is empty"),
    "gemini": (json.dumps(GEMINI, indent=1).encode(), "Gemini CLI"),
    "langsmith": (json.dumps({"id": "x", "run_type": "llm", "trace_id": "y", "dotted_order": "z"}).encode(),
                  "LangSmith"),
    "codex exec": (b'{"type":"thread.started","thread_id":"x"}\n', "codex exec --json"),
    "notebook": (json.dumps({"nbformat": 4, "cells": []}, indent=1).encode(), "a notebook"),
    "text": (b"hello\n", "is a file of no kind that is known here: sessions of Claude Code, Codex, OpenCode"),
    "json": (b'{"a": 1}\n', "is JSON of no kind that is known here with a: sessions of Claude Code, Codex, OpenCode"),
    "other": (b'{"role": "model", "parts": [{"text": "a"}]}\n',
              "is JSON of no kind that is known here with role, parts"),
    "number": (b"17", "a file of no kind"), "binary": (bytes(range(256)), "a file of no kind"),
    "deep": (b"[" * 100_000, "a file of no kind"),
}  # fmt: skip


@every_row(
    ("path", "is_memory"),
    [
        *((path, True) for path in ("/w/CLAUDE.md", "/h/.claude/CLAUDE.md", "/w/.claude/rules/go.md", "/h/.claude/projects/p/memory/a.md", "C:\\w\\.claude\\rules.md")),
        *((f"/w/.claude/{path}", False) for path in ("settings.json", "plans/a.md", "agents/critic.md", "commands/go.md", "skills/a/SKILL.md", "hooks/x.sh", "rules/check.py", "todo.md")),
    ],
)  # fmt: skip
def test_what_is_memory_below_the_folder_of_claude_code(path, is_memory):
    assert is_memory_file(path) == is_memory


@every_row("name", REFUSED)
def test_a_file_of_no_known_kind_is_refused_with_what_it_seems_to_be(tmp_path, name):
    content, what = REFUSED[name]
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InvalidError) as raised:
        open_session(tmp_path / "a.jsonl")
    assert what in str(raised.value) and "\n" not in str(raised.value)


@every_row(
    ("tables", "what"),
    [(("session", "message"), "the tables message, session"), (("pets",), "the tables pets"), ((), "no tables")],
)
def test_other_databases(tmp_path, tables, what):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("PRAGMA user_version = 1")
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (id)")
        connection.commit()
    with pytest.raises(InvalidError, match=what):
        open_session(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\x00" + b"rubbish" * 100)
    with pytest.raises(RefusedError, match="can't be read as a database"):
        open_session(tmp_path / "b.db")


def test_what_is_no_file(tmp_path):
    with pytest.raises(NotFoundError):
        open_session(tmp_path / "gone.jsonl")
    with pytest.raises(InvalidError, match="is a directory"):
        open_session(tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(RefusedError, match="is not a file"):
        open_session(tmp_path / "pipe.jsonl")


def test_a_directory(tmp_path):
    claude(tmp_path / "projects/-w/aaaa.jsonl")
    claude(tmp_path / "projects/-w/agent-ff.jsonl")
    codex(tmp_path / "2026/01/01/rollout-x.jsonl")
    pi(tmp_path / "p.jsonl")
    jsonl(tmp_path / "data.jsonl", {"a": 1})
    (tmp_path / "notes.md").write_text("# no session")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\x00" + b"rubbish" * 100)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "p.jsonl")
    before = sorted(tmp_path.rglob("*"))
    rows = list_sessions(tmp_path)
    good = [(row.kind, row.id, row.prompt, bool(row.at)) for row in rows if not row.problem]
    assert sorted(good) == [
        ("Claude Code", "aaaa", "Fix it", True), ("Codex", "u", "List files", True), ("pi", "p", "hi", True),
    ]  # fmt: skip
    assert [(row.id, "database" in row.problem) for row in rows if row.problem] == [("broken", True)]
    assert all(row.bytes == os.path.getsize(row.path) for row in rows if not row.problem)
    assert sorted(tmp_path.rglob("*")) == before and len(list_sessions(tmp_path, most=1)) == 1


def test_a_list_reads_only_the_ends_of_a_large_file(tmp_path, monkeypatch):
    log = Claude(session="s")
    log.user("u1", "Begin")
    for n in range(400):
        log.reply(f"a{n}", f"m{n}", says("x" * 2_000), given={"input_tokens": n})
    file = log.write(tmp_path / "s.jsonl")
    monkeypatch.setattr(json, "loads", loads := Mock(wraps=json.loads))
    (row,) = list_sessions(tmp_path)
    assert row.prompt == "Begin" and sum(len(call.args[0]) for call in loads.call_args_list) < file.stat().st_size / 2


def test_formats_of_others(tmp_path, monkeypatch):
    class Own:
        name, kind = "own", "Own"

        def matches(self, head):
            return head.start.startswith(b"OWN")

        def rows(self, head):
            raise ValueError("out of tea")

        def open(self, head, session):
            return type("File", (), {"index": SessionIndex("own", "Own", str(head.path), session or "1")})()

    points: dict[str, Any] = {"own": Own(), "bad": object()}

    def load(point):
        return points[point.name]  # a KeyError stands for what a broken package raises

    monkeypatch.setattr(EntryPoint, "load", load)
    listed = EntryPoints(EntryPoint(name, "x:y", "deepnb.formats") for name in ("own", "bad", "broken"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: listed)
    monkeypatch.setattr("deepnb.wings.open.opening.formats", formats.__wrapped__)  # it is read once in a process
    (tmp_path / "a").write_bytes(b"OWN")
    assert open_session(tmp_path / "a", "7").index.id == "7"
    (tmp_path / "a.jsonl").write_bytes(b"OWN")
    assert [(row.id, row.problem) for row in list_sessions(tmp_path)] == [("a", "ValueError: out of tea")]
    (tmp_path / "b").write_bytes(b"??")
    with pytest.raises(DeepnbError, match=r"the format bad is not usable.*the format broken can't be loaded"):
        open_session(tmp_path / "b")
