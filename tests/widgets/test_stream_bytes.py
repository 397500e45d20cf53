"""What a streamed answer costs in bytes of messages: with its length, not with the square of it."""

import pytest

from tests.bench.stream import GROWTH, MOST, Wire, in_kernel, rooms, row, simulated, texts
from tests.support.tables import every_row

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
