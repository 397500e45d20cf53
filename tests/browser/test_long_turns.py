"""A turn of minutes in JupyterLab, in a real Chromium: what is seen while it runs, and every way to stop it.

The clock of the line that says how long it takes goes twenty times as fast as the tool that is waited for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import DARK, LIGHT, Notebook, jupyter_lab, marks, open_chromium, written

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

SETUP = f"""{IMPORT_TESTS}
%load_ext deepnb
import time
from deepnb.widgets.turn import NotebookTurn
from tests.support.scripted import Scripted, call
fast = lambda: time.monotonic() * 20
defaults = NotebookTurn.__init__.__defaults__
NotebookTurn.__init__.__defaults__ = tuple(fast if one is time.monotonic else one for one in defaults)
def wait(seconds: float) -> str:
    "Wait."
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.02)
    return "nothing to be seen there; " * 60
def waits(seconds, *after, times=1):
    calls = [call("wait", id=f"w{{n}}", seconds=seconds) for n in range(times)]
    return Scripted(answers=[*calls, *(after or ["All is **done**."])])
by_button, by_interrupt = waits(3, times=30), waits(3, times=30)
long, short = waits(60), waits(3)
code = waits(1, call("run_python", id="r", code="answer = 6 * 7; answer"), "it is 42")
doomed = waits(60)
%config DeepNB.window = 20000
%agent tools add wait
%agent tools allow wait
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("long")


@pytest.fixture(scope="module")
def lab(place: Path) -> Iterator[Notebook]:
    with jupyter_lab(place, place / "home") as address, open_chromium() as context:
        written(place / "long.ipynb", [SETUP])
        notebook = Notebook(context, address, "long.ipynb")
        notebook.run_all()
        yield notebook
        print(f"screenshots in {place}")


def seen(cell: Any, words: str) -> list[int]:
    """Look at a cell until it says something that matches; gives all it said of the context until then."""
    figures, until = list[int](), time.monotonic() + 60
    while not re.search(words, text := cell.inner_text()):
        assert time.monotonic() < until, text
        figures += [int(one.replace(",", "")) for one in re.findall(r"context ~?([\d,]+) of 20,000", text)]
        time.sleep(0.2)
    return list(dict.fromkeys(figures))


def five_minutes(lab: Notebook, model: str) -> Any:
    """A cell whose turn has taken five minutes; its gauge has moved meanwhile."""
    cell = lab.ask(f"%%agent --model {model}\nlook again and again")
    figures = seen(cell, r"\b([5-9]|1\d) min \d\d s · wait")
    assert len(figures) > 1 and figures == sorted(figures), "the gauge moves while the turn runs"
    return cell


def test_five_minutes_stopped_by_the_button(lab: Notebook, place: Path) -> None:
    cell = five_minutes(lab, "by_button")
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        lab.theme(theme)
        cell.locator("button", has_text="Stop").evaluate("button => button.scrollIntoView({ block: 'center' })")
        lab.page.screenshot(path=place / f"five-minutes-{name}.png")
    cell.get_by_role("button", name="Stop").click()
    seen(cell, "UsageError: interrupted in the tool wait")
    lab.finished()
    assert cell.get_by_role("button", name="Stop").count() == 0, "the button has gone with the line"
    assert " min " not in cell.inner_text().partition("turn 1")[0]
    # with `again` where the tool was cut; the click may also come just after its end
    assert re.search(r"%agent resume( again|$)", cell.inner_text(), re.M) and lab.errors == []


def test_five_minutes_stopped_by_interrupt(lab: Notebook) -> None:
    cell = five_minutes(lab, "by_interrupt")
    lab.command("Kernel > Interrupt Kernel")
    seen(cell, "UsageError: interrupted in the tool wait")
    lab.finished()


def test_three_in_the_background_beside_a_cell(lab: Notebook, place: Path) -> None:
    long, short, code = (
        lab.run(f"%%agent --bg --model {model}\nlook at {model}") for model in ("long", "short", "code")
    )
    other = lab.ask("until = time.monotonic() + 6\nwhile time.monotonic() < until: time.sleep(0.05)\n'other is done'")
    for cell in (long, short):
        seen(cell, r"as of \d\d:\d\d:\d\d: .* · wait · context")
    lab.page.screenshot(path=place / "background.png")
    long.get_by_role("button", name="Stop").click()
    seen(long, "job 1 stopped after .* interrupted in the tool wait")
    assert "*" in other.locator(".jp-InputPrompt").inner_text(), "it is heard while another cell runs"
    lab.finished()
    assert "other is done" in other.inner_text()
    seen(short, r"job 2 done after [\s\S]*All is done")
    code.get_by_role("button", name="Approve", exact=True).click()
    seen(code, r"job 3 done after [\s\S]*it is 42")
    assert "42" in lab.run("answer").inner_text()
    lab.page.screenshot(path=place / "background-done.png")
    assert lab.errors == []


def test_a_restart_under_one(lab: Notebook, place: Path) -> None:
    cell = lab.run("%%agent --bg --model doomed\nlook at doomed")
    seen(cell, r"as of \d\d:\d\d:\d\d: .* · wait")
    lab.command("Kernel > Restart Kernel…")
    lab.page.get_by_role("button", name="Confirm Kernel Restart").click()
    lab.ready()
    text = cell.inner_text()
    assert "it runs in this kernel only: a restart ends it, and what is shown below is as far as it got" in text
    assert re.search(r"as of \d\d:\d\d:\d\d: ", text), "what it was doing then, and when that was"
    lab.run("%load_ext deepnb")
    assert "no background jobs yet" in lab.run("%agent jobs").inner_text()
    lab.page.screenshot(path=place / "restarted.png")
    lab.save()
    saved = nbformat.read(place / "long.ipynb", as_version=4)
    source = next(one for one in saved.cells if "--model doomed" in one.source)
    texts = [output["data"].get("text/plain", "") for output in source.outputs]
    assert texts[0].startswith("job 4 in thread job-4, a fork of main · started ")
    assert texts[1] == "%agent jobs stop 4 stops it" and any(text.startswith("as of ") for text in texts)
