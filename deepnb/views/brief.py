"""A picture short enough to be the value of a cell: the fullest there is room for, and where to see all."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import unescape

from deepnb.views import html as h
from deepnb.views.text import page
from deepnb.views.view import View

LIMIT = 1_900
"""Bytes of text that a picture has at most, without its last line and whatever its tags take."""


@dataclass(frozen=True)
class BriefView:
    """A picture, below it the line that says where all is."""

    picture: View
    rest: str

    def text(self) -> str:
        return page([self.picture.text(), self.rest])

    def html(self) -> str:
        return h.el("div", h.Html(self.picture.html()), h.box(h.muted(self.rest), above=False))


@dataclass(frozen=True)
class CutView:
    """The first lines of a picture that is too long however it is drawn."""

    picture: View

    def text(self) -> str:
        """Whole lines, as many as there is room for."""
        lines, room = [], LIMIT - 20
        for line in self.picture.text().split("\n"):
            kept = line.encode()[:room].decode(errors="ignore")
            lines.append(kept)
            room -= len(kept.encode()) + 1
            if kept != line or room <= 0:
                break
        return "\n".join([*lines, "…"])

    def html(self) -> str:
        return h.box(h.pre(self.text()))


def brief(whole: View | None, shorter: Iterable[Callable[[], View]] = (), rest: str = "") -> View:
    """A whole picture if it is short enough, else the first of some shorter ones that is; the last is cut if none is.

    `whole` is None where it is known to be too long. `rest` is said below any other, where that does not say it
    itself: which call or magic shows all.
    """
    if whole is not None and is_brief(whole):
        return whole
    picture = whole
    for draw in shorter:
        picture = draw()
        if is_brief(picture):
            return picture if rest in picture.text() else BriefView(picture, rest)
    assert picture is not None
    return BriefView(CutView(picture), rest)


def is_brief(picture: View) -> bool:
    """Whether its text, and that of its HTML, have room as the value of a cell."""
    return has_room(picture.text()) and has_room(html_text(picture.html()))


def has_room(text: str) -> bool:
    """Whether a text is short enough."""
    return len(text.encode("utf-8", "surrogatepass")) <= LIMIT


def html_text(markup: str) -> str:
    """What is to be read of some HTML, folds opened."""
    return unescape(re.sub(r"<[^>]*>", "", markup))
