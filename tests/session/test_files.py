"""The agent's files outside a run, and those that threads have in common: who removed, who changed, what a rewind drops."""

import pytest
from deepagents.backends.protocol import BackendProtocol

from deepnb import DeepnbError, Session
from deepnb.values.turn import ToolEnded
from tests.support.scripted import call, session, unasked, walked
from tests.support.tables import every_row, refused


def test_a_write_that_waits_lands_before_the_next_prompt_and_is_not_lost_by_closing():
    s = session(call("ls", path="/"), call("read_file", file_path="/a.md"), "end")
    s.run("p", max_steps=1)
    s.files["/a.md"] = "waited\n"
    turn = s.run("read")
    assert turn.before.files == {"/a.md": "waited\n"}
    assert "waited" in next(e.result for e in turn.events if isinstance(e, ToolEnded))
    s = session(call("ls", path="/"), "end")
    s.run("p", cell="c", max_steps=1)
    s.files["/a.md"] = "waits\n"
    events = s.stream("again", cell="c")
    next(events)
    events.close()
    assert s.files["/a.md"] == "waits\n" and s.run("next").after.files == {"/a.md": "waits\n"}


def test_a_binary_file_and_bad_paths_are_one_line():
    s = session()
    s.backend.upload_files([("/plot.png", b"\x89PNG\xff")])
    assert list(s.files) == ["/plot.png"]
    refused(r"/plot.png is not UTF-8 text", lambda: s.files["/plot.png"])
    turn = s.run("p")
    assert (turn.after.files, turn.after.binary) == ({}, {"/plot.png": 5})
    assert s.backend.download_files(["/plot.png"])[0].content == b"\x89PNG\xff"
    s = session()
    for path in ("a.md", "/a/", "/../a.md", "/a//b", "", "/./a"):
        with pytest.raises(DeepnbError, match="is not the path of a file: type an absolute path"):
            s.files[path] = "x"
    for path in ("/none.md", "none.md"):
        with pytest.raises(KeyError):
            s.files[path]
        with pytest.raises(KeyError):
            del s.files[path]
        assert path not in s.files and s.files.get(path, "-") == "-"
    assert dict(s.files) == {}


@every_row("when", ["before the first turn", "between turns", "in an unfinished turn"])
def test_the_backend_is_a_deepagents_backend_outside_a_run(when):
    s = session(call("ls", path="/"), "end")
    if when != "before the first turn":
        s.run("p", max_steps=1 if when == "in an unfinished turn" else None)
    backend = s.backend
    assert isinstance(backend, BackendProtocol) and backend.write("/d/a.md", "alpha\nbeta\n").error is None
    assert (backend.edit("/d/a.md", "beta", "gamma").error, bool(backend.edit("/d/a.md", "beta", "x").error)) == (
        None,
        True,
    )
    assert [(m["path"], m["line"]) for m in backend.grep("gamma", "/").matches] == [("/d/a.md", 2)]
    assert [r.error for r in backend.upload_files([("/b.txt", b"bytes")])] == [None]
    assert [r.content for r in backend.download_files(["/b.txt", "/d/a.md"])] == [b"bytes", b"alpha\ngamma\n"]
    assert backend.delete("/b.txt").error is None and list(s.files) == ["/d/a.md"]


def test_a_tool_writes_through_the_run_and_watchers_are_told():
    def keep(text: str) -> str:
        """Keep a text."""
        s.files["/kept.md"] = text
        return s.files["/kept.md"]

    s = session(call("keep", text="x"), "done", **unasked(keep))
    turn = s.run("p")
    assert turn.after.files == {"/kept.md": "x"} and dict(s.files) == {"/kept.md": "x"}
    s = session()
    seen: list[int] = []
    end = s.workspace.current.watch(lambda: seen.append(len(s.turns)))
    s.files["/a.md"] = "x"
    s.run("p")
    assert seen == [0, 1]
    end()
    end()
    s.new()
    assert seen == [0, 1]


REMOVE = call("delete", file_path="/AGENTS.md", id="c2")


def results(s: Session) -> list[str]:
    return [m.text for m in s.snapshot.messages if m.role == "tool"]


def test_what_another_thread_changed_is_not_removed_unread():
    s = session(call("ls", path="/"), REMOVE, "in b", "kept")
    s.memory.write("/AGENTS.md", "- old\n")
    s.run("one", max_steps=1)
    walked(s, "new b", "memory.add learned in b", "switch main")
    list(s.resume())
    assert "/AGENTS.md was changed since you last saw it" in results(s)[-1]
    assert s.files["/AGENTS.md"] == "- old\n- learned in b\n"
    assert s.run("two", thread="b").after.files == {"/AGENTS.md": "- old\n- learned in b\n"}


def test_what_was_read_since_is_removed():
    read = call("read_file", file_path="/AGENTS.md", id="c1")
    s = session(call("ls", path="/"), read, REMOVE, "gone")
    s.memory.write("/AGENTS.md", "- old\n")
    s.run("one", max_steps=1)
    s.memory.add("learned meanwhile")
    list(s.resume())
    assert "learned meanwhile" in results(s)[1] and results(s)[2] == "Deleted /AGENTS.md" and dict(s.files) == {}
    s.new("b")
    assert s.run("two").after.files == {}


def test_what_the_user_writes_after_the_agent_removed_the_file_is_kept():
    s = session(REMOVE, "gone")
    s.memory.write("/AGENTS.md", "- old\n")
    for event in s.stream("one"):
        if isinstance(event, ToolEnded):
            s.memory.add("typed while the turn ran")
    assert s.files["/AGENTS.md"] == "- typed while the turn ran\n"
    assert s.run("two").after.files == {"/AGENTS.md": "- typed while the turn ran\n"}


def test_a_file_removed_after_memory_was_taken_back_is_there_as_it_was_when_that_is_undone():
    s = session()
    s.memory.write("/AGENTS.md", "- one\n")
    walked(s, "run a", "memory.add two")
    s.rewind(1, memory=True)
    del s.files["/AGENTS.md"]
    s.undo()
    assert s.files["/AGENTS.md"] == "- one\n- two\n"


@every_row("to", [0, 1, 2])
def test_a_rewind_drops_what_was_written_while_the_turn_was_unfinished(to: int):
    s = session("first", call("ls", path="/"), "resumed")
    s.files["/before.csv"] = "a\n"
    s.run("a")
    s.run("b", max_steps=1)
    s.files["/meanwhile.csv"] = "b\n"
    s.memory.add("likes tea")
    assert "/meanwhile.csv" in s.files
    s.rewind(to)
    there = {"/before.csv": "a\n", "/AGENTS.md": "- likes tea\n"}
    assert dict(s.files) == there and s.run("c").after.files == there
    assert s.undo() == f"rewind to turn {to}" and dict(s.files) == {**there, "/meanwhile.csv": "b\n"}
    list(s.resume())
    assert s.pending is None and dict(s.files) == {**there, "/meanwhile.csv": "b\n"}


def test_a_file_removed_while_the_turn_was_unfinished_is_back_after_a_rewind():
    s = session("first", call("ls", path="/"))
    s.files["/before.csv"] = "a\n"
    s.run("a")
    s.run("b", max_steps=1)
    del s.files["/before.csv"]
    assert "/before.csv" not in s.files
    s.rewind(1)
    assert s.files["/before.csv"] == "a\n" and s.run("c").after.files == {"/before.csv": "a\n"}
