"""The transcript of real turns: what it tells is the thread, whatever was done to it, and no crash loses it."""

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from langchain_core.messages import AIMessage

from deepnb import Session
from deepnb.backends.journal import Entry
from deepnb.context.transcript import live_messages, read
from deepnb.session.tables import journal, log_in_short, origins_in_short, transcript_in_short
from deepnb.values.turn import Notice, TextDelta, ToolEnded, ToolStarted
from tests.support.nesting import Plan, Planned
from tests.support.scripted import Scripted, call, enter, unasked, walked
from tests.support.shells import Shell
from tests.support.tables import every_row, refused

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"


def nap(seconds: float) -> str:
    "Sleep a while."
    time.sleep(seconds)
    return f"slept {seconds}"


def session(*answers: Any, **options: Any) -> Session:
    return Session(model=Scripted(answers=list(answers)), **unasked(nap), **options)


def told(s: Session, thread: str | None = None) -> list[tuple[Any, ...]]:
    one = s.workspace.transcripts.keep(thread or s.thread)
    found = [line.data for line in live_messages(one.read()[0], one.session)]
    return [(m["id"], m["role"], m.get("text", ""), m.get("tool_call_id")) for m in found]


def check(s: Session) -> None:
    messages = [(m.id, m.role, m.text, m.tool_call_id) for m in s.snapshot.messages]
    assert told(s) == messages
    table = s.transcript()
    live = table[table["live"]].drop_duplicates("id", keep="last")
    assert {*zip(live["id"], live["what"], live["text"], strict=True)} == {m[:3] for m in messages}
    assert table[(table["type"] == "message") & (table["agent"] == "main")]["id"].is_unique


def test_the_teaching_model_tells_what_it_used_and_nothing_is_on_a_disk(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    s = Session()
    turn = s.run("remember that I like tea")
    check(s)
    table = s.transcript()
    answers = table[table["what"] == "assistant"]
    assert answers["input"].sum() == turn.usage.input == table[table["what"] == "end"]["input"].sum()
    assert answers["output"].sum() == turn.usage.output and list(tmp_path.iterdir()) == []


def test_rewind_fork_undo_and_a_rerun_cell() -> None:
    s = session("one", "two", "three", "four", "five", "six", "seven", "eight")
    s.run("1", cell="a")
    s.run("2", cell="b")
    s.run("3")
    steps: list[tuple[Callable[[], Any], list[str]]] = [
        (lambda: s.rewind(1), ["1", "one"]), (lambda: s.run("2b"), ["1", "one", "2b", "four"]),
        (s.undo, ["1", "one", "2", "two", "3", "three"]),
        (lambda: s.run("4"), ["1", "one", "2", "two", "3", "three", "4", "five"]),
        (lambda: list(s.stream("2 again", cell="b", rerun="replace")), ["1", "one", "2 again", "six"]),
        (lambda: s.fork("other", at=1), ["1", "one"]),
        (lambda: s.run("in the fork"), ["1", "one", "in the fork", "seven"]),
        (s.undo, ["1", "one", "2 again", "six"]),
        (lambda: (s.fork("other"), s.run("again")), ["1", "one", "2 again", "six", "again", "eight"]),
        (lambda: (s.new(), s.run("apart")), ["apart", "eight"]),
        (lambda: s.switch("main"), ["1", "one", "2 again", "six"]), (lambda: s.rewind(0), []),
        (lambda: s.run("from the start"), ["from the start", "eight"]),
    ]  # fmt: skip
    for step, said in steps:
        step()
        check(s)
        assert [text for _, _, text, _ in told(s)] == said


def test_a_fork_knows_when_its_messages_were_said() -> None:
    s = walked(session("one", "two"), "run 1", "run 2", "fork b")
    table = s.transcript()
    assert list(table[table["type"] == "message"]["turn"]) == [1, 1, 2, 2] and table["text"].iloc[0] == "main@2"


@pytest.mark.slow
@every_row("kind", [TextDelta, ToolStarted, ToolEnded])
@every_row("then", ["again", "skip", "a new prompt"])
def test_an_interrupted_turn_goes_on_without_saying_anything_twice(kind: type, then: str) -> None:
    first = AIMessage("I will sleep", tool_calls=call("nap", seconds=0.2).tool_calls)
    s = session(first, first if kind is TextDelta else "done", "done", "done")
    s.options.model.delay = 0.3  # a busy machine stops late, and by then an answer after the tool would be whole
    events = s.stream("sleep")
    for event in events:
        if isinstance(event, kind):
            events.close()
    end = s.transcript().iloc[-1]
    assert end["what"] == "end" and (kind is not TextDelta or end["text"].startswith("I"))
    check(s)
    s.options.model.delay = 0
    if then == "a new prompt":
        s.run("never mind")
    else:
        list(s.resume(then))
        assert list(s.transcript()["what"]).count("turn") == 2
    check(s)
    assert [m[2] for m in told(s)].count("sleep") == 1


def test_a_turn_that_fails() -> None:
    s = session(ValueError(f"no {TOKEN}"), "fine")
    refused("", s.run, "first")
    assert "ValueError: no [redacted" in s.transcript().iloc[-1]["text"]
    check(s)
    s.run("second")
    check(s)


@every_row("task_id", ["t1", TOKEN])
def test_a_subagents_calls_carry_their_path(task_id: str) -> None:
    task = call("task", task_id, description="look", subagent_type="general-purpose")
    s = session(task, call("write_file", "w1", file_path="/n.md", content="x"), "looked", "done")
    s.run("delegate")
    table = s.transcript()
    if task_id == "t1":
        check(s)
    nested = table[(table["path"] != "") & (table["type"] == "message")]
    assert set(nested["agent"]) == {"general-purpose"} and nested["path"].nunique() == 1
    assert not any(TOKEN in str(value) for row in table.itertuples() for value in row), "a credential in the id"
    assert list(nested["what"]) == ["assistant", "tool", "assistant"]
    asked = table[(table["agent"] == "main") & (table["what"] == "assistant")].iloc[0]
    assert list(nested["parent"]) == [asked["id"], *nested["id"][:2]] and "/n.md" in nested.iloc[1]["text"]


def test_nested_agents_are_named_at_every_level() -> None:
    deep = Session(model=Planned(), subagents=[{"name": "critic", "description": "d", "system_prompt": "p"}])
    deep.run(str(Plan("a", (("critic", Plan("b", (("general-purpose", Plan("c")),))), ("general-purpose", Plan("d"))))))
    table = deep.transcript()
    named = {tuple(row) for row in table[["path", "agent"]].itertuples(index=False)}
    assert named == {("", "main"), ("b", "critic"), ("b/c", "general-purpose"), ("d", "general-purpose")}


@every_row("by_hand", [False, True])
def test_a_compaction_is_told_and_drops_nothing(by_hand: bool) -> None:
    s = session("one", "two", "NO_REPLY", "the gist", "three", trigger=("messages", 99 if by_hand else 5))
    s.configure(keep=("messages", 1))
    s.run("1 " + "word " * 200)
    s.run("2")
    if by_hand:
        s.compact()
    s.run("3")
    table = s.transcript()
    assert list(table[table["what"] == "compacted"]["text"]) == [s.snapshot.offload.summary]
    check(s)


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


def test_an_empty_threads_transcript_stays_where_its_memory_is(tmp_path: Path) -> None:
    s = session("one", "two")
    s.memory.keep(tmp_path)
    s.new("apart", empty=True)
    s.run("quietly")
    check(s)
    assert not (tmp_path / ".deepnb/transcripts/apart.jsonl").exists()


@pytest.mark.slow
def test_two_sessions_in_one_directory_keep_their_lines_apart(tmp_path: Path) -> None:
    one, two = (session(*[f"{name} " * 1000] * 20) for name in ("first", "second"))
    for s in (one, two):
        s.memory.keep(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda s: [s.run(f"go {n}") for n in range(8)], (one, two)))
    for s in (one, two):
        check(s)
    kept = [s.workspace.transcripts["main"] for s in (one, two)]
    lines, cut = kept[0].read()
    assert cut == 0 and {line.session for line in lines} == {transcript.session for transcript in kept}


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


def test_each_result_is_in_the_file_before_the_next_call_begins(tmp_path: Path) -> None:
    """A process that is killed loses at most the line that it was writing."""
    file, seen = tmp_path / ".deepnb/transcripts/main.jsonl", list[int]()

    def look(n: int) -> str:
        "Look at the transcript."
        seen.append(len([line for line in live_messages(read(file.read_bytes())[0]) if line.data["role"] == "tool"]))
        return "looked"

    answers = [*(call("look", f"c{n}", n=n) for n in range(3)), "done"]
    s = Session(model=Scripted(answers=answers), **unasked(look))
    s.memory.keep(tmp_path)
    s.run("look")
    assert seen == [0, 1, 2]
    check(s)


@every_row("kept", [True, False])
def test_words_that_are_forgotten_go_from_the_transcript_too(tmp_path: Path, kept: bool) -> None:
    s = session(call("write_file", file_path="/a.md", content="the Quokka plan"), "the quokka\nplan is written", "fine")
    if kept:
        s.memory.keep(tmp_path)
    s.run("write the quokka plan down")
    assert s.memory.find("quokka plan").history == {"transcript of main": 3}
    s.memory.forget("quokka plan")
    assert s.memory.find("quokka plan").nothing and "[forgotten]" in " ".join(s.transcript()["text"])
    s.run("go on")
    assert len(told(s)) == len(s.snapshot.messages)


def test_the_magic(shell: Shell, tmp_path: Path) -> None:
    assert "kept in this kernel only" in shell.ok("%agent transcript")
    shell.ok("%agent hello there")
    table = shell.run("%agent transcript").value
    assert list(table) == ["time", "turn", "what", "text"]
    assert list(table["what"]) == ["session", "turn", "user", "assistant", "end"] and table["text"][2] == "hello there"
    enter(shell, f"%memory keep {tmp_path}", "%agent new second")
    assert len(shell.run("%agent transcript").value) == 0
    ran = shell.run("%agent transcript main")
    assert str(tmp_path / ".deepnb/transcripts/main.jsonl") in ran.out and ran.value.equals(table)
    assert "no thread 'nowhere'" in shell.fails("%agent transcript nowhere")


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


def test_a_transcript_says_what_was_said_and_where_a_line_comes_from():
    task = call("task", description="add them", subagent_type="helper")
    s = Session(
        model=Scripted(answers=[task, "inside", "two\nlines"]),
        subagents=[{"name": "helper", "description": "adds", "system_prompt": "Add."}],
    )
    s.run("what is\n1 + 1?")
    whole = s.transcript()
    assert [*whole][:4] == ["at", "turn", "what", "text"] and [*whole][-4:] == ["id", "parent", "path", "session"]
    shown = transcript_in_short(whole)
    assert list(shown) == ["time", "turn", "what", "text"] and shown["time"].str.fullmatch(r"\d\d:\d\d:\d\d").all()
    said = list(zip(shown["what"], shown["text"], strict=True))
    for line in (("user", "what is 1 + 1?"), ("assistant", "calls task"), ("tool", "task: inside")):
        assert line in said
    assert ("assistant (helper)", "inside") in said and ("assistant", "two lines") in said
    with pd.option_context("display.width", 100, "display.max_columns", 20):
        first = repr(shown).splitlines()
    assert max(map(len, first)) <= 100 and not any("..." in line.split("  ")[0] for line in first)
    s = Session(model=Scripted(answers=["ok"]))
    s.memory.add("tea at five")
    shown = origins_in_short(s.memory.why("tea"))
    assert list(shown) == ["text", "path", "line", "time", "turn", "origin", "entry"]
    assert shown["text"][0] == "- tea at five" and shown["entry"][0] == s.memory.log_entries()[0].id
