"""`session.part` and `session.backend`: the agent's files outside a run, whenever that is."""

import pytest
from deepagents.backends.protocol import BackendProtocol

from deepnb import DeepnbError
from deepnb.values.turn import ToolEnded
from tests.support.refusals import refused
from tests.support.scripted import call, session, unasked
from tests.support.tables import every_row


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


def test_a_binary_file():
    s = session()
    s.backend.upload_files([("/plot.png", b"\x89PNG\xff")])
    assert list(s.files) == ["/plot.png"]
    refused(r"/plot.png is not UTF-8 text", lambda: s.files["/plot.png"])
    turn = s.run("p")
    assert (turn.after.files, turn.after.binary) == ({}, {"/plot.png": 5})
    assert s.backend.download_files(["/plot.png"])[0].content == b"\x89PNG\xff"


def test_bad_paths_are_one_line():
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
