"""Days in questions and in texts, and what they do to a search."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.search.days import Span, asked_days, day_of, nearness
from tests.support.tables import every_row

TODAY = date(2024, 5, 21)
"""A Tuesday."""


def spans(question: str) -> list[str]:
    """`2024-05-20`, `2024-05-01..2024-05-31`; `*` where no year was named."""
    found = asked_days(question, TODAY).spans
    return [(f"{s.first}" if s.first == s.last else f"{s.first}..{s.last}") + "*" * s.yearly for s in found]


@every_row(
    ("question", "says"),
    [
        ("What did Ann do on 14 March 2024?", "2024-03-14"),
        ("What did Ann do on March 14th, 2024?", "2024-03-14"),
        ("what was noted on 2024-03-14", "2024-03-14"),
        ("the meeting on the 14th of March", "2024-03-14*"),
        ("In March 2023, where was she?", "2023-03-01..2023-03-31"),
        ("in may?", "2024-05-01..2024-05-31*"),
        ("plans for August", "2024-08-01..2024-08-31*"),
        ("where did they live in 2019?", "2019-01-01..2019-12-31"),
        ("what did I decide yesterday?", "2024-05-20"),
        ("the day before yesterday", "2024-05-19"),
        ("three days ago", "2024-05-18"),
        ("last Tuesday", "2024-05-14"),
        ("what did we say on Monday", "2024-05-20"),
        ("last week", "2024-05-13..2024-05-19"),
        ("two weeks ago", "2024-05-06..2024-05-12"),
        ("the week before last", "2024-05-06..2024-05-12"),
        ("last weekend", "2024-05-18..2024-05-19"),
        ("last month", "2024-04-01..2024-04-30"),
        ("a month ago", "2024-04-01..2024-04-30"),
        ("last year", "2023-01-01..2023-12-31"),
        ("昨天吃了什么", "2024-05-20"),
        ("前天", "2024-05-19"),
        ("大前天", "2024-05-18"),
        ("三天前说了什么", "2024-05-18"),
        ("上周", "2024-05-13..2024-05-19"),
        ("上周三", "2024-05-15"),
        ("上上周三", "2024-05-08"),
        ("上个星期天", "2024-05-19"),
        ("两周前", "2024-05-06..2024-05-12"),
        ("上个月", "2024-04-01..2024-04-30"),
        ("两个月前", "2024-03-01..2024-03-31"),
        ("五月三日", "2024-05-03*"),
        ("5月3号", "2024-05-03*"),
        ("十一月二十一日", "2024-11-21*"),
        ("2024年5月", "2024-05-01..2024-05-31"),
        ("2023年5月3日", "2023-05-03"),
        ("去年五月", "2023-05-01..2023-05-31"),
        ("十二月份", "2024-12-01..2024-12-31*"),
        ("Thursday of last week", "2024-05-16"),
        ("last week's Thursday", "2024-05-16"),
        ("周四，两周前的周四", "2024-05-16 2024-05-09"),
        ("the 4th of last month", "2024-04-04"),
        ("on the 30th", "2024-04-30"),
        ("上個月4號", "2024-04-04"),
        ("Monday to Wednesday", "2024-05-13..2024-05-15"),
        ("上周一到周三", "2024-05-13..2024-05-15"),
        ("10-12 May", "2024-05-10..2024-05-12*"),
        ("from 28 December 2023 to 3 January 2024", "2023-12-28..2024-01-03"),
        ("5月10日到12日", "2024-05-10..2024-05-12*"),
        ("since Friday", "2024-05-17..2024-05-21"),
        ("the last 3 days", "2024-05-18..2024-05-21"),
        ("最近两周", "2024-05-07..2024-05-21"),
        ("Q1 2023", "2023-01-01..2023-03-31"),
        ("last quarter", "2024-01-01..2024-03-31"),
        ("2023年第四季度", "2023-10-01..2023-12-31"),
        ("the week of May 9", "2024-05-06..2024-05-12*"),
        ("last week of April", "2024-04-01..2024-04-30*"),
        ("5/18", "2024-05-18*"),
        ("18.5.", "2024-05-18*"),
        ("week 19", "2024-05-06..2024-05-12"),
        ("over the weekend", "2024-05-18..2024-05-19"),
        ("2023", "2023-01-01..2023-12-31"),
        ("Fri", "2024-05-17"),
        ("the Friday before last", "2024-05-10"),
        ("on Friday, 10 May", "2024-05-10*"),
        ("5月10日星期五", "2024-05-10*"),
        ("4 May last year", "2023-05-04"),
        ("去年の5月", "2023-05-01..2023-05-31"),
        ("這個週一", "2024-05-20"),
        ("18-11-2023", "2023-11-18"),
        ("letzten Freitag", "2024-05-17"),
        ("zwischen dem 10. und 12. Mai", "2024-05-10..2024-05-12*"),
        ("im März 2023", "2023-03-01..2023-03-31"),
        ("drittes Quartal", "2024-07-01..2024-09-30*"),
        ("lundi dernier", "2024-05-20"),
        ("l'année dernière", "2023-01-01..2023-12-31"),
        ("avant-hier", "2024-05-19"),
        ("el miércoles pasado", "2024-05-15"),
        ("los últimos tres días", "2024-05-18..2024-05-21"),
        ("anteayer", "2024-05-19"),
        ("二週間前", "2024-05-06..2024-05-12"),
        ("先々週の金曜日", "2024-05-10"),
        ("一昨日", "2024-05-19"),
    ],
)
def test_the_days_of_a_question(question: str, says: str) -> None:
    assert spans(question) == says.split()


NO_DAY = """may I ask who marches
the march of time
what is 5/6 of 12?
ERR-2024-03-99 and 1.2.3
on 2024-02-30
every Monday
next week
下周三
每周三
三个月大的猫
box-17
on the 4th floor
every Friday
next Friday
jeden Montag
Was ist hier passiert?
4号线怎么走
the first
week 3 of the course
port 2025"""


@every_row("question", NO_DAY.split("\n"))
def test_what_names_no_day(question: str) -> None:
    assert spans(question) == []


def test_words_that_are_relative_are_not_searched_for_and_others_are() -> None:
    assert "yesterday" not in asked_days("what did Ann say yesterday?", TODAY).rest
    assert "March" in asked_days("what did Ann say on 14 March?", TODAY).rest
    assert "Sunday" in asked_days("what do we do on Sunday?", TODAY).rest, "a plan may say so"
    assert asked_days("yesterday?", TODAY).rest == "yesterday?"
    assert "März" in asked_days("Was sagte Ann im März?", TODAY).rest


@every_row(
    ("question", "alone"),
    [
        ("How did Thursday go?", True),
        ("recap of 14 March, please", True),
        ("Was stand gestern in meinen Notizen?", True),
        ("la semana pasada, ¿qué hicimos?", True),
        ("先月のまとめ", True),
        ("war last week", False),
        ("the log file of yesterday", False),
        ("☂ yesterday", False),
        ("C++ yesterday", False),
        ("昨天的会议", False),
        ("昨日のリンゴ", False),
        ("what did I do?", False),
    ],
)
def test_words_that_ask_for_nothing_else_leave_the_day_alone(question: str, alone: bool) -> None:
    assert (asked_days(question, TODAY).alone is not None) == alone


@every_row(
    ("text", "says"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08"),
        ("2022年9月7日 下午6:41", "2022-09-07"),
        ("/memory/2024-05-06.md", "2024-05-06"),
        ("March 3, 2024", "2024-03-03"),
        ("Saturday", "None"),
        ("2024-13-45", "None"),
    ],
)
def test_the_day_of_a_text(text: str, says: str) -> None:
    assert str(day_of(text)) == says


def test_nearness_falls_slowly_after_and_fast_before() -> None:
    asked = date(2024, 5, 10)
    days = [asked + timedelta(days=n) for n in (-2, -1, 0, 7, 14)]
    near = nearness((Span(asked, asked),), np.array([*(d.toordinal() for d in days), np.nan], float))
    assert near.round(3).tolist() == [0.135, 0.368, 1.0, 0.368, 0.135, 0.0]


def test_without_a_year_the_latest_that_has_something_is_meant() -> None:
    march = asked_days("on 14 March", TODAY).spans
    days = np.array([date(2022, 3, 14).toordinal(), date(2021, 3, 14).toordinal()], float)
    assert nearness(march, days).tolist() == [1.0, 0.5]


NOTES = {
    f"memory/2024-05-{day:02}.md": f"# Log\n\n- Nora had {dish} for supper, and it was good\n"
    for day, dish in ((3, "trout"), (9, "dumplings"), (14, "pancakes"), (20, "lentils"))
}


@every_row(
    ("question", "dish"),
    [
        ("what did Nora have for supper on 9 May?", "dumplings"),
        ("what did Nora have for supper on 2024-05-03?", "trout"),
        ("what did Nora have for supper yesterday?", "lentils"),
        ("what did Nora have for supper last Tuesday?", "pancakes"),
        ("Nora 五月三日 supper", "trout"),
        ("Nora 上周 supper", "pancakes"),
    ],
)
def test_a_note_of_the_day_that_is_asked_about_comes_first(question: str, dish: str) -> None:
    index = Index()
    index.update(dict(NOTES))
    assert dish in index.search(question, 1, today=TODAY)[0].text


def test_the_day_is_that_of_the_line_the_heading_or_the_file_in_this_order() -> None:
    index = Index()
    text = "- before\n\n# 4 March 2023\n\n- below\n- 2023-03-09: own\n- below again\n\n5 May 2023\nafter\n\n## More\n\nend\n"
    index.update({"memory/2020-01-02.md": text, "topics.md": "- none\n"})
    rows = index._rows("SELECT day FROM units ORDER BY id")
    days = [str(date.fromordinal(day))[2:] if day else "" for (day,) in rows]
    march = "23-03-04"
    assert days == ["20-01-02", march, march, "23-03-09", march, "23-05-05", "23-05-05", march, march, ""]


def test_an_exact_identifier_stays_first_whatever_the_day() -> None:
    index = Index()
    index.update({**NOTES, "memory/2021-01-01.md": "- ERR_4711 came up once\n"})
    hits = index.search("did Nora have supper on 9 May 2024 when ERR_4711 came up?", 2, today=TODAY)
    assert "ERR_4711" in hits[0].text and "dumplings" in hits[1].text


@given(st.text(alphabet="0123456789 ./-一二十月日周天年前上的第季度MayQtodnfrsinceFblk, ", max_size=24), st.dates())
def test_whatever_is_asked_is_read(question: str, today: date) -> None:
    for span in asked_days(question, today).spans:
        assert span.first <= span.last or span.yearly


def test_a_long_question_full_of_days_is_answered() -> None:
    index = Index()
    index.update(dict(NOTES))
    asked = " ".join(f"{n} days ago on {n % 28 + 1} May" for n in range(4000))
    assert index.search(f"supper {asked}", 2, today=TODAY)
