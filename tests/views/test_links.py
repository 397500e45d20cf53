"""Links, pictures, templates and math that come from data, in every view: what may open, opens apart; nothing else."""

import re
from html import unescape

import pytest

from deepnb.views.growing_markdown import GrowingMarkdown
from deepnb.views.html import esc
from deepnb.views.markdown import markdown_html
from deepnb.views.turn_segments import Answer
from tests.data.math_and_money import LATER_MATH, LATER_TEXT, MATH, TEXT
from tests.support.answers import pieces
from tests.support.harmless import harmless
from tests.support.hostile_views import views
from tests.support.tables import every_row
from tests.support.typeset import typeset

SAFE = {
    "inline": "[there](https://a.example/x?y=1&z=2)", "with a title": '[there](http://a.example "a title")',
    "reference": "[there][1]\n\n[1]: https://a.example", "in angles": "<https://a.example>", "mail": "<me@a.example>",
    "in a table": "| a |\n|---|\n| [there](https://a.example) |",
    "in a heading": "# [there](https://a.example)", "a picture": "![alt](https://a.example/p.png)",
    "a picture in a link": "[![alt](https://a.example/p.png)](https://b.example)",
}  # fmt: skip
UNSAFE = (
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
    "java&#115;cript:alert(1)", "javascript&colon;alert(1)", "data:text/html,<b>x</b>",
    "data:image/svg+xml;base64,PHN2Zz4=", "vbscript:msgbox(1)", "file:///etc/passwd", "blob:https://a.example/1",
    "//a.example/x", "/logout", "#top", "?a=b",
)  # fmt: skip
WRITTEN = ("[x]({})", "[x](<{}>)", "<{}>", "![x]({})", "[x][1]\n\n[1]: {}", '<a href="{}">x</a>', "<img src='{}'>")
PICTURES = (
    "![alt](https://a.example/p.png)", "![alt][p]\n\n[p]: https://a.example/p.png", "<img src=https://a.example/p.png>",
    "<img srcset='https://a.example/p.png 2x'>",
    "<picture><source srcset=https://a.example/p.png></picture>",
    "<svg><image href=https://a.example/p.png /></svg>",
    "<p style='background:url(https://a.example/p.png)'>x</p>", "<style>@import 'https://a.example/p.css'</style>",
    "<link rel=stylesheet href=https://a.example/p.css>", "<input type=image src=https://a.example/p.png>",
    "<table background=https://a.example/p.png></table>", "![alt](data:image/svg+xml;base64,PHN2Zz4=)",
    "![alt](data:image/png;base64,PHN2Zz4=)", "![alt](data:image/png,iVBORw0KGgo=)",
    "![alt](data:text/html;base64,iVBORw0KGgo=)",
    "![alt](<data:image/png;base64,iVBORw0KGgo= onerror=alert(1)>)",
    "[alt](data:image/png;base64,iVBORw0KGgo=)",
)  # fmt: skip
TEMPLATES = (
    "{{1234*5678}}", "{%set x=1%}", "{#note#}", "${1234*5678}", "<%=1234*5678%>", "#{1234*5678}", "{1234*5678}",
)  # fmt: skip


OPENS_APART = re.compile(r'<a href="(?:https?://|mailto:)[^"]*" target="_blank" rel="noopener noreferrer">')


@every_row("text", SAFE.values(), ids=SAFE)
def test_every_link_opens_apart_and_tells_nobody_where_it_was(text: str) -> None:
    shown = Answer(1, [text]).html()
    assert 0 < shown.count("<a ") == len(OPENS_APART.findall(shown))


@every_row("text", [*(form.format(address) for form in WRITTEN for address in UNSAFE), *PICTURES])
def test_no_address_runs_leads_inside_or_is_loaded(text: str) -> None:
    """Every view escapes in one place, which `test_hostile_values` tries: an answer alone has links and pictures."""
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


@every_row(("text", "formulas"), MATH)
def test_each_formula_is_there_verbatim(text: str, formulas: tuple[str, ...]) -> None:
    assert typeset(markdown_html(text)) == formulas


@every_row("text", TEXT)
def test_what_is_no_math_is_not_typeset(text: str) -> None:
    assert typeset(markdown_html(text)) == ()


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
