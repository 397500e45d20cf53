"""What was removed from the prompt: the offloaded parts of the conversation, by time, each with what replaces it."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.values.offload import BroughtBack, HistoryMessage, HistorySection
from deepnb.values.text import moment
from deepnb.views import compaction
from deepnb.views import html as h
from deepnb.views.search_marks import NO_TERMS, SearchTerms, search_terms
from deepnb.views.text import counted, indent, middle_cut, pad, page, quoted, short, title_line

EMPTY = (
    "nothing offloaded yet: this happens when the context passes the trigger (%agent budget), or with %agent compact"
)
BRING = "%agent history --bring SECTION[:MESSAGES] adds messages to the next prompt, e.g. --bring 1:2,5-7"

_TEXT = (1_200, 600)
_HTML = (12_000, 4_000)
"""Characters of the head and tail of a text without its messages; the file has them all."""
_LINES = (16, 8)
"""Lines, or messages, of a section's head and tail in text."""
_ALL, _LEAST, _MOST = 60_000, 300, 6_000
"""Characters of messages in one picture, and of one message at least and at most."""
_ITEMS = 300
"""Messages of one section in a picture."""
_NEWEST = 4
WHERE = "to read the messages and summaries: %agent history; to search them: %agent history WORDS"
_HITS = 6
"""Lines of one message that are quoted where something was looked for."""


@dataclass(frozen=True)
class SectionMatch:
    """A section, and what is shown of it."""

    number: int
    """Counted from 1, by time: as it is brought back by."""
    section: HistorySection
    items: tuple[HistoryMessage, ...]
    """All of its messages, or those that hold what was looked for."""
    terms: SearchTerms

    @property
    def title(self) -> str:
        """`1. 2026-11-22 09:00:00`."""
        return f"{self.number}. {self.section.at[:19].replace('T', ' ') or 'time unknown'}"

    @property
    def is_foreign(self) -> bool:
        """Whether another program compacted: nothing of it can be brought back."""
        return self.section.offload is not None and self.section.offload.foreign

    @property
    def facts(self) -> tuple[str, ...]:
        """What set it off, how many messages went, tokens before and after, how many hold what was looked for."""
        found, offload = [], self.section.offload
        if offload:
            found.append(compaction.CAUSES.get(offload.cause, offload.cause))
        found.append(counted(self.section.messages, "message") + (" → summary" if offload else ""))
        found += [compaction.tokens(offload)] if offload and compaction.tokens(offload) else []
        found += [f"{len(self.items):,} found"] if self.terms else []
        return tuple(found)


@dataclass(frozen=True)
class HistoryView:
    """The sections, the oldest first; with something looked for, those that hold it."""

    sections: tuple[HistorySection, ...]
    stamp: str = ""
    terms: SearchTerms = NO_TERMS
    brought: BroughtBack | None = None
    """What is added to the next prompt."""
    brief: bool = False
    """Whether only the newest sections are listed, without their messages."""
    empty: str = EMPTY
    """What is said where there is no section."""

    @property
    def matches(self) -> tuple[SectionMatch, ...]:
        found = []
        for number, section in enumerate(self.sections, 1):
            items = section.items
            if self.terms:
                items = tuple(item for item in items if self.terms.all_in(f"{item.role}\n{item.text}"))
                around, offload = "" if section.items else section.text, section.offload
                if offload is not None:
                    noted = offload.flush.lines if offload.flush else ()
                    around = "\n".join([offload.summary, *(a.phrase or a.text for a in offload.anchors), *noted])
                if not items and not self.terms.all_in(around):
                    continue
            found.append(SectionMatch(number, section, items, self.terms))
        return tuple(found)

    @property
    def title(self) -> str:
        """`offloaded history · 2 sections · 44 messages`."""
        messages = sum(section.messages for section in self.sections)
        return f"offloaded history · {counted(len(self.sections), 'section')} · {counted(messages, 'message')}"

    @property
    def found_line(self) -> str | None:
        """How often what was looked for was found; None where nothing was."""
        if not self.terms:
            return None
        messages = sum(len(shown.items) for shown in self.matches)
        where = f"{counted(messages, 'message')} in {counted(len(self.matches), 'section')}"
        return f"search for {self.terms}: {where if self.matches else 'no matches'}"

    @property
    def brought_line(self) -> str | None:
        if self.brought is None:
            return None
        return f"added to the next prompt: {self.brought.line}; --bring none removes it"

    def text(self) -> str:
        if not self.sections:
            return page([title_line("offloaded history", self.stamp), self.empty])
        lines = [title_line(self.title, self.stamp), *filter(None, (self.brought_line, self.found_line))]
        if self.brief:
            heads = [indent(" · ".join((shown.title, *shown.facts))) for shown in self.matches[-_NEWEST:]]
            return page([*lines, *self._earlier, *heads, WHERE])
        for shown in self.matches:
            lines += ["", " · ".join((shown.title, *shown.facts)), *_section_lines(shown)]
        return page([*lines, "", BRING] if self.matches and not self.is_foreign else lines)

    def html(self) -> str:
        if not self.sections:
            return h.box(h.heading("offloaded history", stamp=self.stamp), h.muted(self.empty))
        body = [h.heading(*self.title.split(" · "), stamp=self.stamp)]
        body += [h.el("div", h.muted(line)) for line in (self.brought_line, self.found_line) if line]
        if self.brief:
            heads = [h.el("li", head_html(shown)) for shown in self.matches[-_NEWEST:]]
            return h.box(*body, *map(h.muted, self._earlier), h.el("ul", *heads), h.muted(WHERE))
        room = max(_LEAST, min(_MOST, _ALL // max(1, sum(len(one.items) for one in self.matches))))
        for shown in self.matches:
            inside = [h.label("messages")] if shown.items else []
            inside += [] if shown.section.items else [h.pre(middle_cut(shown.section.text, *_HTML), low=True)]
            section = 0 if shown.is_foreign else shown.number
            inside += [message_html(item, shown.terms, room, section) for item in shown.items[:_ITEMS]]
            if (more := len(shown.items) - _ITEMS) > 0:
                inside.append(h.el("div", h.muted(f"{more:,} more in the file: search to find them")))
            body.append(h.fold(head_html(shown), section_html(shown), *inside, opened=bool(self.terms)))
        return h.box(*body, h.muted(BRING) if self.matches and not self.is_foreign else None)

    @property
    def is_foreign(self) -> bool:
        return any(section.offload is not None and section.offload.foreign for section in self.sections)

    @property
    def _earlier(self) -> list[str]:
        more = len(self.matches) - _NEWEST
        return [f"{counted(more, 'earlier section')}"] if more > 0 else []


def history_view(
    sections: Sequence[HistorySection], stamp: str = "", search: str | None = None, brought: BroughtBack | None = None
) -> HistoryView:
    """Return the sections by time; those of the same time in the order they came in. `search` are words, or "a phrase"."""
    by_time = sorted(sections, key=lambda section: moment(section.at))
    return HistoryView(tuple(by_time), stamp, search_terms(search), brought)


def head_html(shown: SectionMatch) -> h.Html:
    return h.join(h.el("b", shown.title), h.muted(*(f" · {fact}" for fact in shown.facts)))


def section_html(shown: SectionMatch) -> h.Html:
    """Return what a section came to: its daily note, anchors and summary, and where its words are."""
    where = h.el("div", h.muted("saved verbatim in ", h.code(shown.section.path)))
    offload = shown.section.offload
    return h.join(compaction.facts_html(offload, shown.terms) if offload else None, where)


def message_html(item: HistoryMessage, terms: SearchTerms, room: int = _MOST, section: int = 0) -> h.Html:
    """Return one message, folded under its number, role and first words; what was looked for opens it.

    With its section's number it says what adds it to the next prompt.
    """
    bring = h.join(" ", h.code(bring_words(section, item))) if section and terms else None
    line = h.join(h.el("b", f"{item.number}"), f" {role(item)} ", h.muted("· ", short(item.text, 70)), bring)
    text = middle_cut(item.text, room * 3 // 4, room // 4)
    return h.fold(line, h.pre(terms.html(text), low=True), opened=bool(terms), framed=False)


def role(item: HistoryMessage) -> str:
    return item.role or "messages that can't be separated: the file was edited"


def _section_lines(shown: SectionMatch) -> list[str]:
    section = shown.section
    lines = compaction.facts_text(section.offload, shown.terms) if section.offload else []
    head, tail = _LINES
    if not section.items:
        text = quoted(middle_cut(section.text, *_TEXT))
        if len(text) > head + tail + 1:
            count = len(section.text.rstrip("\n").split("\n")) - head - tail
            text[head:-tail] = [f"  │ … {count:,} lines left out …"]
        return [*lines, f"  saved verbatim in {section.path}", *text]
    lines.append(f"  saved verbatim in {section.path}:")
    wide = max((len(role(item)) for item in shown.items), default=0)
    items = []
    for item in shown.items:
        line = f"  {item.number:>4}  {pad(short(role(item), min(wide, 24)), min(wide, 24))}  "
        if shown.terms:
            bring = "" if shown.is_foreign else bring_words(shown.number, item)
            items += [line + bring, *(f"        {found}" for found in shown.terms.lines(item.text, _HITS))]
        else:
            items.append(line + short(item.text, max(20, 98 - len(line))))
    if shown.terms or len(items) <= head + tail + 1:
        return lines + items
    return [*lines, *items[:head], f"  … {len(items) - head - tail:,} messages left out …", *items[-tail:]]


def bring_words(section: int, item: HistoryMessage) -> str:
    """Return what is typed to add a message of a section to the next prompt."""
    return f"%agent history --bring {section}:{item.number}"
