"""Amounts as widths: a bar of parts in cells, and a run of figures as a sparkline."""

from __future__ import annotations

from collections.abc import Sequence

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


def sparkline(figures: Sequence[int]) -> str:
    """One sign for each figure, the higher the more; the lowest sign is for nothing."""
    top = max([*figures, 1])
    return "".join(_SPARKS[min(7, max(0, f) * 7 // top)] for f in figures)


def spark_html(figures: Sequence[int]) -> h.Html:
    """Small bars side by side; with every style gone they are a sparkline."""
    top = max([*figures, 1])
    look = (
        "display:inline-block;width:7px;height:{}px;margin:0 1px 0 0;background:rgba(90,130,200,0.65);"
        "overflow:hidden;color:transparent;font-size:1px;line-height:1px;vertical-align:bottom;border-radius:1px"
    )
    bars = [
        h.el("span", sign, style=look.format(2 + max(0, f) * 26 // top), title=f"{f:,} tokens")
        for f, sign in zip(figures, sparkline(figures), strict=True)
    ]
    return h.el("span", *bars, style="white-space:nowrap")
