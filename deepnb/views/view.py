"""What everything shown has: text for a terminal, HTML for a notebook.

One line the user should know of.

A text under its name.

Rows of cells as aligned text and as an HTML table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from deepnb.views import html as h
from deepnb.views.text import COLUMNS, clean, pad, page, short, title_line, width


@runtime_checkable
class View(Protocol):
    """A view-model: the facts are its fields, these two are how they look."""

    def text(self) -> str:
        """Lines for a terminal, about 100 columns, complete without colour."""
        ...

    def html(self) -> str:
        """One <div> that reads well in a notebook, and with every style taken away."""
        ...


@runtime_checkable
class HasParts(Protocol):
    """A view that can also be shown in parts, of which those that stay the same need not be sent again."""

    @property
    def parts(self) -> Sequence[str]:
        """The HTML of each part, from top to bottom."""


Kind = Literal["note", "ok", "warning", "error", "hint"]

_COLOURS = {"note": "rgba(128,128,128,0.5)", "ok": h.GREEN.format(0.8), "error": h.RED.format(0.8)}
_WARNING = "rgba(210,153,34,0.8)"


@dataclass(frozen=True)
class NoticeView:
    """The line, and how much it matters."""

    line: str
    kind: Kind = "note"

    def text(self) -> str:
        """`note: ...`; what went well, and a hint, is said without a word before it."""
        return page([self.line if self.kind in ("ok", "hint") else f"{self.kind}: {self.line}"])

    def html(self) -> str:
        """The line beside a thin coloured edge, its kind in a word; a hint is small and grey."""
        if self.kind == "hint":
            return h.box(h.el("div", self.line, style=f"{h.MUTED};font-size:12px"))
        colour = _COLOURS.get(self.kind, _WARNING)
        word = None if self.kind == "ok" else h.el("b", self.kind, ": ")
        return h.box(h.el("div", word, self.line, style=f"border-left:3px solid {colour};padding:1px 10px"))


def notice_view(text: str, kind: Kind = "note") -> NoticeView:
    """One line, as `note`, `ok`, `warning`, `error` or `hint`."""
    return NoticeView(" ".join(text.split()), kind)


@dataclass(frozen=True)
class TextView:
    """The text, whole."""

    name: str
    body: str
    stamp: str = ""

    def text(self) -> str:
        """The name, then the text as it is."""
        body = clean(self.body).rstrip("\n")
        return f"{clean(title_line(self.name, self.stamp))}\n{body}" if self.name else body

    def html(self) -> str:
        """The text in a block that keeps its lines."""
        top = h.heading(self.name, stamp=self.stamp) if self.name else None
        return h.box(top, h.pre(self.body.rstrip("\n")))


def text_view(name: str, body: str, stamp: str = "") -> TextView:
    """A file, or any text, under its name."""
    return TextView(name, body, stamp)


_GAP = 2
_LEAST = 8
"""No column is made narrower than this to fit the page."""


def table_text(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), columns: int = COLUMNS
) -> str:
    """Aligned columns, the widest shortened with … until a line fits `columns`."""
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in [head, *rows]]
    widths = _fit([max(map(width, column)) for column in zip(*cells, strict=True)], columns)
    lines = [
        (" " * _GAP).join(
            pad(short(cell, w), w, i in right) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    rule = (" " * _GAP).join("─" * w for w in widths)
    return "\n".join(line.rstrip() for line in [lines[0], rule, *lines[1:]])


def table_html(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), *, plain: bool = False
) -> h.Html:
    """A <table> with thin lines; figures of the columns in `right` are set flush right; a `plain` one, without lines, is smaller."""

    def cell(tag: str, content: str, i: int, last: bool) -> h.Html:
        if plain:
            return h.el(tag, content, style=f"text-align:{'right' if i in right else 'left'};padding:1px 9px 1px 0")
        line = "" if last else f";border-bottom:1px solid {h.LINE}"
        side = "right;font-variant-numeric:tabular-nums;white-space:nowrap" if i in right else "left"
        return h.el(
            tag, content, style=f"text-align:{side};padding:2px 12px 2px 0;vertical-align:top;max-width:40em{line}"
        )

    def row(tag: str, cells: Sequence[str], last: bool) -> h.Html:
        made = (cell(tag if c else "td", c, i, last) for i, c in enumerate(cells))
        return h.el("tr", *made, style="background:transparent")

    body = [row("td", cells, i == len(rows) - 1) for i, cells in enumerate(rows)]
    top = h.el("thead", row("th", head, False)) if any(head) else None
    return h.el(
        "table",
        top,
        h.el("tbody", *body),
        style="border-collapse:collapse;border:none;margin:4px 0;font-size:13px;color:inherit",
    )


@dataclass(frozen=True)
class TableView:
    """A titled table, or a line that says why it is empty."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    empty: str = "nothing to show"
    stamp: str = ""

    def text(self) -> str:
        """The title and the aligned rows."""
        body = table_text(self.head, self.rows, self.right) if self.rows else clean(self.empty)
        return f"{clean(title_line(self.title, self.stamp))}\n{body}" if self.title else body

    def html(self) -> str:
        """The title and the table."""
        top = h.heading(self.title, stamp=self.stamp) if self.title else None
        return h.box(top, table_html(self.head, self.rows, self.right) if self.rows else h.muted(self.empty))


def table_view(
    head: Sequence[str],
    rows: Sequence[Sequence[object]],
    title: str = "",
    right: Sequence[int] = (),
    empty: str = "nothing to show",
    stamp: str = "",
) -> TableView:
    """Any rows of values, shown as a table; a row that is too short is filled up."""
    full = [(*(str(cell) for cell in row), *("" for _ in range(len(head) - len(row)))) for row in rows]
    return TableView(title, tuple(head), tuple(row[: len(head)] for row in full), tuple(right), empty, stamp)


def _fit(widths: list[int], columns: int) -> list[int]:
    """The widths, the widest of them lowered until all fit."""
    room = columns - _GAP * (len(widths) - 1)
    while sum(widths) > room and max(widths) > _LEAST:
        at = widths.index(max(widths))
        widths[at] = max(_LEAST, widths[at] - max(1, min(sum(widths) - room, widths[at] // 8)))
    return widths
