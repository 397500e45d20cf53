"""Every view there is, in which every text is a word of its own."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

from deepnb.values.offload import HistoryMessage, HistorySection, Offload
from deepnb.values.turn import Snapshot
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.views.history import history_view
from deepnb.views.memory import memory_view
from deepnb.views.view import View
from tests.support.hostile_views import Maker, arguments, brief_turn, functions

ANSWER = "word80 **word81** `word82` and [word83](https://a.example).\n\n- word84\n- word85"


class Words(Maker):
    """Makes values in which every text is a word of its own."""

    def __init__(self, other: bool = False) -> None:
        self._count, self.other = itertools.count(1), other

    @property
    def x(self) -> str:  # type: ignore[override]
        return f"word{next(self._count)}"


def history() -> list[HistorySection]:
    offload = Words()(Offload)
    items = (HistoryMessage(1, "user", "word91"), HistoryMessage(2, "assistant", "word92"))
    return [HistorySection("2026-11-22", "word93", "word94", 2, items, offload)]


def views() -> Iterator[tuple[str, View]]:
    for name, function in functions().items():
        for other in (False, True):
            yield f"{name}, {other}", function(**arguments(function, Words(other)))
    yield "turn", brief_turn(Words(), ANSWER)
    cards = [replace(Words(other)(CallCard), decision=None, gone="") for other in (False, True)]
    yield "calls that wait", ApprovalView(tuple(cards), "word99")
    yield "history", history_view(history())
    changed = Snapshot("main", {"/word1": "word2 word3"}, memory={"/word1": "word2 word4"})
    yield "memory that is newer", memory_view(changed, ["/word1"], len, "word9")
