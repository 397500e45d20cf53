"""Places to keep sessions in: a file, and a database of one server for the whole run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from tests.support import postgres
from tests.support.databases import made_checkpointer
from tests.support.scripted import Scripted


def session(where: Any, *answers: Any, **options: Any) -> Session:
    """A session that is kept there, in a place or by a checkpointer, with a model that gives these answers."""
    kept = {"persist" if isinstance(where, str | Path) else "checkpointer": where}
    return Session(model=Scripted(answers=list(answers) or ["ok"]), **kept, **options)


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


@pytest.fixture(params=["memory", "file", "sqlite", "postgres"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A checkpointer, or a place: what outlives a session."""
    with made_checkpointer(request.param, tmp_path) as made:
        yield place(request, tmp_path) if made is None else made


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own directory, where the key is that approvals are signed with."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder
