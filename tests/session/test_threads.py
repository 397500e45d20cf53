"""Threads: new, switch, fork, rewind, undo, re-run; made apart (`empty`), and such that others can read along (`shared`)."""

from pathlib import Path

import pytest

from deepnb import Session
from deepnb.backends.disk import DiskBackend
from deepnb.memory.layers import Scope
from deepnb.values.turn import ToolEnded
from tests.support.scripted import TASK, call, results, session, walked
from tests.support.tables import every_row, refused


def said(session: Session) -> list[str]:
    return [m.text for m in session.snapshot.messages if m.role == "user" and not m.source]


@every_row(("go", "line"), [
    (lambda s: s.switch("x"), "no thread 'x'"), (lambda s: s.run("p", thread="x"), "no thread 'x'"),
    (lambda s: s.new("main"), "a thread 'main' already exists"),
    *((lambda s, bad=bad: s.new(bad), "is not a valid thread name") for bad in ("a/b", "..", "a b", "-x", "x" * 101)),
    (lambda s: s.rewind(2), "no turn 2: thread main has turns 1 to 1"),
    (lambda s: s.rewind(-1), "no turn -1: thread main has turns 1 to 1"), (lambda s: s.fork("f", at=7), "no turn 7"),
    (lambda s: s.undo(), "nothing to undo"),
])  # fmt: skip
def test_where_nothing_is_to_go_to_is_one_line_and_changes_nothing(go, line):
    s = session()
    s.run("a")
    refused(line, go, s)
    assert [t.name for t in s.threads] == ["main"] and said(s) == ["a"]


def test_the_list_of_threads():
    s = walked(session(), "run one", "fork f", "run two")
    infos = {t.name: t for t in s.threads}
    assert (infos["main"].turns, infos["main"].messages, infos["main"].current) == (1, 2, False)
    assert (infos["f"].turns, infos["f"].messages, infos["f"].parent) == (2, 4, "main@1")
    assert next(t for t in s.threads if t.current) == infos["f"] and s.new() == "thread-3" and dict(s.files) == {}


def test_a_new_thread_has_memory_and_skills_and_no_other_file():
    s = walked(session(), "memory.add likes tea", "skills.new csv-report")
    s.files["/memory/2026-01-01.md"] = "a note\n"
    s.files["/data.csv"] = "a,b\n"
    s.run("one")
    assert s.new() == "thread-2"
    kept = ["/AGENTS.md", "/memory/2026-01-01.md", "/skills/csv-report/SKILL.md"]
    assert list(s.files) == kept and s.files["/AGENTS.md"] == "- likes tea\n"
    assert sorted(s.run("two").after.files) == kept and said(s) == ["two"]
    s.switch("main")
    assert said(s) == ["one"] and s.files["/data.csv"] == "a,b\n"


def test_a_fork_without_a_number_begins_as_the_thread_is_now():
    s = session("1", "2", "3", "4")
    s.run("a")
    s.files["/data.csv"] = "put in after the turn\n"
    walked(s, "memory.add learned after the turn", "fork f")
    now = {"/AGENTS.md": "- learned after the turn\n", "/data.csv": "put in after the turn\n"}
    assert dict(s.files) == dict(s.snapshot.files) == now and said(s) == ["a"]
    assert [t.prompt for t in s.turns] == ["a"]
    turn = s.run("b")
    assert turn.number == 2 and dict(turn.before.files) == now and said(s) == ["a", "b"]
    assert [m.content for m in s.options.model.requests[-1] if m.type == "ai"] == ["1"]
    s.files["/data.csv"] = "of the fork\n"
    s.switch("main")
    assert dict(s.files) == now and said(s) == ["a"]
    s.fork("g", at=1)
    assert dict(s.files) == {"/AGENTS.md": "- learned after the turn\n"}


def test_a_fork_and_a_new_thread_are_undone_one_after_the_other_and_leave_nothing():
    s = walked(session(), "run a", "new b", "run in b", "fork c")
    assert s.undo() == "fork c" and s.thread == "b"
    assert s.undo() == "new thread b" and s.thread == "main"
    assert [t.name for t in s.threads] == ["main"]
    walked(s, "new b", "run anew")
    assert said(s) == ["anew"]


def test_running_the_first_cell_again_replaces_the_whole_thread():
    s = session()
    s.run("a", cell="c1")
    s.run("b", cell="c2")
    s.run("A", cell="c1", rerun="replace")
    s.run("AA", cell="c1", rerun="replace")
    assert said(s) == ["AA"] and [(t.number, t.prompt) for t in s.turns] == [(1, "AA")]
    assert s.undo() == "re-run of turn 1" and said(s) == ["A"]
    assert s.undo() == "re-run of turn 1" and said(s) == ["a", "b"]


def test_what_one_thread_learns_another_is_told_and_a_turn_elsewhere_leaves_the_current_one():
    write = call("write_file", file_path="/AGENTS.md", content="- likes tea\n")
    s = walked(session("hello", write, "written", "hello again"), "run one", "new b", "run remember", "switch main")
    turn = s.run("again")
    assert turn.before.files == turn.after.files == {"/AGENTS.md": "- likes tea\n"}
    told, prompt = s.options.model.requests[-1][-2:]
    assert "+- likes tea" in str(told.content) and prompt.content == "again"
    s = walked(session(), "run a", "new b", "switch main")
    turn = s.run("aside", thread="b")
    assert (turn.thread, s.thread, s.last) == ("b", "main", turn) and said(s) == ["a"]
    s.switch("b")
    assert said(s) == ["aside"]


def test_what_an_interrupted_thread_learned_is_kept_and_it_takes_nothing_back():
    s = session(call("write_file", file_path="/AGENTS.md", content="- likes tea\n"), "later", "in b")
    s.run("remember", max_steps=1)
    assert s.pending and s.files["/AGENTS.md"] == "- likes tea\n"
    assert s.run("something else").before.files == {"/AGENTS.md": "- likes tea\n"}
    s.new("b")
    assert s.run("hello").after.files == {"/AGENTS.md": "- likes tea\n"}
    s = session(call("ls", path="/"), "b speaks", "a goes on", "and on")
    s.memory.write("/AGENTS.md", "- old\n")
    s.run("one", max_steps=1)
    s.new("b")
    s.memory.write("/AGENTS.md", "- changed in b\n")
    s.memory.add("learned in b", "/memory/b.md")
    s.run("two")
    now = {"/AGENTS.md": "- changed in b\n", "/memory/b.md": "- learned in b\n"}
    s.switch("main")
    list(s.resume())
    assert dict(s.files) == s.run("three").after.files == now
    s.switch("b")
    assert dict(s.files) == now


SECRET = "the merger is in May"


def sent(s: Session, call: int = -1) -> str:
    return "\n".join(str(m.content) for m in s.options.model.requests[call])


def place(s: Session, kind: str, tmp_path: Path) -> Session:
    """The session with its memory in the kernel, or on a disk in one of three ways."""
    if kind == "keep":
        s.memory.keep(tmp_path / "kept")
    if kind == "mount":
        s.workspace.home.storage.mount("/memory", "disk:m", base=tmp_path, store=None, assistant_id=None)
    return s


@every_row("kind", ["kernel", "keep", "mount", "filesystem"])
def test_an_empty_thread_neither_sees_what_others_learned_nor_tells_them(tmp_path: Path, kind: str):
    given = {"backend": DiskBackend(tmp_path / "f")} if kind == "filesystem" else {}
    write = call("write_file", file_path="/AGENTS.md", content="- learned apart\n")
    s = place(session("one", "two", write, "done", "three", **given), kind, tmp_path)
    s.memory.add("likes tea")
    s.memory.add("a note of the session", "/memory/2026-01-01.md")
    walked(s, "skills.new csv-report", "run in main")
    assert s.new("apart", empty=True) == "apart"
    assert not [p for p in s.files if "AGENTS" in p or "memory" in p or "skills" in p]
    assert s.memory.log_entries() == () and len(s.memory.log()) == 0
    s.run("in apart")
    assert "likes tea" not in sent(s) and "csv-report" not in sent(s)
    s.run("remember")
    assert s.files["/AGENTS.md"] == "- learned apart\n"
    assert [e.origin for e in s.memory.log_entries()] == ["agent"]
    s.switch("main")
    assert s.files["/AGENTS.md"] == "- likes tea\n"
    s.run("again")
    assert "learned apart" not in sent(s) and "likes tea" in sent(s)
    assert all("learned apart" not in e.diff for e in s.memory.log_entries())
    s.switch("apart")
    assert s.files["/AGENTS.md"] == "- learned apart\n"


def test_ordinary_files_on_a_disk_are_an_empty_threads_too(tmp_path: Path):
    s = session()
    s.new("apart", empty=True)
    s.switch("main")
    s.workspace.home.storage.mount("/data", "disk:d", base=tmp_path, store=None, assistant_id=None)
    s.files["/data/a.csv"] = "a,b\n"
    s.switch("apart")
    assert s.files["/data/a.csv"] == "a,b\n"


def test_a_turn_in_an_empty_thread_that_is_not_the_current_one():
    write = call("write_file", file_path="/AGENTS.md", content="- learned apart\n")
    s = walked(session("one", write, "done", "two"), "memory.add likes tea", "run in main")
    s.new("apart", empty=True)
    s.switch("main")
    seen = {(s.files["/AGENTS.md"], s.budget().total) for _ in s.stream("remember", thread="apart")}
    assert seen == {("- likes tea\n", s.budget().total)}, "in the middle of its run, too"
    s.switch("apart")
    assert s.files["/AGENTS.md"] == "- learned apart\n"
    s.switch("main")
    assert [e.origin for e in s.memory.log_entries()] == ["user"]
    s.switch("apart")
    assert s.files["/AGENTS.md"] == "- learned apart\n"
    assert [(e.origin, e.thread) for e in s.memory.log_entries()] == [("agent", "apart")]


def test_an_empty_thread_forgets_for_itself_and_its_end_and_its_rewind_are_undone():
    s = session()
    s.memory.add("likes tea")
    s.new("apart", empty=True)
    s.memory.add("learned apart")
    assert s.undo() == "new thread apart" and s.thread == "main" and s.files["/AGENTS.md"] == "- likes tea\n"
    s.new("apart")
    assert s.files["/AGENTS.md"] == "- likes tea\n"
    s = walked(session(), "memory.add likes tea", "run one")
    prompt = s.snapshot.memory
    s.new("apart", empty=True)
    walked(s, "memory.add likes tea", "run two", "memory.forget tea")
    assert "tea" not in s.files.get("/AGENTS.md", "")
    s.switch("main")
    assert s.files["/AGENTS.md"] == "- likes tea\n" and s.snapshot.memory == prompt
    s = session()
    s.memory.add("likes tea")
    s.new("apart", empty=True)
    walked(s, "run one", "memory.add learned apart", "run two", "rewind 1")
    assert s.files["/AGENTS.md"] == "- learned apart\n"
    s.rewind(1, memory=True)
    assert "/AGENTS.md" not in s.files
    walked(s, "switch main", "undo")
    assert (s.thread, s.files["/AGENTS.md"]) == ("main", "- likes tea\n")
    s.switch("apart")
    assert s.files["/AGENTS.md"] == "- learned apart\n"


WAYS = [
    call("read_file", file_path="/MEMORY.md"), call("read_file", file_path="//MEMORY.md"),
    call("read_file", file_path="/x/../MEMORY.md"), call("read_file", file_path="/memory.md"),
    call("read_file", file_path="/.deepnb/journal.jsonl"), call("ls", path="/"), call("glob", pattern="**/*"),
    call("grep", pattern="merger"), call("grep", pattern="merger", path="/MEMORY.md"),
    call("grep", pattern="merger", glob="*.md", output_mode="content"),
    call("edit_file", file_path="/MEMORY.md", old_string="May", new_string="June"),
    call("write_file", file_path="/MEMORY.md", content="gone\n"),
]  # fmt: skip


@pytest.mark.slow
@every_row("kind", ["kernel", "keep"])
@every_row("way", WAYS, ids=lambda w: f"{w.tool_calls[0]['name']}-{next(iter(w.tool_calls[0]['args'].values()))}")
def test_a_thread_others_read_along_cannot_read_long_term_memory(tmp_path: Path, way, kind: str):
    s = place(session(way, "done", memory=("/AGENTS.md", "/MEMORY.md")), kind, tmp_path)
    s.memory.add(SECRET, "/MEMORY.md")
    s.memory.add("likes tea")
    s.new("open", shared=True)
    s.run("what is in memory?")
    assert "likes tea" in sent(s), "the rest of memory is there"
    assert SECRET not in sent(s) and SECRET not in "".join(results(s))
    if way.tool_calls[0]["name"] in ("ls", "glob"):
        assert "/AGENTS.md" in results(s)[0] and "MEMORY.md" not in results(s)[0]
    assert SECRET not in str(s.graph.get_state({"configurable": {"thread_id": "open"}}).values)
    assert s.files["/MEMORY.md"] == f"- {SECRET}\n", "the user has it, unchanged"
    walked(s, "switch main", "run and here?")
    assert SECRET in sent(s)


KEPT = {
    "read_file": "is kept from a subagent", "grep": "No matches found", "ls": "['/AGENTS.md']",
    "glob": "['/AGENTS.md']",
}  # fmt: skip


@every_row("way", WAYS[:-2], ids=lambda w: w.tool_calls[0])
def test_a_subagent_cannot_read_long_term_memory(way):
    s = session(TASK, way, "nested is done", call("read_file", id="r", file_path="/MEMORY.md"), "end")
    s.memory.add(SECRET, "/MEMORY.md")
    walked(s, "memory.add likes tea", "run go")
    (result,) = [e.result for e in s.last.events if isinstance(e, ToolEnded) and e.path]
    assert SECRET not in result and SECRET not in sent(s, 2)
    assert KEPT[way.tool_calls[0]["name"]] in result or "Path traversal not allowed" in result
    assert SECRET in results(s)[-1], "the main agent may"


def test_long_term_memory_is_the_sessions_also_where_it_is_written_from_a_shared_thread_that_is_rewound():
    s = session(memory=("/AGENTS.md", "/MEMORY.md"))
    s.run("one")
    s.new("open", shared=True)
    s.run("two")
    s.memory.add(SECRET, "/MEMORY.md")
    s.run("three")
    assert "/MEMORY.md" not in s.last.after.files and SECRET not in sent(s)
    walked(s, "memory.add likes tea", "run four")
    s.rewind(1, memory=True)
    assert dict(s.files) == {"/MEMORY.md": f"- {SECRET}\n"}
    s.switch("main")
    assert s.run("five").after.files["/MEMORY.md"] == f"- {SECRET}\n"


@every_row("kind", ["empty", "shared"])
def test_a_fork_of_such_a_thread_is_one_and_a_new_thread_is_none(kind: str):
    s = session()
    s.new("open", **{kind: True})
    walked(s, "run one", "fork side")
    assert getattr(next(t for t in s.threads if t.current), kind)
    walked(s, "memory.add learned in the fork", "switch open")
    assert s.files["/AGENTS.md"] == "- learned in the fork\n", "a thread and its forks have their memory in common"
    s.new()
    assert not getattr(next(t for t in s.threads if t.current), kind)
    assert ("/AGENTS.md" in s.files) == (kind == "shared")


@every_row(("path", "may"), [
    ("/MEMORY.md", False), ("/memory.MD", False), ("/a/../MEMORY.md", False), ("/again/MEMORY.md", False),
    ("/.deepnb/journal.jsonl", False), ("/MEMORY.md.txt", True), ("/memory/2026-01-01.md", True), ("/", True),
])  # fmt: skip
def test_what_is_kept_back(path: str, may: bool):
    assert Scope(shared=True).may_read(path) is may and Scope().inside.may_read(path) is may
    assert Scope(empty=True).may_read(path) and Scope().may_read(path)
