"""HTML that can do nothing but show: any text, and texts that try to run something, in every field of every view."""

import re
from pathlib import Path

import nh3
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deepnb.values.code import review
from deepnb.views import html as h
from deepnb.views import markdown
from deepnb.views.approval import _MARK as MARK
from deepnb.views.approval import code_html
from deepnb.views.html import Html, el, esc
from deepnb.views.markdown import COLOURS, GROUND, INK, markdown_html
from deepnb.views.turn_segments import Answer
from deepnb.views.view import TextView, notice_view
from tests.data import hostile
from tests.support.harmless import Harmful, harmless
from tests.support.hostile_views import functions, views
from tests.support.tables import every_row

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")


NAMES = [f"{kind}-{i}" for kind, of in hostile.KINDS.items() for i in range(len(of))]


def test_there_are_many_and_each_is_another() -> None:
    assert len(hostile.SHORT) >= 150 and len(set(hostile.SHORT)) == len(hostile.SHORT)
    assert len(functions()) >= 20


@pytest.mark.parametrize("of", [pytest.param(6, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)])
@every_row(("at", "text"), enumerate(hostile.SHORT), ids=NAMES)
def test_no_field_of_any_view_gets_out_of_its_place(at: int, text: str, of: int) -> None:
    for name, view in views(text, at, of):
        try:
            harmless(view.html())
        except Harmful as harm:
            raise AssertionError(f"{name}: {harm}") from harm
        assert not _UNSEEN.search(view.text()), name


@pytest.mark.nightly
@every_row("text", hostile.LONG, ids=[text[:12] for text in hostile.LONG])
def test_a_line_of_a_million_characters_is_shown(text: str) -> None:
    for view in (Answer(1, [text]), notice_view(text), TextView(text, text)):
        harmless(view.html())
        view.text().encode()


def test_a_planted_hole_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the one place that escapes, and without the sanitizer, nearly every text is found."""
    monkeypatch.setattr(h, "esc", lambda text: h.Html(text))
    texts = [text for text in hostile.SHORT if text.lstrip().startswith("<")]
    assert len(texts) > 100
    for text in texts:
        with pytest.raises((Harmful, UnicodeEncodeError)):
            harmless(notice_view(text).html())
    monkeypatch.undo()
    monkeypatch.setattr(nh3, "clean", lambda html, **_: html)
    monkeypatch.setattr(markdown, "_parser", lambda: MarkdownIt("commonmark", {"html": True}))
    with pytest.raises(Harmful):
        harmless(markdown.markdown_html("a <img src=x onerror=alert(1)>"))


def test_what_turns_the_direction_of_writing_is_seen() -> None:
    assert "[U+202E]" in h.esc("invoice\u202exslx.exe") and "[U+E0068]" in h.esc("\U000e0068")
    assert "[U+202E]" in markdown.markdown_html("a\u202eb")


def test_every_widget_is_filled_with_views_or_plain_words() -> None:
    """ipywidgets takes a description as text unless it is told otherwise: nobody tells it."""
    room = Path(markdown.__file__).parent.parent / "widgets"
    for source in room.glob("*.py"):
        assert "description_allow_html" not in source.read_text(), source.name


@example("²", 1)  # a digit for str.isdigit, and for int() none
@example("", 0)
@given(st.text(st.characters(exclude_categories=()), max_size=80), st.integers(0, 2))
def test_any_text_gives_balanced_harmless_markup(text, at):
    for _, view in views(text, at, 3):
        harmless(view.html())
        view.text().encode()


@given(st.text(alphabet="<>[]()!*_`#|-&\"'\\:/ \n\tahtpjs.~", max_size=120))
def test_any_markdown_gives_balanced_harmless_markup(text):
    harmless(markdown_html(text))


def test_escaping_happens_once_and_markdown_is_rendered():
    assert esc("a & <b>") == "a &amp; &lt;b&gt;"
    assert el("div", "a & b", el("b", "<"), None, title='"') == '<div title="&quot;">a &amp; b<b>&lt;</b></div>'
    assert esc(esc("&")) == "&amp;" and isinstance(el("b"), Html)
    shown = markdown_html("**b** `c<d` ~~s~~\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```py\nx < 1\n```\n")
    assert "<strong>b</strong>" in shown and "<s>s</s>" in shown and "c&lt;d</code>" in shown
    assert "text-align:right" in shown and ">x &lt; <span " in shown
    tasks = "- [ ] write *it*\n- [x] read\n  - [X] twice\n- [x](https://a.example)\n- [y] no\n\n1. [ ] one"
    assert " ".join(harmless(markdown_html(tasks)).split()) == "☐ write it ☑ read ☑ twice x [y] no ☐ one"


COLOURED = ("python", "{r}", "SQL", "js title=x", "bash", "html")


@every_row("language", [*COLOURED, "none", "", 'x" style="a', "a,b"])
def test_code_in_colours_is_the_same_code(language):
    code = 'def f(x):\n    """<b> & $x$ \\\\(y\\\\)"""\n\n    return x < 1 # é\n<script>alert(1)</script>\nselect a from b -- c\n'
    shown = markdown_html(f"```{language}\n{code}```")
    assert harmless(shown).strip() == code.strip() and ("<span" in shown) == (language in COLOURED)
    assert re.findall("<code[^>]*>", shown) == [
        '<code style="font:12px/1.45 monospace;color:#dfe5ee;background:none;padding:0;white-space:pre">'
    ]


def test_code_on_a_card_is_the_same_code_in_colours():
    """Each line is a block, and of a character that can't be trusted its mark is not coloured."""
    code = 'def f(x):\n    """<b>\u202e\n\n  # no\n    """\r\n    return x < 1 # é\n%time f(2)\n'
    shown = code_html(review(code))
    lines = [harmless(line) for line in re.findall("<div><span.*?</div>", shown.partition("</pre>")[0])]
    written = code.replace("\u202e", "⟨U+202E⟩").replace("\r", "⟨U+000D⟩")
    assert lines == [f"{n}  {line}" for n, line in enumerate(written.split("\n"), 1)]
    assert ">return </span>" in shown and shown.count("color:#ad8") == 4, "a string goes on from line to line"
    assert f'style="{MARK}">⟨U+202E⟩</span>' in shown


@every_row("colour", [INK, *COLOURS.values()])
def test_every_colour_of_code_can_be_read(colour):
    def light(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert (light(colour) + 0.05) / (light(GROUND) + 0.05) >= 6


def test_no_style_of_the_models_own_survives():
    rows = '| a |\n|:-:|\n| <b style="color:red"> |\n\n``` x" style="a\ny\n```'
    shown = markdown_html(f'<p style="position:fixed">x</p>\n\n{rows}')
    styles = re.findall('<[^>]* style="([^"]*)"', shown)
    assert not [style for style in styles if "position" in style or "red" in style or style == "a"]
    assert "text-align:center" in shown


@pytest.mark.slow
@every_row("length", [20_000, 200_000])
@every_row("piece", ["a", "[", "![", "*a **b ", "`", "<", "> ", "- ", "|a", "&", "\\", "[a](", "_a", "![\n", "- a\n"])
def test_any_length_is_shown_as_markdown_or_as_it_is(piece, length):
    harmless(markdown_html((piece * length)[:length]))
