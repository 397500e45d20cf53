"""Amounts as widths: a bar of parts in cells, and a run of figures as a sparkline."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from deepnb.views import html as h
from deepnb.views.text import counted

_SPARKS = "▁▂▃▄▅▆▇█"
MARK = "↓"
"""Stands in a sparkline before the first figure after a compaction."""
_FAR = 4
"""A line more than this many times above the highest figure is not drawn: the bars would be too small to be seen."""
_PLOT = 0.84
"""The part of the frame's height that the top figure takes; above it is room for the arrows."""
HIGH = 72
_LINE = 3
"""What the line and the frame's edge take: the bars below the trigger end below it."""
_FRAME = (
    f"display:flex;align-items:flex-end;height:{HIGH}px;max-width:600px;overflow:hidden;border-bottom:1px solid {h.LINE};"
    "font-family:monospace;font-size:1px;line-height:1px;color:transparent"
)
BAR, CHOSEN = "rgba(90,130,200,0.65)", "rgba(210,120,30,0.9)"
_BAR = f"flex:0 1 14px;height:{{}}%;margin:0 1px 0 0;background:{BAR};border:1px solid;box-sizing:border-box"
"""In forced colours its ground is gone, and the border, else as transparent as the text, is drawn."""
_UPRIGHT = "align-self:stretch;border-left:1px dashed #888;font-size:12px;line-height:11px;opacity:0.75"
LEVEL = f"2px solid {h.RED.format(0.75)}"
_LEVEL = f"height:{{}}px;margin:-{{}}px 0 0 0;border-top:{LEVEL};max-width:600px;box-sizing:border-box"


def cells(amounts: Sequence[int], scale: int, columns: int) -> list[int]:
    """Return how many of `columns` each amount takes where `scale` takes all.

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
    """Return the cell in front of which a mark stands, from 0 to `columns`."""
    return max(0, min(columns, round(at * columns / scale))) if scale > 0 else 0


def sparkline(figures: Sequence[int], marks: Collection[int] = ()) -> str:
    """Return one sign for each figure, the higher the more; the lowest sign is for nothing. `marks` are indices."""
    top = max([*figures, 1])
    signs = [_SPARKS[min(7, max(0, f) * 7 // top)] for f in figures]
    return "".join(MARK + sign if i in marks else sign for i, sign in enumerate(signs))


def plot_html(figures: Sequence[int], marks: Collection[int] = (), line: int | None = None) -> h.Html:
    """Return bars side by side with a level `line` across them, and a dashed upright before each of the marked.

    The frame has a fixed height, the bars a part of it, and the line is the border of an empty element that a margin
    draws over them: plain values, which the sanitizers of notebooks leave. With every style gone the bars are a
    sparkline.
    """
    bars: list[h.Child] = []
    heights, high = plot_sizes(figures, line)
    for i, (figure, sign) in enumerate(zip(figures, sparkline(figures), strict=True)):
        bars += [h.el("span", MARK, style=_UPRIGHT, title="compacted")] if i in marks else []
        bars.append(h.el("span", sign, style=_BAR.format(heights[i]), title=counted(figure, "token")))
    plot = h.el("div", *bars, style=_FRAME)
    return plot if high is None else h.join(plot, h.el("div", style=_LEVEL.format(high, high)))


def plot_sizes(figures: Sequence[int], line: int | None) -> tuple[list[int], int | None]:
    """Return the heights of the bars in percent, and of the line in pixels; None for one that is far above them."""
    highest = max([*figures, 1])
    drawn = line is not None and line <= _FAR * highest
    top = max(highest, line) if line is not None and drawn else highest
    high = round(HIGH * _PLOT * line / top) + _LINE if line is not None and drawn else None
    return [max(2, round(100 * _PLOT * max(0, figure) / top)) for figure in figures], high


def sampled(figures: Sequence[int], marks: Collection[int], most: int) -> tuple[list[int], list[int]]:
    """Return at most so many figures that stand for all: of neighbours the highest, marked where one of them is."""
    if len(figures) <= most:
        return list(figures), sorted(marks)
    spans = list(pairwise([n * len(figures) // most for n in range(most + 1)]))
    tops = [max(figures[start:end]) for start, end in spans]
    return tops, [n for n, (start, end) in enumerate(spans) if any(start <= mark < end for mark in marks)]
