"""What a value shows of itself as the last line of a cell: the fullest picture there is room for, and where to see all."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import unescape

from deepnb.values.turn import Turn
from deepnb.views import html as h
from deepnb.views.text import page
from deepnb.views.turn import TurnView
from deepnb.views.view import Picture, View

LIMIT = 1_900
"""Bytes of text that a picture has at most, without its last line and whatever its tags take."""


def turn_value(turn: Turn) -> View:
    """Return a turn as its cell showed it, below its prompt."""
    waits, rest = "%agent panel approvals shows all of the calls that wait", "all that happened: %agent transcript"
    return brief(TurnView(turn), rest=waits if turn.asked else f"whole answer: turn.text; {rest}")


@dataclass(frozen=True)
class BriefView:
    """A picture, below it the line that says where all is."""

    picture: View
    rest: str

    def text(self) -> str:
        return page([self.picture.text(), self.rest])

    def html(self) -> str:
        return h.el("div", h.Html(self.picture.html()), h.box(h.muted(self.rest), above=False))


def brief(picture: View, shorter: Iterable[Callable[[], View]] = (), rest: str = "") -> View:
    """Return a whole picture if it is short enough, else the first of some shorter ones that is; the last is cut if none is.

    `rest` is said below any other, where that does not say it itself: which call or magic shows all.
    """
    if is_brief(picture):
        return picture
    for draw in shorter:
        picture = draw()
        if is_brief(picture):
            return picture if rest in picture.text() else BriefView(picture, rest)
    lines, room = [], LIMIT - 20
    for line in picture.text().split("\n"):
        kept = line.encode()[:room].decode(errors="ignore")
        lines.append(kept)
        room -= len(kept.encode()) + 1
        if kept != line or room <= 0:
            break
    words = "\n".join([*lines, "…"])
    return BriefView(Picture((), [words], [h.pre(words)]), rest)


def is_brief(picture: View) -> bool:
    """Return whether its text, and that of its HTML, have room as the value of a cell."""
    drawn = (form() for form in (picture.text, lambda: html_text(picture.html())))  # the HTML of a long text takes time
    return all(len(text.encode("utf-8", "surrogatepass")) <= LIMIT for text in drawn)


def html_text(markup: str) -> str:
    """Return what is to be read of some HTML, folds opened."""
    return unescape(re.sub(r"<[^>]*>", "", markup))
