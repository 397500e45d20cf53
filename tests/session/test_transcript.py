"""The transcript of real turns: what it tells is the thread, whatever was done to it, and no crash loses it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from deepnb import DeepnbError, Session
from deepnb.context.transcript import live_messages, read
from deepnb.values.turn import Notice, TextDelta, ToolEnded, ToolStarted
from tests import IMPORT_TESTS
from tests.support.nesting import Plan, Planned
from tests.support.scripted import Scripted, call, unasked
from tests.support.shells import Shell
from tests.support.tables import every_row

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError("the test hung")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)


def nap(seconds: float) -> str:
    "Sleep a while."
    time.sleep(seconds)
    return f"slept {seconds}"


def session(*answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers)), **unasked(nap), **options)


def told(s: Session, thread: str | None = None) -> list[tuple[Any, ...]]:
    one = s.workspace.transcripts.keep(thread or s.thread)
    return [
        (m.data["id"], m.data["role"], m.data.get("text", ""), m.data.get("tool_call_id"))
        for m in live_messages(one.read()[0], one.session)
    ]


def check(s: Session) -> None:
    """The transcript tells the thread as it stands, each message once, and the DataFrame says the same."""
    messages = [(m.id, m.role, m.text, m.tool_call_id) for m in s.snapshot.messages]
    assert told(s) == messages
    table = s.transcript()
    live = table[table["live"]].drop_duplicates("id", keep="last")
    assert {*zip(live["id"], live["what"], live["text"], strict=True)} == {m[:3] for m in messages}
    written = table[(table["type"] == "message") & (table["agent"] == "main")]["id"]
    assert written.is_unique


def types(s: Session) -> list[str]:
    return list(s.transcript()["what"])


def test_a_turn_with_a_tool() -> None:
    s = session(call("write_file", file_path="/a.md", content="x"), "done")
    s.run("write it")
    assert types(s) == [
        "session", "turn", "user", "assistant", "tool_start", "tool_end", "tool", "assistant", "end",
    ]  # fmt: skip
    check(s)


def test_the_teaching_model_tells_what_it_used() -> None:
    s = Session()
    turn = s.run("remember that I like tea")
    check(s)
    table = s.transcript()
    answers = table[table["what"] == "assistant"]
    assert answers["input"].sum() == turn.usage.input == table[table["what"] == "end"]["input"].sum()
    assert answers["output"].sum() == turn.usage.output


def test_tools_that_end_in_another_order_than_they_were_asked_for() -> None:
    asked = [{"name": "nap", "args": {"seconds": t}, "id": f"c{i}"} for i, t in enumerate((0.3, 0.15, 0.0))]
    s = session(AIMessage("three", tool_calls=asked), "done")
    s.run("go")
    check(s)


def test_rewind_fork_undo_and_a_rerun_cell() -> None:
    s = session("one", "two", "three", "four", "five", "six", "seven", "eight")
    s.run("1", cell="a")
    s.run("2", cell="b")
    s.run("3")
    s.rewind(1)
    check(s)
    s.run("2b")
    check(s)
    s.undo()
    check(s)
    assert [m[2] for m in told(s)] == ["1", "one", "2", "two", "3", "three"]
    s.run("4")
    check(s)
    for _ in s.stream("2 again", cell="b", rerun="replace"):
        pass
    check(s)
    assert [m[2] for m in told(s)][:3] == ["1", "one", "2 again"]
    s.fork("other", at=1)
    check(s)
    s.run("in the fork")
    check(s)
    assert [m[2] for m in told(s, "main")][2] == "2 again"
    s.undo()
    assert s.thread == "main"
    check(s)
    s.fork("other")
    s.run("again in a fork of that name")
    check(s)
    s.new()
    s.run("apart")
    check(s)
    s.switch("main")
    s.rewind(0)
    assert told(s) == []
    s.run("from the start")
    check(s)


def test_a_fork_knows_when_its_messages_were_said() -> None:
    s = session("one", "two")
    s.run("1")
    s.run("2")
    s.fork("b")
    table = s.transcript()
    assert list(table[table["type"] == "message"]["turn"]) == [1, 1, 2, 2]
    assert table["text"].iloc[0] == "main@2"


def stop_at(s: Session, prompt: str, kind: type) -> None:
    """Close the turn at the first event of a kind, as an interrupt does."""
    events = s.stream(prompt)
    for event in events:
        if isinstance(event, kind):
            events.close()


@pytest.mark.slow
@every_row("kind", [TextDelta, ToolStarted, ToolEnded])
@every_row("then", ["again", "skip", "a new prompt"])
def test_an_interrupted_turn_goes_on_without_saying_anything_twice(kind: type, then: str) -> None:
    first = AIMessage("I will sleep", tool_calls=[{"name": "nap", "args": {"seconds": 0.2}, "id": "c1"}])
    s = session(first, first if kind is TextDelta else "done", "done", "done")
    s.options.model.delay = 0.3  # a busy machine stops late, and by then an answer after the tool would be whole
    stop_at(s, "sleep", kind)
    assert types(s)[-1] == "end"
    check(s)
    if then == "a new prompt":
        s.run("never mind")
    else:
        for _ in s.resume(then):
            pass
        assert types(s).count("turn") == 2
    check(s)
    assert [m[2] for m in told(s)].count("sleep") == 1


def test_what_an_unfinished_answer_said_is_in_the_end_of_its_turn() -> None:
    s = session("one two three four")
    s.options.model.delay = 0.2  # it must still be answering when it is stopped
    stop_at(s, "count", TextDelta)
    end = s.transcript().iloc[-1]
    assert end["what"] == "end" and end["text"].startswith("one")


def test_a_turn_that_fails() -> None:
    s = session(ValueError("no"), "fine")
    with pytest.raises(DeepnbError):
        s.run("first")
    assert "ValueError: no" in s.transcript().iloc[-1]["text"]
    check(s)
    s.run("second")
    check(s)


def test_a_subagents_calls_carry_their_path() -> None:
    s = session(
        call("task", "t1", description="look", subagent_type="general-purpose"),
        call("write_file", "w1", file_path="/n.md", content="x"),
        "looked",
        "done",
    )
    s.run("delegate")
    check(s)
    table = s.transcript()
    nested = table[(table["path"] == "t1") & (table["type"] == "message")]
    assert set(nested["agent"]) == {"general-purpose"}
    assert list(nested["what"]) == ["assistant", "tool", "assistant"]
    asked = table[(table["agent"] == "main") & (table["what"] == "assistant")].iloc[0]
    assert list(nested["parent"]) == [asked["id"], *nested["id"][:2]]
    assert "/n.md" in nested.iloc[1]["text"]


def test_nested_agents_are_named_at_every_level() -> None:
    deep = Session(model=Planned(), subagents=[{"name": "critic", "description": "d", "system_prompt": "p"}])
    deep.run(str(Plan("a", (("critic", Plan("b", (("general-purpose", Plan("c")),))), ("general-purpose", Plan("d"))))))
    table = deep.transcript()
    named = {tuple(row) for row in table[["path", "agent"]].itertuples(index=False)}
    assert named == {("", "main"), ("b", "critic"), ("b/c", "general-purpose"), ("d", "general-purpose")}


def test_a_credential_in_the_id_of_a_call_is_in_no_path() -> None:
    s = session(call("task", TOKEN, description="look", subagent_type="general-purpose"), "looked", "done")
    s.run("delegate")
    table = s.transcript()
    assert not any(TOKEN in str(value) for row in table.itertuples() for value in row)
    assert set(table[table["path"] != ""]["agent"]) == {"general-purpose"}


def test_a_streamed_answer_is_one_line() -> None:
    s = session(" ".join(["word"] * 500), "short")
    s.run("long")
    lines = len(s.transcript())
    s.run("short")
    assert len(s.transcript()) - lines == lines - 1  # the header came once


def test_a_compaction_is_told_and_drops_nothing() -> None:
    s = Session(max_input_tokens=6_000, tool_text="full")
    for n in range(8):
        s.run(f"note {n}: " + "some words that take room " * 160)
    assert any(t.after.offload for t in s.turns)
    table = s.transcript()
    told_of = table[table["what"] == "compacted"]
    assert len(told_of) >= 1 and told_of.iloc[0]["text"]
    check(s)


# -- on a disk


def test_keep_moves_it_and_goes_on_there(tmp_path: Path) -> None:
    s = session("one", "two", "three")
    s.run("1")
    before = s.transcript()
    s.memory.keep(tmp_path / "a")
    file = tmp_path / "a/.deepnb/transcripts/main.jsonl"
    assert read(file.read_bytes())[0] == s.workspace.transcripts["main"].read()[0]
    assert s.transcript().equals(before)
    s.run("2")
    assert [json.loads(line)["n"] for line in file.read_text().splitlines()] == [*range(1, len(s.transcript()) + 1)]
    check(s)
    s.memory.keep(tmp_path / "b")
    s.run("3")
    check(s)
    assert "three" not in file.read_text()
    assert "three" in (tmp_path / "b/.deepnb/transcripts/main.jsonl").read_text()


def test_nothing_is_written_to_a_disk_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    s = Session()
    s.run("remember that I like tea")
    s.transcript()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_threads_transcript_stays_where_its_memory_is(tmp_path: Path) -> None:
    s = session("one", "two")
    s.memory.keep(tmp_path)
    s.new("apart", empty=True)
    s.run("quietly")
    check(s)
    assert not (tmp_path / ".deepnb/transcripts/apart.jsonl").exists()


def test_no_credential_reaches_the_file(tmp_path: Path) -> None:
    def leak() -> str:
        "Give a token."
        return f"the token is {TOKEN}"

    s = Session(
        model=Scripted(
            answers=[
                AIMessage(f"using {TOKEN}", tool_calls=[
                    {"name": "write_file", "args": {"file_path": "/k.txt", "content": f"x {TOKEN}"}, "id": "c1"},
                    {"name": "leak", "args": {}, "id": "c2"},
                    {"name": "leak", "args": {}, "id": TOKEN},
                ]),
                f"it was {TOKEN}",
                ValueError(f"bad key {TOKEN}"),
            ]
        ),
        **unasked(leak),
    )  # fmt: skip
    s.memory.keep(tmp_path)
    s.run(f"my token is {TOKEN}")
    with pytest.raises(DeepnbError):
        s.run("again")
    text = (tmp_path / ".deepnb/transcripts/main.jsonl").read_text()
    assert text.count("[redacted") >= 6 and TOKEN not in text and TOKEN[4:30] not in text
    assert any(TOKEN in m.text for m in s.snapshot.messages)  # as typed in the kernel
    assert [m[0] for m in told(s)] == [m.id for m in s.snapshot.messages]


@pytest.mark.slow
def test_two_sessions_in_one_directory_keep_their_lines_apart(tmp_path: Path) -> None:
    one, two = (session(*[f"{name} " * 1000] * 20) for name in ("first", "second"))
    for s in (one, two):
        s.memory.keep(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda s: [s.run(f"go {n}") for n in range(8)], (one, two)))
    for s in (one, two):
        check(s)
    lines, cut = one.workspace.transcripts["main"].read()
    assert cut == 0 and {line.session for line in lines} == {
        one.workspace.transcripts["main"].session,
        two.workspace.transcripts["main"].session,
    }


def test_a_disk_that_takes_nothing_stops_no_turn_and_loses_nothing(tmp_path: Path) -> None:
    s = session("one", "two", "three")
    s.memory.keep(tmp_path)
    s.run("1")
    folder = tmp_path / ".deepnb/transcripts"
    shutil.move(folder, tmp_path / "away")
    folder.write_text("in the way")
    s.run("2")
    notices = [e.text for e in s.run("3").events if isinstance(e, Notice)]
    assert any("can't be written" in line for line in notices)
    folder.unlink()
    shutil.move(tmp_path / "away", folder)
    s.run("4")
    check(s)
    assert s.workspace.transcripts["main"].problem is None
    assert [m[2] for m in told(s)][::2] == ["1", "2", "3", "4"]


def test_a_cut_last_line_is_said_once_and_the_next_begins_afresh(tmp_path: Path) -> None:
    s = session("one")
    s.memory.keep(tmp_path)
    s.run("1")
    file = tmp_path / ".deepnb/transcripts/main.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    again = session("two")
    again.memory.keep(tmp_path)
    first = [e.text for e in again.run("2").events if isinstance(e, Notice)]
    assert any("was incomplete" in line for line in first)
    assert not any("was incomplete" in e.text for e in again.run("3").events if isinstance(e, Notice))
    check(again)
    lines, cut = read(file.read_bytes())
    assert cut == 1 and [line.type for line in lines][: whole.count(b"\n")][-1] == "session"


KILLED = """
import itertools
from tests.support.scripted import call, Scripted, unasked
from deepnb import Session
calls = itertools.count()  # a summary takes an answer, too
def count(n: int) -> str:
    "Count."
    print("at", next(calls), flush=True)
    return "x" * 20_000
s = Session(model=Scripted(answers=[call("count", "c%d" % n, n=n) for n in range(100)]), **unasked(count))
s.memory.keep({where!r})
s.run("count", max_steps=100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("until", [4, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 9))])
def test_a_killed_process_loses_at_most_the_line_it_was_writing(tmp_path: Path, until: int) -> None:
    code = IMPORT_TESTS + KILLED.format(where=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    seen = -1
    while seen < until:
        seen = int(process.stdout.readline().split()[1])
    threading.Event().wait(0.003 * until)
    process.send_signal(signal.SIGKILL)
    process.wait()
    data = (tmp_path / ".deepnb/transcripts/main.jsonl").read_bytes()
    lines, cut = read(data)
    assert cut == 0 or (cut == 1 and not data.endswith(b"\n"))
    assert [line.n for line in lines] == [*range(1, len(lines) + 1)]
    results = [line for line in live_messages(lines) if line.data["role"] == "tool"]
    assert len(results) >= until and all(line.data["text"] == "x" * 20_000 for line in results)
    s = session("alive")
    s.memory.keep(tmp_path)
    s.run("go on")
    check(s)


@every_row("kept", [True, False])
def test_words_that_are_forgotten_go_from_the_transcript_too(tmp_path: Path, kept: bool) -> None:
    s = session(call("write_file", file_path="/a.md", content="the Quokka plan"), "the quokka\nplan is written", "fine")
    if kept:
        s.memory.keep(tmp_path)
    s.run("write the quokka plan down")
    assert s.memory.find("quokka plan").history == {"transcript of main": 3}
    s.memory.forget("quokka plan")
    assert s.memory.find("quokka plan").nothing
    assert "[forgotten]" in " ".join(s.transcript()["text"])
    s.run("go on")
    assert len(told(s)) == len(s.snapshot.messages)


def test_a_compaction_by_hand_is_told_too() -> None:
    s = session("one", "two", "NO_REPLY", "the gist", "three")
    s.run("1 " + "word " * 200)
    s.run("2")
    s.compact()
    assert "compacted" in types(s)
    check(s)
    s.run("3")
    check(s)


# -- as the user sees it


def test_the_magic(shell: Shell, tmp_path: Path) -> None:
    assert "kept in this kernel only" in shell.ok("%agent transcript")
    shell.ok("%agent hello there")
    table = shell.run("%agent transcript").value
    assert list(table["what"]) == ["session", "turn", "user", "assistant", "end"]
    assert list(table) == ["time", "turn", "what", "text"]
    assert table["text"][2] == "hello there" and all(re.fullmatch(r"\d\d:\d\d:\d\d", time) for time in table["time"])
    assert list(shell.session.transcript())[:4] == ["at", "turn", "what", "text"]
    assert list(shell.session.transcript())[-4:] == ["id", "parent", "path", "session"]
    shell.ok(f"%memory keep {tmp_path}")
    shell.ok("%agent new second")
    assert len(shell.run("%agent transcript").value) == 0
    ran = shell.run("%agent transcript main")
    assert str(tmp_path / ".deepnb/transcripts/main.jsonl") in ran.out and ran.value.equals(table)
    assert "no thread 'nowhere'" in shell.fails("%agent transcript nowhere")
