"""A compaction and the history it leaves, as values."""

from dataclasses import replace

from deepnb.values.offload import Anchor, Flush, HistoryMessage, HistorySection, Offload

FLUSH = Flush("/memory/2026-11-22.md", ("- one", "- two"))
OFFLOAD = Offload(
    "/conversation_history/main.md", "Ada asked.", 20, before=6_812, after=3_104, anchors=(Anchor("path", "/a/b.py"),),
    flush=FLUSH, messages=12,
)  # fmt: skip
ITEMS = (
    HistoryMessage(1, "user", "Which planet has the most moons?\nSay it in one line."),
    HistoryMessage(2, "tool look", "Saturn 146\nJupiter 95"),
    HistoryMessage(3, "assistant", "Saturn has the most MOONS."),
)
SECTION = HistorySection("2026-11-22T09:00:00+00:00", "/h.md", "", 3, ITEMS, replace(OFFLOAD, messages=3))
LATER = replace(
    SECTION, at="2026-11-22T10:00:00", items=(HistoryMessage(1, "user", "thanks"),), messages=1, offload=None
)
