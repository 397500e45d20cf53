"""`kill -9` of a real kernel whose session is kept: what the next one shows, and what its buttons do."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import IMPORT_TESTS
from tests.persistence.conftest import place
from tests.support.approvals import ASK
from tests.support.kernels import Cell, Kernel
from tests.support.walks import enter
from tests.support.wings import wing

pytestmark = pytest.mark.kernel


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
