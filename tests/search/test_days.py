"""Days in questions and in texts, and what they do to a search."""

from datetime import date, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.search.days import Span, asked_days, day_of, nearness
from tests import DATA
from tests.support.tables import every_row

TODAY = date(2024, 5, 21)
"""A Tuesday."""


def spans(question: str) -> list[str]:
    """`2024-05-20`, `2024-05-01..2024-05-31`; `*` where no year was named."""
    found = asked_days(question, TODAY).spans
    return [(f"{s.first}" if s.first == s.last else f"{s.first}..{s.last}") + "*" * s.yearly for s in found]


@every_row(("question", "says"), [line.split(" => ") for line in (DATA / "days.txt").read_text("utf-8").splitlines()])
def test_the_days_of_a_question(question: str, says: str) -> None:
    assert spans(question) == says.split()


@every_row("question", (DATA / "no_days.txt").read_text("utf-8").splitlines())
def test_what_names_no_day(question: str) -> None:
    assert spans(question) == []


def test_words_that_are_relative_are_not_searched_for_and_others_are() -> None:
    assert "yesterday" not in asked_days("what did Ann say yesterday?", TODAY).rest
    assert "March" in asked_days("what did Ann say on 14 March?", TODAY).rest
    assert "Sunday" in asked_days("what do we do on Sunday?", TODAY).rest, "a plan may say so"
    assert asked_days("yesterday?", TODAY).rest == "yesterday?"
    assert "März" in asked_days("Was sagte Ann im März?", TODAY).rest


@every_row(("question", "alone"), [
    ("How did Thursday go?", True), ("recap of 14 March, please", True), ("Was stand gestern in meinen Notizen?", True),
    ("la semana pasada, ¿qué hicimos?", True), ("先月のまとめ", True), ("war last week", False),
    ("the log file of yesterday", False), ("☂ yesterday", False), ("C++ yesterday", False), ("昨天的会议", False),
    ("昨日のリンゴ", False), ("what did I do?", False),
])  # fmt: skip
def test_words_that_ask_for_nothing_else_leave_the_day_alone(question: str, alone: bool) -> None:
    assert (asked_days(question, TODAY).alone is not None) == alone


@every_row(("text", "says"), [
    ("1:56 pm on 8 May, 2023", "2023-05-08"), ("2022年9月7日 下午6:41", "2022-09-07"),
    ("/memory/2024-05-06.md", "2024-05-06"), ("March 3, 2024", "2024-03-03"), ("Saturday", "None"),
    ("2024-13-45", "None"),
])  # fmt: skip
def test_the_day_of_a_text(text: str, says: str) -> None:
    assert str(day_of(text)) == says


def test_the_day_that_is_near_and_the_year_that_is_meant() -> None:
    asked = date(2024, 5, 10)
    days = [asked + timedelta(days=n) for n in (-2, -1, 0, 7, 14)]
    near = nearness((Span(asked, asked),), np.array([*(d.toordinal() for d in days), np.nan], float))
    assert near.round(3).tolist() == [0.135, 0.368, 1.0, 0.368, 0.135, 0.0]
    march = asked_days("on 14 March", TODAY).spans
    two = np.array([date(2022, 3, 14).toordinal(), date(2021, 3, 14).toordinal()], float)
    assert nearness(march, two).tolist() == [1.0, 0.5]


NOTES = {
    f"memory/2024-05-{day:02}.md": f"# Log\n\n- Nora had {dish} for supper, and it was good\n"
    for day, dish in ((3, "trout"), (9, "dumplings"), (14, "pancakes"), (20, "lentils"))
}


@every_row(("question", "dish"), [
    ("what did Nora have for supper on 9 May?", "dumplings"), ("what did Nora have for supper on 2024-05-03?", "trout"),
    ("what did Nora have for supper yesterday?", "lentils"),
    ("what did Nora have for supper last Tuesday?", "pancakes"),
    ("Nora 五月三日 supper", "trout"), ("Nora 上周 supper", "pancakes"),
])  # fmt: skip
def test_a_note_of_the_day_that_is_asked_about_comes_first(question: str, dish: str) -> None:
    index = Index()
    index.update(dict(NOTES))
    assert dish in index.search(question, 1, today=TODAY)[0].text


def test_the_day_is_that_of_the_line_the_heading_or_the_file_and_an_exact_identifier_stays_first() -> None:
    index = Index()
    text = "- before\n\n# 4 March 2023\n\n- below\n- 2023-03-09: own\n- below again\n\n5 May 2023\nafter\n\n## More\n\nend\n"
    index.update({"memory/2020-01-02.md": text, "topics.md": "- none\n"})
    rows = index._rows("SELECT day FROM units ORDER BY id")
    days = [str(date.fromordinal(day))[2:] if day else "" for (day,) in rows]
    march = "23-03-04"
    assert days == ["20-01-02", march, march, "23-03-09", march, "23-05-05", "23-05-05", march, march, ""]
    index = Index()
    index.update({**NOTES, "memory/2021-01-01.md": "- ERR_4711 came up once\n"})
    hits = index.search("did Nora have supper on 9 May 2024 when ERR_4711 came up?", 2, today=TODAY)
    assert "ERR_4711" in hits[0].text and "dumplings" in hits[1].text
    index = Index()
    index.update(dict(NOTES))
    asked = " ".join(f"{n} days ago on {n % 28 + 1} May" for n in range(4000))
    assert index.search(f"supper {asked}", 2, today=TODAY)


@given(st.text(alphabet="0123456789 ./-一二十月日周天年前上的第季度MayQtodnfrsinceFblk, ", max_size=24), st.dates())
def test_whatever_is_asked_is_read(question: str, today: date) -> None:
    for span in asked_days(question, today).spans:
        assert span.first <= span.last or span.yearly
