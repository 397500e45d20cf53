"""HTML that can do nothing but show: hostile text in every field of every view."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.agent import Skill
from deepnb.values.budget import Budget, rule_for
from deepnb.values.files import FileDiff
from deepnb.values.offload import Anchor, BroughtBack, Flush, HistoryMessage, HistorySection, Offload
from deepnb.values.turn import (
    Call,
    Compacted,
    ModelEnded,
    Notice,
    Snapshot,
    TextDelta,
    ThreadInfo,
    ToolEnded,
    ToolStarted,
    Turn,
    Usage,
)
from deepnb.views.budget import budget_view
from deepnb.views.compaction import compaction_view
from deepnb.views.diff import diff_view
from deepnb.views.history import history_view
from deepnb.views.html import Html, el, esc
from deepnb.views.markdown import COLOURS, GROUND, INK, markdown_html
from deepnb.views.memory import memory_view
from deepnb.views.skills import skill_view, skills_view
from deepnb.views.status import StatusInfo, status_view
from deepnb.views.threads import threads_view, turns_view
from deepnb.views.turn import footer_view
from deepnb.views.turn_segments import turn_segments
from deepnb.views.view import notice_view, table_view
from tests.support.tables import every_row

TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("i", "ins", "li", "mark", "ol", "p", "pre", "s", "small", "span", "strong", "summary"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"style", "title", "open", "href", "target", "rel", "start"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></details></div><svg onload=alert(1)>",
    "[a](javascript:alert(1)) ![x](http://evil.example/p.png) <a href='javascript:1'>x</a>",
    "&lt;script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "\u202e\x00\ud800\x1b]8;;http://evil.example\x07",
)


class Checker(HTMLParser):
    """Raises at an element or attribute that is not listed, and at tags that do not balance."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.shown: list[str] = []
        self.styles: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "href":
                assert value.lower().startswith(("http://", "https://", "mailto:")), value
            if name == "style":
                self.styles.append(value)
                assert "url(" not in value and "expression" not in value and "var(" not in value
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.shown.append(data)


def check(markup: str) -> str:
    """The text that `markup` shows, once it is found harmless and balanced."""
    checker = Checker()
    checker.feed(markup)
    checker.close()
    assert checker.open == []
    markup.encode()
    return "".join(checker.shown)


def views(x: str):
    """Every view with `x` in every field of text."""
    budget = Budget({"user": 5, x: 7}, rule_for(10), 1, reported=3)
    anchors = (Anchor("path", x, x), Anchor("prohibition", x))
    offload = Offload(x, x, 2, x, "trigger", 2, 1, anchors, anchors, Flush(x, (x,), "rules"), 2)
    item = HistoryMessage(1, "tool " + x, x)
    snapshot = Snapshot(x, {x: x, "/a": x, "/memory/" + x: x}, {"/memory/b" + x: 3}, {"/a": "old " + x, x + "g": x})
    events = (
        TextDelta(x, 1),
        ToolStarted(x, x, {x: x, "n": [x, {x: None}]}),
        TextDelta(x, 1, path=(x,)),
        ToolEnded("in" + x, x, x, "error", 1.0, path=(x,)),
        ToolEnded(x, x, x, "ok", 1.0),
        Compacted(offload),
        Notice(x),
        ModelEnded(Call(1, "answer", (), budget)),
    )
    turn = Turn(1, x, x, x, events, snapshot, snapshot, Usage(), budget, x, 0.1, x, x, x, x)
    skill = Skill(x, x, x, x)
    yield turn_segments(turn)
    yield from turn_segments(turn).segments
    yield footer_view(turn, filled=[x], notes=[x])
    yield diff_view([FileDiff(x, "a b c\n" + x, "a b d\n" + x + "e"), FileDiff(x, None, x), FileDiff(x, x, None)], x, x)
    yield memory_view(snapshot, ["/a", x, "/none" + x], len, x)
    yield skills_view([skill, Skill(x, x, x)], len, x)
    yield skill_view(skill, x, x)
    yield budget_view(budget, x, [1, 2])
    yield history_view([HistorySection(x, x, x, 1)], x)
    history = [HistorySection(x, x, x, 1, (item,), offload), HistorySection(x, x, x, 2, (HistoryMessage(1, "", x),))]
    yield history_view(history, x, None, BroughtBack(x, ((1, item),), 3))
    yield history_view(history, x, x)
    yield compaction_view(offload, [x], x)
    yield threads_view([ThreadInfo(x, 1, 1, True, x + "@1"), ThreadInfo(x + "2", 1, 1, False, x + "@1")], x)
    yield turns_view([turn], x)
    yield status_view(StatusInfo(x, 10, x, 1, 1, budget, ((x, 1),), 1, 1, x, x, (x,), x))
    yield table_view((x, x), [(x, x)], x, stamp=x)
    yield table_view((x,), [], x, empty=x)
    yield from (notice_view(x, kind) for kind in ("note", "ok", "warning", "error"))


@every_row("hostile", [*HOSTILE, ""])
def test_no_field_of_any_view_gets_out_of_its_place(hostile):
    for view in views(hostile):
        markup = view.html()
        check(markup)
        assert "<script" not in markup and "<img" not in markup and "<svg" not in markup
        view.text().encode()
        assert "\x1b" not in view.text() and "\u202e" not in view.text() + markup


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_gives_balanced_harmless_markup(text):
    for view in views(text):
        check(view.html())
        view.text().encode()


@given(st.text(alphabet="<>[]()!*_`#|-&\"'\\:/ \n\tahtpjs.~", max_size=120))
def test_any_markdown_gives_balanced_harmless_markup(text):
    check(markdown_html(text))


def test_escaping_happens_once():
    assert esc("a & <b>") == "a &amp; &lt;b&gt;"
    assert el("div", "a & b", el("b", "<"), None, title='"') == '<div title="&quot;">a &amp; b<b>&lt;</b></div>'
    assert esc(esc("&")) == "&amp;"
    assert isinstance(el("b"), Html)


def test_markdown_is_rendered():
    shown = markdown_html("**b** `c<d` ~~s~~\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx < 1\n```\n")
    assert "<strong>b</strong>" in shown and "<s>s</s>" in shown and "c&lt;d</code>" in shown
    assert "text-align:right" in shown and ">x &lt; <span " in shown


def test_tasks_have_boxes():
    tasks = "- [ ] write *it*\n- [x] read\n  - [X] twice\n- [x](https://a.example)\n- [y] no\n\n1. [ ] one"
    assert " ".join(check(markdown_html(tasks)).split()) == "☐ write it ☑ read ☑ twice x [y] no ☐ one"


COLOURED = ("python", "{r}", "SQL", "js title=x", "bash", "html")


@every_row("language", [*COLOURED, "none", "", 'x" style="a', "a,b"])
def test_code_in_colours_is_the_same_code(language):
    code = 'def f(x):\n    """<b> & $x$ \\\\(y\\\\)"""\n\n    return x < 1 # é\n<script>alert(1)</script>\nselect a from b -- c\n'
    shown = markdown_html(f"```{language}\n{code}```")
    assert check(shown).strip() == code.strip()
    assert ("<span" in shown) == (language in COLOURED)
    assert re.findall("<code[^>]*>", shown) == [
        '<code style="font:12px/1.45 monospace;color:#dfe5ee;background:none;padding:0;white-space:pre">'
    ]


@every_row("colour", [INK, *COLOURS.values()])
def test_every_colour_of_code_can_be_read(colour):
    def light(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert (light(colour) + 0.05) / (light(GROUND) + 0.05) >= 6


def test_a_link_opens_apart_and_a_picture_loads_nothing():
    shown = markdown_html("[a](https://a.example) ![alt](https://b.example/p.png)")
    assert shown.count('target="_blank" rel="noopener noreferrer"') == 2
    assert "<img" not in shown and '[picture: alt] <a href="https://b.example/p.png"' in shown


@every_row(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc",
        "/logout",
        "//x.example",
    ],
)
def test_other_addresses_stay_text(address):
    assert "<a" not in markdown_html(f"[a]({address}) <{address}>")
    assert address in check(markdown_html(f"[a]({address})"))


def test_no_style_of_the_models_own_survives():
    shown = markdown_html(
        '<p style="position:fixed">x</p>\n\n| a |\n|:-:|\n| <b style="color:red"> |\n\n``` x" style="a\ny\n```'
    )
    checker = Checker()
    checker.feed(shown)
    assert not [style for style in checker.styles if "position" in style or "red" in style or style == "a"]
    assert "text-align:center" in shown


@pytest.mark.slow
@every_row("piece", ["a", "[", "![", "*a **b ", "`", "<", "> ", "- ", "|a", "&", "\\", "[a](", "_a", "![\n", "- a\n"])
def test_a_megabyte_is_shown(piece):
    check(markdown_html((piece * 1_000_000)[:1_000_000]))
