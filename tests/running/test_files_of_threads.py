"""Files that threads have in common, and those of one thread: who removed, who changed, and what a rewind drops."""

from deepnb import Session
from deepnb.values.turn import ToolEnded
from tests.support.scripted import call, session
from tests.support.tables import every_row
from tests.support.walks import walked

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
