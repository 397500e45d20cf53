"""What a session that is kept gives back, on SQLite and on PostgreSQL."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from deepnb import Session
from deepnb.backends.journal import replay
from deepnb.engine.file_extras import file_versions
from deepnb.values.turn import Turn
from tests.persistence.conftest import session
from tests.support import forty_steps
from tests.support.scripted import Scripted, call, walked
from tests.support.tables import refused


def facts(turn: Turn) -> dict[str, Any]:
    names = ("number", "thread", "prompt", "text", "events", "usage", "budget", "model", "seconds", "started", "cell")
    out = {name: getattr(turn, name) for name in (*names, "interrupted", "error", "asked")}
    for name in ("before", "after"):
        state = getattr(turn, name)
        plain = {"files": dict(state.files), "memory": dict(state.memory), "messages": state.messages[:]}
        out[name] = {**plain, "skills": state.skills, "offload": state.offload, "next": state.next}
    return out


def test_turns_come_back_with_all_that_views_need(where):
    write = call("write_file", file_path="/a.txt", content="A")
    with session(where, write, "written", "two") as first:
        first.memory.add("likes tea")
        first.run("one", cell="c1")
        walked(first, "memory.add likes cake", "run two")
        told = [facts(turn) for turn in first.turns]
        requests = [list(first.xray(n).request) for n in (1, 2)]
        shown = first.budget()
    with session(where) as second:
        assert [facts(turn) for turn in second.turns] == told
        assert [list(second.xray(n).request) for n in (1, 2)] == requests
        assert shown is not None and second.budget() == shown and second.run("three").number == 3
        second.memory.add("and scones")
        assert second.files["/AGENTS.md"] == "- likes tea\n- likes cake\n- and scones\n"
        log = second.memory.log_entries()
        assert [e.id for e in log] == ["1", "2", "3"] and replay("/AGENTS.md", log) == second.files["/AGENTS.md"]


def test_notes_that_another_kernel_writes_are_told(where):
    with session(where) as first, session(where) as second:
        first.memory.write("/memory/a.md", "- tea\n")
        before = file_versions(second.backend, "/memory/")
        assert before and file_versions(second.backend, "/memory/") is before
        first.memory.write("/memory/a.md", "- cup\n")  # as long, and within the same second
        changed = file_versions(second.backend, "/memory/")
        assert changed and changed.keys() == before.keys() and changed != before
        first.memory.remove("/memory/a.md")
        first.memory.write("/memory/b.md", "- cup\n")
        assert [*(file_versions(second.backend, "/memory/") or ())] == ["/memory/b.md"]


def test_a_rewind_stays_one_and_the_turns_after_it_are_gone(where):
    with session(where) as first:
        walked(first, "run one", "run two", "run three")
        first.rewind(1)
    with session(where) as second:
        assert [t.prompt for t in second.turns] == ["one"] and len(second.snapshot.messages) == 2
        assert second.threads[0].rewound == ((3, 1),)
        second.run("other")
    with session(where) as third:
        assert [t.prompt for t in third.turns] == ["one", "other"]


def test_a_turn_can_be_gone_back_to_and_forked_from(anywhere):
    with session(anywhere) as first:
        first.files["/a.txt"] = "first"
        first.run("one")
        first.files["/a.txt"] = "second"
        first.run("two")
    with session(anywhere) as second:
        assert second.turns[0].before.files == {"/a.txt": "first"}
        assert [t.after.files["/a.txt"] for t in second.turns] == ["first", "second"]
        second.rewind(1)
        assert second.files["/a.txt"] == "first"
        assert [t.prompt for t in second.turns] == ["one"] and len(second.snapshot.messages) == 2
        second.undo()
        assert second.files["/a.txt"] == "second" and len(second.turns) == 2
        second.fork("other", at=1)
        assert second.files["/a.txt"] == "first" and len(second.snapshot.messages) == 2
    with session(anywhere) as third:
        assert third.restored is None or third.thread == "other"
        third.switch("other")
        assert [t.prompt for t in third.turns] == ["one"] and len(third.workspace.threads["main"].turns) == 2


def test_pins_policy_and_brought_back_messages_are_there(where):
    skill = "---\nname: tidy-up\ndescription: Use when files are to be tidied up.\n---\n\nPut each file in place.\n"
    with session(where) as first:
        first.skills.write("tidy-up", skill)
        walked(first, "run one", "skills.pin tidy-up")
        first.approvals.rule("ls", "ask")
    with session(where) as second:
        assert second.skills.pinned == ("tidy-up",) and second.options.approve == {"*": "outside", "ls": "ask"}
        second.run("two")
        assert "Put each file in place." in str(second.options.model.requests[-1])


def test_a_session_that_has_begun_goes_into_an_empty_place(where):
    first = Session(model=Scripted(answers=[call("write_file", file_path="/a.txt", content="A"), "done"]))
    walked(first, "memory.add likes tea", "run one", "fork child", "run two")
    told, files = [facts(t) for t in first.turns], dict(first.files)
    line = first.persist(where).lines[0]
    assert [facts(t) for t in first.turns] == told and dict(first.files) == files
    walked(first, "run three", "close")
    assert "is kept in" in line or "back from" in line
    with session(where) as second:
        assert [t.prompt for t in second.turns] == ["one", "two", "three"] and dict(second.files) == files
        second.rewind(1)
        assert second.files["/a.txt"] == "A" and [e.id for e in second.memory.log_entries()] == ["1"]


def test_a_session_that_has_begun_does_not_go_where_another_is(where):
    with session(where) as first:
        first.run("one")
    second = Session(model=Scripted(answers=["ok"]))
    second.run("mine")
    refused("has threads of its own, and this session has begun already", second.persist, where)
    assert [t.prompt for t in second.turns] == ["mine"] and second.run("on").number == 2


def test_it_says_what_is_back_and_which_variables_are_gone(where):
    code = call("run_python", code="total = 3")
    with session(where, code, "done", namespace={}, approve={"run_python": "allow"}) as first:
        first.run("add up")
        assert first.restored.lines == (f"this session is kept in {first.workspace.persistence.database.where}",)
    with session(where, namespace={}) as second:
        assert second.restored.names == ("total",)
        back, gone = second.restored.lines
        assert back.endswith("1 thread, 1 turn in thread main")
        assert gone == "gone with the kernel: the variable total of earlier turns; run the cell that made it"
    with session(where, namespace={"total": 1}) as third:
        assert third.restored.names == ()


def test_it_says_which_model_was_in_use(where, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with Session(model="offline", persist=where) as first:
        first.run("hello")
    with session(where) as second:
        assert second.restored.lines[-1] == "the model was offline: %agent use offline"
    with Session(model="offline", persist=where) as third:
        assert len(third.restored.lines) == 1, "it is the same, or had no name"
        third.configure(model="openai:gpt-5.2", base_url="http://user:pw-of-mine@127.0.0.1:9/v1")
    with Session(persist=where) as fourth:
        use = "openai:gpt-5.2 --base-url http://user:[redacted: password in a URL]@127.0.0.1:9/v1"
        assert fourth.restored.lines[-1] == f"the model was openai:gpt-5.2: %agent use {use}"


def test_a_session_that_is_kept_from_an_empty_thread_on_keeps_both_memories(where):
    with Session(model=Scripted(answers=["ok"])) as first:
        walked(first, "memory.add of all", "run in main")
        first.new("apart", empty=True)
        walked(first, "memory.add of apart", "run in apart")
        first.persist(where)
        walked(first, "memory.add of apart, later", "new evening", "memory.add of all, later", "run in evening")
        journals = {name: log(first, name) for name in ("main", "apart")}
    with session(where) as second:
        found = {}
        for name in ("main", "apart", "evening"):
            second.switch(name)
            found[name] = second.files["/AGENTS.md"].splitlines()
        assert found["main"] == found["evening"] == ["- of all", "- of all, later"]
        assert found["apart"] == ["- of apart", "- of apart, later"]
        assert {name: log(second, name) for name in ("main", "apart")} == journals
        for name, entries in journals.items():
            second.switch(name)
            assert replay("/AGENTS.md", entries) == second.files["/AGENTS.md"]


def log(s: Session, thread: str) -> list[Any]:
    s.switch(thread)
    return list(s.memory.log_entries())


def test_it_says_what_a_turn_needs_that_its_kernel_did_not_end(where):
    with session(where, call("ls", path="/"), "never") as first:
        first.run("one", max_steps=1)
        walked(first, "new side", "run two")
        last = first.turns[-1]
        first.workspace.persistence.begin(
            replace(last, number=2, prompt="a prompt that was never sent", before=last.after)
        )
    with session(where) as second:
        expected = ("its kernel ended before 'a prompt that was never sent' was sent: send it again",)
        assert second.restored.lines[1:] == expected
        second.switch("main")
        assert second.pending
        second.workspace.current.tell()
    with session(where) as third:
        assert third.restored.lines[1] == third.pending
        lost = "its kernel ended before 'a prompt that was never sent' was sent"
        assert third.restored.lines[2] == f"thread side: {lost}: %agent switch side, then send it again"
        walked(third, "switch side", "run again")
    with session(where) as fourth:
        assert fourth.restored.lines[1:] == ()


def test_the_head_of_a_thread_is_set_only_where_it_is_what_the_writer_last_saw(where):
    with session(where, "one", "two") as first:
        first.run("one")
        records = first._workspace.persistence.records
        head = records.thread("main").head
        assert head and not records.set_head("main", "another", None) and not records.set_head("main", "x", "stale")
        assert records.thread("main").head == head
        assert records.set_head("main", "another", head) and records.thread("main").head == "another"
        assert records.set_head("main", head, "another")


def played(s: Session) -> Session:
    done = 0
    for step in forty_steps.steps(s):
        step()
        done += 1
    assert done == 40
    return s


def compare(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert one.keys() == two.keys()
    for thread, value in one.items():
        if not isinstance(value, dict) or "turns" not in value:
            assert two[thread] == value, thread
            continue
        for part in value:
            assert two[thread][part] == value[part], (thread, part)


@cache
def in_memory() -> Any:
    with played(Session(forty_steps.model(), **forty_steps.options())) as s:
        return forty_steps.left(s)


@pytest.mark.slow
def test_the_same_in_memory_and_kept_and_after_a_restart(where):
    with played(Session(forty_steps.model(), persist=where, **forty_steps.options())) as s:
        kept = forty_steps.left(s)
    compare(in_memory(), kept)
    with Session(forty_steps.model(), persist=where, **{**forty_steps.options(), "approve": "outside"}) as s:
        compare(in_memory(), forty_steps.left(s))
