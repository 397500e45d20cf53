"""Adding a directory of subagents: all of them are there in the end, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepnb import DeepnbError, Session
from tests.support.scripted import Scripted

GOOD = "---\ndescription: Finds faults.\n---\nBe strict.\n"
KEY = "---\ndescription: Sends mail.\n---\nLog in with sk-ant-api03-" + "Zx9Qv7Lm2Rt5Kp8Wn3" * 4 + "-AA\n"


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    """Two good ones, and one in the middle that the guard refuses."""
    for name, text in (("a", GOOD), ("b", KEY), ("c", GOOD)):
        (tmp_path / f"{name}.md").write_text(text)
    return tmp_path


def session() -> Session:
    return Session(model=Scripted(answers=["ok"]))


def test_all_are_added(agents: Path):
    (agents / "b.md").write_text(GOOD)
    s = session()
    assert s.subagents.add(agents) == ("a", "b", "c")
    assert s.subagents.names() == ("general-purpose", "a", "b", "c")


def test_where_one_is_refused_none_is_added(agents: Path):
    s = session()
    with pytest.raises(DeepnbError, match=r"/agents/b\.md.*Anthropic"):
        s.subagents.add(agents)
    assert dict(s.files) == {} and s.subagents.names() == ("general-purpose",)


def test_where_one_is_refused_those_that_were_replaced_are_as_they_were(agents: Path):
    s = session()
    old = GOOD.replace("strict", "mild")
    s.files["/agents/a.md"] = old
    with pytest.raises(DeepnbError):
        s.subagents.add(agents, replace=True)
    assert dict(s.files) == {"/agents/a.md": old}


def test_where_one_is_broken_none_is_added(agents: Path):
    (agents / "b.md").write_text("no frontmatter")
    s = session()
    with pytest.raises(DeepnbError, match=r"not added: .*b\.md:1: the first line is not ---"):
        s.subagents.add(agents)
    assert dict(s.files) == {}


def test_where_one_is_there_already_none_is_added(agents: Path):
    (agents / "b.md").unlink()
    s = session()
    s.files["/agents/c.md"] = GOOD
    with pytest.raises(DeepnbError, match="a subagent 'c' already exists"):
        s.subagents.add(agents)
    assert list(s.files) == ["/agents/c.md"]
