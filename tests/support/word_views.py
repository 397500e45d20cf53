"""Every view there is, in which every text is a word of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from deepnb.values.offload import HistoryMessage, HistorySection, Offload
from deepnb.values.turn import Compacted, Notice, Snapshot, TextDelta, ThinkingDelta, ToolEnded, ToolStarted
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.views.history import history_view
from deepnb.views.memory import memory_view
from deepnb.views.turn_segments import Segments
from deepnb.views.view import View
from tests.support.hostile_views import Maker, arguments, functions


class Words(Maker):
    """Makes values in which every text is a word of its own."""

    def __init__(self, other: bool = False) -> None:
        self._count, self.other = itertools.count(1), other

    @property
    def x(self) -> str:  # type: ignore[override]
        return f"word{next(self._count)}"


def turn() -> Segments:
    """A turn with one of each kind of thing in it."""
    segments = Segments()
    for event in (
        ThinkingDelta("word1", 1),
        ToolStarted("t", "task", {"subagent_type": "word2", "description": "word3"}),
        TextDelta("word4", 2, path=("t",)),
        ToolEnded("t", "task", "word5", "ok", 1.0),
        ToolStarted("c", "word6", {"word7": "word8"}),
        ToolEnded("c", "word6", "word9", "error", 1.0),
        Notice("word10"),
        Compacted(Offload("word11", "word12", 3)),
        TextDelta("word13 **word14** `word15` and [word16](https://a.example).\n\n- word17\n- word18", 3),
    ):
        segments.add(event)
    segments.close()
    return segments


def history() -> list[HistorySection]:
    offload = Words()(Offload)
    items = (HistoryMessage(1, "user", "word91"), HistoryMessage(2, "assistant", "word92"))
    return [HistorySection("2026-11-22", "word93", "word94", 2, items, offload)]


def views() -> Iterator[tuple[str, View]]:
    for name, function in functions().items():
        for other in (False, True):
            yield f"{name}, {other}", function(**arguments(function, Words(other)))
    yield "turn", turn()
    cards = [replace(Words(other)(CallCard), decision=None, gone="") for other in (False, True)]
    yield "calls that wait", ApprovalView(tuple(cards), "word99")
    yield "history", history_view(history())
    changed = Snapshot("main", {"/word1": "word2 word3"}, memory={"/word1": "word2 word4"})
    yield "memory that is newer", memory_view(changed, ["/word1"], len, "word9")
