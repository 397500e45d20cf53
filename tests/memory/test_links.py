"""A project whose AGENTS.md is a link to another of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepnb import DeepnbError, Session
from tests.support.scripted import Scripted, call


def test_a_source_that_is_a_link_to_a_file_beside_it_is_read_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text("- be brief\n")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    monkeypatch.chdir(tmp_path)
    s = Session(model=Scripted(answers=["ok"]))
    s.memory.add_source("project")
    path = "/project/AGENTS.md"
    s.options.model.answers[:] = [call("edit_file", file_path=path, old_string="brief", new_string="long"), "ok"]
    s.run("go")
    assert "- be brief" in repr(s.options.model.requests[0])
    (said,) = [m.text for m in s.snapshot.messages if m.role == "tool"]
    assert "a link to CLAUDE.md" in said and "\n" not in said
    with pytest.raises(DeepnbError, match="a link to CLAUDE"):
        s.memory.add("x", path)
    assert (tmp_path / "AGENTS.md").is_symlink() and (tmp_path / "CLAUDE.md").read_text() == "- be brief\n"
