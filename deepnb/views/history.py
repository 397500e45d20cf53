"""What left the prompt: the offloaded parts of the conversation, by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.values import HistorySection
from deepnb.views import html as h
from deepnb.views.figures import counted
from deepnb.views.plain import middle_cut, page, quoted, short, title_line

EMPTY = "nothing was offloaded yet: it happens when the context passes the trigger (%agent budget)"

_TEXT = (1_200, 600)
_HTML = (12_000, 4_000)
"""Characters of a section's head and tail that are shown; the file has them all."""
_LINES = (16, 8)
"""Lines of its head and tail in text."""


@dataclass(frozen=True)
class HistoryView:
    """The sections, the oldest first."""

    sections: tuple[HistorySection, ...]
    stamp: str = ""

    @property
    def title(self) -> str:
        """`offloaded history · 2 sections · 44 messages`."""
        messages = sum(section.messages for section in self.sections)
        return f"offloaded history · {counted(len(self.sections), 'section')} · {counted(messages, 'message')}"

    def text(self) -> str:
        """Each section under its time, with the head and the tail of its text."""
        if not self.sections:
            return page([title_line("offloaded history", self.stamp), EMPTY])
        lines = [title_line(self.title, self.stamp)]
        for section in self.sections:
            lines += ["", _head(section), *_some_lines(section.text)]
        return page(lines)

    def html(self) -> str:
        """Each section folded under its time, its count and its first words."""
        if not self.sections:
            return h.box(h.heading("offloaded history", stamp=self.stamp), h.muted(EMPTY))
        title, *facts = self.title.split(" · ")
        return h.box(h.heading(title, *facts, stamp=self.stamp), *(_fold(section) for section in self.sections))


def history_view(sections: Sequence[HistorySection], stamp: str = "") -> HistoryView:
    """The sections by time; those of the same time in the order they came in."""
    return HistoryView(tuple(sorted(sections, key=lambda section: section.at)), stamp)


def _head(section: HistorySection) -> str:
    return f"{_time(section)}  ({counted(section.messages, 'message')}, word for word in {section.path})"


def _some_lines(text: str) -> list[str]:
    lines = quoted(middle_cut(text, *_TEXT))
    head, tail = _LINES
    if len(lines) <= head + tail + 1:
        return lines
    count = len(text.rstrip("\n").split("\n")) - head - tail
    return [*lines[:head], f"  │ … {count:,} lines left out …", *lines[-tail:]]


def _fold(section: HistorySection) -> h.Html:
    words = h.muted(" · ", counted(section.messages, "message"), " · ", short(section.text, 60))
    where = h.el("div", h.muted("word for word in ", h.code(section.path)))
    return h.fold(h.join(h.el("b", _time(section)), words), where, h.pre(middle_cut(section.text, *_HTML), low=True))


def _time(section: HistorySection) -> str:
    """The time to the second, as a reader writes it."""
    return section.at[:19].replace("T", " ") or "time not known"
