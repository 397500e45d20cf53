"""Threads: new, switch, fork, rewind, undo, re-run; memory belongs to the session, other files to a thread."""

from __future__ import annotations

import pytest

from deepnb import DeepnbError, Session
from deepnb.values.turn import Notice
from tests.support.scripted import Scripted, call


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


def said(session: Session) -> list[str]:
    return [m.text for m in session.snapshot.messages if m.role == "user" and not m.source]


def test_a_new_thread_keeps_memory_and_skills_and_no_other_file():
    s = session()
    s.memory.add("likes tea")
    s.skills.new("csv-report")
    s.files["/memory/2026-01-01.md"] = "a note\n"
    s.files["/data.csv"] = "a,b\n"
    s.run("one")
    assert s.new() == "thread-2"
    s.run("two")
    assert list(s.files) == ["/AGENTS.md", "/memory/2026-01-01.md", "/skills/csv-report/SKILL.md"]
    assert said(s) == ["two"]
    assert s.switch("main") == "main"
    assert said(s) == ["one"]
    assert "/data.csv" in s.files


def test_what_one_thread_learns_another_sees_at_its_next_turn():
    write = call("write_file", file_path="/AGENTS.md", content="- likes tea\n")
    s = session("hello", write, "written", "hello again")
    s.run("one")
    s.new("b")
    s.run("remember")
    s.switch("main")
    assert s.files["/AGENTS.md"] == "- likes tea\n"
    turn = s.run("again")
    assert turn.before.files == turn.after.files == {"/AGENTS.md": "- likes tea\n"}
    assert "+- likes tea" in str(s.options.model.requests[-1][-2].content)


def test_what_one_thread_deletes_is_gone_in_the_other():
    s = session()
    s.memory.add("likes tea")
    s.run("one")
    s.new("b")
    s.run("two")
    del s.files["/AGENTS.md"]
    s.switch("main")
    assert list(s.files) == []
    assert s.run("three").after.files == {}


def test_an_interrupted_thread_does_not_forget_what_another_learned():
    s = session(call("ls", path="/"), "b speaks", "a goes on")
    s.run("one", max_steps=1)
    s.new("b")
    s.memory.add("learned in b")
    s.run("two")
    s.switch("main")
    list(s.resume())
    assert s.files["/AGENTS.md"] == "- learned in b\n"
    s.switch("b")
    assert s.files["/AGENTS.md"] == "- learned in b\n"


def test_switching_to_no_thread_is_one_line():
    s = session()
    with pytest.raises(DeepnbError, match="no thread 'x'"):
        s.switch("x")
    with pytest.raises(DeepnbError, match="a thread 'main' already exists"):
        s.new("main")
    for bad in ("a/b", "..", "", "a b", "-x", "x" * 101):
        if bad:
            with pytest.raises(DeepnbError, match="is not a valid thread name"):
                s.new(bad)
    assert [t.name for t in s.threads] == ["main"]


def test_the_list_of_threads():
    s = session()
    s.run("one")
    s.fork("f")
    s.run("two")
    infos = {t.name: t for t in s.threads}
    assert (infos["main"].turns, infos["main"].messages, infos["main"].current) == (1, 2, False)
    assert (infos["f"].turns, infos["f"].messages, infos["f"].parent) == (2, 4, "main@1")
    assert next(t for t in s.threads if t.current) == infos["f"]


def test_a_fork_goes_its_own_way():
    s = session("1", "2", "3", "4")
    s.run("a")
    s.run("b")
    assert s.fork(at=1) == "thread-2"
    s.run("c")
    assert said(s) == ["a", "c"]
    assert [t.prompt for t in s.turns] == ["a", "c"]
    assert [t.number for t in s.turns] == [1, 2]
    s.switch("main")
    s.run("d")
    assert said(s) == ["a", "b", "d"]


def test_a_fork_without_a_number_begins_as_the_thread_stands():
    s = session()
    s.run("a")
    s.files["/data.csv"] = "put in after the turn\n"
    s.fork("f")
    assert s.files["/data.csv"] == "put in after the turn\n"
    s.fork("g", at=1)
    assert "/data.csv" not in s.files


def test_a_fork_of_an_old_turn_has_the_memory_of_today():
    s = session()
    s.run("a")
    s.memory.add("learned after turn 1")
    s.run("b")
    s.fork("f", at=1)
    assert s.files["/AGENTS.md"] == "- learned after turn 1\n"
    assert s.run("c").after.files["/AGENTS.md"] == "- learned after turn 1\n"
    s.switch("main")
    assert s.files["/AGENTS.md"] == "- learned after turn 1\n"


def test_a_fork_can_be_rewound_into_the_turns_it_came_with():
    s = session("1", "2", "3", "4", "5")
    s.run("a")
    s.files["/data.csv"] = "x"
    s.run("b")
    s.fork("f")
    s.run("c")
    s.rewind(1)
    assert said(s) == ["a"]
    assert "/data.csv" not in s.files
    s.run("d")
    assert said(s) == ["a", "d"]
    assert s.undo() == "rewind to turn 1"
    assert said(s) == ["a", "b", "c"]
    assert s.files["/data.csv"] == "x"
    s.rewind(0)
    assert said(s) == []
    assert s.turns == ()
    s.run("e")
    assert said(s) == ["e"]
    s.switch("main")
    assert said(s) == ["a", "b"]


def test_a_fork_before_the_first_turn():
    s = session()
    s.files["/data.csv"] = "x"
    s.run("a")
    s.fork("f", at=0)
    assert said(s) == []
    s.run("b")
    assert said(s) == ["b"]


def test_rewind_takes_the_conversation_back_and_no_memory():
    s = session()
    s.run("a")
    s.memory.add("learned after turn 1")
    s.files["/data.csv"] = "x"
    s.run("b")
    s.run("c")
    s.rewind(1)
    assert (said(s), len(s.turns)) == (["a"], 1)
    assert s.files["/AGENTS.md"] == "- learned after turn 1\n"
    assert "/data.csv" not in s.files
    turn = s.run("d")
    assert turn.number == 2
    assert said(s) == ["a", "d"]
    assert "learned after turn 1" in str(s.options.model.requests[-1])
    s.rewind(1)
    s.run("e")
    assert said(s) == ["a", "e"]


def test_rewind_with_memory_takes_memory_back():
    s = session()
    s.memory.add("one")
    s.run("a")
    s.memory.add("two")
    s.run("b")
    s.rewind(1, memory=True)
    assert s.files["/AGENTS.md"] == "- one\n"
    assert s.run("c").after.files["/AGENTS.md"] == "- one\n"
    s.rewind(0, memory=True)
    assert s.files["/AGENTS.md"] == "- one\n"
    s.undo()
    s.undo()
    assert said(s) == ["a", "b"]
    assert s.files["/AGENTS.md"] == "- one\n- two\n"
    assert s.run("d").after.files["/AGENTS.md"] == "- one\n- two\n"


def test_rewind_to_before_the_first_turn():
    s = session()
    s.files["/data.csv"] = "x"
    s.run("a")
    s.rewind(0)
    assert (said(s), s.turns, s.text) == ([], (), "")
    assert s.files["/data.csv"] == "x"
    s.run("b")
    assert said(s) == ["b"]
    assert [t.number for t in s.turns] == [1]


def test_rewind_to_no_turn_is_one_line_and_changes_nothing():
    s = session()
    s.run("a")
    for number in (2, -1):
        with pytest.raises(DeepnbError, match=f"no turn {number}: thread main has turns 1 to 1"):
            s.rewind(number)
    assert said(s) == ["a"]
    with pytest.raises(DeepnbError, match="nothing to undo"):
        s.undo()
    with pytest.raises(DeepnbError, match="no turn 7"):
        s.fork("f", at=7)
    assert [t.name for t in s.threads] == ["main"]


def test_undo_brings_back_a_rewind_even_after_going_on():
    s = session()
    for prompt in "abc":
        s.run(prompt)
    s.rewind(1)
    s.run("d")
    s.rewind(0)
    s.run("e")
    assert s.undo() == "rewind to turn 0"
    assert said(s) == ["a", "d"]
    assert s.undo() == "rewind to turn 1"
    assert said(s) == ["a", "b", "c"]
    assert [t.prompt for t in s.turns] == ["a", "b", "c"]


def test_undo_of_new_and_fork_takes_the_thread_away():
    s = session()
    s.run("a")
    s.new("b")
    s.run("in b")
    s.fork("c")
    assert s.undo() == "fork c"
    assert s.thread == "b"
    assert s.undo() == "new thread b"
    assert s.thread == "main"
    assert [t.name for t in s.threads] == ["main"]
    s.new("b")
    s.run("anew")
    assert said(s) == ["anew"]


def test_running_a_cell_again_goes_on_and_says_so():
    s = session()
    s.run("a", cell="c1")
    s.run("b", cell="c2")
    events = list(s.stream("a", cell="c1"))
    assert events[0] == Notice("this cell was turn 1 before; running it again adds turn 3")
    assert said(s) == ["a", "b", "a"]
    assert s.turns[-1].cell == "c1"
    assert s.turns[-1].events[0] == events[0]


def test_running_a_cell_again_can_replace_its_turn_and_the_later_ones():
    s = session()
    s.run("a", cell="c1")
    s.run("b", cell="c2")
    s.run("c", cell="c3")
    events = list(s.stream("B", cell="c2", rerun="replace"))
    assert isinstance(events[0], Notice)
    assert events[0].text.startswith("this cell was run again: turn 2 and the 1 after it undone")
    assert said(s) == ["a", "B"]
    assert s.turns[-1].before.messages[:] == s.turns[0].after.messages[:]
    assert s.undo() == "re-run of turn 2"
    assert said(s) == ["a", "b", "c"]


def test_running_the_first_cell_again_replaces_the_whole_thread():
    s = session()
    s.run("a", cell="c1")
    s.run("b", cell="c2")
    s.run("A", cell="c1", rerun="replace")
    s.run("AA", cell="c1", rerun="replace")
    assert said(s) == ["AA"]
    assert [(t.number, t.prompt) for t in s.turns] == [(1, "AA")]


def test_a_turn_in_another_thread_leaves_the_current_one():
    s = session()
    s.run("a")
    s.new("b")
    s.switch("main")
    turn = s.run("aside", thread="b")
    assert (turn.thread, s.thread, s.last) == ("b", "main", turn)
    assert said(s) == ["a"]
    s.switch("b")
    assert said(s) == ["aside"]
    with pytest.raises(DeepnbError, match="no thread 'x'"):
        s.run("p", thread="x")


def test_what_an_interrupted_thread_learned_is_kept():
    s = session(call("write_file", file_path="/AGENTS.md", content="- likes tea\n"), "later", "in b")
    s.run("remember", max_steps=1)
    assert s.pending
    assert s.files["/AGENTS.md"] == "- likes tea\n"
    assert s.run("something else").before.files == {"/AGENTS.md": "- likes tea\n"}
    s.new("b")
    assert s.run("hello").after.files == {"/AGENTS.md": "- likes tea\n"}


def test_an_interrupted_thread_does_not_take_back_what_another_changed():
    s = session(call("ls", path="/"), "b speaks", "a goes on")
    s.memory.write("/AGENTS.md", "- old\n")
    s.run("one", max_steps=1)
    s.new("b")
    s.memory.write("/AGENTS.md", "- changed in b\n")
    s.run("two")
    s.switch("main")
    list(s.resume())
    assert s.files["/AGENTS.md"] == "- changed in b\n"
    assert s.run("three").after.files == {"/AGENTS.md": "- changed in b\n"}
