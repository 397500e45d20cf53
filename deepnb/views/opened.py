"""A session made elsewhere: what it is, its context over time, and its turns; and a list of such sessions."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from deepnb.core.passages import TurnPassage
from deepnb.core.session_file import FileTurn, SessionIndex, SessionRow
from deepnb.views import html as h
from deepnb.views.bar import MARK, plot_html, sampled, sparkline
from deepnb.views.search_marks import search_terms
from deepnb.views.text import cost, counted, page, percent, seconds, short, title_line, tokens
from deepnb.views.view import TableView, table_html, table_text, table_view

_BARS, _SIGNS = 90, 60
"""Columns of the plot, and of the sparkline, that all calls of a session are put into."""
_NEWEST = 6
"""Turns that the first picture lists."""
_LISTED = 300
"""Turns, or sessions, in one table."""
_NAMED = 6
_WORDS = 44
_QUOTED = ' "?!,;:'
"""Signs of a path that make it stand in quotes."""
HEAD = ("turn", "prompt", "tools", "context", "in / out", "time", "")


@dataclass(frozen=True)
class OpenedView:
    """What is known of it before anything of its content is read."""

    index: SessionIndex
    name: str
    """Of its thread here."""

    @property
    def title(self) -> str:
        """`opened · Claude Code · 128 turns`."""
        return f"opened · {self.index.kind} · {counted(len(self.index.turns), 'turn')}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """(what, figures), those that are not known left out."""
        index = self.index
        called = [(index.title, "{}"), (index.id, "id {}"), (index.cwd, "in {}"), (index.version, "version {}")]
        turns = index.turns
        models = dict.fromkeys(model for turn in turns for model in turn.models)
        rows = [
            ("file", f"{short(index.path, 200)} ({size(index.bytes)})"),
            ("session", " · ".join(form.format(short(text, 80)) for text, form in called if text)),
            ("time", _span(turns)),
            ("models", _some([short(model, 40) for model in models])),
            ("calls", _calls(turns)),
            ("tools", _tools(turns)),
            ("tokens", _spent(index)),
            ("context", self._context()),
            (
                "also",
                ", ".join(f"{n:,} {what if n > 1 else what.removesuffix('s')}" for what, n in index.counts.items()),
            ),
            ("memory files", _memory(turns)),
            ("unknown", _some([f"{n:,} × {short(what, 40)}" for what, n in index.unknown.items()])),
            ("unreadable", _unreadable(index)),
        ]
        return tuple((what, text) for what, text in rows if text)

    @property
    def next(self) -> tuple[str, ...]:
        """What to type."""
        lines = ["%agent turns lists the turns, %agent turns N shows one, %agent turns WORDS searches them"]
        lines.append("%agent budget, %agent history, %agent transcript and %memory show the rest of it")
        return (*lines, "%agent fork NAME --at N goes on from turn N in a thread of your own")

    @cached_property
    def series(self) -> tuple[list[int], list[int]]:
        """(context size at each call of the main agent, indices of those that a compaction came before)."""
        return context_series(self.index.turns)

    def text(self) -> str:
        """The figures, the context as a line of signs, the newest turns, and what to type."""
        lines = [title_line(self.title, f"thread {self.name}"), ""]
        lines += [f"{what:<13} {text}" for what, text in self.rows]
        if len(self.series[0]) > 1:
            lines += ["", f"context over time  {sparkline(*sampled(*self.series, _SIGNS))}", f"{'':<18} {self._ends()}"]
        if self.index.turns:
            lines += ["", table_text(HEAD, turn_rows(self.index.turns[-_NEWEST:]), right=(0, 3, 4, 5))]
        return page([*lines, "", *self.index.notices, *self.next])

    def html(self) -> str:
        """The opened session, with the context as a plot."""
        title, *facts = self.title.split(" · ")
        body: list[h.Child] = [h.heading(title, *facts, stamp=f"thread {self.name}")]
        body.append(table_html(("", ""), self.rows))
        if len(self.series[0]) > 1:
            figures, marks = sampled(*self.series, _BARS)
            body += [h.label("context over time, in tokens"), plot_html(figures, marks), h.muted(self._ends())]
        if self.index.turns:
            newest = self.index.turns[-_NEWEST:]
            if len(newest) < len(self.index.turns):
                body.append(h.label(f"newest {len(newest)} of {counted(len(self.index.turns), 'turn')}"))
            body += [table_html(HEAD, turn_rows(newest), (0, 3, 4, 5))]
        body += [h.el("div", line) for line in self.index.notices]
        return h.box(*body, *(h.el("div", h.muted(line)) for line in self.next))

    def _context(self) -> str:
        index, biggest = self.index, max(self.series[0], default=0)
        if not biggest:
            return ""
        last, exact = index.context, _reported(index.turns)
        now = "" if last is None else tokens(last, exact)
        of = f" of {index.window:,} tokens ({percent(last, index.window)})" if index.window and last else " tokens"
        compactions = f", {counted(index.compactions, 'compaction')}" if index.compactions else ""
        return f"{f'{now}{of} at the end, ' if now else ''}at most {tokens(biggest, exact)}{compactions}"

    def _ends(self) -> str:
        figures, marks = self.series
        words = f"{figures[0]:,} → {figures[-1]:,} tokens over {counted(len(figures), 'call')}"
        return words + (f", {counted(self.index.compactions, 'compaction')} ({MARK})" if marks else "")


def opened_view(index: SessionIndex, name: str) -> OpenedView:
    """The first picture of a session that was opened."""
    return OpenedView(index, name)


def context_series(turns: Sequence[FileTurn]) -> tuple[list[int], list[int]]:
    """(tokens of each request of the main agent for an answer, indices of those that a compaction came before)."""
    figures: list[int] = []
    marks: list[int] = []
    for turn in turns:
        own = [call for call in turn.calls if not call.path]
        for n in range(len(own) + 1):
            if any(one.calls == n for one in turn.compactions):
                marks.append(len(figures))
            if n < len(own) and own[n].purpose == "answer" and (given := _given(own[n])):
                figures.append(given)
    return figures, sorted({mark for mark in marks if mark < len(figures)})


def _given(call: object) -> int:
    usage, budget = getattr(call, "usage", None), getattr(call, "budget", None)
    return int(usage.input if usage is not None else budget.total if budget is not None else 0)


def file_turns_view(turns: Sequence[FileTurn], stamp: str = "") -> TableView:
    """The turns of an opened session, as its index has them."""
    shown = turns[-_LISTED:]
    title = "turns" if len(shown) == len(turns) else f"turns · the last {len(shown):,} of {len(turns):,}"
    empty = "this session has no turns"
    return table_view(HEAD, turn_rows(shown), title, (0, 3, 4, 5), empty, stamp)


def turn_rows(turns: Sequence[FileTurn]) -> list[tuple[str, ...]]:
    """A row for each turn."""
    return [
        (
            f"{turn.number}",
            short(turn.prompt, _WORDS) or ("(begins in the middle)" if turn.begin == "start" else "(no words)"),
            short(_some([f"{name} {n}" if n > 1 else name for name, n in turn.tools.items()]), 40),
            "" if turn.context is None else f"{turn.context:,}",
            f"{turn.usage.input:,} / {turn.usage.output:,}" if turn.usage.input or turn.usage.output else "",
            seconds(_took(turn)),
            ", ".join(_flags(turn)),
        )
        for turn in turns
    ]


def found_view(passages: Sequence[TurnPassage], words: str, stamp: str = "") -> TableView:
    """What a search found: turn, what it is, and the line with the words."""
    terms = search_terms(words)
    rows = [
        (f"{one.turn}", short(one.what, 24), short(next(iter(terms.lines(one.text, 1)), one.text), 200))
        for one in passages[:_LISTED]
    ]
    more = f", the first {_LISTED}" if len(passages) > _LISTED else ""
    title = f"{words}: {counted(len(passages), 'passage')}{more}"
    return table_view(("turn", "where", "text"), rows, title, (0,), f"nothing holds {words}", stamp)


@dataclass(frozen=True)
class SessionsView:
    """Sessions that can be opened, the newest first, each with the cell to type."""

    rows: tuple[SessionRow, ...]
    place: str
    """The directory, as it was named; empty where it is not known."""

    @property
    def shown(self) -> tuple[SessionRow, ...]:
        """The sessions that are listed."""
        return self.rows[:_LISTED]

    @property
    def title(self) -> str:
        """`sessions below ~/.claude · 12`."""
        where = f" in {short(self.place, 80)}" if self.place else ""
        more = f", the newest {len(self.shown):,} are listed" if len(self.rows) > len(self.shown) else ""
        return f"sessions{where} · {len(self.rows):,}{more}"

    def text(self) -> str:
        """Two lines for each: what it is, and what opens it."""
        lines = [self.title]
        for row in self.shown:
            facts = (*_row_facts(row)[:3], row.context and f"{row.context:,} tokens", short(_about(row), 56))
            lines += [
                "",
                "  ".join(str(fact) for fact in facts if fact),
                *([f"  {open_cell(row)}"] if not row.problem else []),
            ]
        return page(lines if self.rows else [*lines, "", "no session of a known kind"])

    def html(self) -> str:
        """A table."""
        head = ("time", "made by", "size", "context", "first words", "to open it")
        cells = [
            (
                *_row_facts(row),
                short(_about(row), 72),
                h.code(open_cell(row)) if not row.problem else h.muted("can't be opened"),
            )
            for row in self.shown
        ]
        title, *facts = self.title.split(" · ")
        body = table_html(head, cells, (2, 3)) if cells else h.muted("no session of a known kind")
        return h.box(h.heading(title, *facts), body)


def sessions_view(rows: Sequence[SessionRow], place: str) -> SessionsView:
    """The sessions below a directory, with the cell to type for each."""
    return SessionsView(tuple(rows), place)


def _row_facts(row: SessionRow) -> tuple[str, str, str, str]:
    context = "" if row.context is None else f"{row.context:,}"
    return row.at[:16].replace("T", " "), short(row.kind, 20), size(row.bytes) if row.bytes else "", context


def _about(row: SessionRow) -> str:
    return row.problem or row.prompt or "(no words)"


def open_cell(row: SessionRow) -> str:
    """What opens a session; empty where its path or its id can't be typed."""
    path, id_ = row.path, row.id
    if not path.isprintable() or "'" in path or not id_.isprintable() or any(map(str.isspace, id_)):
        return f"deepnb.open_session({path!r}, {id_!r})" if row.several else f"deepnb.open_session({path!r})"
    typed = shlex.quote(path) if any(sign in path for sign in _QUOTED) else path
    return f"%agent open {typed} --thread {id_}" if row.several else f"%agent open {typed}"


def size(count: int) -> str:
    """`1.2 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:,.1f} {unit}"
    return counted(count, "byte")


def _span(turns: Sequence[FileTurn]) -> str:
    times = [at[:16].replace("T", " ") for turn in turns for at in (turn.started, turn.ended) if at]
    zone = " UTC" if any(turn.started.endswith(("Z", "+00:00")) for turn in turns) else ""
    return f"{times[0]} – {times[-1]}{zone}" if times else ""


def _calls(turns: Sequence[FileTurn]) -> str:
    nested = sum(bool(call.path) for turn in turns for call in turn.calls)
    own = sum(len(turn.calls) for turn in turns) - nested
    return f"{own:,}" + (f", and {nested:,} of subagents" if nested else "")


def _tools(turns: Sequence[FileTurn]) -> str:
    used: Counter[str] = Counter()
    for turn in turns:
        used.update(turn.tools)
        used.update(turn.nested_tools)
    return _some([f"{short(name, 40)} {n:,}" for name, n in used.most_common()])


def _spent(index: SessionIndex) -> str:
    usage = index.usage
    if not usage.input and not usage.output:
        return ""
    paid = f", {cost(usage.cost)}" if usage.cost is not None else ""
    cached = f" ({percent(usage.cached, usage.input)} cached)" if usage.cached else ""
    return f"{usage.input:,} in{cached}, {usage.output:,} out{paid}"


def _memory(turns: Sequence[FileTurn]) -> str:
    edited = Counter(edit.path for turn in turns for edit in turn.edits)
    return _some([f"{short(path, 60)} ({counted(n, 'edit')})" for path, n in edited.most_common()])


def _unreadable(index: SessionIndex) -> str:
    if not index.bad:
        return ""
    return f"{counted(index.bad, 'line')}: {_some([str(n) for n in index.bad_lines])}"


def _some(words: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _reported(turns: Sequence[FileTurn]) -> bool:
    return any(call.usage is not None for turn in turns for call in turn.calls)


def _took(turn: FileTurn) -> float:
    from datetime import datetime

    try:
        return max(0.0, (datetime.fromisoformat(turn.ended) - datetime.fromisoformat(turn.started)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _flags(turn: FileTurn) -> Iterator[str]:
    if turn.compactions:
        yield "compacted"
    if turn.edits:
        yield "memory"
