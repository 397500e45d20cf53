"""The teaching model computes: code that the user approves, or a cell to keep."""

from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd

from deepnb import Session
from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.talk import Use
from deepnb.values.turn import ToolEnded, ToolStarted
from tests.support.notebooks import HERE, read
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, move

matplotlib.use("agg")


def tables() -> dict[str, Any]:
    return {
        "sales": pd.DataFrame(
            {
                "region": ["North", "South", "North", "South", "West", "West", "North", "South"],
                "product": ["tea", "tea", "coffee", "coffee", "tea", "coffee", "cocoa", "cocoa"],
                "month": pd.to_datetime(["2026-01-01", "2026-01-01", "2026-02-01", "2026-02-01"] * 2),
                "units": [5, 9, 6, 1, 7, 4, 2, 8],
                "revenue": [10.0, 18.0, 21.0, 3.5, 14.0, 14.0, 5.0, 20.0],
            }
        )
    }


def played(question: str, approve: bool = True, **variables: Any) -> tuple[Session, Any]:
    """A turn, each call approved as it comes, or rejected."""
    session = Session(namespace=variables or tables())
    session.run(question)
    while session.asked:
        call = session.asked[0]
        list(session.resume(call.approve() if approve else call.reject("not now")))
    assert session.last is not None
    return session, session.last


def code_of(turn: Any, *tools: str) -> list[str]:
    """The code of the calls of a turn, the last call of each."""
    return [str(e.args["code"]) for e in turn.events if isinstance(e, ToolStarted) and e.name in tools]


@every_row(
    ("question", "code"),
    [
        ("plot units by region", 'sales.groupby("region")["units"].sum().sort_values()'),
        ("bar chart of the average revenue per product", '.groupby("product")["revenue"].mean()'),
        ("histogram of units", 'sales["units"].plot.hist(ax=ax)'),
        ("plot revenue against units", 'sales.plot.scatter(x="units", y="revenue", ax=ax)'),
        ("plot revenue over time", ".plot.line(ax=ax)"),
        ("plot the number of rows per region", 'sales.groupby("region").size().sort_values()'),
        ("plot units by region where product is tea", 'sales[sales["product"] == "tea"]'),
        ("put the total units by region into a variable totals", 'totals = sales.groupby("region")["units"].sum()'),
        ("with pandas, median revenue", 'sales["revenue"].median()'),
        ("with pandas, total units per week", 'sales.groupby(sales["month"].dt.to_period("W"))["units"].sum()'),
        ("画出每个 region 的 units 柱状图", 'sales.groupby("region")["units"].sum()'),
        ("用 pandas 计算每个 product 的平均 units", 'sales.groupby("product")["units"].mean()'),
    ],
)
def test_a_plot_a_variable_or_a_figure_is_code_that_runs_once_it_is_approved(question: str, code: str) -> None:
    _, turn = played(question)
    flat = "".join(line.strip() for line in "\n".join(code_of(turn, "run_python")).split("\n"))
    assert code in flat, (flat, turn.text)
    assert [e.status for e in turn.events if isinstance(e, ToolEnded) and e.name == "run_python"] == ["ok"]


def test_what_came_of_it_is_said_with_its_figures() -> None:
    _, turn = played("plot units by region")
    assert turn.text == "By region, the total of units in sales is highest for South (18) and lowest for West (11)."
    _, turn = played("put the total units by region into a variable totals")
    assert turn.text.endswith("It is in the variable `totals`.")


def test_it_corrects_a_misspelt_column_once_and_asks_again() -> None:
    session = Session(namespace=tables())
    session.run("with pandas, total units by regoin")
    asked = []
    while session.asked:
        asked.append(session.asked[0].args["code"])
        list(session.resume(session.asked[0].approve()))
    assert asked == [f'sales.groupby("{name}")["units"].sum()' for name in ("regoin", "region")]
    assert session.last and session.last.text == (
        "sales has no column `regoin`; I took `region`, the nearest. "
        "By region, the total of units in sales is highest for South (18) and lowest for West (11)."
    )


def test_a_column_that_is_like_none_is_not_guessed() -> None:
    for question in ("with pandas, total units by xyzzy in sales", "total units by xyzzy in sales"):
        _, turn = played(question)
        assert not code_of(turn, "run_python")
        assert turn.text.startswith('I can\'t place "xyzzy" in that. Try "mean units by region in sales"')


def test_a_rejected_call_is_said_and_the_question_without_code_works() -> None:
    _, turn = played("plot units by region", approve=False)
    assert turn.text == (
        "You did not allow `run_python` (not now), so I did not run it. `query_table` gives the figures without code: "
        "ask for the total units by region in sales."
    )
    _, turn = played(turn.text.rpartition("ask for the ")[2])
    assert (
        turn.text
        == "units (sum) by region in sales:\n\n| region | units (sum) |\n| --- | --- |\n| North | 13 |\n| South | 18 |\n| West | 11 |"
    )


INSPECTED = (
    Step("list_variables", {}, "t: DataFrame, 3 rows x 2 columns\nunits_by_kind: int, 3"),
    Step(
        "inspect_variable",
        {"name": "t"},
        "t: DataFrame, 3 rows x 2 columns\ncolumn | type | non-null | summary\nkind | str | 3 | 2 distinct: a (2), b (1)\n"
        "units | int64 | 3 | min 1, mean 2, max 3",
    ),
)
WITH_CODE = TOOLS | {"query_table", "run_python", "propose_cell"}


def test_it_says_what_the_result_says_also_of_code_that_the_user_edited() -> None:
    done = Step("run_python", {"code": "the user's own"}, "kind\na    70\nb    80\nName: units, dtype: int64")
    said = move("plot units by kind", *INSPECTED, done, tools=WITH_CODE)
    assert isinstance(said, str) and "total" not in said and "b    80" in said


def test_a_variable_that_is_in_use_is_left_alone() -> None:
    use = move("plot units by kind", *INSPECTED, tools=WITH_CODE)
    assert isinstance(use, Use) and "units_by_kind_2 = t.groupby" in use.args["code"]


def test_a_cell_is_the_code_that_is_not_run() -> None:
    other = move("give me a cell that plots units by kind", *INSPECTED, tools=WITH_CODE)
    assert isinstance(other, Use) and other.tool == "propose_cell" and "units_by_kind" in other.args["code"]


@every_row("request_", ["plot units by region", "give me a cell that adds 1"])
def test_without_the_tool_it_offers_no_code(request_: str) -> None:
    said = move(request_, tools=frozenset(TOOLS - {"list_variables", "inspect_variable"}))
    assert isinstance(said, str) and "no rule for" in said
    assert "Python" not in Session().run("what can you do?").text
    assert "Python code that runs once you approve it" in Session(namespace={}).run("what can you do?").text


@every_row(
    "request_",
    ["What is a plot?", "Remember that the plot of the book is thin", "who wrote the code?", "call me Ana",
     "keep it short, as agreed", "make notes as Ana", "describe the dataframe called sales"],
)  # fmt: skip
def test_words_alone_make_no_code(request_: str) -> None:
    _, turn = played(request_)
    assert not code_of(turn, "run_python", "propose_cell")


def test_a_skill_is_read_before_the_plot() -> None:
    session = Session(namespace=tables())
    session.skills.add("clear-plot")
    session.run("use the skill clear-plot: plot units by region")
    list(session.resume(session.asked[0].approve()))
    assert session.last and "highest for South (18)" in session.last.text


def test_names_of_columns_are_texts_of_the_code_and_nothing_else() -> None:
    odd = 'x"]; import os #'
    frame = pd.DataFrame({"kind": ["a", "b", "a"], odd: [1, 2, 3]})
    _, turn = played("plot the number of rows by kind in frame", frame=frame)
    assert "import os" not in "".join(code_of(turn, "run_python"))


def test_the_notebook_has_the_cell_that_is_proposed_in_it() -> None:
    cells = [cell.source for cell in read(HERE / "06_approvals_and_data.ipynb").cells]
    place = next(i for i, source in enumerate(cells) if "Give me a cell" in source)
    _, turn = played(cells[place].removeprefix("%%agent\n"), penguins=pd.read_csv(HERE / "data/penguins.csv"))
    assert code_of(turn, "propose_cell") == [cells[place + 1]]


def test_rows_without_a_value_are_said_of_code_and_of_none() -> None:
    frame = {"df": pd.DataFrame({"region": ["n", "s", "n", "s"], "units": [1.0, None, 3.0, 5.0]})}
    for question in ("total units by region in df", "plot the mean of units by region in df"):
        _, turn = played(question, **frame)
        assert turn.text.endswith("Rows left out: 1 without `units`."), turn.text
