"""A run that a button on a card lets go on: in a real kernel, clicked as a front end does it, in the outputs kept for it."""

from __future__ import annotations

import time
from pathlib import Path
from queue import Empty
from typing import Any
from unittest.mock import patch

import pytest
from kernels import HANG, Kernel, Ran
from stream_bench import CHUNK, PACE, Wire, texts

from deepnb.core.values import TextDelta
from deepnb.magics.approval_commands import KEPT
from deepnb.views.notice import notice_view
from deepnb.widgets.screen import Notebook, Reserved
from deepnb.widgets.turn import MAX_OUTPUTS, NotebookTurn

WIDGET = "application/vnd.jupyter.widget-view+json"
SETUP = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom scripted import Scripted, call\n"


class Cell:
    """One cell with all its messages: those of its run, and those of the clicks in it."""

    def __init__(self, kernel: Kernel, source: str) -> None:
        self.kernel = kernel
        self.ran = kernel.ok(source)
        self.made = [
            m["content"]["transient"]["display_id"] for m in self.ran.messages if m["msg_type"] == "display_data"
        ]

    def click(self, word: str, which: int = -1) -> Ran:
        """Click the newest button with this word on it, or another one; gives what came of it."""
        opened = [m["content"] for m in self.ran.messages if m["msg_type"] == "comm_open"]
        ids = [c["comm_id"] for c in opened if c["data"]["state"].get("description") == word]
        assert ids, f"no button {word!r}"
        client = self.kernel.client
        message = client.session.msg(
            "comm_msg",
            {"comm_id": ids[which], "data": {"method": "custom", "content": {"event": "click"}, "buffers": []}},
        )
        client.shell_channel.send(message)
        until, messages, idle = time.monotonic() + HANG, [], False
        while not idle:
            try:
                one = client.get_iopub_msg(timeout=1)
            except Empty:
                assert time.monotonic() < until, "the click hangs"
                continue
            if one["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                messages.append(one)
                idle = one["msg_type"] == "status" and one["content"]["execution_state"] == "idle"
        assert not [m for m in messages if m["msg_type"] in ("display_data", "error", "stream")], (
            "none of these is seen"
        )
        self.ran = Ran(self.ran.reply, [*self.ran.messages, *messages])
        return Ran({}, messages)

    @property
    def texts(self) -> list[str]:
        """What each output says, from top to bottom; buttons as `[buttons]`."""
        shown = self.ran.outputs
        return ["[buttons]" if WIDGET in shown[id_] else shown[id_]["text/plain"] for id_ in self.made]


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


@pytest.mark.kernel
def test_a_long_answer_streams_below_the_card(kernel: Kernel, work: Path) -> None:
    answer = texts()["prose"](8_000)
    kernel.ok(f"m = Scripted(answers=[{WRITE.format('a')}, {answer!r}], delay=0.002)\n%agent use m")
    cell = Cell(kernel, "%agent go")
    assert not (work / "a").exists() and len(cell.made) <= MAX_OUTPUTS
    resumed = cell.click("approve")
    assert (work / "a").read_text() == "x"
    shown = cell.texts
    (card,) = (n for n, text in enumerate(shown) if "approved" in text)
    below = "".join("\n".join(shown[card + 1 :]).split())
    assert "".join(answer.split()) in below, "all of it, below the card"
    assert "[buttons]" not in shown
    wire = wire_of(resumed)
    assert len(wire.sent) > 20, "it streams"
    assert wire.ratio <= 8


@pytest.mark.parametrize("kind", ["prose", "one code block", "one table"])
def test_what_streams_into_kept_outputs_costs_little_more(kind: str) -> None:
    def ratio(length: int) -> float:
        wire, now, answer = Wire(), [0.0], texts()[kind](length)

        def publish(data: Any, metadata: Any = None, transient: Any = None, update: bool = False) -> None:
            wire.take(now[0], {"data": data, "metadata": {}, "transient": transient})

        with patch("IPython.display.publish_display_data", publish):
            room = Reserved(Notebook(), KEPT)
            turn = NotebookTurn(room, 15.0, lambda: now[0], most=room.free)
            for at in range(0, length, CHUNK):
                now[0] = at / PACE
                turn.add(TextDelta(answer[at : at + CHUNK], 1))
            turn.finish(notice_view("the footer", "ok"))
        assert wire.outputs == KEPT
        return wire.ratio

    short, long = ratio(20_000), ratio(40_000)
    print(f"{kind}: {short:.2f}, {long:.2f}")
    assert short <= 8 and long <= 1.5 * short


@pytest.mark.kernel
def test_a_turn_that_fills_the_cell_leaves_room_for_what_comes_of_the_card(kernel: Kernel, work: Path) -> None:
    looks = [
        f'AIMessage("Look {n}. " + "word " * 200, tool_calls=[{{"name": "ls", "args": {{"path": "/"}}, "id": "l{n}"}}])'
        for n in range(30)
    ]
    kernel.ok("from langchain_core.messages import AIMessage")
    kernel.ok(f'm = Scripted(answers=[{", ".join(looks)}, {WRITE.format("a")}, "Over and done."])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    assert len(cell.made) <= MAX_OUTPUTS
    assert "[buttons]" in cell.texts
    cell.click("approve")
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
        cell.click("approve")
        assert (work / name).exists() and sum("approved" in text for text in cell.texts) == n
    assert "[buttons]" not in cell.texts and "all four" in "\n".join(cell.texts)
    assert len(cell.made) <= MAX_OUTPUTS


@pytest.mark.kernel
def test_a_mistake_after_the_click_is_said_below_the_card(kernel: Kernel, work: Path) -> None:
    kernel.ok(f'm = Scripted(answers=[{WRITE.format("a")}, RuntimeError("the line is dead"), "again"])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    cell.click("approve")
    assert any("the line is dead: nothing is lost" in text for text in cell.texts)
    assert (work / "a").exists() and "again" in kernel.ok("%agent resume").text
