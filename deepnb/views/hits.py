"""What a search of memory found: where, by which leg, and the lines with what was looked for marked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from deepnb.views import html as h
from deepnb.views.numbers import counted
from deepnb.views.search_marks import SearchTerms
from deepnb.views.text import page, quoted, title_line


class Passage(Protocol):
    """A passage: lines `start` to `end` (from 1) of a file, and the legs that found it."""

    @property
    def path(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def leg(self) -> str: ...


@dataclass(frozen=True)
class HitsView:
    """The passages, best first."""

    query: str
    hits: tuple[Passage, ...]
    terms: SearchTerms
    stamp: str = ""

    @property
    def title(self) -> str:
        """`search: gateway host · 2 passages`."""
        return f"search: {self.query} · {counted(len(self.hits), 'passage')}"

    def text(self) -> str:
        """Each passage under its place, with »« round what was looked for."""
        lines = [title_line(self.title, self.stamp)]
        for hit in self.hits:
            lines += ["", f"{_place(hit)}  ({hit.leg})", *quoted(self.terms.text(hit.text))]
        return page(lines if self.hits else [*lines, "no matches"])

    def html(self) -> str:
        """A fold for each passage, open."""
        title, fact = self.title.rsplit(" · ", 1)
        body: list[h.Child] = [h.heading(title, fact, stamp=self.stamp)]
        for hit in self.hits:
            head = h.join(h.code(_place(hit)), h.muted(" · found by ", hit.leg))
            body.append(h.fold(head, h.pre(self.terms.html(hit.text)), opened=True))
        return h.box(*body, None if self.hits else h.muted("no matches"))


def hits_view(query: str, hits: Sequence[Passage], terms: Iterable[str], stamp: str = "") -> HitsView:
    """What was found; `terms` are the words to mark."""
    return HitsView(" ".join(query.split()), tuple(hits), SearchTerms(tuple(dict.fromkeys(terms))), stamp)


def _place(hit: Passage) -> str:
    return f"{hit.path}:{hit.start}" if hit.start == hit.end else f"{hit.path}:{hit.start}-{hit.end}"
