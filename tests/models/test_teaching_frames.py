"""What the teaching model says of a DataFrame: no more than `inspect_variable` tells it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from deepnb.models.teaching.frames import answer as frame_answer
from deepnb.models.teaching.frames import parse_frame

from deepnb import Session
from deepnb.core.values import ToolStarted
from deepnb.workshop.describe import describe
from tests.support.tables import every_row
from tests.support.teaching import asked

SALES = pd.DataFrame(
    {
        "region": ["North", "South", "North", "South", "West"],
        "shop": ["a", "b", "c", "d", "e"],
        "units": [5, 9, 6, 1, 7],
        "price": [1.0, None, 2.0, None, 3.0],
    }
)


def answer(question: str, **tables: Any) -> str:
    return Session(namespace=tables or {"sales": SALES}).run(question).text


GROUP_QUESTIONS = [
    ("which region sold the most units?", "North has the most units in sales by region: 11 (sum).", "units", "sum"),
    (
        "which region sold the fewest units in all?",
        "West has the fewest units in sales by region: 7 (sum).",
        "units",
        "sum",
    ),
    (
        "which region has the highest mean price?",
        "West has the highest price in sales by region: 3 (mean).",
        "price",
        "mean",
    ),
    ("sales 里哪个 region 的 units 最多？", "sales 按 region 计算 units（sum），North 最大：11。", "units", "sum"),
]


@every_row(("question", "says", "column", "how"), GROUP_QUESTIONS)
def test_a_question_about_groups_of_rows_is_answered_by_query_table(question, says, column, how):
    turn = Session(namespace={"sales": SALES}).run(question)
    assert turn.text == says
    (use,) = [event for event in turn.events if isinstance(event, ToolStarted) and event.name == "query_table"]
    assert use.args["by"] == ["region"] and use.args["aggregate"] == {column: how}


@every_row(("question", "says", "column", "how"), GROUP_QUESTIONS)
def test_without_query_table_it_gives_the_line_of_pandas(question, says, column, how):
    found = parse_frame(describe("sales", SALES))
    assert found
    frame = found[0]
    text = frame_answer(asked(question), frame, question)
    assert f'sales.groupby("region")["{column}"].{how}()' in text and "South" not in text


@every_row(
    ("question", "says"),
    [
        ("which region has the highest price?", "West has the highest price in sales: 3."),
        ("which row has the most units?", "South has the most units in sales: 9."),
        ("which row has the fewest units?", "South has the fewest units in sales: 1."),
        ("what is the highest number of units?", "South has the highest units in sales: 9."),
    ],
)
def test_a_question_that_one_row_answers_is(question, says):
    assert answer(question) == says


def test_of_two_tables_that_a_question_names_it_looks_at_the_one_it_is_asked_in():
    other = SALES.assign(units=[1, 1, 1, 1, 99])
    question = "which region has the most units of sales in my_table?"
    assert answer(question, sales=SALES, my_table=other) == "West has the most units in my_table by region: 99 (sum)."
    assert answer(question, my_table=other, sales=SALES) == "West has the most units in my_table by region: 99 (sum)."


@every_row(("question", "says"), [("describe the data", "says: "), ("描述一下数据", " 说：")])
def test_without_variables_it_quotes_the_tool(question, says):
    text = answer(question, _=1)
    assert says in text and "<function" not in text


def test_it_says_how_many_values_are_missing():
    assert "- price (float64): min 1 (North), mean 2, max 3 (West), 2 missing" in answer("describe sales")
    assert answer("tell me about the price column of sales").endswith("max 3 (West), 2 missing.")


@every_row(("question", "more"), [("describe wide", 108), ("which columns does wide have?", 101)])
def test_it_says_how_many_columns_it_leaves_out(question, more):
    wide = pd.DataFrame({f"c{i}": [i, i + 1] for i in range(120)})
    text = answer(question, wide=wide)
    assert text.splitlines()[-1].startswith(f"- and {more} more columns")
    assert len([line for line in text.splitlines() if line.startswith("- c")]) == 120 - more
    assert all(f"c{i}" in text for i in range(19)), "those whose names are known are named"


@every_row(
    ("said", "path", "line"),
    [
        ("Add to USER.md that I like tea", "/USER.md", "The user likes tea"),
        ("please add to /TOOLS.md: make test runs the tests", "/TOOLS.md", "make test runs the tests"),
        ("write 'ask before you delete' into SOUL.md", "/SOUL.md", "ask before you delete"),
        ("在 USER.md 里加上我喜欢茶", "/USER.md", "用户喜欢茶"),
        ("把“测试用 make”写进 TOOLS.md", "/TOOLS.md", "测试用 make"),
    ],
)
def test_a_fact_is_added_to_the_memory_file_that_is_named(said, path, line):
    s = Session()
    s.memory.write(path, "- first\n")
    s.run(said)
    assert s.files[path] == f"- first\n- {line}\n"
    s.run("add to AGENTS.md that tea is green")
    assert s.files["/AGENTS.md"] == "- tea is green\n"


@every_row("made", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_a_table_of_another_library_is_read_as_one_of_pandas(made):
    table = made(SALES)
    assert answer("what is the mean of price in the data frame?", sales=table) == "The mean price in sales is 2."
    found = parse_frame(describe("sales", table))
    assert found and found[0].code == "sales.to_pandas()"


@every_row(
    ("question", "told"),
    [
        ("which region sold the most?", "units (sum) by region in sales:\n- North: 8\n- South: 7"),
        ("Which region sold the least?", "units (sum) by region in sales:\n- South: 7\n- North: 8"),
        ("which region sold the most units?", "North has the most units in sales by region: 8 (sum)"),
        ("Which region earned the most?", "revenue (sum) by region in sales:\n- South: 90"),
        ("which region appears the most?", "North"),
        ("which region weighed the most?", "can't tell which column"),
    ],
)
def test_who_sold_the_most_is_a_sum_of_what_was_sold(question: str, told: str) -> None:
    sales = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "region": ["North", "South", "North"],
            "units": [3, 7, 5],
            "revenue": [10.0, 90.0, 20.0],
            "year": [2024, 2024, 2025],
        }
    )
    assert told in Session(namespace={"sales": sales}).run(question).text


def test_of_one_column_of_figures_it_is_that_one() -> None:
    sales = pd.DataFrame({"shop": ["a", "b", "a"], "cakes": [3, 2, 5], "year": [2024, 2024, 2025]})
    assert (
        "cakes (sum) by shop in sales:\n- a: 8"
        in Session(namespace={"sales": sales}).run("which shop sold the most?").text
    )
