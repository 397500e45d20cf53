"""A compaction: its cause, what was removed, the summary in its place, what was kept, and where the text is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deepnb.core.anchors import Anchor
from deepnb.core.offload import Flush, Offload
from deepnb.views import html as h
from deepnb.views.numbers import counted
from deepnb.views.search_marks import NO_TERMS, SearchTerms
from deepnb.views.text import pad, page, quoted, short, title_line

CAUSES = {"trigger": "at the trigger", "by hand": "on request", "overflow": "the request was too long for the model"}

_KINDS = {
    "prohibition": "the user said",
    "statement": "the user said",
    "path": "paths",
    "identifier": "identifiers",
    "number": "numbers",
    "date": "dates",
    "name": "names",
}
_SHOWN = 40
"""Anchors of one kind that are listed."""
_LABEL = 12
NO_SUMMARY = "no summary that can be read"
"""Of another program's compaction, which may be encrypted."""


def line(offload: Offload) -> str:
    """All that happened, in one line."""
    if offload.foreign:
        return f"context compacted ({CAUSES.get(offload.cause, offload.cause)}){tokens(offload, ': ')}"
    parts = [f"{went(offload)} → summary{tokens(offload, ', ')}"]
    parts += [flush_line(offload.flush)] if offload.flush and offload.flush.lines else []
    parts += [f"{counted(len(offload.anchors), 'key fact')} kept"] if offload.anchors else []
    parts += ["the context is no smaller"] if offload.before and offload.after >= offload.before else []
    parts += [] if offload.path else ["the history file could not be written"]
    return f"context compacted ({CAUSES.get(offload.cause, offload.cause)}): {'; '.join(parts)}"


def went(offload: Offload) -> str:
    """`24 messages`."""
    return counted(offload.messages or offload.cutoff, "message")


def tokens(offload: Offload, before: str = "") -> str:
    """`6,812 → 3,104 tokens`; nothing where that is not known."""
    known = offload.before or offload.after
    if offload.foreign and not (offload.before and offload.after):
        return f"{before}{known:,} tokens {'before it' if offload.before else 'after it'}" if known else ""
    return f"{before}{offload.before:,} → {offload.after:,} tokens" if known else ""


def flush_line(flush: Flush | None) -> str:
    """`2 facts to /memory/2026-11-22.md`."""
    if flush is None:
        return "no daily note was written"
    by_rules = " (chosen by rules)" if flush.how == "rules" else ""
    if not flush.lines:
        return f"nothing worth keeping{by_rules}"
    return f"{counted(len(flush.lines), 'fact')} to {flush.file}{by_rules}"


def anchors(offload: Offload) -> str:
    """`14 added to the summary; 3 more in the file`."""
    if not offload.anchors and not offload.hidden:
        return "none missing from the summary"
    hidden = len(offload.hidden) + offload.more
    more = f"; {hidden:,} more in the file" if hidden else ""
    return f"{len(offload.anchors):,} added to the summary{more}"


def by_kind(found: Sequence[Anchor]) -> list[tuple[str, str]]:
    """(kind in words, what there is of it) in the order of the prompt."""
    out = []
    for kind, words in _KINDS.items():
        texts = [a.phrase or a.text for a in found if a.kind == kind]
        more = f" … and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
        if texts:
            out.append((words, " | ".join(texts[:_SHOWN]) + more))
    return out


def facts_text(offload: Offload, terms: SearchTerms = NO_TERMS) -> list[str]:
    """What was kept of it: the daily note, the anchors, the summary."""
    if offload.foreign:
        return [_row("summary", ""), *quoted(terms.text(offload.summary.strip() or NO_SUMMARY))]
    out = [_row("daily note", flush_line(offload.flush))]
    out += [_row("", terms.text(note)) for note in _lines(offload.flush)]
    out.append(_row("key facts", anchors(offload)))
    out += [_row("", terms.text(short(f"{kind}: {texts}", 84))) for kind, texts in by_kind(offload.anchors)]
    return [*out, _row("summary", ""), *quoted(terms.text(offload.summary.strip() or "no summary"))]


def facts_html(offload: Offload, terms: SearchTerms = NO_TERMS) -> h.Html:
    """The facts, in which the summary and the anchors fold."""
    notes = [h.el("li", terms.html(note.removeprefix("- "))) for note in _lines(offload.flush)]
    kinds = [h.el("li", h.muted(kind, ": "), terms.html(texts)) for kind, texts in by_kind(offload.anchors)]
    opened = bool(terms)
    if offload.foreign:
        return h.fold("summary", h.pre(terms.html(offload.summary.strip() or NO_SUMMARY)), opened=opened, framed=False)
    return h.join(
        _listed(h.join("daily note: ", flush_line(offload.flush)), notes, opened),
        _listed(h.join("key facts: ", anchors(offload)), kinds, opened),
        h.fold("summary", h.pre(terms.html(offload.summary.strip() or "no summary")), opened=opened, framed=False),
    )


@dataclass(frozen=True)
class CompactionView:
    """The record of one compaction, and what else was said while it was made."""

    offload: Offload
    notes: tuple[str, ...] = ()
    stamp: str = ""
    title: str = field(default="context compacted")

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(what, how much) of what was removed."""
        at = self.offload
        if at.foreign:
            found = [("cause", CAUSES.get(at.cause, at.cause)), ("tokens", tokens(at))]
            return [(what, words) for what, words in found if words]
        where = f"saved verbatim in {at.path} (%agent history)" if at.path else "the history file could not be written"
        found = [("cause", CAUSES.get(at.cause, at.cause)), ("removed", f"{went(at)}, {where}"), ("tokens", tokens(at))]
        return [(what, words) for what, words in found if words]

    def text(self) -> str:
        """A line for each fact, the summary below."""
        rows = [_row(what, words) for what, words in self.rows]
        notes = [f"note: {note}" for note in self.notes]
        return page([title_line(self.title, self.stamp), *rows, *facts_text(self.offload), *notes])

    def html(self) -> str:
        """The compaction as a small table, with folds."""
        cell = "padding:1px 14px 1px 0;text-align:left;vertical-align:top"
        rows = [
            h.el(
                "tr",
                h.el("td", h.muted(what), style=cell),
                h.el("td", words, style=cell),
                style="background:transparent",
            )
            for what, words in self.rows
        ]
        table = h.el(
            "table", h.el("tbody", *rows), style="border:none;border-collapse:collapse;margin:2px 0;font-size:13px"
        )
        notes = [h.el("div", h.el("b", "note: "), note) for note in self.notes]
        return h.box(h.heading(f"⇣ {self.title}", stamp=self.stamp), table, facts_html(self.offload), *notes)


def compaction_view(offload: Offload, notes: Iterable[str] = (), stamp: str = "") -> CompactionView:
    """The record of a compaction."""
    return CompactionView(offload, tuple(notes), stamp)


def _row(label: str, words: str) -> str:
    return f"  {pad(label, _LABEL)}{words}"


def _lines(flush: Flush | None) -> tuple[str, ...]:
    return flush.lines if flush else ()


def _listed(summary: h.Html, items: Sequence[h.Html], opened: bool) -> h.Html:
    """A fold over a list; a line where there is nothing to open."""
    if not items:
        return h.el("div", summary, style="margin:4px 0")
    return h.fold(
        summary, h.el("ul", *items, style="margin:2px 0 6px 0;padding-left:24px"), opened=opened, framed=False
    )
