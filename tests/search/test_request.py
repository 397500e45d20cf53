"""What may be asked of an index and given to it: a budget is filled, a day is found, a mistake is one line."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnb.search import Index
from deepnb.search.days import Span, asked_days, day_of, nearness
from deepnb.values.errors import DeepnbError, InvalidError
from tests import DATA
from tests.data import rows
from tests.search import filled
from tests.support.tables import every_row

BEES = "- the bees of hive {}-{} are well and at work\n"
MANY = {f"memory/{n}.md": "".join(BEES.format(n, i) for i in range(40)) for n in range(20)}


def size(hits: list[Any]) -> int:
    return sum(len(hit.text) + len(hit.heading) + 1 for hit in hits)


@every_row("tokens", [200, 1000, 2000])
@every_row("k", [None, 3, 6, 40])
def test_a_budget_is_filled_and_kept(tokens: int, k: int | None) -> None:
    index = filled(MANY)
    hits = index.search("how are the bees of the hive?", k, tokens=tokens)
    most = min(tokens * 4, 1600 * (k or 40))
    assert most * 0.85 < size(hits) <= tokens * 4 and (k is None or len(hits) <= k)


def test_short_notes_fill_a_budget_by_their_number() -> None:
    index = filled({f"memory/{n}.md": f"- the bees of hive {n} are well\n" for n in range(300)})
    hits = index.search("bees of the hive", tokens=2000)
    assert len(hits) > 200 and size(hits) > 7900


@every_row(("how", "says"), rows("search_options")["refused"])
def test_an_unknown_name_is_not_ignored(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidError, match="^" + says.replace("(", r"\(").replace("?", r"\?")):
        Index().search("bees", **how)


def test_what_is_no_path_or_query_is_one_line_and_a_path_object_names_a_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="query can't be None: give a str"):
        Index().search(None)  # type: ignore[arg-type]
    with pytest.raises(DeepnbError, match=r"is a directory: give the path of a file in it, such as index\.db"):
        Index(tmp_path)
    index = Index()
    index.update({Path("memory") / "a.md": "bees"})  # type: ignore[dict-item]
    assert index.files() == ["memory/a.md"]


@every_row(("how", "says"), [
    ({"path": 3}, "the path of an index can't be 3: give a str or a Path"),
    ({"path": "a\0b"}, "the path of an index can't be 'a.*b'"),
    ({"embedder": "openai"}, "embedder can't be 'openai': give a LangChain Embeddings"),
    ({"source": {}}, "source can't be {}: give a function"),
])  # fmt: skip
def test_an_index_is_made_of_what_it_can_use(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidError, match=says):
        Index(**how)


@every_row(("query", "path"), [("🐝", "bees.md"), ("what of the 🚀?", "launch.md"), ("☕ and tea", "tea.md")])
def test_an_emoji_is_a_word(query: str, path: str) -> None:
    index = filled({"bees.md": "they are back 🐝🐝", "launch.md": "Monday: 🚀 it is up", "tea.md": "no ☕ today"})
    assert index.search(query, 1)[0].path == path


@every_row(("files", "says"), [
    ({"a.md": b"bees"}, "the text of a.md is bytes: decode it"),
    ({"a.md": Path("a.md")}, "the text of a.md is PosixPath: give a str"),
    ({3: "bees"}, "a path can't be int"),
    (Path("notes"), "update takes a mapping of paths to texts, not PosixPath"),
    (["a.md"], "update takes a mapping of paths to texts, not list"),
])  # fmt: skip
def test_what_is_no_text_is_one_line(files: Any, says: str) -> None:
    with pytest.raises(DeepnbError, match=says):
        Index().update(files)


TEXT = {
    "a.md": "# Bees\n\nRuth keeps bees behind the shed.\nNEAR the AND gate OR not.",
    "b.md": "蜜蜂住在花园的尽头。\n\nゆきは犬が好きです。\n\n고양이는 지붕 위에 있다.",
    "c.md": "",
}
INDEX = Index()
INDEX.update(dict(TEXT))

HOSTILE = [
    "", " ", '"', '""""', "'; DROP TABLE files; --", "NEAR(", "NEAR(a b, 5)", "AND OR NOT", "bees AND", "NOT bees",
    "bees*", "^bees", "body:bees", "{body}: bees", "-bees", "+", "bees\x00\x01\x1b[31m", "\ud800bees\udfff", "(" * 5000,
    "%s %d {0} \\", "b" * 100_000, "bees " * 20_000, '" OR ' * 20_000, " ".join(f"word{n}" for n in range(20_000)),
    "蜂" * 100_000, "\u202e\u200b\ufeff", "a\u0301\u0302" * 1000, "🐝" * 100, "/" * 10_000, "a.b/" * 10_000,
    "A-" * 20_000, "-A" * 20_000, "a1" * 50_000,
]  # fmt: skip


@every_row("query", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_query_gives_hits_or_nothing(query: str) -> None:
    for hit in INDEX.search(query, 3):
        assert hit.path in TEXT


@every_row("query", ["bees AND", "NOT bees", "bees*", '"bees', "bees\x00\x01\x1b[31m", "\ud800bees\udfff"])
def test_the_words_in_it_are_found_all_the_same(query: str) -> None:
    assert INDEX.search(query, 1)[0].path == "a.md"


@every_row("k", [0, -1, 10**9])
def test_any_number_of_hits_may_be_asked_for(k: int) -> None:
    assert len(INDEX.search("bees", k)) <= max(k, 0)


@every_row("query", ["花园", "花园的尽头住着什么？", "犬", "犬が好き", "고양이", "지붕"])
def test_chinese_japanese_and_korean_are_found(query: str) -> None:
    assert [hit.path for hit in INDEX.search(query, 1)] == ["b.md"]


ANY = st.characters(blacklist_categories=[])


@given(st.text(ANY, max_size=200))
def test_any_text_may_be_asked(query: str) -> None:
    INDEX.search(query, 2)


@example({"\0": "", "\0b": "c", "a": "d"})
@given(st.dictionaries(st.text(ANY, min_size=1, max_size=20), st.text(ANY, max_size=400), max_size=4))
def test_any_text_may_be_indexed_and_what_has_a_word_is_found(files: dict[str, str]) -> None:
    index = filled({**files, "known.md": "the hoopoe"})
    again = index.update({**files, "known.md": "the hoopoe"})
    assert again.changed == 0 and "known.md" in {hit.path for hit in index.search("hoopoe", 10)}


def test_a_lone_surrogate_in_a_text_is_kept_as_a_question_mark() -> None:
    index = filled({"a.md": "the \udc80 hoopoe"})
    assert index.search("hoopoe")[0].text == "the ? hoopoe"


def test_a_file_of_very_many_lines_is_indexed_as_far_as_it_goes_and_it_is_said() -> None:
    from deepnb.search import chunks

    index = Index()
    before, chunks.MOST = chunks.MOST, 50
    long = "\n\n".join(f"line {n} of the log " + "x" * 900 for n in range(200))
    try:
        index.update({"long.md": long, "b.md": "hoopoe"})
    finally:
        chunks.MOST = before
    assert index.search("line 3 of the log")[0].path == "long.md" and index.search("hoopoe")[0].path == "b.md"
    assert len(index.notices) == 1 and "long.md is too long" in index.notices[0]


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
    index = filled(NOTES)
    assert dish in index.search(question, 1, today=TODAY)[0].text


def test_the_day_is_that_of_the_line_the_heading_or_the_file_and_an_exact_identifier_stays_first() -> None:
    index = Index()
    text = "- before\n\n# 4 March 2023\n\n- below\n- 2023-03-09: own\n- below again\n\n5 May 2023\nafter\n\n## More\n\nend\n"
    index.update({"memory/2020-01-02.md": text, "topics.md": "- none\n"})
    rows = index._rows("SELECT day FROM units ORDER BY id")
    days = [str(date.fromordinal(day))[2:] if day else "" for (day,) in rows]
    march = "23-03-04"
    assert days == ["20-01-02", march, march, "23-03-09", march, "23-05-05", "23-05-05", march, march, ""]
    index = filled({**NOTES, "memory/2021-01-01.md": "- ERR_4711 came up once\n"})
    hits = index.search("did Nora have supper on 9 May 2024 when ERR_4711 came up?", 2, today=TODAY)
    assert "ERR_4711" in hits[0].text and "dumplings" in hits[1].text
    index = filled(NOTES)
    asked = " ".join(f"{n} days ago on {n % 28 + 1} May" for n in range(4000))
    assert index.search(f"supper {asked}", 2, today=TODAY)


@given(st.text(alphabet="0123456789 ./-一二十月日周天年前上的第季度MayQtodnfrsinceFblk, ", max_size=24), st.dates())
def test_whatever_is_asked_is_read(question: str, today: date) -> None:
    for span in asked_days(question, today).spans:
        assert span.first <= span.last or span.yearly
