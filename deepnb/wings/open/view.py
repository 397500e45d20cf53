"""A session made elsewhere: what it is, its context over time, and its turns; and a list of such sessions."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from deepnb.views import html as h
from deepnb.views.bar import MARK, plot_html, sampled, sparkline
from deepnb.views.text import cost, counted, percent, seconds, short, tokens
from deepnb.views.view import Picture, table_html, table_text
from deepnb.wings.open.values import SessionIndex, SessionRow

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


def opened_view(index: SessionIndex, name: str) -> Picture:
    """Return the first picture of a session that was opened as the thread `name`."""
    rows = [(what, text) for what, text in _rows(index) if text]
    lines, body = [f"{what:<13} {text}" for what, text in rows], [table_html(("", ""), rows)]
    figures, marks, _ = index.fills
    if len(figures) > 1:
        ends = f"{figures[0]:,} → {figures[-1]:,} tokens over {counted(len(figures), 'call')}"
        ends += f", {counted(index.compactions, 'compaction')} ({MARK})" if marks else ""
        signs = sparkline(*sampled(figures, marks, _SIGNS))
        lines += ["", f"context over time  {signs}", f"{'':<18} {ends}"]
        plot = plot_html(*sampled(figures, marks, _BARS))
        body += [h.label("context over time, in tokens"), plot, h.muted(ends)]
    if newest := index.turns[-_NEWEST:]:
        table = [
            (
                f"{turn.number}",
                short(turn.prompt, _WORDS) or "(no words)",
                short(_some([f"{name} {n}" if n > 1 else name for name, n in turn.tools.items()]), 40),
                "" if turn.context is None else f"{turn.context:,}",
                f"{turn.usage.input:,} / {turn.usage.output:,}" if turn.usage.input or turn.usage.output else "",
                seconds(turn.seconds),
                ", ".join(["compacted"] * bool(turn.compactions) + ["memory"] * bool(turn.edits)),
            )
            for turn in newest
        ]
        lines += ["", table_text(HEAD, table, right=(0, 3, 4, 5))]
        if len(newest) < len(index.turns):
            body.append(h.label(f"newest {len(newest)} of {counted(len(index.turns), 'turn')}"))
        body.append(table_html(HEAD, table, (0, 3, 4, 5)))
    todo = (
        "%agent turns lists the turns, %agent turns N shows one, %agent turns WORDS searches them",
        "%agent budget, %agent history, %agent transcript and %memory show the rest of it",
        "%agent fork NAME --at N goes on from turn N in a thread of your own",
    )
    body += [*(h.el("div", line) for line in index.notices), *(h.el("div", h.muted(line)) for line in todo)]
    title = ("opened", index.kind, counted(len(index.turns), "turn"))
    return Picture(title, ["", *lines, "", *index.notices, *todo], body, f"thread {name}")


def _rows(index: SessionIndex) -> Iterator[tuple[str, str]]:
    turns = index.turns
    yield "file", short(index.path, 200) + (f" ({size(index.bytes)})" if index.bytes else "")
    called = [(index.title, "{}"), (index.id, "id {}"), (index.cwd, "in {}"), (index.version, "version {}")]
    yield "session", " · ".join(form.format(short(text, 80)) for text, form in called if text)
    times = [at[:16].replace("T", " ") for turn in turns for at in (turn.started, turn.ended) if at]
    zone = " UTC" if any(turn.started.endswith(("Z", "+00:00")) for turn in turns) else ""
    yield "time", f"{times[0]} – {times[-1]}{zone}" if times else ""
    yield "models", _some([short(model, 40) for model in dict.fromkeys(m for turn in turns for m in turn.models)])
    nested = sum(bool(call.path) for turn in turns for call in turn.calls)
    own = sum(len(turn.calls) for turn in turns) - nested
    yield "calls", f"{own:,}" + (f", and {nested:,} of subagents" if nested else "")
    used: Counter[str] = Counter()
    for turn in turns:
        used.update(turn.tools)
        used.update(turn.nested_tools)
    yield "tools", _some([f"{short(name, 40)} {n:,}" for name, n in used.most_common()])
    spent = index.usage
    cached = f" ({percent(spent.cached, spent.input)} cached)" if spent.cached else ""
    paid = f", {cost(spent.cost)}" if spent.cost is not None else ""
    yield "tokens", f"{spent.input:,} in{cached}, {spent.output:,} out{paid}" if spent.input or spent.output else ""
    biggest, now = max(index.fills[0], default=0), ""
    exact = any(call.usage is not None for turn in turns for call in turn.calls)
    if (last := index.context) is not None:
        part = f" of {index.window:,} tokens ({percent(last, index.window)})" if index.window and last else " tokens"
        now = f"{tokens(last, exact)}{part} at the end, "
    compactions = f", {counted(index.compactions, 'compaction')}" if index.compactions else ""
    yield "context", f"{now}at most {tokens(biggest, exact)}{compactions}" if biggest else ""
    also = (f"{n:,} {what if n > 1 else what.removesuffix('s')}" for what, n in index.counts.items())
    yield "also", ", ".join(also)
    edited = Counter(edit.path for turn in turns for edit in turn.edits)
    yield "memory files", _some([f"{short(path, 60)} ({counted(n, 'edit')})" for path, n in edited.most_common()])
    yield "unreadable", counted(index.bad, "line") if index.bad else ""


def sessions_view(rows: Sequence[SessionRow], place: str) -> Picture:
    """Return the sessions of a directory, newest first, with the cell to type for each; `place` is empty if not known."""
    shown = rows[:_LISTED]
    lines, cells = list[str](), list[tuple[str, ...]]()
    for row in shown:
        at, kind = row.at[:16].replace("T", " "), short(row.kind, 20)
        large, about = size(row.bytes) if row.bytes else "", row.problem or row.prompt or "(no words)"
        lines += ["", "  ".join(filter(None, (at, kind, large, short(about, 56))))]
        lines += [] if row.problem else [f"  {open_cell(row)}"]
        typed = h.muted("can't be opened") if row.problem else h.code(open_cell(row))
        cells.append((at, kind, large, short(about, 72), typed))
    more = f", the newest {len(shown):,} are listed" if len(rows) > len(shown) else ""
    title = (f"sessions{f' in {short(place, 80)}' if place else ''}", f"{len(rows):,}{more}")
    if not rows:
        nothing = "no session of a known kind"
        return Picture(title, ["", nothing], [h.muted(nothing)])
    head = ("time", "made by", "size", "first words", "to open it")
    return Picture(title, lines, [table_html(head, cells, (2,))])


def open_cell(row: SessionRow) -> str:
    """Return what opens a session: a call where its path or its id can't be typed after a magic."""
    path, id_ = row.path, row.id
    if not path.isprintable() or "'" in path or not id_.isprintable() or any(map(str.isspace, id_)):
        return f"deepnb.open_session({path!r}, {id_!r})" if row.several else f"deepnb.open_session({path!r})"
    typed = shlex.quote(path) if any(sign in path for sign in _QUOTED) else path
    return f"%agent open {typed} --thread {id_}" if row.several else f"%agent open {typed}"


def size(count: int) -> str:
    """Return a number of bytes as `1.2 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:,.1f} {unit}"
    return counted(count, "byte")


def _some(words: Sequence[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
