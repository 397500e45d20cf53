"""Two answers beside each other: marks are added to what is shown, and nothing else is changed."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.budget import Budget, rule_for
from deepnb.values.turn import Call, Event, ModelEnded, Snapshot, ToolEnded, ToolStarted, Turn, Usage
from deepnb.views.diff import marks, pieces
from deepnb.views.markdown import markdown_html
from deepnb.wings.compare.column import Column
from deepnb.wings.compare.view import comparison_view, marked_html, marked_text
from tests.data import hostile
from tests.support.harmless import harmless

WORDS = [
    *("one", "two", "**bold**", "`code`", "$x^2$", "$5", "and $7", "\\(a\\)", "[a](http://b/?x>y)", "&lt;", "&nbsp;", "\xa0"),
    *("| a | b |\n|---|---|\n| c | d |\n", "\n\n", "\n- ", "```\nx = 1\n```", "<b>", "<", ">", '"', "\\", "[c](d 'e>f')"),
    '[x](http://h/"onclick="y>z)',
]  # fmt: skip
ANSWERS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
MARK = re.compile(r"</?mark[^>]*>")


@given(st.lists(ANSWERS, min_size=2, max_size=4))
def test_without_its_marks_an_answer_is_as_it_is_shown_alone(answers: list[str]) -> None:
    for answer, marked in zip(answers, marked_html(answers), strict=True):
        assert MARK.sub("", marked) == markdown_html(answer)


def test_nothing_hostile_runs_for_being_marked() -> None:
    for text in hostile.SHORT:
        for answers in ([f"one {text} two", f"one two {text} three"], [f"x {text}", f"y {text} and more"]):
            for answer, marked in zip(answers, marked_html(answers), strict=True):
                assert MARK.sub("", marked) == MARK.sub("", markdown_html(answer)), text
                harmless(marked)


@given(st.lists(st.text(alphabet="ab .", max_size=20), min_size=2, max_size=4))
def test_the_pieces_of_a_text_are_that_text(texts: list[str]) -> None:
    for text, marked in zip(texts, marks(texts), strict=True):
        assert "".join(piece.text for piece in pieces(text, marked)) == text


def test_what_differs_is_marked() -> None:
    assert marked_text(["due on Friday, it is", "due on Monday, it is", "due on Monday, it is"]) == [
        *("due on »Friday«, it is", "due on »Monday«, it is", "due on »Monday«, it is")
    ]
    assert marked_text(["all alike", "all alike"]) == ["all alike"] * 2
    assert marked_text(["not a word of it", "something quite other here"])[0] == "not a word of it", "no use"
    first, _ = marked_html(["It is May, $x^2$ and $5, $7.", "It is June, $x^2$ and $5, $7."])
    assert first.count("<mark") == 1 and ">May</mark>" in first and "$x^2$" in first


def turn(text: str, *names: str, cached: int = 0, reads: int = 1_000, **more: Any) -> Turn:
    budget = Budget({"system": 100, "user": 900}, rule_for(8_000), 2)
    call = Call(1, "answer", (), budget, Usage(reads, 10, cached))
    used = [ToolStarted(name, name, {"path": "/"}) for name in names]
    ended = [ToolEnded(name, name, "", "ok", 0.1) for name in names]
    state = Snapshot("main", files={"/AGENTS.md": "- new\n"}, memory={"/AGENTS.md": more.pop("told", "- new\n")})
    events: tuple[Event, ...] = (*used, *ended, ModelEnded(call))
    return Turn(1, "main", "go", text, events, state, state, Usage(reads, 10, cached), budget, "m", 0.5, **more)


def test_figures_and_calls_that_differ() -> None:
    left = Column({"a": "1", "b": "x"}, "done", turn("yes", "ls", cached=750, told="- old\n"))
    right = Column({"a": "2", "b": "x"}, "done", turn("yes", "ls", "glob", cached=250))
    waits = Column({"a": "3", "b": "x"}, "running")
    view = comparison_view([left, right, waits], "main")
    text = view.text()
    assert "a=1, b=x  done" in text and "a=3, b=x  running …" in text
    assert "(the same answer as with a=1, b=x)" in text and "(the same answer as with a=1, b=x)" in view.html()
    assert view.html().count("yes") == 1 and "max-width:62em" not in view.html()
    assert '  → ls(path="/")  ok' in text and '  ≠ glob(path="/")  ok' in text
    figures = {one.label: (one.values, one.differs) for one in view.figures}
    assert figures["cached"] == (("75 %", "25 %", "–"), True) and figures["tool calls"] == (("1", "2", "–"), True)
    assert figures["memory in the prompt"] == (("stale", "current", "–"), True)
    assert figures["context"] == (("1,000", "1,000", "–"), False) and not figures["time"][1]
    assert "as before" not in text, "nothing is said of forks before all have ended"
    assert view.html().count("≠ differs</mark>") == 1
    harmless(view.html())
