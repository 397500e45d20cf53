"""An agent that a session packaged, served and attached again: its memory is in the server's store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deepnb
from tests.support.langgraph_server import LangGraphServer

pytestmark = pytest.mark.nightly


@pytest.fixture
def packaged(programs: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a server with it."""
    s = deepnb.Session()
    s.memory.add("Be brief.")
    s.package(tmp_path / "app", write=True)
    (tmp_path / "home").mkdir()
    env = {name: os.environ[name] for name in ("TIKTOKEN_CACHE_DIR",) if name in os.environ}
    server = LangGraphServer(tmp_path / "app", programs, tmp_path / "home", env)
    server.start()
    yield f"{server.url}/agent"
    server.stop()


def test_its_memory_is_read_edited_and_in_the_next_prompt(packaged: str, session: Any) -> None:
    s = session(packaged)
    assert all(s.features.has(name) for name in ("memory", "skills", "approvals"))
    turn = s.run("hello")
    assert turn.after.memory == {"/AGENTS.md": "- Be brief.\n"} and s.memory.text().count("Be brief.")
    s.memory.add("Be kind.")
    other = session(packaged)
    other.new("another")
    turn = other.run("hello")
    assert turn.after.memory["/AGENTS.md"] == "- Be brief.\n- Be kind.\n"
    assert any("Be kind." in piece.text for piece in other.xray().request)
    assert turn.after.files["/AGENTS.md"] == "- Be brief.\n- Be kind.\n"
    turn = s.run("hello again")
    assert s.memory.diff(1, 2)[0].path == "/AGENTS.md"
    assert any("Be kind." in piece.text for piece in s.xray().request)
