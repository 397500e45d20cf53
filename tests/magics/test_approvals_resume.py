"""A run that a button on a card lets go on: in a real kernel, clicked as a front end does it, in the outputs kept for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from deepnb.magics.scene import FREE_OUTPUTS
from deepnb.values.turn import TextDelta
from deepnb.views.view import notice_view
from deepnb.widgets.screen import Notebook, Reserved
from deepnb.widgets.turn import MAX_OUTPUTS, NotebookTurn
from tests import IMPORT_TESTS
from tests.bench.stream import CHUNK, PACE, Wire, texts
from tests.support.kernels import Cell, Kernel, Ran
from tests.support.tables import every_row

SETUP = f"{IMPORT_TESTS}from tests.support.scripted import Scripted, call\n"


@pytest.fixture
def work(kernel: Kernel, tmp_path: Path) -> Path:
    kernel.ok(f"%agent mount /work disk:{tmp_path}\n{SETUP}")
    return tmp_path


WRITE = 'call("write_file", "w{0}", file_path="/work/{0}", content="x")'


def wire_of(ran: Ran) -> Wire:
    wire = Wire()
    for content in ran.of("update_display_data"):
        wire.take(0.0, content)
    return wire


@pytest.mark.slow
@pytest.mark.kernel
def test_a_long_answer_streams_below_the_card(kernel: Kernel, work: Path) -> None:
    answer = texts()["prose"](8_000)
    kernel.ok(f"m = Scripted(answers=[{WRITE.format('a')}, {answer!r}], delay=0.002)\n%agent use m")
    cell = Cell(kernel, "%agent go")
    assert not (work / "a").exists() and len(cell.made) <= MAX_OUTPUTS
    resumed = cell.click("Approve")
    assert (work / "a").read_text() == "x"
    shown = cell.texts
    (card,) = (n for n, text in enumerate(shown) if "approved" in text)
    below = "".join("\n".join(shown[card + 1 :]).split())
    assert "".join(answer.split()) in below, "all of it, below the card"
    assert "[buttons]" not in shown
    wire = wire_of(resumed)
    assert len(wire.sent) > 20, "it streams"
    assert wire.ratio <= 8


@pytest.mark.slow
@every_row("kind", ["prose", "one code block", "one table"])
def test_what_streams_into_kept_outputs_costs_little_more(kind: str) -> None:
    def ratio(length: int) -> float:
        wire, now, answer = Wire(), [0.0], texts()[kind](length)

        def publish(data: Any, metadata: Any = None, transient: Any = None, update: bool = False) -> None:
            wire.take(now[0], {"data": data, "metadata": {}, "transient": transient})

        with patch("IPython.display.publish_display_data", publish):
            room = Reserved(Notebook(), FREE_OUTPUTS)
            turn = NotebookTurn(room, 15.0, lambda: now[0], most=room.free)
            for at in range(0, length, CHUNK):
                now[0] = at / PACE
                turn.add(TextDelta(answer[at : at + CHUNK], 1))
            turn.finish(notice_view("the footer", "ok"))
        assert wire.outputs == FREE_OUTPUTS
        return wire.ratio

    short, long = ratio(20_000), ratio(40_000)
    print(f"{kind}: {short:.2f}, {long:.2f}")
    assert short <= 8 and long <= 1.5 * short


@pytest.mark.slow
@pytest.mark.kernel
def test_a_turn_that_fills_the_cell_leaves_room_for_what_comes_of_the_card(kernel: Kernel, work: Path) -> None:
    looks = [
        f'AIMessage("Look {n}. " + "word " * 200, tool_calls=[{{"name": "ls", "args": {{"path": "/{n}"}}, "id": "l{n}"}}])'
        for n in range(30)
    ]
    kernel.ok("from langchain_core.messages import AIMessage")
    kernel.ok(f'm = Scripted(answers=[{", ".join(looks)}, {WRITE.format("a")}, "Over and done."])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    assert len(cell.made) <= MAX_OUTPUTS
    assert "[buttons]" in cell.texts
    cell.click("Approve")
    whole = "\n".join(cell.texts)
    words = [*(f"Look {n}." for n in range(30)), "approved", "Over and done."]
    places = [whole.find(word) for word in words]
    assert -1 not in places and places == sorted(places), [*zip(words, places, strict=True)][-4:]


@pytest.mark.kernel
def test_one_card_after_the_other_has_its_buttons(kernel: Kernel, work: Path) -> None:
    names = "abcd"
    kernel.ok(f'm = Scripted(answers=[{", ".join(map(WRITE.format, names))}, "all four"])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    for n, name in enumerate(names, 1):
        assert cell.texts.count("[buttons]") == 1
        cell.click("Approve")
        assert (work / name).exists() and sum("approved" in text for text in cell.texts) == n
    assert "[buttons]" not in cell.texts and "all four" in "\n".join(cell.texts)
    assert len(cell.made) <= MAX_OUTPUTS


@pytest.mark.kernel
def test_a_mistake_after_the_click_is_said_below_the_card(kernel: Kernel, work: Path) -> None:
    kernel.ok(f'm = Scripted(answers=[{WRITE.format("a")}, RuntimeError("the line is dead"), "again"])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    cell.click("Approve")
    assert any("the line is dead: fix it, then %agent resume" in text for text in cell.texts)
    assert (work / "a").exists() and "again" in kernel.ok("%agent resume").text
