"""Every view with all its styles and classes gone, as GitHub shows it: read line by line, it says what the text says."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from deepnb.views.approval import ApprovalView
from deepnb.views.view import View
from tests.support.tables import every_row
from tests.support.word_views import views

BLOCKS = {
    *("blockquote", "br", "details", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("summary", "table", "tbody", "thead", "tr", "ul"),
}
CELLS = {"td", "th"}
MARKS = {"ins", "del", "mark"}
"""They stand inside words."""


class Unstyled(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.glued: list[str] = []
        """Where two elements of a line meet with no blank between their words."""
        self.unsaid: list[str] = []
        """Elements that are nothing but a colour."""
        self._met: set[str] = set()
        self._open: list[tuple[str, str, int]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._edge(tag)
        if tag not in ("br", "hr"):
            self._open.append((tag, dict(attrs).get("style") or "", len(self.text)))

    def handle_endtag(self, tag: str) -> None:
        _, style, begin = self._open.pop()
        if re.search("background(-color)?:rgba", style) and not self.text[begin:].strip():
            self.unsaid.append(f"<{tag} style={style}>")
        self._edge(tag)

    def _edge(self, tag: str) -> None:
        self._met.add(tag)
        self.text += "\n" if tag in BLOCKS else "  " if tag in CELLS else ""

    def handle_data(self, data: str) -> None:
        before, joined = self.text[-1:], self._met and not self._met & MARKS
        if joined and data and before and not before.isspace() and not data[0].isspace() and _one_word(before, data[0]):
            self.glued.append(f"{self.text[-20:]}|{data[:20].rstrip()}")
        self._met = set()
        self.text += data

    @property
    def lines(self) -> list[str]:
        return [" ".join(line.split()) for line in self.text.split("\n") if line.strip()]


def _one_word(left: str, right: str) -> bool:
    return (left.isalnum() or left in ":,;") and right.isalnum()


ALL = [pytest.param(view, id=name) for name, view in views()]


@every_row("view", ALL)
def test_no_words_are_glued_together(view: View) -> None:
    bars = r"([A-ZΣ?])\|\1|[A-ZΣ?]\|[A-ZΣ?]"  # the letters of a gauge are one bar
    assert [one for one in Unstyled(view.html()).glued if not re.search(bars, one)] == []


@every_row("view", ALL)
def test_no_colour_stands_alone(view: View) -> None:
    assert Unstyled(view.html()).unsaid == []


# What was decided is one line of text, and in HTML the line of the card and what it opens to.
IN_ORDER = [one for one in ALL if not (isinstance(one.values[0], ApprovalView) and not one.values[0].todo)]


@every_row("view", IN_ORDER)
def test_what_both_say_html_and_text_say_in_the_same_order(view: View) -> None:
    text, html = (re.findall(r"word\d+", said) for said in (view.text(), Unstyled(view.html()).text))
    both = set(text) & set(html)
    assert len(both) >= 1
    assert [w for w in dict.fromkeys(text) if w in both] == [w for w in dict.fromkeys(html) if w in both]


@every_row("view", ALL)
def test_what_the_text_says_the_html_says(view: View) -> None:
    assert set(re.findall(r"word\d+", view.text())) <= set(re.findall(r"word\d+", Unstyled(view.html()).text))


@every_row("view", ALL)
def test_a_label_stands_before_its_value(view: View) -> None:
    """What the text writes as `label: value` or as a row with a label stands so in the HTML, on the same line or the next."""
    html = " ".join(Unstyled(view.html()).lines)
    for label, value in re.findall(r"(?:^|\| |· )\s*([a-z ]{3,24}): (word\d+)", view.text(), re.MULTILINE):
        assert re.search(rf"{label}\b.{{0,40}}?{value}\b", html), f"{label}: {value}"


def test_gauge_and_diff_are_read_without_a_colour_and_bare_colours_are_found() -> None:
    lines = Unstyled(dict(views())["BudgetView, False"].html()).lines
    bar = next(line for line in lines if re.fullmatch("U+[?]+", line))
    assert len(bar) == 60
    assert lines[lines.index(bar) - 1] == "trigger 9", "its mark is said above it"
    assert any(re.fullmatch(r"U user 5 42 %", line) for line in lines), "its letters are explained"
    lines = Unstyled(dict(views())["memory that is newer"].html()).text.split("\n")
    assert "-word2 word4" in lines and "+word2 word3" in lines
    read = Unstyled("<i>a</i><b>b</b> <b>c:</b>1 <b>c</b> d<p>e</p><i style='background:rgba(1,2,3,0.5)'></i>")
    assert read.glued == ["a|b", "ab c:|1"] and len(read.unsaid) == 1
