"""What a real kernel publishes: outputs updated in place, each also as text; and what answers and panels cost in bytes."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.bench.stream import GROWTH, MOST, Wire, in_kernel, rooms, row, simulated, texts
from tests.support.kernels import Kernel, Ran
from tests.support.tables import every_row

SLOW = """
from deepnb.models.teaching import TeachingModel
slow = TeachingModel(delay=0.02)
"""


def shown(ran: Ran) -> list[dict[str, Any]]:
    return ran.of("display_data", "update_display_data")


@pytest.mark.slow
@pytest.mark.kernel
def test_streamed_text_grows_in_place(kernel: Kernel) -> None:
    kernel.ok(f"{SLOW}\n%config DeepNB.stream_hz = 60")
    ran = kernel.ok("%agent --model slow what can you do?")
    made, updates = ran.of("display_data"), ran.of("update_display_data")
    assert len(made) == 2, "the answer and the footer"
    answer = made[0]["transient"]["display_id"]
    mine = [u["data"]["text/plain"] for u in updates if u["transient"]["display_id"] == answer]
    assert len(mine) >= 5 and len(updates) == len(mine)
    growing = [made[0], *updates]
    shown = [re.sub("<[^>]+>", "", content["data"]["text/html"]).strip() for content in growing]
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    assert "delegate a task to a subagent; summarize." in mine[-1], "its text is there in the end"


@pytest.mark.kernel
def test_a_record_never_changes_later(kernel: Kernel) -> None:
    record = kernel.ok("%memory")
    (id_,) = record.outputs
    assert id_ not in kernel.ok("%memory add I like cake").outputs


@pytest.mark.kernel
def test_only_the_first_turn_has_the_note_and_the_cell_id_of_the_front_end_is_known(kernel: Kernel) -> None:
    line = "a restart loses them"
    assert line in kernel.ok("%%agent\nthanks", cell_id="one").text
    again = kernel.ok("%%agent\nthanks", cell_id="one").text
    assert line not in again and "this cell was turn 1" in again
    assert "this cell was" not in kernel.ok("%%agent\nthanks", cell_id="two").text


@pytest.mark.kernel
def test_a_mistake_is_one_line_and_an_error_reply_and_so_is_a_refused_setting(kernel: Kernel) -> None:
    ran = kernel.run("%agent rewnd")
    assert ran.status == "error"
    assert ran.printed.strip().splitlines() == [
        "UsageError: no subcommand 'rewnd': type %agent rewind, or %agent -- rewnd to send it as a prompt"
    ]
    assert not ran.of("error")
    ran = kernel.run("%config DeepNB.model = 'nosuch'")
    lines = [line for s in ran.of("stream") for line in s["text"].splitlines()]
    assert len(lines) == 1 and "no model 'nosuch'" in lines[0]
    assert kernel.value("%config DeepNB.model") == "'offline'"


PANELS = (
    "%agent dashboard", "%memory panel", "%skills panel", "%agent panel", "%agent panel budget", "%agent panel history",
    "%agent panel prompt", "%agent panel threads",
)  # fmt: skip
"""As many as follow a session at once, and of each kind one whose tab is seen."""
PROMPTS = (
    "Remember that I prefer tabs over spaces", "what can you do?", "thanks", "what do you know about my preferences?",
    "The report is due in hall {n}. Don't touch report_{n}.csv",
)  # fmt: skip
TURNS = 200
SHOWN = ("display_data", "update_display_data", "stream", "comm_open", "comm_msg", "comm_close", "error")


def sent(ran: Ran) -> Counter[str]:
    """Bytes of content that a cell had published, by kind of message; widgets are told of by comm messages."""
    sizes: Counter[str] = Counter()
    for message in ran.messages:
        if message["msg_type"] in SHOWN:
            sizes[message["msg_type"]] += len(json.dumps(message["content"], ensure_ascii=False).encode())
    return sizes


def mean(turns: Sequence[Counter[str]]) -> float:
    return sum(map(Counter.total, turns)) / len(turns)


@pytest.mark.nightly
@pytest.mark.kernel
def test_bytes_of_a_turn_do_not_grow_over_two_hundred_turns_with_all_panels_open(kernel: Kernel) -> None:
    kernel.ok("%config DeepNB.window = 4600")
    twins = set()
    for panel in PANELS:
        twins |= {id_ for id_, data in kernel.ok(panel).outputs.items() if "text/html" in data}
    turns: list[Counter[str]] = []
    followed = set()
    for n in range(1, TURNS + 1):
        ran = kernel.ok("%%agent\n" + PROMPTS[n % len(PROMPTS)].format(n=n))
        followed |= twins & ran.outputs.keys()
        turns.append(sent(ran))
    assert followed == twins, "a panel that is not followed costs nothing"
    compactions = int(kernel.value("import deepnb; sum(turn.compacted for turn in deepnb.current().turns)"))
    assert compactions >= TURNS // 10, "the history grows"
    early, late = turns[19:40], turns[-20:]
    by_kind = {kind: sum(turn[kind] for turn in late) // len(late) for kind in SHOWN}
    print(f"bytes a turn: {mean(early):,.0f} in turns 20 to 40, {mean(late):,.0f} in the last 20", end="; ")
    print(f"ratio {mean(late) / mean(early):.3f}; {compactions} compactions; late by kind {by_kind}")
    assert mean(late) <= 1.05 * mean(early)


RATE, OUTPUTS = 4.0, 20


@pytest.mark.slow
@every_row("kind", texts())
def test_bytes_grow_with_the_text(kind: str) -> None:
    held(kind, 0)


@pytest.mark.nightly
@every_row("kind", texts())
@every_row("room", rooms())
def test_bytes_grow_with_the_text_below_a_card_too(kind: str, room: int) -> None:
    for wire in held(kind, room):
        assert wire.outputs == room
        filled = sum(map(bool, wire.data.values()))
        assert filled == (room if kind == "prose" else 2), "each holds whole blocks, the last one the footer"


def held(kind: str, room: int) -> list[Wire]:
    wires = {length: simulated(texts()[kind](length), room=room) for length in (20_000, 40_000)}
    for length, wire in wires.items():
        print(row(f"{kind}, {length:,}", wire))
        assert wire.outputs <= OUTPUTS
        assert wire.rate >= RATE
        assert wire.silence < 0.5
    assert wires[20_000].ratio <= MOST
    assert wires[40_000].ratio <= GROWTH * wires[20_000].ratio
    return list(wires.values())


@every_row("kind", ["prose", "one table"])
def test_the_end_is_as_small_as_if_it_came_at_once(kind: str) -> None:
    answer = texts()[kind](20_000)
    slowly, at_once = simulated(answer), simulated(answer, pace=1e9)
    assert slowly.final < 1.1 * at_once.final


def test_the_outputs_say_the_answer() -> None:
    answer = texts()["prose"](20_000)
    said = "".join(data.get("text/plain", "") for data in simulated(answer).data.values())
    assert "".join(said.split()).removesuffix("thefooter") == "".join(answer.split())


@pytest.mark.nightly
@pytest.mark.kernel
def test_a_real_kernel_in_real_time_sends_no_more() -> None:
    wires = {kind: in_kernel(kind, 20_000) for kind in ("prose", "one code block", "one table")}
    for kind, wire in wires.items():
        print(row(f"{kind}, 20,000, real", wire))
    assert not {kind: wire for kind, wire in wires.items() if wire.outputs > OUTPUTS or wire.ratio > MOST}
