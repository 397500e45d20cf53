"""A compaction: its cause, what was removed, the summary in its place, what was kept, and where the text is."""

from collections.abc import Iterable, Sequence

from deepnb.values.offload import LABELS, Anchor, Flush, Offload
from deepnb.views import html as h
from deepnb.views.search_marks import NO_TERMS, SearchTerms
from deepnb.views.text import counted, pad, quoted, short, title_line
from deepnb.views.view import Picture

CAUSES = {"trigger": "at the trigger", "by hand": "on request", "overflow": "the request was too long for the model"}

_SHOWN = 40
_LABEL = 12


def line(offload: Offload) -> str:
    if offload.foreign:
        return f"context compacted ({CAUSES.get(offload.cause, offload.cause)}){tokens(offload, ': ')}"
    parts = [f"{went(offload)} → summary{tokens(offload, ', ')}"]
    parts += [flush_line(offload.flush)] if offload.flush and offload.flush.lines else []
    parts += [f"{counted(len(offload.anchors), 'key fact')} kept"] if offload.anchors else []
    parts += ["the context is no smaller"] if offload.before and offload.after >= offload.before else []
    parts += [] if offload.path else ["the history file could not be written"]
    return f"context compacted ({CAUSES.get(offload.cause, offload.cause)}): {'; '.join(parts)}"


def went(offload: Offload) -> str:
    """Return how many messages were removed, as `24 messages`."""
    return counted(offload.messages or offload.cutoff, "message")


def tokens(offload: Offload, before: str = "") -> str:
    """Return `6,812 → 3,104 tokens`; nothing where that is not known."""
    known = offload.before or offload.after
    if offload.foreign and not (offload.before and offload.after):
        return f"{before}{known:,} tokens {'before it' if offload.before else 'after it'}" if known else ""
    return f"{before}{offload.before:,} → {offload.after:,} tokens" if known else ""


def flush_line(flush: Flush | None) -> str:
    """Return what a flush kept: `2 facts to /memory/2026-11-22.md`."""
    if flush is None:
        return "no daily note was written"
    by_rules = " (chosen by rules)" if flush.how == "rules" else ""
    if not flush.lines:
        return f"nothing worth keeping{by_rules}"
    return f"{counted(len(flush.lines), 'fact')} to {flush.file}{by_rules}"


def anchors(offload: Offload) -> str:
    """Return `14 added to the summary; 3 more in the file`."""
    if not offload.anchors and not offload.hidden:
        return "none missing from the summary"
    hidden = len(offload.hidden) + offload.more
    more = f"; {hidden:,} more in the file" if hidden else ""
    return f"{len(offload.anchors):,} added to the summary{more}"


def by_kind(found: Sequence[Anchor]) -> list[tuple[str, str]]:
    """Return (kind in words, what there is of it) in the order of the prompt."""
    out = []
    for kind, words in LABELS.items():
        texts = [a.phrase or a.text for a in found if a.kind == kind]
        more = f" … and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
        if texts:
            out.append((words.lower(), " | ".join(texts[:_SHOWN]) + more))
    return out


def facts_text(offload: Offload, terms: SearchTerms = NO_TERMS) -> list[str]:
    """Return what was kept of it: the daily note, the anchors, the summary."""
    summary = [_row("summary", ""), *quoted(terms.text(_summary(offload)))]
    if offload.foreign:
        return summary
    out = [_row("daily note", flush_line(offload.flush))]
    out += [_row("", terms.text(note)) for note in (offload.flush.lines if offload.flush else ())]
    out.append(_row("key facts", anchors(offload)))
    out += [_row("", terms.text(short(f"{kind}: {texts}", 84))) for kind, texts in by_kind(offload.anchors)]
    return [*out, *summary]


def facts_html(offload: Offload, terms: SearchTerms = NO_TERMS) -> h.Html:
    """Return these facts, in which the summary and the anchors fold."""
    notes = [h.el("li", terms.html(note.removeprefix("- "))) for note in (offload.flush.lines if offload.flush else ())]
    kinds = [h.el("li", h.muted(kind, ": "), terms.html(texts)) for kind, texts in by_kind(offload.anchors)]
    opened = bool(terms)
    summary = h.fold("summary", h.pre(terms.html(_summary(offload))), opened=opened, framed=False)
    if offload.foreign:
        return summary
    noted = _listed(h.join("daily note: ", flush_line(offload.flush)), notes, opened)
    return h.join(noted, _listed(h.join("key facts: ", anchors(offload)), kinds, opened), summary)


def _summary(offload: Offload) -> str:
    """Return the summary, or the words that there is none. The summary of another program may be encrypted."""
    return offload.summary.strip() or ("no summary that can be read" if offload.foreign else "no summary")


def compaction_view(offload: Offload, notes: Iterable[str] = (), stamp: str = "") -> Picture:
    """Return the record of a compaction, and what else was said while it was made."""
    facts = [("cause", CAUSES.get(offload.cause, offload.cause))]
    if not offload.foreign:
        saved = f"saved verbatim in {offload.path} (%agent history)"
        where = saved if offload.path else "the history file could not be written"
        facts.append(("removed", f"{went(offload)}, {where}"))
    facts = [(what, words) for what, words in (*facts, ("tokens", tokens(offload))) if words]
    noted, title = list(notes), "context compacted"
    cell = "padding:1px 14px 1px 0;text-align:left;vertical-align:top"
    rows = (
        h.el("tr", *(h.el("td", one, style=cell) for one in (h.muted(what), words)), style="background:transparent")
        for what, words in facts
    )
    look = "border:none;border-collapse:collapse;margin:2px 0;font-size:13px"
    table = h.el("table", h.el("tbody", *rows), style=look)
    lines = [*(_row(*fact) for fact in facts), *facts_text(offload), *(f"note: {note}" for note in noted)]
    body = [table, facts_html(offload), *(h.el("div", h.el("b", "note: "), note) for note in noted)]
    return Picture((), [title_line(title, stamp), *lines], [h.heading(f"⇣ {title}", stamp=stamp), *body])


def _row(label: str, words: str) -> str:
    return f"  {pad(label, _LABEL)}{words}"


def _listed(summary: h.Html, items: Sequence[h.Html], opened: bool) -> h.Html:
    if not items:
        return h.el("div", summary, style="margin:4px 0")
    all_ = h.el("ul", *items, style="margin:2px 0 6px 0;padding-left:24px")
    return h.fold(summary, all_, opened=opened, framed=False)
