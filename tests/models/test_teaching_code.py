"""The teaching model computes: code that the user approves, a cell to keep, or a question without code."""

from __future__ import annotations

from typing import Any

import matplotlib
import pandas as pd
import pytest

from deepnb import Session
from deepnb.core.messages import Message
from deepnb.core.values import ToolCall, ToolEnded
from deepnb.magics.interpolate import fill
from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.moves import Say, Use
from tests.support.code_answers import calls, fault, played
from tests.support.code_questions import LATER, QUESTIONS, Expected, tables
from tests.support.notebooks import HERE, read
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, move

matplotlib.use("agg")


@pytest.mark.slow
@every_row(("question", "expected"), QUESTIONS + LATER, ids=[question for question, _ in QUESTIONS + LATER])
def test_a_question_gets_the_code_that_answers_it(question: str, expected: Expected) -> None:
    assert fault(question, expected) == ""


def results(turn: Any, name: str) -> list[tuple[str, str]]:
    return [(e.status, e.result) for e in turn.events if isinstance(e, ToolEnded) and e.name == name]


def test_it_corrects_a_misspelt_column_once_and_asks_again() -> None:
    session = Session(namespace=tables())
    session.run("with pandas, total units by regoin")
    asked = []
    while session.asked:
        asked.append(session.asked[0].args["code"])
        list(session.resume(session.asked[0].approve()))
    assert asked == [f'sales.groupby("{name}")["units"].sum()' for name in ("regoin", "region")]
    assert [status for status, _ in results(session.last, "run_python")] == ["error", "ok"]
    assert session.last.text == (
        "sales has no column `regoin`; I took `region`, the nearest. "
        "By region, the total of units in sales is highest for South (18) and lowest for West (11)."
    )


def test_a_second_error_is_reported() -> None:
    _, turn = played("with pandas, total unizs by regoin in sales")
    assert [status for status, _ in results(turn, "run_python")] == ["error", "error"]
    assert "I took `region`" in turn.text and "failed" in turn.text and "KeyError" in turn.text
    assert "highest" not in turn.text


def test_a_column_that_is_like_none_is_not_guessed() -> None:
    for question in ("with pandas, total units by xyzzy in sales", "total units by xyzzy in sales"):
        _, turn = played(question)
        assert not calls(turn, "run_python", "query_table")
        assert turn.text.startswith("sales has no column like `xyzzy`. Its columns are: region, product,")


def test_a_rejected_call_is_said_and_the_question_without_code_works() -> None:
    _, turn = played("plot units by region", approve=False)
    assert not calls(turn, "run_python")
    assert turn.text == (
        "You did not allow `run_python` (not now), so I did not run it. `query_table` gives the figures without code: "
        "ask for the total units by region in sales."
    )
    _, turn = played(turn.text.rpartition("ask for the ")[2])
    assert turn.text == "units (sum) by region in sales:\n- North: 13\n- South: 18\n- West: 11"


def test_a_misspelt_column_is_corrected_in_a_question_without_code() -> None:
    _, turn = played("average temperature_c per cty in weather")
    assert "weather has no column `cty`; I took `city`" in turn.text and "- Rome: 15" in turn.text


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
    assert said == Say("By kind, the total of units in t is highest for b (80) and lowest for a (70).")


def test_a_variable_that_is_in_use_is_left_alone() -> None:
    use = move("plot units by kind", *INSPECTED, tools=WITH_CODE)
    assert isinstance(use, Use) and "units_by_kind_2 = t.groupby" in use.args["code"]


def test_that_as_a_cell_is_the_code_that_ran() -> None:
    ran = Message("1", "assistant", "", (ToolCall("c1", "run_python", {"code": "a = 1"}),))
    earlier = (ran, Message("2", "tool", "(no output)", tool_call_id="c1"))
    assert move("give me that as a cell", tools=WITH_CODE, earlier=earlier) == Use("propose_cell", {"code": "a = 1"})
    other = move("give me a cell that plots units by kind", *INSPECTED, tools=WITH_CODE, earlier=earlier)
    assert isinstance(other, Use) and "units_by_kind" in other.args["code"]


@every_row("request_", ["plot units by region", "with code: total units by region", "give me a cell that adds 1"])
def test_without_the_tool_it_offers_no_code(request_: str) -> None:
    said = move(request_, tools=TOOLS)
    assert isinstance(said, Say) and "I have no rule for" in said.text
    assert "Python" not in Session().run("what can you do?").text
    assert "Python code that runs once you approve it" in Session(namespace={}).run("what can you do?").text


@every_row(
    "request_",
    [
        "What is a plot?",
        "Remember that the plot of the book is thin",
        "who wrote the code?",
        "call me Ana",
        "keep it short, as agreed",
        "make notes as Ana",
        "describe the dataframe called sales",
        "what is in the variable sales?",
    ],
)
def test_words_alone_make_no_code(request_: str) -> None:
    _, turn = played(request_)
    assert not calls(turn, "run_python", "propose_cell")


def test_a_skill_is_read_before_the_plot() -> None:
    session = Session(namespace=tables())
    session.skills.add("clear-plot")
    session.run("use the skill clear-plot: plot units by region")
    list(session.resume(session.asked[0].approve()))
    assert [call.name for call in calls(session.last, "read_file", "run_python")] == ["read_file", "run_python"]
    assert "highest for South (18)" in session.last.text


def test_names_of_columns_are_texts_of_the_code_and_nothing_else() -> None:
    odd = 'x"]; import os #'
    frame = pd.DataFrame({"kind": ["a", "b", "a"], odd: [1, 2, 3]})
    _, turn = played(f"plot the histogram of {odd} in frame", frame=frame)
    assert [status for status, _ in results(turn, "run_python")] == ["ok"]


def test_the_notebook_has_the_cell_that_is_proposed_in_it() -> None:
    cells = [cell.source for cell in read(HERE / "06_approvals_and_data.ipynb").cells]
    place = next(i for i, source in enumerate(cells) if "Give me a cell" in source)
    _, turn = played(cells[place].removeprefix("%%agent\n"), penguins=pd.read_csv(HERE / "data/penguins.csv"))
    assert [call.args["code"] for call in calls(turn, "propose_cell")] == [cells[place + 1]]


@every_row(
    ("question", "code"),
    [
        ("plot the gravity of the planets", 'planets.set_index("name")["gravity_m_s2"].sort_values()'),
        ("plot moons by name for planets with rings", 'planets[planets["rings"]]'),
        ("with pandas, the moons of each planet without rings", 'planets[~planets["rings"]]'),
        ("put the gas giants into a variable gas", 'gas = planets[planets["kind"] == "gas giant"]'),
        ("sort the planets by mean temperature with pandas", 'planets.sort_values("mean_temperature_c")'),
        ("plot the number of planets of each kind", 'planets.groupby("kind").size().sort_values()'),
        ("with code, penguins heavier than 6000 g", 'penguins[penguins["body_mass_g"] > 6000]'),
        ("with pandas, the five heaviest penguins", 'penguins.nlargest(5, "body_mass_g")'),
        (
            "with pandas, mean body mass of penguins by species and sex",
            '.groupby(["species", "sex"])["body_mass_g"].mean()',
        ),
        (
            "correlation of bill length and body mass with code",
            'penguins["bill_length_mm"].corr(penguins["body_mass_g"])',
        ),
    ],
)
def test_of_real_tables_it_reads_what_their_rows_are_called(question: str, code: str) -> None:
    name = "planets" if "planet" in question or "gas" in question else "penguins"
    _, turn = played(question, **{name: pd.read_csv(HERE / f"data/{name}.csv")})
    (call,) = calls(turn, "run_python")
    assert code in str(call.args["code"])
    assert [status for status, _ in results(turn, "run_python")] == ["ok"]


def test_values_of_a_table_that_was_filled_in_are_no_words_of_the_request() -> None:
    rows = {"region": ["n", "s", "n", None], "units": [1.0, None, 3.0, 5.0]}
    shown = fill("Plot the mean of units by region in {df}", {"df": pd.DataFrame(rows)}).text
    session = Session(namespace={"df": pd.DataFrame(rows)})
    session.run(shown)
    (asked,) = session.asked
    code = str(asked.args["code"])
    assert 'df.groupby("region")["units"].mean()' in code and "isin" not in code
    list(session.resume(asked.approve()))
    assert session.last.text.endswith("Rows left out: 1 without `region`, 1 without `units`.")


def test_rows_without_a_value_are_said_where_no_code_runs() -> None:
    namespace = {"df": pd.DataFrame({"region": ["n", "s", "n", "s"], "units": [1.0, None, 3.0, 5.0]})}
    assert (
        Session(namespace=namespace)
        .run("total units by region in df")
        .text.endswith("Rows left out: 1 without `units`.")
    )
