"""Amounts as widths: a bar of parts in cells, and a run of figures as a sparkline."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deepnb.views import html as h

_SPARKS = "▁▂▃▄▅▆▇█"


def cells(amounts: Sequence[int], scale: int, columns: int) -> list[int]:
    """How many of `columns` each amount takes where `scale` takes all.

    An amount above nothing takes at least one cell, and never do all together take more than
    `columns`: the widest gives way.
    """
    sizes = [max(0, amount) for amount in amounts]
    scale = max(scale, sum(sizes), 1)
    taken = [max(1, round(size * columns / scale)) if size else 0 for size in sizes]
    while sum(taken) > columns:
        taken[taken.index(max(taken))] -= 1
    return taken


def position(at: int, scale: int, columns: int) -> int:
    """The cell in front of which a mark stands, from 0 to `columns`."""
    return max(0, min(columns, round(at * columns / scale))) if scale > 0 else 0


MARK = "↓"
"""Stands in a sparkline before the first figure after a compaction."""


def sparkline(figures: Sequence[int], marks: Collection[int] = ()) -> str:
    """One sign for each figure, the higher the more; the lowest sign is for nothing. `marks` are indices."""
    top = max([*figures, 1])
    signs = [_SPARKS[min(7, max(0, f) * 7 // top)] for f in figures]
    return "".join(MARK + sign if i in marks else sign for i, sign in enumerate(signs))


def spark_html(figures: Sequence[int], marks: Collection[int] = ()) -> h.Html:
    """Small bars side by side, an arrow before each of the marked; with every style gone they are a sparkline."""
    top = max([*figures, 1])
    look = (
        "display:inline-block;width:7px;height:{}px;margin:0 1px 0 0;background:rgba(90,130,200,0.65);"
        "overflow:hidden;color:transparent;font-size:1px;line-height:1px;vertical-align:bottom;border-radius:1px"
    )
    bars: list[h.Child] = []
    for i, (f, sign) in enumerate(zip(figures, sparkline(figures), strict=True)):
        bars += [h.el("span", MARK, style="padding:0 2px", title="compacted")] if i in marks else []
        bars.append(h.el("span", sign, style=look.format(2 + max(0, f) * 26 // top), title=f"{f:,} tokens"))
    return h.el("span", *bars, style="white-space:nowrap")
