"""Whatever stands in a file: nothing of it is opened or run, and none of another type raises; databases of checkpoints, too."""

import builtins
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from deepnb.values.errors import DeepnbError
from deepnb.wings.open.opening import list_sessions, open_session
from tests.support.tables import every_row
from tests.wings.open import hostile_values as h
from tests.wings.open.session_files import Claude, Codex, OpenCode, Pi, calls, jsonl, ran, says

JUNK: list[Any] = [None, True, 0, -1, 10**400, 1e400, "", "x", "../../etc/passwd", "\u2028"]
JUNK += [[], [[]], {}, {"type": []}, [None], ["a"]]


def every_kind_of_line() -> dict[str, list[Any]]:
    edit = {"file_path": "/w/CLAUDE.md", "old_string": "a", "new_string": "b"}
    changed = {"originalFile": "a", "oldString": "a", "newString": "b", "filePath": "x", "agentId": "z"}
    inner = {"type": "assistant", "message": {"id": "m", "content": []}}
    mirror = {"type": "agent_progress", "agentId": "z", "message": inner}
    one = Claude().say("u1 Go").reply("a1", "m1", calls("t1", "Task", prompt="p"), calls("t2", "Edit", **edit))
    one.result("r1", "t2", toolUseResult=changed).put("p1", "progress", data=mirror, parentToolUseID="t1")
    one.boundary("c1", "r1").summary("s1").put("q", "attachment", attachment={"type": "queued_command", "prompt": "x"})
    one.put("e", "system", subtype="api_error", error={"message": "x"})
    two = Codex(base_instructions={"text": "x"}).put("turn_context", model="m").prompt("Go")
    two.call("c1", "shell", command=["x"]).output("c1", {"content": "x"}).item("reasoning", summary=[{"text": "x"}])
    two.tokens(9).put("compacted", message="x", replacement_history=[{"encrypted_content": "x"}])
    two.event("thread_rolled_back", num_turns=1)
    write = {"type": "toolCall", "id": "t", "name": "write", "arguments": {"path": "AGENTS.md", "content": "x"}}
    three = Pi().message("a1", "user", "hi").answer("a2", write, says("x"))
    three.put("c1", "compaction", summary="x", tokensBefore=1, firstKeptEntryId="a1").put("l", "leaf", leafId="a2")
    own = [{"type": "message", "at": "2026-01-01T10:00:00Z", "session": "k", "n": n, "id": str(n), "parent": None, "role": role, "text": "x",
            "tool_calls": [{"id": "t", "name": "task", "args": {"description": "d"}}], "usage": {"input": 1}, "path": []}
           for n, role in enumerate(("user", "assistant", "tool"))]  # fmt: skip
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "assistant", "content": [says("x")], "tool_calls": [call]}
    chat = [{"messages": [{"role": "user", "content": "hi"}, answer]}]
    four = OpenCode(revert={"messageID": "m9", "partID": "x"})
    subtask, compaction = {"type": "subtask", "prompt": "p"}, {"type": "compaction", "auto": True}
    four.user("m1", says("Go"), {"type": "file", "filename": "a"}, subtask, compaction)
    edited = {"sessionId": "z", "filediff": {"before": "a", "after": "b"}}
    edit = {"filePath": "AGENTS.md", "oldString": "a", "newString": "b"}
    four.reply("m2", says("So far."), summary=True)
    four.reply("m3", {"type": "reasoning", "text": "x"}, ran("t1", "edit", metadata=edited, **edit))
    four.reply("m4", error={"name": "APIError", "data": {"message": "x"}})
    lines = {"claude": one.lines, "codex": two.lines, "pi": three.lines}
    return {**lines, "deepnb": own, "chat": chat, "opencode": [four.export()]}


LINES = every_kind_of_line()


def places(value, at=()):
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*at, key)
        yield from places(one, (*at, key))


def changed(value, at, junk):
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = junk
    return copy


def read_all(file):
    list_sessions(file)
    session = open_session(file)
    for turn in session.index.turns:
        json.dumps([turn.text, turn.prompt, *(m.text for m in turn.messages)]).encode()
        assert (turn.context or 0) >= 0
    return session


@every_row("name", LINES)
def test_every_line_is_read_as_it_is(tmp_path, name):
    assert read_all(jsonl(tmp_path / "a.jsonl", *LINES[name])).index.format.startswith(name)


@pytest.mark.slow
@every_row("name", LINES)
def test_no_value_of_another_type_raises(tmp_path, name):
    lines = LINES[name]
    for n in range(1, len(lines)) if name not in ("chat", "deepnb", "opencode") else range(len(lines)):
        for i, at in enumerate(places(lines[n])):
            known_by = at in (("messages",), ("info",), ("messages", 0), ("messages", 0, "parts"))
            if known_by or (name == "chat" and len(at) < 4) or (name == "deepnb" and n == 0 and len(at) < 2):
                continue
            values = list(lines)
            values[n] = changed(lines[n], at, JUNK[(i + n) % len(JUNK)])
            read_all(jsonl(tmp_path / "a.jsonl", *values))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_bytes_that_were_changed_raise_nothing_but_one_line(tmp_path, data):
    name = data.draw(st.sampled_from(sorted(LINES)))
    content = bytearray(jsonl(tmp_path / "a.jsonl", *LINES[name]).read_bytes())
    first = content.index(b"\n") + 1 if name not in ("chat", "opencode") else len(content) // 2
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(first, len(content) - 1)) if first < len(content) else -1
        content[place] = data.draw(st.integers(0, 255))
    (tmp_path / "a.jsonl").write_bytes(content)
    try:
        read_all(tmp_path / "a.jsonl")
    except DeepnbError as error:
        assert "\n" not in str(error)


def noting(real, opened):
    def noted(path, *args, **how):
        opened.append(str(path))
        return real(path, *args, **how)

    return noted


def test_paths_in_a_file_open_nothing(tmp_path, monkeypatch):
    secret = tmp_path / "secret/CLAUDE.md"
    secret.parent.mkdir()
    secret.write_text("tea")
    log = Claude(cwd=str(secret.parent)).user("u1", f"[image]({secret})")
    log.reply("a1", "m1", calls("t1", "Write", file_path=str(secret), content="x"))
    told = {"filePath": str(secret), "agentId": "../../secret/x", "persistedOutputPath": str(secret)}
    file = log.result("r1", "t1", toolUseResult=told).write(tmp_path / "log/s.jsonl")
    opened: list[str] = []
    for module in (builtins, os):
        monkeypatch.setattr(module, "open", noting(module.open, opened))
    session = open_session(file)
    assert session.index.turns[0].edits[0].path == str(secret)
    assert {path for path in opened if path.startswith(str(tmp_path))} == {str(file)}
    assert secret.read_text() == "tea"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return h.evil_folder(tmp_path, monkeypatch)


class Case(NamedTuple):
    """A thread: its checkpoint, what each step wrote to each channel, and whether its prompt is read all the same."""

    checkpoint: h.Stored
    writes: Sequence[h.Stored] = ()
    says: bool = False


def hostile(folder: Path) -> Iterator[Case]:
    """Threads with forms in their checkpoints, in what was written after them, or in both."""
    good = JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO))
    for kind, write, values in (
        ("msgpack", h.packed, list(h.extensions(folder))),
        ("json", lambda value: json.dumps(value).encode(), list(h.constructors(folder))),
    ):
        for at in range(0, len(values), _MANY):
            some = values[at : at + _MANY]
            yield Case((kind, write(h.checkpoint([h.SAID, *some], some))), [(kind, write(some))], says=True)
            yield Case((kind, write(h.checkpoint(some, some[0]))))
            yield Case(good, [(kind, write(value)) for value in some], says=True)
    for value in h.damaged():
        yield Case(("msgpack", h.packed(h.checkpoint([h.SAID, value], value))), [("msgpack", h.packed(value))])
        yield Case(good, [("msgpack", h.packed(value))])
    for stored in h.others(folder):
        yield Case(good, [stored])
        yield Case(stored)


_MANY = 40  # forms that share a checkpoint


def database(path: Path, cases: list[Case]) -> None:
    """A thread for each case: its checkpoint, its writes to every channel, and one more checkpoint without messages."""
    connection = sqlite3.connect(path)
    SqliteSaver(connection).setup()
    empty = JsonPlusSerializer().dumps_typed({**h.checkpoint([]), "channel_values": {}})
    for n, ((kind, value), writes, _) in enumerate(cases):
        for id_, parent, stored in (("1", None, (kind, value)), ("2", "1", empty), ("3", "2", (kind, value))):
            row = (f"t{n}", "", id_, parent, *stored, b'{"source": "input"}')
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for at, (channel, written) in enumerate((c, w) for c in h.CHANNELS for w in writes):
                connection.execute(
                    "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)"
                    " VALUES (?, '', ?, 'task', ?, ?, ?, ?)",
                    (f"t{n}", id_, at, channel, *written),
                )
    connection.commit()
    connection.close()


def test_no_form_of_a_value_runs_anything(evil: Path, caplog: pytest.LogCaptureFixture) -> None:
    cases = list(hostile(evil))
    assert len(cases) > 100
    path = evil / "a.db"
    database(path, cases)
    with sqlite3.connect(path) as connection:
        good = ("good", "", "1", None, *JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO)), b"{}")
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", good)
    connection.close()
    told = h.check(str(path), len(cases), evil)
    assert not caplog.messages  # a notebook shows warnings, and these would be a file's words
    unread = [n for n, (case, said) in enumerate(zip(cases, told, strict=True)) if case.says and h.SAID not in said]
    assert not unread, (unread, told[unread[0]])


METADATA: list[Any] = ["5", "[]", "null", '{"source": []}', '{"source": "input", "versions": 5, "cwd": {}}', "{", "\xff", "[" * 10**5]  # fmt: skip


def test_no_row_of_another_shape_raises_more_than_a_line(evil: Path) -> None:
    path = evil / "a.db"
    kind, value = JsonPlusSerializer().dumps_typed(h.checkpoint(h.HELLO))
    connection = sqlite3.connect(path)
    SqliteSaver(connection).setup()
    rows: list[tuple[Any, ...]] = [
        *((f"t{n}", "", "1", None, kind, value, one.encode("latin-1")) for n, one in enumerate(METADATA)),
        *((f"t{n}", "", "1", None, *stored, b"{}") for n, stored in enumerate(
            [(5, value), (b"msgpack", value), (kind, "text"), (kind, 5), (kind, None), (None, None), (1.5, 1.5)],
            len(METADATA))),
        ("t15", "", "1", "1", kind, value, b"{}"),
        ("t16", "", "1", "2", kind, value, b"{}"),
        ("t16", "", "2", "1", kind, value, b"{}"),
        ("t17", "", "1", 5, kind, value, 5),
        ("t18", "", b"\xff", b"\xff", kind, value, None),
        ("good", "", "1", None, kind, value, b"{}"),
    ]  # fmt: skip
    connection.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    h.check(str(path), 19, evil)


def test_the_watch_can_fail(evil: Path) -> None:
    with h.watched() as events:
        JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(
            ("msgpack", h.packed(ormsgpack.Ext(0, h.packed(("evil", "Bomb", 1)))))
        )
    assert "exec" in {event for event, _ in events} and (evil / "ran").exists()
    del sys.modules["evil"]
