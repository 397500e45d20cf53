"""The journal of memory: who changed what, newest first, each change folded under its line."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.journal import Entry
from deepnb.views import html as h
from deepnb.views.numbers import counted
from deepnb.views.text import clean, indent, middle_cut, page, short, title_line

EMPTY = "no changes yet: type %memory add TEXT"
_CUT = (4_000, 2_000)
"""Characters of the head and tail of a long diff; `%memory log` has all of it."""


@dataclass(frozen=True)
class EntryView:
    """One entry as a line that opens to its diff."""

    entry: Entry

    @property
    def line(self) -> str:
        """`3 · user · turn 2 · /AGENTS.md · +- the first changed line`."""
        e = self.entry
        turn = f"turn {e.turn}" if e.turn else ""
        return " · ".join(filter(None, (e.id, e.origin, turn, e.path, self._change(), e.note)))

    def _change(self) -> str:
        lines = self.entry.diff.split("\n")
        start = next((i for i, line in enumerate(lines) if line.startswith("@@")), len(lines))
        changed = [line for line in lines[start:] if line.startswith(("+", "-"))]
        more = f" (+{len(changed) - 1})" if len(changed) > 1 else ""
        return f"{short(changed[0], 44)}{more}" if changed else ""

    def text(self) -> str:
        """The line."""
        return page([self.line])

    def html(self) -> str:
        """The line, which opens to the diff and the time."""
        diff = middle_cut(self.entry.diff, *_CUT) or "(no text)"
        return h.box(h.fold(self.line, h.muted(self.entry.at), h.pre(diff, low=True)))


@dataclass(frozen=True)
class JournalView:
    """The entries, newest first."""

    entries: tuple[Entry, ...]
    stamp: str = ""
    most: int = 20

    def text(self) -> str:
        """A line each; those left out are counted."""
        if not self.entries:
            return EMPTY
        head = clean(title_line(f"journal · {counted(len(self.entries), 'change')}", self.stamp))
        return "\n".join([head, *(indent(EntryView(e).text()) for e in self._shown), *self._rest])

    def html(self) -> str:
        """The journal, each line opening to its diff."""
        if not self.entries:
            return h.box(h.muted(EMPTY))
        lines = [h.Html(EntryView(e).html()) for e in self._shown]
        rest = [h.muted(line) for line in self._rest]
        return h.box(h.heading("journal", counted(len(self.entries), "change"), stamp=self.stamp), *lines, *rest)

    @property
    def _shown(self) -> tuple[Entry, ...]:
        return tuple(reversed(self.entries[-self.most :]))

    @property
    def _rest(self) -> list[str]:
        older = len(self.entries) - self.most
        return [f"{counted(older, 'older change')}: %memory log lists all"] if older > 0 else []


def journal_view(entries: Sequence[Entry], stamp: str = "", most: int = 20) -> JournalView:
    """The journal, oldest entry first as it is kept, of which the newest are shown."""
    return JournalView(tuple(entries), stamp, most)
