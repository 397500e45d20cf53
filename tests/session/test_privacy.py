"""What holds the conversation is its owner's alone on a machine that others use, too; what was there keeps its mode."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepnb import Session
from deepnb.search import Index
from deepnb.values.wings import home
from tests.support.scripted import Scripted, call, unasked


@pytest.fixture(autouse=True)
def shared_machine() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    found = [p for p in folder.rglob("*") if stat.S_IMODE(p.stat().st_mode) & 0o077]
    return sorted(str(p.relative_to(folder)) for p in found)


def rows(n: int) -> str:
    """Rows."""
    return f"{n} " * 9000


def test_all_that_a_session_writes_is_private(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = [call("rows", n=1), "long", "two"]
    options = {**unasked(rows), "eviction_threshold": 2000, "trigger": ("tokens", 900_000), "keep": ("messages", 1)}
    with Session(model=Scripted(answers=answers), persist="k.db", **options) as s:
        s.run("one")
        s.memory.add("likes tea")
    with Session(model=Scripted(answers=answers), backend="disk:files", **options) as s:
        s.memory.keep("deep/mind")
        s.record("tapes/talk.jsonl")
        s.run("one")
        s.run("two")
        s.memory.daily("was here")
        s.memory.search("here", 3)
        s.compact()
        s.export("out/talk.html")
        s.export("talk.jsonl")
        s.export("out/talk.ipynb")
        s.configure(model="offline", tools=[])
        if home("session.package"):
            s.package("app", write=True)
    Index("own.db").update({"/a.md": "tea"})
    assert open_to_others(tmp_path) == ["files"], "only the directory of the agent's own files"
    assert any((tmp_path / "files/large_tool_results").iterdir())
    names = {path.name for path in tmp_path.rglob("*")}
    assert {
        "index.db",
        "main.jsonl",
        "main.md",
        "talk.html",
        *(["agent.py"] if home("session.package") else []),
    } <= names


def test_what_was_there_keeps_its_mode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, file, page = tmp_path / "mind", tmp_path / "mind" / "AGENTS.md", tmp_path / "talk.html"
    folder.mkdir()
    for one in (file, page):
        one.write_text("- mine\n")
    for path, mode in ((folder, 0o755), (file, 0o644), (page, 0o640)):
        path.chmod(mode)
    with Session(model=Scripted(answers=["ok"])) as s:
        s.memory.keep("mind")
        s.run("one")
        s.memory.add("likes tea")
        s.export("talk.html", overwrite=True)
    assert "likes tea" in file.read_text()
    assert [stat.S_IMODE(p.stat().st_mode) for p in (folder, file, page)] == [0o755, 0o644, 0o640]
    assert open_to_others(tmp_path) == ["mind", "mind/AGENTS.md", "talk.html"]


def test_the_agents_own_files_on_a_disk_are_as_the_user_makes_them(tmp_path):
    with Session(model=Scripted(answers=[call("write_file", file_path="/d/a.txt", content="A"), "ok"])) as s:
        s.configure(approve={"write_file": "allow"})
        s.mount("/d", f"disk:{tmp_path / 'd'}")
        s.run("write")
    assert stat.S_IMODE((tmp_path / "d/a.txt").stat().st_mode) == 0o644
