"""`kill -9` of a kernel whose session is kept: at random points of all that it does; what the next one shows, what its buttons do."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from tests import IMPORT_TESTS
from tests.persistence.conftest import place
from tests.support.approvals import ASK
from tests.support.forks import python
from tests.support.kernels import Cell, Kernel
from tests.support.scripted import Scripted, enter, walked
from tests.support.tables import wing


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
    walked(s, "run the cut one", "close")
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


@pytest.mark.parametrize(("seed", "count", "ops"), [
    pytest.param("short", 2, (), marks=pytest.mark.slow), pytest.param("memory", 4, ("memory",), marks=pytest.mark.slow),
    *(pytest.param(f"seed{n}", 20, (), marks=pytest.mark.nightly) for n in range(5)),
    *(pytest.param(f"memory{n}", 20, ("memory",), marks=pytest.mark.nightly) for n in range(5)),
])  # fmt: skip
def test_every_restart_resumes_and_neither_loses_nor_doubles_a_fact(where, tmp_path, seed, count, ops):
    """With `memory` the kill comes between the write of memory and the checkpoint."""
    command = [*python(), "-m", "tests.support.killed_session", where, str(tmp_path), seed, str(count), *ops]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["problem"] == "", f"round {told.get('round')}: {told['problem']}"
    assert told["killed"] == count


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return place(request, tmp_path)


@contextmanager
def kernel(folder: Path, where: str, *cells: str) -> Iterator[tuple[Kernel, Cell]]:
    """A new kernel in which these cells have run, and then the one that keeps its session."""
    home = {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    made = Kernel(str(folder), {**os.environ, **home}, [sys.executable])  # it is killed, and no client of it
    try:
        for cell in ("%load_ext deepnb", *cells):
            made.ok(cell)
        yield made, Cell(made, f"%agent persist {where}")
    finally:
        made.close()


def kill(made: Kernel) -> None:
    made.manager.signal_kernel(signal.SIGKILL)
    made.manager.provisioner.process.wait(60)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.kernel
def test_the_next_kernel_shows_the_card_and_its_button_lets_the_turn_go_on(where, tmp_path):
    work = tmp_path / "work"
    mount = f"%agent mount /work disk:{work}"
    with kernel(tmp_path, where, mount) as (first, _):
        asked = first.ok(ASK)
        html = next(d["text/html"] for d in asked.outputs.values() if "needs your approval" in d.get("text/html", ""))
        assert "the cell with %agent persist shows this card again" in html and "run its cell again" not in html
        kill(first)
    assert not work.exists() or not list(work.iterdir())
    with kernel(tmp_path, where, mount) as (second, cell):
        assert "1 call that needs your approval" in cell.texts[0]
        assert "needs your approval · 1 call" in cell.texts[1] and "+hello world" in cell.texts[1]
        assert cell.texts[2] == "[buttons]" and "turn 1 · main" in cell.texts[3]
        cell.click("Approve")
        assert (work / "report.md").read_text() == "hello world\n"
        assert "[buttons]" not in cell.texts and "approved" in cell.texts[1]
        assert "I wrote 1 line to /work/report.md." in "\n".join(cell.texts[2:])
        assert second.value("import deepnb; len(deepnb.current().turns)") == "1"


JOB = f"""{IMPORT_TESTS}
import time
from pathlib import Path
from tests.support.scripted import Scripted, call
def gate() -> str:
    "Wait for the file `open`."
    Path("begun").touch()
    while not Path("open").exists():
        time.sleep(0.02)
    return "through"
%agent tools add gate
%agent tools allow gate
"""
BEGUN = "while not Path('begun').exists(): time.sleep(0.02)"


@pytest.mark.slow
@pytest.mark.kernel
@wing("compare")
def test_a_job_that_ran_is_named_in_the_next_kernel_and_can_go_on(where, tmp_path):
    with kernel(tmp_path, where, JOB) as (first, _):
        enter(first, 'm = Scripted(answers=["one", call("gate"), "never"])\n%agent use m', "%agent one")
        shown = first.ok("%agent --bg go through the gate").text
        assert "a restart ends it, and after it %agent persist says how to go on" in shown
        enter(first, BEGUN, "%agent use offline\n%agent two")
        kill(first)
    (tmp_path / "open").touch()
    with kernel(tmp_path, where, JOB) as (second, cell):
        cut = "thread job-1: the tool gate was interrupted: %agent switch job-1, then %agent resume again, or %agent resume skip"
        assert "2 threads, 2 turns in thread main" in cell.texts[0] and cell.texts[1].strip() == cut
        second.ok('m = Scripted(answers=["it is through"])\n%agent use m\n%agent switch job-1')
        assert "it is through" in second.ok("%agent resume again").text
        prompts = "[t.prompt for t in deepnb.current().turns]"
        assert second.value(f"import deepnb; {prompts}") == "['one', 'go through the gate']"
        second.ok("%agent switch main")
        assert second.value(prompts) == "['one', 'two']"
