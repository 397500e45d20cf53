"""An answer cut in pieces says what it says whole, wherever it is cut."""

import html
import re

from hypothesis import given
from hypothesis import strategies as st

from deepnb.views.growing_markdown import GrowingMarkdown, Piece
from deepnb.views.markdown import markdown_html
from tests.support.answers import ANSWERS, SAID, pieces
from tests.support.tables import every_row

_HIDDEN = re.compile(r'<thead>\s*<tr style="[^"]*visibility:collapse">.*?</thead>', re.DOTALL)


def shown(markup: str) -> str:
    """The words of `markup`, without white space and without the repeated heads of tables."""
    return "".join(html.unescape(re.sub("<[^>]+>", "", _HIDDEN.sub("", markup))).split())


@every_row("every", [20, 60, 150])
@every_row("name", ANSWERS)
def test_the_pieces_say_what_the_whole_says(name: str, every: int) -> None:
    answer = ANSWERS[name]
    cut = pieces(answer, every)
    assert "".join(piece.markdown for piece in cut) == answer
    assert shown("".join(piece.html() for piece in cut)) == shown(markdown_html(answer))
    whole = cut[0]
    for piece in cut[1:]:
        whole = whole.joined(piece)
    assert whole.html() == Piece(answer).html(), "joined again they are one"


@every_row("name", [n for n in ANSWERS if n != "hard"])
def test_no_end_grows_long(name: str) -> None:
    answer = ANSWERS[name] * (1 if "open" in name or "fence" in name else 2)
    longest = max(len(piece.markdown) for piece in pieces(answer, 150, 5))
    assert longest < 260, "a cut leaves a short end"


@given(
    st.lists(st.sampled_from([*ANSWERS.values(), "\n\n", "\n", "- ", "> ", "1. ", "```\n", "    "]), max_size=4),
    st.integers(1, 30),
)
def test_nothing_of_a_text_is_lost(parts: list[str], step: int) -> None:
    answer = "".join(part[:200] for part in parts)
    cut = pieces(answer, 50, step)
    assert "".join(piece.markdown for piece in cut) == answer
    for piece in cut:
        piece.html()


@given(st.text(max_size=200), st.integers(1, 7))
def test_any_text_can_be_cut(answer: str, step: int) -> None:
    cut = pieces(answer, 10, step)
    for piece in cut:
        piece.html().encode()


def test_a_list_a_table_and_code_that_were_cut_go_on() -> None:
    cut = pieces(ANSWERS["one, one, one"], 100)
    assert len(cut) > 3
    starts = [int(re.search(r'<ol [^>]*start="(\d+)"', piece.html()).group(1)) for piece in cut[1:]]
    items = [piece.html().count("<li>") for piece in cut]
    assert starts == [1 + sum(items[:i]) for i in range(1, len(items))]
    cut = pieces(ANSWERS["table"].removesuffix("\nAfter."), 150)
    assert len(cut) > 3
    widths = {tuple(re.findall(r"<th style=\"[^\"]*width:(\d+)%", piece.html())) for piece in cut}
    assert len(widths) == 1 and len(widths.pop()) == 2
    hidden = ["visibility:collapse" in piece.html() for piece in cut]
    assert hidden == [False, *[True] * (len(cut) - 1)]
    assert all("<th " in piece.html() for piece in cut), "with every style removed the columns still have names"
    cut = pieces(ANSWERS["open fence"], 150)
    styles = [re.search(r'<pre style="([^"]*)"', piece.html()).group(1) for piece in cut]
    assert "margin:8px 0 0 0" in styles[0] and "padding:8px 10px 0 10px" in styles[0]
    assert all("margin:0;border-radius:0;padding:0 10px" in style for style in styles[1:-1])
    assert "margin:0;border-radius:0 0 6px 6px" in styles[-1]


def test_a_link_is_known_to_all_pieces_once_it_is_defined() -> None:
    answer = f"See [the page][p]. {SAID}\n\n{SAID}\n\n[p]: https://example.com\n\n{SAID} Also [the page][p]."
    cut = pieces(answer, 150)
    assert len(cut) > 3 and cut[0].html().count('href="https://example.com"') == 1
    assert cut[-1].html().count('href="https://example.com"') == 1


def test_half_a_line_end_waits_for_the_other() -> None:
    growing = GrowingMarkdown()
    for piece in ("a\r", "\nb\r", "c"):
        growing.add(piece)
    assert growing.end.markdown == "a\nb␍c"


@every_row("sign", ["**", "*", "_", "~~", "`"])
def test_a_paragraph_is_never_cut_inside_what_a_sign_opens(sign: str) -> None:
    grown = GrowingMarkdown()
    grown.add(f"It begins here. So {sign}all of this is one. Still the same. And so is this, which has no end yet")
    began = grown.end
    assert grown.cut() and began.markdown in ("It begins here. ", "It begins here. So "), began.markdown
