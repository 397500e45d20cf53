"""Questions about tables: what is read, and the law that no word is passed over."""

import random
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from deepnb import Session
from deepnb.models.teaching.grammar import Unplaced, read
from deepnb.models.teaching.tables import parse_frame
from deepnb.models.teaching.talk import says
from deepnb.models.teaching.vocabulary import LEXICON, NOISE
from deepnb.values.turn import ToolStarted
from deepnb.workshop.describe import describe
from tests.support.tables import every_row
from tests.support.walks import walked

CRATES = pd.DataFrame(
    {
        "depot": ["Bergen", "Turku", "Bergen"], "weight": [4, 10, 9], "state": ["ok", "broken", "broken"],
        "crate_id": [501, 502, 503], "packed": pd.to_datetime(["2026-01-03", "2026-02-03", "2026-02-09"]),
    }
)  # fmt: skip
SALES = pd.DataFrame(
    {
        "region": ["North", "South", "North", "South", "West"], "shop": ["a", "b", "c", "d", "e"],
        "units": [5, 9, 6, 1, 7], "price": [1.0, None, 2.0, None, 3.0],
    }
)  # fmt: skip


NAMES: dict[str, Any] = {}


@cache
def session() -> Session:
    return Session(namespace=NAMES)


def answer(question: str, **tables: Any) -> str:
    """The answer in a thread of its own, where these are all variables."""
    NAMES.clear()
    NAMES.update(tables or {"crates": CRATES})
    session().new()
    return session().run(question).text


def test_the_words_that_mean_nothing_are_few_and_none_denies_compares_or_counts() -> None:
    assert len(NOISE) <= 60
    telling = "not no without except only each every all any some more most less least both other than or and never nor"
    assert not NOISE & {*telling.split(), "不", "没", "只", "每", "都", "或", "和", "最"}
    assert not NOISE & set(LEXICON)


@pytest.mark.slow
@every_row(("question", "says"), [
    ("what is the average weight in Bergen in crates?", "The mean weight in crates where depot is Bergen is 6.5."),
    ("which month had the highest total weight in crates?", "2026-02 has the highest weight in crates by month of packed"),
    ("which crate has the highest weight in crates?", "crate_id 502 has the highest weight in crates: 10."),
    ("what are the 2 heaviest rows in crates?", "| 502 | 10 | Turku | broken | 2026-02-03 |\n| 503 | 9 | Bergen |"),
    ("how many broken crates does each depot have?", "by depot in crates where state is broken:\n\n| depot | rows |\n| --- | --- |\n| Bergen | 1 |\n| Turku | 1 |"),
    ("are there repeated rows in crates?", "No, crates has 0 duplicate rows."),
    ("drop the column state from crates", 'I can\'t place "drop" in that.'),
    ("sum of weight in crates", "The total weight in crates is 23."),
    ("how many crates are there per month?", "| 2026-01 | 1 |\n| 2026-02 | 2 |"),
    ("when was weight highest?", "2026-02-03 has the highest weight in crates: 10."),
    ("how many crates in February 2026?", "2 rows of crates where packed is at least 2026-02-01"),
    ("what share of crates is broken?", "66.7 % of the rows in crates where state is broken (2 of 3)."),
    ("is crate_id unique?", "crate_id is unique in crates: 0 duplicates."),
    ("weight of crate 502", "where crate_id is 502:\n\n| crate_id | weight |\n| --- | --- |\n| 502 | 10 |"),
    ("count", 'I can\'t place "count" in that.'),
    ("mean crate_id", 'I can\'t place "crate_id" in that: it names rows, and is no figure.'),
    ("sum of weight in crates that are not broken", "where state is not broken is 4."),
    ("crates with weight above 9", "1 row of crates where weight is above 9:"),
    ("how spread out is weight in crates?", "The standard deviation of weight in crates is 3.215."),
    ("每个 depot 的平均 weight 是多少", "| Bergen | 6.5 |\n| Turku | 10 |"), ("crates 里哪个 depot 最多？", "Bergen 的行数 最多：2"),
    ("crates 里 depot 是 Bergen 的有多少行", "crates（depot 为 Bergen）：2 行。"),
    ("how many crates are older than 2026-02-03?", "1 row of crates where packed is below 2026-02-03."),
    ("how many crates are newer than 2026-02-03?", "1 row of crates where packed is above 2026-02-03."),
    ("how many crates are heavier than 2026-02-03?", 'I can\'t place "heavier than"'),
    ("how many crates more than 2026-02-03?", 'I can\'t place "more than"'),
    ("how many crates from 2026-01-03 to 2026-02-03?", "2 rows of crates where packed is at least 2026-01-03"),
    ("how many crates have weight from 4?", 'I can\'t place "from"'),
    ("how many crates from 2026-01-03?", 'I can\'t place "from"'),
    ("how many crates in January 2026 and in February 2026?", 'I can\'t place "packed"'),
    ("what is the range of weight in crates?", 'I can\'t place "range"'),
    ("quick look at crates, my friend", 'I can\'t place "'),
    ("explain crates carefully", 'I can\'t place "carefully"'),
    ("value counts of depot in crates", "rows by depot in crates:\n\n| depot | rows |\n| --- | --- |\n| Bergen | 2 |"),
    ("Could you please give me the mean weight, looking at Bergen only, crates", "where depot is Bergen is 6.5."),
    ("Among crates whose depot is Bergen, what is the mean weight?", "where depot is Bergen is 6.5."),
    ("Leaving out Bergen, how many crates do I have?", "1 row of crates where depot is not Bergen."),
    ("how many crates reach a weight of 9?", 'I can\'t place "reach"'),
    ("how high does weight go in crates?", "The highest weight in crates is 10."),
    ("is crates complete?", "No value is missing in crates: 0."),
    ("请问 crates 里 weight 加起来是几？", "crates 的 weight 总和是 23。"),
    ("除了 Bergen 以外，crates 有多少行？", "crates（depot 不为 Bergen）：1 行。"),
    ("按 depot 分组，crates 的 weight 的平均值", "| Bergen | 6.5 |"),
    ("top 2 depots by total weight", "| depot | weight (sum) |\n| --- | --- |\n| Bergen | 13 |\n| Turku | 10 |"),
    ("how many crates have weight of at most 9?", "2 rows of crates where weight is at most 9."),
    ("count crates with weight >= 9", "2 rows of crates where weight is at least 9."),
    ("how many rows of crates have weight less than 9", "1 row of crates where weight is below 9."),
    ("how many crates have a depot that contains Ber?", "2 rows of crates where depot contains Ber."),
    ("how many crates have depot Bergen or Turku?", "3 rows of crates where depot is one of Bergen, Turku."),
    ("bottom 2 rows of crates by weight", "crates by weight, from low to high:\n\n| crate_id | weight | depot | state | packed |\n| --- | --- | --- | --- | --- |\n| 501 | 4 |"),
    ("crates by weight, highest first, 2 rows", "crates by weight, from high to low:"),
    ("total weight by year in crates", "| packed.year | weight (sum) |\n| --- | --- |\n| 2026 | 23 |"),
    ("which day had the highest total weight in crates?", "2026-02-03 has the highest weight in crates by day of packed: 10 (sum)."),
    ("what is the earliest packed in crates?", "The lowest packed in crates is 2026-01-03."),
    ("median weight per depot for broken crates", "where state is broken:\n\n| depot | weight (median) |\n| --- | --- |\n| Bergen | 9 |\n| Turku | 10 |"),
    ("crates 中 weight 在 4 和 9 之间的有多少行？", "crates（weight 至少为 4，weight 至多为 9）：2 行。"),
    ("mean weight in crates between 2026-01-01 and 2026-02-05", "is at least 2026-01-01 and packed is at most 2026-02-05 is 7."),
    ("mean weight by depot in crates, sorted from high to low", "| Turku | 10 |\n| Bergen | 6.5 |"),
])  # fmt: skip
def test_the_usual_questions(question: str, says: str) -> None:
    assert says in answer(question)


@every_row(("question", "says"), [
    ("which region sold the most units?", "North has the most units in sales by region: 11 (sum)."),
    ("which region has the highest units?", 'I can\'t place "highest" in that: say total, mean, median'),
    ("mean price by region", "Rows left out: 2 without `price`."),
    ("which region has the highest mean price?", "West has the highest price in sales by region: 3 (mean)."),
    ("how many missing values are there per column", "2 values are missing in sales:\n- price: 2"),
    ("which shops are there?", "rows by shop in sales:\n\n| shop | rows |\n| --- | --- |\n| a | 1 |\n| b | 1 |\n| c | 1 |\n| d | 1 |\n| e | 1 |"),
    ("total revenue by region", 'I can\'t place "revenue" in that.'),
])  # fmt: skip
def test_what_is_left_out_or_open_is_said(question: str, says: str) -> None:
    assert says in answer(question, sales=SALES)


def test_rows_in_no_group_those_that_are_level_and_an_index_of_dates_are_told() -> None:
    told = answer(
        "which region sold the most units?", sales=SALES.assign(region=["North", "South", "North", "South", None])
    )
    expected = "North has the most units in sales by region: 11 (sum).\n\nRows without `region` are no group here: 1."
    assert told == expected
    level = SALES.assign(units=[9, 9, 1, 1, 1])
    assert "a and b have the highest units in sales: 9." in answer("which shop has the highest units?", sales=level)
    readings = pd.DataFrame({"level": [1, 5, 3]}, index=pd.to_datetime(["2026-01-31", "2026-02-01", "2026-02-02"]))
    assert answer("total level by month", readings=readings).endswith("| 2026-01 | 1 |\n| 2026-02 | 8 |")
    assert answer("when was level highest?", readings=readings).startswith("2026-02-01 has the highest level")


def test_the_table_is_the_one_last_spoken_of_and_query_table_is_asked() -> None:
    session = Session(namespace={"sales": SALES, "crates": CRATES})
    assert '"' in session.run("how many rows are there?").text  # of which?
    session.run("describe crates")
    assert session.run("how many rows are there?").text.startswith("crates is a DataFrame of 3 rows")
    assert "units" in session.run("total units in sales").text
    turn = Session(namespace={"sales": SALES}).run("which region sold the most units?")
    (use,) = [event for event in turn.events if isinstance(event, ToolStarted) and event.name == "query_table"]
    assert use.args["by"] == ["region"] and use.args["aggregate"] == {"units": "sum"}


def test_no_question_about_a_table_is_recalled_and_no_refusal_is_a_key_fact() -> None:
    session = Session(namespace={"crates": CRATES}, max_input_tokens=8_000)
    walked(session, "run describe crates", "run mean weight by depot", "run thanks")
    session.compact()
    for question in ("is weight in crates purple?", "which depot of crates smells?", "what of Turku in crates?"):
        assert "Beside the summary" not in session.run(question).text
    session = Session(namespace={"crates": CRATES}, max_input_tokens=8_000)
    for question in ("sing for me", "paint the crates", "who has the key?", "mean colour of crates", "thanks"):
        session.run(question)
    session.compact()
    assert session.snapshot.offload is not None
    refusals = [answer(question) for question in ("paint the crates", "mean colour of crates")]
    assert not [a.text for a in session.snapshot.offload.anchors if any(a.text in text for text in refusals)]


QUESTIONS = (
    "mean weight in Bergen", "how many broken crates does each depot have", "which depot has the highest total weight",
    "top 2 crates by weight", "weight of crate 502", "how many crates after 2026-01-05", "total weight by month",
    "what share of crates is broken", "how many rows have weight between 5 and 10", "are there duplicate rows",
    "sort crates by weight descending", "how many different depots are there", "median weight where state is not ok",
)  # fmt: skip
OTHERS_TEXT = """
not except only all more most other than both never second last half twice 7 Turku ok weight month median total purple
or and between above missing share sorted why cheapest highest without
"""
OTHERS = OTHERS_TEXT.split()
"""Words of other meanings than those of the questions, among them such as deny, compare or count."""


def same_meaning(word: str, other: str) -> bool:
    """Whether one word is put in place of another that says the same: `without` for `not`."""
    one, two = LEXICON.get(word, (word, "")), LEXICON.get(other, (other, ""))
    return one == two or {one[0], two[0]} <= {"!", "n"} or {word, other} == {"after", "above"}


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, pytest.param(20, marks=pytest.mark.nightly)])
def test_no_word_can_be_changed_or_added_without_another_question_or_a_refusal(count: int) -> None:
    found = parse_frame(describe("crates", CRATES))
    assert found
    rng, same = random.Random(7), []
    for question in QUESTIONS:
        asked = read(question, found[0])
        words = question.split()
        for at in range(len(words) + 1):
            for other in rng.sample(OTHERS, count):
                for changed in ([*words[:at], other, *words[at:]], [*words[:at], other, *words[at + 1 :]]):
                    said = words[at].lower() if len(changed) == len(words) else ""
                    if same_meaning(said, other):
                        continue
                    try:
                        if read(" ".join(changed), found[0]) == asked:
                            same.append((question, " ".join(changed)))
                    except Unplaced as error:
                        assert error.word
    assert not same, same


def test_one_of_a_thing_is_said_in_the_singular():
    english: Any = SimpleNamespace(tell=lambda english, chinese: english)
    told = partial(says, english, t="crates", w="", k="depot")
    assert told("missing", n=1) == "1 value is missing in crates:"
    assert told("duplicates", n="1") == "Yes, crates has 1 duplicate row."
    assert told("nunique", v="1") == "There is 1 different value of depot in crates."
    assert told("not unique", n=1) == "depot is not unique in crates: 1 row repeats a value of an earlier one."
    assert told("shape", n="1", m="1") == "crates is a DataFrame of 1 row and 1 column."
    assert told("shape", n="1,001", m="11") == "crates is a DataFrame of 1,001 rows and 11 columns."
    assert told("file", v="1") == "1 says:\ndepot"
