"""What everything shown has, text for a terminal and HTML for a notebook; and the views that most others are made of.

A view of facts that are looked at again is a frozen dataclass of its own; one that is only shown is a `Picture`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from deepnb.views import html as h
from deepnb.views.text import COLUMNS, clean, pad, page, short, title_line, width

Kind = Literal["note", "ok", "warning", "error", "hint"]
_EDGES = {"note": "rgba(128,128,128,0.5)", "ok": h.GREEN.format(0.8), "error": h.RED.format(0.8)}
_GAP = 2
_LEAST = 8
"""No column is made narrower than this to fit the page."""


@runtime_checkable
class View(Protocol):
    """A value that can be shown."""

    def text(self) -> str:
        """Return lines for a terminal, about 100 columns wide and complete without colour."""

    def html(self) -> str:
        """Return one <div> that reads well in a notebook, and with every style taken away."""


@runtime_checkable
class HasBundle(Protocol):
    """A view that a notebook shows as an output of its own."""

    @property
    def bundle(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """(MIME type -> data, metadata)."""


@dataclass(frozen=True)
class Picture:
    """Lines for a terminal and elements for a page, both below the same title."""

    title: Sequence[str]
    """What it is a picture of, then facts in short; empty for none."""
    lines: Sequence[str]
    body: Sequence[h.Child]
    stamp: str = ""
    """The thread and the turn that it is a record of."""
    wide: bool = False
    """Whether it takes all of the page."""

    def text(self) -> str:
        return page([title_line(" · ".join(self.title), self.stamp), *self.lines] if self.title else self.lines)

    def html(self) -> str:
        return h.box(h.heading(*self.title, stamp=self.stamp) if self.title else None, *self.body, wide=self.wide)


class Stack:
    """Views one below the other, as one."""

    def __init__(self, *views: View, gap: str = "\n\n") -> None:
        self._views, self._gap = views, gap

    def text(self) -> str:
        return self._gap.join(view.text() for view in self._views)

    def html(self) -> str:
        return "".join(view.html() for view in self._views)


def listing(rows: Sequence[tuple[str, str, str, Sequence[str]]]) -> list[str]:
    """Return (name, figure, what it is for, facts) of each row as a line, and a line for each fact below it."""
    names = min(32, max(width(name) for name, *_ in rows))
    lines = []
    for name, figure, about, facts in rows:
        words = short(" ".join(about.split()), 81 - names)
        lines.append(f"  {pad(short(name, names), names)}  {pad(figure, 13, right=True)}  {words}")
        lines += [" " * (names + 19) + fact for fact in facts]
    return lines


def notice_view(text: str, kind: Kind = "note") -> Picture:
    """Return a line the user should know of. What went well, and a hint, is said without a word before it."""
    line = " ".join(text.split())
    if kind == "hint":
        return Picture((), [line], [h.small(line)])
    edge = f"border-left:3px solid {_EDGES.get(kind, h.ORANGE.format(0.8))};padding:1px 10px"
    if kind == "ok":
        return Picture((), [line], [h.el("div", line, style=edge)])
    return Picture((), [f"{kind}: {line}"], [h.el("div", h.el("b", kind, ": "), line, style=edge)])


@dataclass(frozen=True)
class TextView:
    """A file, or any text, under its name: as it is, blanks at the ends of its lines included."""

    name: str
    body: str
    stamp: str = ""

    def text(self) -> str:
        body = clean(self.body).rstrip("\n")
        return f"{clean(title_line(self.name, self.stamp))}\n{body}" if self.name else body

    def html(self) -> str:
        top = h.heading(self.name, stamp=self.stamp) if self.name else None
        return h.box(top, h.pre(self.body.rstrip("\n")))


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return aligned columns, the widest shortened with … until a line fits `COLUMNS`."""
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in [head, *rows]]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    room = COLUMNS - _GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _LEAST:
        at = widths.index(max(widths))
        widths[at] = max(_LEAST, widths[at] - max(1, min(sum(widths) - room, widths[at] // 8)))
    lines = []
    for row in cells:
        made = (pad(short(cell, w), w, i in right) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        lines.append((" " * _GAP).join(made))
    rule = (" " * _GAP).join("─" * w for w in widths)
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def table_html(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, plain: bool = False
) -> h.Html:
    """Return a <table> with thin lines, its columns in `right` flush right; a `plain` one, without lines, is smaller."""

    def cell(tag: str, content: str, i: int, last: bool) -> h.Html:
        if plain:
            return h.el(tag, content, style=f"text-align:{'right' if i in right else 'left'};padding:1px 9px 1px 0")
        line = "" if last else f";border-bottom:1px solid {h.LINE}"
        side = "right;font-variant-numeric:tabular-nums;white-space:nowrap" if i in right else "left"
        look = f"text-align:{side};padding:2px 12px 2px 0;vertical-align:top;max-width:40em{line}"
        return h.el(tag, content, style=look)

    def row(tag: str, cells: Sequence[str], last: bool) -> h.Html:
        made = (cell(tag if c else "td", c, i, last) for i, c in enumerate(cells))
        return h.el("tr", *made, style="background:transparent")

    body = [row("td", cells, i == len(rows) - 1) for i, cells in enumerate(rows)]
    top = h.el("thead", row("th", head, False)) if any(head) else None
    look = "border-collapse:collapse;border:none;margin:4px 0;font-size:13px;color:inherit"
    return h.el("table", top, h.el("tbody", *body), style=look)


def table_view(
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    title: str = "",
    right: Sequence[int] = (),
    empty: str = "nothing to show",
    stamp: str = "",
) -> Picture:
    """Return rows of values as a table, a row that is too short filled up; or a line that says why there are none."""
    full = [[*map(str, row), *[""] * (len(head) - len(row))][: len(head)] for row in rows]
    line, body = (table_text(head, full, right), table_html(head, full, right)) if full else (empty, h.muted(empty))
    return Picture((title,) if title else (), [line], [body], stamp)
