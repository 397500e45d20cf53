"""`kill -9` of a kernel whose session is kept, at random points of all that it does."""

import json
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from tests.support.forks import python
from tests.support.scripted import Scripted


def rounds(where: str, folder: Path, seed: str, count: int, *ops: str) -> None:
    command = [*python(), "-m", "tests.support.killed_session", where, str(folder), seed, str(count), *ops]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["problem"] == "", f"round {told.get('round')}: {told['problem']}"
    assert told["killed"] == count


@pytest.mark.parametrize("turns", [0, 1])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_prompt_of_which_only_the_input_is_kept_is_a_turn_that_goes_on(tmp_path, monkeypatch, turns, goes_on):
    """The kernel ends between the checkpoint of the input and the one after that."""
    there, then = tmp_path / "session.db", tmp_path / "then.db"
    s = Session(model=Scripted(answers=["answer"]), persist=str(there))
    for number in range(turns):
        s.run(f"prompt {number}")
    saver = s.workspace.persistence.database.saver  # type: ignore[union-attr]
    stored, copied, put, put_writes = set(), threading.Event(), saver.put, saver.put_writes
    adding = threading.Lock()  # the input and what is written of it are stored side by side

    def add(what: str) -> None:
        with adding:
            stored.add(what)
            if "input" in stored and not copied.is_set():
                with closing(sqlite3.connect(there)) as now, closing(sqlite3.connect(then)) as copy:
                    now.backup(copy)
                copied.set()

    def put_and_copy(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata["source"] == "loop":
            assert copied.wait(60)
        found = put(config, checkpoint, metadata, versions)
        add(metadata["source"])
        return found

    def put_writes_and_copy(*given: Any, **named: Any) -> None:
        assert copied.wait(60)
        put_writes(*given, **named)
        add("writes")

    monkeypatch.setattr(saver, "put", put_and_copy)
    monkeypatch.setattr(saver, "put_writes", put_writes_and_copy)
    s.run("the cut one")
    s.close()
    after = Session(model=Scripted(answers=["later", "last"]), persist=str(then))
    assert [turn.prompt for turn in after.turns] == [*(f"prompt {n}" for n in range(turns)), "the cut one"]
    assert after.pending == "interrupted before the first step: %agent resume"
    if goes_on:
        list(after.resume())
        assert (after.turns[-1].text, after.pending) == ("later", None)
    after.run("and on")
    assert after.text == ("last" if goes_on else "later")
    kept = ["the cut one"] * goes_on
    assert [m.text for m in after.snapshot.messages if m.role == "user"][turns:] == [*kept, "and on"]
    assert [turn.number for turn in after.turns] == list(range(1, turns + 3))


@pytest.mark.parametrize("where", ["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True)
@pytest.mark.parametrize(("seed", "count", "ops"), [
    pytest.param("short", 2, (), marks=pytest.mark.slow), pytest.param("memory", 4, ("memory",), marks=pytest.mark.slow),
    *(pytest.param(f"seed{n}", 20, (), marks=pytest.mark.nightly) for n in range(5)),
    *(pytest.param(f"memory{n}", 20, ("memory",), marks=pytest.mark.nightly) for n in range(5)),
])  # fmt: skip
def test_every_restart_resumes_and_neither_loses_nor_doubles_a_fact(where, tmp_path, seed, count, ops):
    """With `memory` the kill comes between the write of memory and the checkpoint."""
    rounds(where, tmp_path, seed, count, *ops)
