"""Memory in the prompt: when it is read, what it costs, who never sees it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from langchain_core.messages import BaseMessage
from scripted import Scripted, call

from deepnb import DeepnbError, Session
from deepnb.core import tokenizer
from deepnb.core.diff import FileDiff
from deepnb.core.prompt import GUIDELINES_CLOSE, GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN
from deepnb.core.values import Snapshot
from deepnb.engine.request import message_text
from deepnb.memory.guidelines import GUIDELINES, memory_block


def session(*answers, **options) -> Session:
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **options)


def injected(request: list[BaseMessage]) -> str:
    """What stands between the tags of memory in a request."""
    text = message_text(request[0])
    return text[text.index(MEMORY_OPEN) + len(MEMORY_OPEN) : text.rindex(MEMORY_CLOSE)].strip()


def memories(s: Session) -> list[str]:
    return [injected(request) for request in s.options.model.requests]


NOTHING = "(nothing yet; write_file /AGENTS.md starts it)"


def test_read_before_every_call():
    edit = call("edit_file", file_path="/AGENTS.md", old_string="tea", new_string="coffee")
    s = session("ok", "ok", edit, "changed", "ok", memory_refresh="call")
    s.run("a")
    s.memory.write("/AGENTS.md", "- likes tea\n")
    s.run("b")
    s.run("c")
    s.run("d")
    tea, coffee = "/AGENTS.md\n\n- likes tea", "/AGENTS.md\n\n- likes coffee"
    assert memories(s) == [NOTHING, tea, tea, coffee, coffee]
    assert [t.after.memory for t in s.turns][2:] == [{"/AGENTS.md": "- likes coffee\n"}] * 2


def test_read_once_in_a_thread():
    edit = call("edit_file", file_path="/AGENTS.md", old_string="tea", new_string="coffee")
    s = session("ok", edit, "changed", "ok", "in b", memory_refresh="thread")
    s.memory.write("/AGENTS.md", "- likes tea\n")
    s.run("a")
    s.run("b")
    s.memory.add("and cake")
    s.run("c")
    s.new("b")
    s.run("d")
    tea = "/AGENTS.md\n\n- likes tea"
    assert memories(s) == [tea, tea, tea, tea, "/AGENTS.md\n\n- likes coffee\n- and cake"]
    assert s.snapshot.memory == s.snapshot.files


def test_a_thread_that_began_without_memory_keeps_it_so_when_read_once():
    s = session(memory_refresh="thread")
    s.run("a")
    s.memory.add("likes tea")
    s.run("b")
    assert memories(s) == [NOTHING, NOTHING]


def test_several_files_in_order_and_missing_ones_skipped():
    s = session(memory=("/USER.md", "/none.md", "/AGENTS.md"))
    s.memory.write("/AGENTS.md", "- second\n")
    s.memory.write("/USER.md", "- first\n\n")
    s.run("a")
    assert memories(s) == ["/USER.md\n\n- first\n\n/AGENTS.md\n\n- second"]
    assert s.turns[0].after.memory.keys() == {"/USER.md", "/AGENTS.md"}


def test_it_is_read_in_one_batch(monkeypatch):
    s = session(memory=("/a.md", "/b.md"), enable_skills=False)
    asked: list[list[str]] = []
    real = s.backend.download_files
    monkeypatch.setattr(s.backend, "download_files", lambda paths: asked.append(paths) or real(paths))
    s.run("a")
    assert asked == [["/a.md", "/b.md"]]


def test_a_file_that_is_not_utf8_is_one_line_naming_it():
    s = session("fine", "mended")
    s.run("a")
    s.backend.upload_files([("/AGENTS.md", b"- caf\xe9\n")])
    with pytest.raises(DeepnbError) as caught:
        s.run("b")
    assert str(caught.value) == (
        "memory file /AGENTS.md is not UTF-8 text (byte 5): save it as UTF-8, or remove it, then run again"
    )
    assert s.turns[-1].error == str(caught.value)
    s.memory.write("/AGENTS.md", "- café\n")
    assert s.run("c").text == "mended"
    assert memories(s)[-1] == "/AGENTS.md\n\n- café"


def test_another_read_error_names_the_file(monkeypatch):
    from deepagents.backends.protocol import FileDownloadResponse

    s = session(enable_skills=False)
    refused = [FileDownloadResponse(path="/AGENTS.md", content=None, error="permission_denied")]
    monkeypatch.setattr(s.backend, "download_files", lambda paths: refused)
    with pytest.raises(DeepnbError, match=r"memory file /AGENTS.md can't be read \(permission_denied\)"):
        s.run("a")


def o200k() -> Callable[[str], int]:
    """o200k_base where it is at hand, else the teaching tokenizer."""
    if not os.environ.get("TIKTOKEN_CACHE_DIR"):
        return tokenizer.count
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text))


def test_the_guidelines_are_short_and_name_both_tools():
    assert o200k()(memory_block({}, ["/AGENTS.md"])) < 600
    for word in ("write_file", "edit_file", "credential", "When to write", "When not to write", "{path}"):
        assert word in GUIDELINES


def test_the_block():
    block = memory_block(
        {"/b.md": "B\n", "/a.md": "A {path} 茶\n", "/empty.md": " \n"}, ["/a.md", "/empty.md", "/b.md"]
    )
    assert block.startswith(f"{MEMORY_OPEN}\n/a.md\n\nA {{path}} 茶\n\n/b.md\n\nB\n{MEMORY_CLOSE}\n{GUIDELINES_OPEN}\n")
    assert block.endswith(GUIDELINES_CLOSE)
    assert "the memory file is /a.md" in block


def test_a_subagent_inherits_no_memory():
    task = call("task", id="t1", description="work", subagent_type="general-purpose")
    s = session(task, "nested", "end")
    s.memory.write("/AGENTS.md", "- SECRET PREFERENCE\n")
    s.run("p")
    main, nested, again = s.options.model.requests
    assert "SECRET PREFERENCE" in str(main)
    assert "SECRET PREFERENCE" in str(again)
    assert "SECRET PREFERENCE" not in str(nested)
    assert MEMORY_OPEN not in str(nested)
    assert s.snapshot.memory == {"/AGENTS.md": "- SECRET PREFERENCE\n"}


def test_it_is_no_output_of_the_graph():
    s = session()
    s.memory.add("likes tea")
    s.run("a")
    out = s.graph.invoke({"messages": [("user", "b")]}, {"configurable": {"thread_id": "elsewhere"}})
    assert "memory_contents" not in out


def test_add_write_read_and_text():
    s = session(memory=("/AGENTS.md", "/USER.md"))
    assert s.memory.text() == ""
    assert s.memory.add("likes\n  tea ") == "/AGENTS.md"
    assert s.memory.add("- a bullet already") == "/AGENTS.md"
    assert s.memory.add("# A heading", "/USER.md") == "/USER.md"
    s.memory.write("/USER.md", s.memory.read("/USER.md").rstrip("\n"))
    s.memory.add("after no newline", "/USER.md")
    assert s.memory.text() == (
        "/AGENTS.md\n\n- likes tea\n- a bullet already\n\n\n/USER.md\n\n# A heading\n- after no newline\n"
    )
    with pytest.raises(DeepnbError, match=r"no file /none\.md"):
        s.memory.read("/none.md")
    with pytest.raises(DeepnbError, match="is not a path of a file"):
        s.memory.add("x", "none.md")


def test_diff_between_turns():
    s = session("ok", call("write_file", file_path="/AGENTS.md", content="- tea\n"), "written", "ok")
    assert s.memory.diff() == ()
    s.files["/data.csv"] = "no memory"
    s.run("a")
    s.run("b")
    s.memory.add("cake")
    s.run("c")
    tea = FileDiff("/AGENTS.md", None, "- tea\n")
    both = FileDiff("/AGENTS.md", "- tea\n", "- tea\n- cake\n")
    assert s.memory.diff() == ()
    assert s.memory.diff(1, 2) == (tea,)
    assert s.memory.diff(0, 2) == (tea,)
    assert s.memory.diff(2) == (both,)
    assert s.memory.diff(3) == ()
    assert s.memory.between(Snapshot("x"), s.turns[1].after) == (tea,)
    with pytest.raises(DeepnbError, match="no turn 9"):
        s.memory.diff(1, 9)
