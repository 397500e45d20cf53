"""What open panels cost on the wire: with all of them open a turn sends no more late in a thread than early in it."""

import json
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.support.kernels import Kernel, Ran

pytestmark = [pytest.mark.kernel, pytest.mark.nightly]

PANELS = (
    "%agent dashboard",
    "%memory panel",
    "%skills panel",
    "%agent panel",
    "%agent panel budget",
    "%agent panel history",
    "%agent panel prompt",
    "%agent panel threads",
)
"""As many as follow a session at once, and of each kind one whose tab is seen."""
PROMPTS = (
    "Remember that I prefer tabs over spaces",
    "what can you do?",
    "thanks",
    "what do you know about my preferences?",
    "The report is due in hall {n}. Don't touch report_{n}.csv",
)
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
