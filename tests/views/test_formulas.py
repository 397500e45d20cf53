"""Math reaches the page's MathJax as it was written; money, variables and code never do."""

import re

from deepnb.views.html import esc
from deepnb.views.markdown import markdown_html
from tests.data.math_and_money import LATER_MATH, LATER_TEXT, MATH, TEXT
from tests.support.answers import pieces
from tests.support.hostile_views import views
from tests.support.tables import every_row
from tests.support.typeset import typeset

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
    assert typeset(shown) == ()
    assert command.partition("{")[0] in re.sub("<[^>]+>", "", shown)


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
