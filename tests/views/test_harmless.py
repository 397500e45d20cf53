"""HTML that can do nothing but show: any text, links, pictures, templates and math from data, in every field of every view."""

import re
from html import unescape
from html.parser import HTMLParser
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
from deepnb.views.growing_markdown import GrowingMarkdown
from deepnb.views.html import Html, el, esc
from deepnb.views.markdown import COLOURS, GROUND, INK, markdown_html
from deepnb.views.turn_segments import Answer
from deepnb.views.view import TextView, notice_view
from tests.data import hostile, rows
from tests.data.math_and_money import LATER_MATH, LATER_TEXT, MATH, TEXT
from tests.support.answers import pieces
from tests.support.harmless import Harmful, harmless
from tests.support.hostile_views import functions, views
from tests.support.tables import every_row

# -- what the page's MathJax takes for math in some markup, by the rules of its `FindTeX`

_SKIP = ("pre", "code", "script", "style")
_INLINE = ("br", "wbr")
_START = re.compile(r"\$\$|\$|\\\(|\\\[|\\begin\s*\{([^}]*)\}|\\[\\$]")
_END = {"$$": "$$", "$": "$", "\\(": "\\)", "\\[": "\\]"}


class _Strings(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.strings = [""]
        self._skipped = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in _INLINE:
            self.strings.append("")
            self._skipped += tag in _SKIP

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.strings.append("")
            self._skipped -= tag in _SKIP

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.strings[-1] += data


def typeset(markup: str) -> tuple[str, ...]:
    return tuple(found for string in _Strings(markup).strings for found in _formulas(string))


def _formulas(string: str) -> list[str]:
    found, at = [], 0
    while start := _START.search(string, at):
        at = start.end()
        sign = start[0]
        end = _END.get(sign) or (rf"\end{{{start[1]}}}" if start[1] is not None else "")
        if end and (close := _close(string, at, end)):
            found.append(string[start.start() : close])
            at = close
    return found


def _close(string: str, at: int, end: str) -> int:
    """Where a formula ends that begins before `at`; 0 where it does not: braces are counted, escapes are not."""
    braces = 0
    while at < len(string):
        if string.startswith(end, at) and braces == 0:
            return at + len(end)
        if string[at] == "\\":
            at += 1
        elif string[at] in "{}":
            braces += 1 if string[at] == "{" else -1
        at += 1
    return 0


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


SAFE = dict(rows("links")["safe"])
UNSAFE = rows("links")["unsafe"]
WRITTEN = rows("links")["written"]
PICTURES = rows("links")["pictures"]
TEMPLATES = rows("links")["templates"]


OPENS_APART = re.compile(r'<a href="(?:https?://|mailto:)[^"]*" target="_blank" rel="noopener noreferrer">')


@every_row("text", SAFE.values(), ids=SAFE)
def test_every_link_opens_apart_and_tells_nobody_where_it_was(text: str) -> None:
    shown = Answer(1, [text]).html()
    assert 0 < shown.count("<a ") == len(OPENS_APART.findall(shown))


@every_row("text", [*(form.format(address) for form in WRITTEN for address in UNSAFE), *PICTURES])
def test_no_address_runs_leads_inside_or_is_loaded(text: str) -> None:
    """Every view escapes in one place, which the test above tries: an answer alone has links and pictures."""
    shown = Answer(1, [text]).html()
    harmless(shown)
    assert "<img" not in shown and ("<a " not in shown or "https://a.example/p.png" in text)


@every_row(("kind", "data"), [("png", "iVBORw0KGgo="), ("jpeg", "/9j/4AAQ"), ("gif", "R0lGODlh"), ("webp", "UklGRgAA")])
def test_an_image_given_as_data_is_shown_in_an_answer_and_named_in_text(kind: str, data: str) -> None:
    address = f"data:image/{kind};base64,{data}"
    answer = Answer(1, [f"see ![a cat]({address}) and [a link]({address})"])
    (image,) = re.findall("<img [^>]*>", answer.html())
    assert image == f'<img src="{address}" alt="a cat" style="max-width:100%;max-height:30em">'
    assert answer.text() == f"see [picture: a cat] and [a link]({address})"


def test_half_of_an_image_is_named_and_not_cut_and_a_picture_opens_by_a_click() -> None:
    growing = GrowingMarkdown()
    growing.add("![a cat](data:image/png;base64,")
    for _ in range(40):
        growing.add("iVBORw0KGgo")
        assert growing.cut() is False
    assert "iVBOR" not in growing.end.html() + growing.end.text() and "[picture: a cat]" in growing.end.html()
    growing.add(")")
    assert growing.end.html().count("<img ") == 1
    address = "https://a.example/p.png"
    assert f"[picture: a cat] {address}" in harmless(Answer(1, [f"![a cat]({address})"]).html())


@every_row("text", TEMPLATES)
def test_a_template_in_data_is_a_text_like_any_other(text: str) -> None:
    """Whether of Jinja, of JavaScript or of Python: each view shows it letter by letter, none its value."""
    for name, view in views(text):
        shown = harmless(view.html())
        assert text in shown or name == "piece of an answer", name
        assert "7006652" not in shown + view.text(), name


def test_a_template_in_an_output_is_not_filled_in_by_an_export() -> None:
    nbconvert = pytest.importorskip("nbconvert")
    import nbformat

    shown = "".join(view.html() for text in TEMPLATES for name, view in views(text) if name == "turn")
    output = nbformat.v4.new_output("display_data", data={"text/html": shown, "text/plain": "shown"})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("{{1234*5678}}", outputs=[output])])
    page = nbconvert.HTMLExporter().from_notebook_node(notebook)[0]
    assert "7006652" not in page
    words = unescape(re.sub("<[^>]*>", "", page))
    assert all(text in words for text in TEMPLATES)


_KNOWN = "regex ^\\d+$|^\\w+$"


@every_row(("text", "formulas"), [*MATH, *((text, ()) for text in TEXT)])
def test_each_formula_is_there_verbatim_and_what_is_no_math_is_not_typeset(
    text: str, formulas: tuple[str, ...]
) -> None:
    assert typeset(markdown_html(text)) == formulas


def test_texts_the_rule_was_not_made_on() -> None:
    assert [text for text, count in LATER_MATH if len(typeset(markdown_html(text))) != count] == []
    assert [text for text in LATER_TEXT if typeset(markdown_html(text))] == [_KNOWN]


@every_row("command", [
    "\\href{javascript:alert(1)}{x}", "\\def\\x{y}\\x", "\\style{position:fixed}{x}", "\\require{html}", "\\label{a}x",
])  # fmt: skip
@every_row("form", ["${}$", "$$\n{}\n$$", "\\({}\\)", "\\[{}\\]"])
def test_a_formula_that_could_do_more_than_show_is_a_text(form: str, command: str) -> None:
    text = form.replace("{}", command)
    shown = markdown_html(f"a {text} b\n\n{text}")
    assert typeset(shown) == () and command.partition("{")[0] in re.sub("<[^>]+>", "", shown)


@every_row("text", ["$x$", "\\(x\\)", "\\[x\\]", "\\begin{align}x\\end{align}", "$$x$$", "C:\\\\(x\\)"])
def test_no_other_view_shows_a_formula(text: str) -> None:
    """The name of a file, an argument, a note: MathJax would change the letters."""
    assert typeset(f"<div>{esc(text)}</div>") == ()
    math = markdown_html(text)
    for name, view in views(text):
        shown = view.html()
        assert typeset(shown) == typeset(math) * shown.count(math) or name == "piece of an answer", name


@every_row("text", [text for text, formulas in MATH if formulas])
def test_no_formula_is_cut_while_it_grows(text: str) -> None:
    said = "A sentence with some words in it. " * 3
    whole = f"{said}\n\n{text}\n\n{said}"
    cut = pieces(whole, 40)
    assert len(cut) > 1
    joined = cut[0]
    for piece in cut[1:]:
        joined = joined.joined(piece)
    assert typeset(joined.html()) == typeset(markdown_html(whole))
