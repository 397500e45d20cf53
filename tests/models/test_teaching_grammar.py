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
from tests.data import table
from tests.support.scripted import walked
from tests.support.tables import every_row

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
@every_row(("question", "says"), table("teaching")["usual questions"])
def test_the_usual_questions(question: str, says: str) -> None:
    assert says in answer(question)


@every_row(("question", "says"), table("teaching")["left out or open"])
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
                    # Whether one word is put in place of another that says the same: `without` for `not`.
                    one, two = LEXICON.get(said, (said, "")), LEXICON.get(other, (other, ""))
                    if one == two or {one[0], two[0]} <= {"!", "n"} or {said, other} == {"after", "above"}:
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
