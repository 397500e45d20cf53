"""The panel of approvals, in a terminal and in a kernel; threads that wait are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.approvals import ASK, TWO
from tests.support.kernels import WIDGET, Cell, Kernel
from tests.support.shells import Shell


def test_where_nothing_waits_it_says_what_to_type(shell: Shell):
    told = shell.ok("%agent panel approvals")
    assert "no call needs approval: %agent tools lists which would" in told
    shell.ok("%agent tools deny write_file")
    assert "write_file: deny" in shell.ok("%agent panel approvals")
    assert "no call needs approval" in shell.ok("%agent dashboard")


def test_it_lists_the_calls_of_all_threads_by_the_numbers_that_are_typed(shell: Shell, tmp_path: Path):
    shell.ok(f"%agent mount /work disk:{tmp_path}")
    shell.ok(ASK)
    shell.ok("%agent new side")
    shell.ok(TWO)
    shell.ok("%agent go")
    shell.ok("%agent reject 1 no")
    told = shell.ok("%agent panel approvals")
    rows = [line.split() for line in told.splitlines() if "write_file(" in line]
    assert [(row[0], row[1]) for row in rows] == [("main", "1"), ("side", "2")]
    assert "outside: asks before calls that can't be undone" in told
    threads = shell.ok("%agent threads")
    assert threads.count("needs approval") == 2
    shell.ok("%agent approve 2")
    assert shell.ok("%agent threads").count("needs approval") == 1
    shell.ok("%agent switch main")
    shell.ok("%agent approve")
    assert "no call needs approval" in shell.ok("%agent panel approvals")


@pytest.mark.kernel
def test_its_button_lets_the_run_go_on_below_the_card(kernel: Kernel, tmp_path: Path):
    kernel.ok(f"%agent mount /work disk:{tmp_path}")
    shown = kernel.ok("%agent panel approvals")
    assert any(WIDGET in data for data in shown.outputs.values())
    cell = Cell(kernel, ASK)
    cell.click("Approve", 0)
    assert (tmp_path / "report.md").read_text() == "hello world\n"
    whole = "\n".join(cell.texts)
    assert "[buttons]" not in whole and whole.index("approved") < whole.index("I wrote 1 line")
    panel_now = [d.get("text/plain", "") for id_, d in cell.ran.outputs.items() if id_ in shown.outputs]
    assert any("no call needs approval" in text for text in panel_now)


@pytest.mark.kernel
def test_a_call_without_a_card_is_decided_there_too(kernel: Kernel, tmp_path: Path):
    kernel.ok(f"%agent mount /work disk:{tmp_path}")
    kernel.ok("%agent panel approvals")
    cell = Cell(kernel, "import deepnb; turn = deepnb.current().run('write a file /work/report.md with: hello')")
    cell.click("Approve", 0)
    assert (tmp_path / "report.md").exists()
    assert kernel.value("deepnb.current().last.text") == "'I wrote 1 line to /work/report.md.'"


def test_what_names_a_card_that_may_be_lost_names_first_what_shows_it_whole(shell: Shell, tmp_path: Path):
    """Approving unread what a line shows cut would be the shortest way on."""
    shell.ok(f"%agent mount /work disk:{tmp_path}")
    rows = "\n".join(f"line {n}" for n in range(200))
    shell.ok(f"%%agent\nwrite a file /work/a.md with:\n{rows}\nTHE END")
    lines = {
        "a prompt": shell.fails("%agent go on"),
        "%agent": shell.ok("%agent"),
        "%agent turns 1": shell.ok("%agent turns 1"),
        "resume": shell.fails("%agent resume"),
        "a value": shell.ok("import deepnb; deepnb.current().turns[-1]"),
        "the calls": shell.ok("deepnb.current().asked"),
    }
    for what, text in lines.items():
        before = text.partition("%agent approve")[0]
        assert "THE END" in before or "%agent panel approvals" in before, f"{what}: {text}"
    assert "THE END" in shell.ok("%agent panel approvals"), "all of it"
