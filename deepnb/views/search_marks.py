"""Words somebody looks for, marked in the texts that hold them, and what a search of memory or of turns found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deepnb.values.events import TurnPassage
from deepnb.values.files import pattern
from deepnb.views import html as h
from deepnb.views.text import clean, counted, quoted, short
from deepnb.views.view import Picture, table_html, table_view

if TYPE_CHECKING:
    from deepnb.search.hits import Hit

_TERM = re.compile(r'"([^"]+)"|“([^”]+)”|([^\s"“”]+)')  # "two words" | “two words” | zebras
MARK = "background:#f2d17a;color:#000;border-radius:3px;padding:0 1px"
_LISTED = 300
_AROUND = 60
"""Characters that are shown before and after a hit in a long line."""


@dataclass(frozen=True)
class SearchTerms:
    """Terms that a text must hold, each of them, whatever their case; words in quotes are one term."""

    terms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __str__(self) -> str:
        return " ".join(f'"{term}"' if " " in term else term for term in self.terms)

    def all_in(self, text: str) -> bool:
        return all(pattern(term).search(text) for term in self.terms)

    def text(self, text: str) -> str:
        """Return the text with »« round what was looked for."""
        return self._any.sub(lambda hit: f"»{hit[0]}«", text) if self.terms else text

    def html(self, text: str) -> h.Html:
        """Return the text with its hits marked."""
        if not self.terms:
            return h.esc(text)
        parts: list[h.Html] = []
        at = 0
        text = clean(text)
        for hit in self._any.finditer(text):
            parts += [h.esc(text[at : hit.start()]), h.el("mark", hit[0], style=MARK)]
            at = hit.end()
        return h.join(*parts, h.esc(text[at:]))

    def cuts(self, text: str) -> list[str]:
        """Return the lines of the text that hold a term; long ones cut round it."""
        found = []
        for line in text.split("\n"):
            if hit := self._any.search(line):
                start, end = max(0, hit.start() - _AROUND), hit.end() + _AROUND
                found.append(("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else ""))
        return found

    def lines(self, text: str, most: int) -> list[str]:
        """Return at most so many of these lines, marked."""
        found = [self.text(line) for line in self.cuts(text)]
        return found if len(found) <= most else [*found[:most], f"… {len(found) - most:,} more lines …"]

    @property
    def _any(self) -> re.Pattern[str]:
        longest = sorted(self.terms, key=len, reverse=True)
        return re.compile("|".join(pattern(term).pattern for term in longest), re.IGNORECASE)


NO_TERMS = SearchTerms()


def search_terms(text: str | None) -> SearchTerms:
    found = (" ".join("".join(groups).split()) for groups in _TERM.findall(text or ""))
    return SearchTerms(tuple(dict.fromkeys(term for term in found if term)))


def hits_view(query: str, hits: Sequence[Hit], terms: Iterable[str], stamp: str = "") -> Picture:
    """Return the passages that a search found, best first, with the `terms` in them marked."""
    wanted = SearchTerms(tuple(dict.fromkeys(terms)))
    lines, body = list[str](), list[h.Child]()
    for hit in hits:
        place = f"{hit.path}:{hit.start}" if hit.start == hit.end else f"{hit.path}:{hit.start}-{hit.end}"
        lines += ["", f"{place}  ({hit.leg})", *quoted(wanted.text(hit.text))]
        head = h.join(h.code(place), h.muted(" · found by ", hit.leg))
        body.append(h.fold(head, h.pre(wanted.html(hit.text)), opened=True))
    if not hits:
        lines = ["no matches; memory that is in each prompt, such as AGENTS.md, is not searched"]
        body = [h.muted(*lines)]
    return Picture((f"search: {' '.join(query.split())}", counted(len(hits), "passage")), lines, body, stamp)


def found_view(passages: Sequence[TurnPassage], words: str, stamp: str = "") -> Picture:
    """Return what a search found: turn, what it is, and the line with the words."""
    terms = search_terms(words)
    rows = [
        (f"{one.turn}", short(one.what, 24), short(next(iter(terms.cuts(one.text)), one.text), 200))
        for one in passages[:_LISTED]
    ]
    more = f", the first {_LISTED}" if len(passages) > _LISTED else ""
    title = f"{words}: {counted(len(passages), 'passage')}{more}"
    head, none = ("turn", "where", "text"), f"nothing holds {words}"
    shown = table_view(head, [(*where, terms.text(line)) for *where, line in rows], title, (0,), none, stamp)
    marked = table_html(head, [(*where, terms.html(line)) for *where, line in rows], (0,))
    return replace(shown, body=[marked]) if rows else shown
