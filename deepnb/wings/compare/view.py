"""A prompt with several options, side by side: answers, tool calls, figures, and where they differ."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import cast

from deepnb.values.budget import PARTS
from deepnb.views import html as h
from deepnb.views.data_images import without_data
from deepnb.views.diff import counts, marks, pieces, rows, words
from deepnb.views.markdown import markdown_html
from deepnb.views.search_marks import MARK
from deepnb.views.text import clean, cost, counted, indent, page, percent, seconds, short, tokens
from deepnb.views.tool import Status, Tool, call_line, tool_html
from deepnb.views.turn import model_words
from deepnb.views.view import table_html, table_text
from deepnb.wings.compare.column import Column, State

DIFFERS = "≠"
_STATES: dict[State, str] = {"running": "running …", "waiting": "waits for its turn"}
_COLOURS = {"failed": h.RED.format(0.2), "done": h.GREEN.format(0.18)}
_UNKNOWN = "–"
_BRIEF = 96
"""Columns of an answer in short."""
_CACHEABLE = "cacheable: the share of the input that the provider can have kept from the request before"
_CARD = f"flex:1 1 17em;min-width:0;box-sizing:border-box;border:1px solid {h.LINE};border-radius:6px;padding:6px 10px"
"""Cards side by side while each has 17em of room, else below each other."""


@dataclass(frozen=True)
class Figure:
    """One figure of every column."""

    label: str
    values: tuple[str, ...]
    compared: bool = True
    """False for what is never the same: the time."""

    @property
    def differs(self) -> bool:
        """Whether the columns that have it differ in it."""
        return self.compared and len({value for value in self.values if value != _UNKNOWN}) > 1


@dataclass(frozen=True)
class ComparisonView:
    """The columns, the figures below them, and what became of the forks."""

    columns: tuple[Column, ...]
    figures: tuple[Figure, ...]
    lines: tuple[str, ...]
    brief: bool = False
    """Whether answers and calls are cut to their first words."""

    @property
    def title(self) -> str:
        """`comparison · memory_refresh`."""
        return f"comparison · {', '.join(self.columns[0].options)}"

    def text(self) -> str:
        lines = [self.title]
        answers = marked_text([c.answer for c in self.columns])
        for column, answer, same in zip(self.columns, answers, self._same(), strict=True):
            said = same or (short(answer, _BRIEF) if self.brief else answer)
            state = _STATES.get(column.state, column.state)
            lines += ["", f"{column.name}  {state}", *([indent(said)] if answer else [])]
            calls = () if self.brief else _calls(column)
            lines += [f"  {DIFFERS if self._only(call) else '→'} {call_line(*call)}  {how}" for call, how in calls]
            lines += [f"  {line}" for line in _remarks(column)]
        return page([*lines, "", table_text(*self._table()), "", *self.lines])

    def html(self) -> str:
        answers = marked_html([column.answer for column in self.columns])
        mark = h.el("mark", f"{DIFFERS} differs", style=MARK)
        edge = f"border-left:3px solid {h.ORANGE.format(0.8)};padding:0 8px;margin:4px 0"
        cards = []
        for column, answer, same in zip(self.columns, answers, self._same(), strict=True):
            colour = _COLOURS.get(column.state, h.ORANGE.format(0.22))
            state = h.swatch(_STATES.get(column.state, column.state), colour)
            top = h.el("div", h.el("b", column.name), " ", state)
            calls = (
                h.el("div", mark if self._only(call) else None, tool_html(Tool("", *call, status=cast(Status, how))))
                for call, how in _calls(column)
            )
            remarks = (h.el("div", line, style=edge) for line in _remarks(column))
            cards.append(h.el("div", top, h.muted(same) if same else answer, *calls, *remarks, style=_CARD))
        side = h.el("div", *cards, style="display:flex;flex-wrap:wrap;gap:8px;margin:4px 0 8px 0")
        head, rows, right = self._table()
        wraps = [[h.el("b" if row[0] else "span", cell, style="white-space:normal") for cell in row] for row in rows]
        table = h.el("div", table_html(head, wraps, right), style="overflow-x:auto")
        title, what = self.title.split(" · ", 1)
        return h.box(h.heading(title, what), side, table, *map(h.small, self.lines), wide=True)

    def _same(self) -> list[str]:
        """Return what is said in place of an answer that an earlier column has; empty for any other."""
        first: dict[str, str] = {}
        names = [first.setdefault(column.answer, column.name) for column in self.columns]
        pairs = zip(names, self.columns, strict=True)
        return [f"(the same answer as with {name})" if one.answer and name != one.name else "" for name, one in pairs]

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]], tuple[int, ...]]:
        rows = [(DIFFERS if one.differs else "", one.label, *one.values) for one in self.figures]
        names = (", ".join(column.options.values()) for column in self.columns)
        return ("", "", *names), rows, tuple(range(2, len(self.columns) + 2))

    def _only(self, call: tuple[str, object]) -> bool:
        ended = [column for column in self.columns if column.state == "done"]
        return any(all(call != other for other, _ in _calls(column)) for column in ended)


def comparison_view(columns: Sequence[Column], thread: str) -> ComparisonView:
    return ComparisonView(tuple(columns), tuple(_figures(columns)), tuple(_lines(columns, thread)))


def _figures(columns: Sequence[Column]) -> Iterator[Figure]:
    def row(label: str, values: Iterable[str], compared: bool = True) -> Figure:
        return Figure(label, tuple(v if c.calls else _UNKNOWN for c, v in zip(columns, values, strict=True)), compared)

    model = row("model", (model_words(c.turn.model) if c.turn else _UNKNOWN for c in columns))
    if any(value not in (_UNKNOWN, c.options.get("model")) for value, c in zip(model.values, columns, strict=True)):
        yield model
    if any(c.turn and c.turn.after.memory for c in columns):
        yield row("memory in the prompt", ("stale" if c.stale else "current" for c in columns))
    budgets = [c.budget for c in columns]
    yield row("context", (tokens(b.total, b.exact) if b else _UNKNOWN for b in budgets))
    for part in PARTS:
        if any(b and b.parts.get(part) for b in budgets):
            yield row(f"· {part}", (tokens(b.parts.get(part, 0)) if b else _UNKNOWN for b in budgets))
    yield row("tokens in", (tokens(c.usage.input, c.usage.exact) for c in columns))
    yield row("tokens out", (tokens(c.usage.output, c.usage.exact) for c in columns))
    if any(c.cached is not None for c in columns):
        yield row("cached", (_UNKNOWN if c.cached is None else percent(c.cached, 1) for c in columns))
    yield row("cacheable", (_UNKNOWN if c.cacheable is None else percent(c.cacheable, 1) for c in columns))
    yield row("model calls", (f"{len(c.calls):,}" for c in columns))
    yield row("tool calls", (f"{len(c.tool_calls):,}" for c in columns))
    if any(c.compactions for c in columns):
        yield row("compactions", (f"{c.compactions:,}" for c in columns))
    if any(c.changed for c in columns):
        changes = ([f"{diff.path} {counts(rows(diff))}" for diff in c.changed] for c in columns)
        yield row("files changed", (", ".join(one) or "none" for one in changes))
    if any(c.usage.cost is not None for c in columns):
        yield row("cost", (_UNKNOWN if c.usage.cost is None else cost(c.usage.cost) for c in columns))
    yield row("time", (seconds(c.turn.seconds) if c.turn else _UNKNOWN for c in columns), compared=False)


def _lines(columns: Sequence[Column], thread: str) -> Iterator[str]:
    yield f"{DIFFERS} and marked words: not the same in all columns"
    yield _CACHEABLE
    kept = [column.thread for column in columns if column.thread]
    if any(column.state in _STATES for column in columns):
        return
    forks = f"kept as {', '.join(kept)}, with a memory of {'its' if len(kept) == 1 else 'their'} own" if kept else ""
    left = sum(column.state != "not run" for column in columns) - len(kept)
    dropped = f"{counted(left, 'fork')} dropped" if left else ""
    yield f"thread {thread} and its memory are as before · {'; '.join(filter(None, (forks, dropped)))}"


def _remarks(column: Column) -> list[str]:
    """Return what was said of it, that its model did not know of a change of memory, and how it ended, where not well."""
    stale = [f"stale: the memory in its prompt is older than {', '.join(column.stale)}"] if column.stale else []
    return [*column.notes, *stale, *([column.problem] if column.problem else [])]


def _calls(column: Column) -> list[tuple[tuple[str, dict[str, object]], str]]:
    return [((call.name, dict(call.args)), how) for call, how in column.tool_calls]


# -- answers with the words marked in which they differ


# <b title="x"> | $$x$$ | $x$ | \(x\) | \[x\]
_TAG = re.compile(r"""(<(?:[^">]|"[^"]*")*>|\$\$[^<]+?\$\$|\$[^$<]+\$|\\\([^<]+?\\\)|\\\[[^<]+?\\\])""")
"""A tag, or a formula: an element within it would break it."""
_FORMULA = re.compile(r"[$\\]")
"""What may be part of a formula that was not found."""


def marked_text(answers: Sequence[str]) -> list[str]:
    texts = [clean(without_data(answer)) for answer in answers]
    split = [pieces(text, marked) for text, marked in zip(texts, marks(texts), strict=True)]
    return ["".join(f"»{piece.text}«" if piece.changed else piece.text for piece in one) for one in split]


def marked_html(answers: Sequence[str]) -> list[h.Html]:
    split = [_TAG.split(markdown_html(answer)) for answer in answers]
    texts = [[unescape(node) for node in nodes[::2]] for nodes in split]  # every other one is a tag or a formula
    made = []
    for nodes, given, marked in zip(split, texts, marks([" ".join(nodes) for nodes in texts]), strict=True):
        at, out = 0, list[str]()
        for number, text in enumerate(given):
            count = len(words(text))
            here, at = marked[at : at + count], at + count
            if any(here) and not _FORMULA.search(text):
                for piece in pieces(text, here):
                    same = h.Html(escape(piece.text, quote=False).replace("\xa0", "&nbsp;"))  # as it was written there
                    out.append(h.el("mark", same, style=MARK) if piece.changed else same)
            else:
                out.append(nodes[2 * number])
            out += nodes[2 * number + 1 : 2 * number + 2]
        made.append(h.Html("".join(out)))
    return made
