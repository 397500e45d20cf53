"""Places to keep sessions in: a file, and a database of one server for the whole run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from deepnb.backends.journal import replay
from tests.support import postgres
from tests.support.scripted import Scripted


def session(where: str | Path, *answers: Any, **options: Any) -> Session:
    """A session that is kept there, with a model that gives these answers."""
    return Session(model=Scripted(answers=list(answers) or ["ok"]), persist=where, **options)


def keep_both(one: Session, two: Session) -> None:
    """Two sessions in one place write one line: both have both texts."""
    one.memory.write("/AGENTS.md", "- l1\n- x\n")
    two.memory.read("/AGENTS.md")
    one.memory.write("/AGENTS.md", "- l1 AAA\n- x\n")
    assert two.memory.write("/AGENTS.md", "- l1 BBB\n- x\n").conflicts
    for s in (one, two):
        assert s.memory.read("/AGENTS.md") == "- l1 AAA\n- l1 BBB\n- x\n"
        assert [c.conflict.kept for c in s.memory.conflicts()] == ["- l1 AAA"]
        assert replay("/AGENTS.md", s.memory.log_entries()) == s.files["/AGENTS.md"]
        assert [e.id for e in s.memory.log_entries()] == ["1", "2", "3"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What `Session(persist=...)` is given."""
    return place(request, tmp_path)


def place(request: pytest.FixtureRequest, folder: Path) -> str:
    """A new place of the kind that a fixture's parameter names."""
    if request.param == "sqlite":
        return str(folder / "session.db")
    return postgres.new_database(request.getfixturevalue("postgres_server"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own directory, where the key is that approvals are signed with."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder
