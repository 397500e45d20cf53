"""The teaching model computes: code that the user approves, or a cell to keep."""

import re
from typing import Any

import matplotlib
import pandas as pd
import pytest

from deepnb import Session
from deepnb.magics.code_cells import explain_prompt, fix_prompt
from deepnb.magics.last_error import CellCode
from deepnb.models.teaching.conversation import Step
from deepnb.models.teaching.model import read_failure
from deepnb.models.teaching.talk import Use
from deepnb.values.turn import ToolEnded, ToolStarted
from deepnb.workshop.error_text import error_text
from tests.data import table
from tests.support.error_cases import KINDS, LATER, OTHERS, ErrorCase, cell_label, failure
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
    session = Session(namespace=variables or tables())
    session.run(question)
    while session.asked:
        call = session.asked[0]
        list(session.resume(call.approve() if approve else call.reject("not now")))
    assert session.last is not None
    return session, session.last


def code_of(turn: Any, *tools: str) -> list[str]:
    return [str(e.args["code"]) for e in turn.events if isinstance(e, ToolStarted) and e.name in tools]


@every_row(("question", "code"), table("teaching")["code"])
def test_a_plot_a_variable_or_a_figure_is_code_that_runs_once_it_is_approved(question: str, code: str) -> None:
    _, turn = played(question)
    flat = "".join(line.strip() for line in "\n".join(code_of(turn, "run_python")).split("\n"))
    assert code in flat, (flat, turn.text)
    assert [e.status for e in turn.events if isinstance(e, ToolEnded) and e.name == "run_python"] == ["ok"]


def test_what_came_of_it_is_said_as_the_result_says_it() -> None:
    _, turn = played("plot units by region")
    assert turn.text == "By region, the total of units in sales is highest for South (18) and lowest for West (11)."
    _, turn = played("put the total units by region into a variable totals")
    assert turn.text.endswith("It is in the variable `totals`.")
    done = Step("run_python", {"code": "the user's own"}, "kind\na    70\nb    80\nName: units, dtype: int64")
    said = move("plot units by kind", *INSPECTED, done, tools=WITH_CODE)
    assert isinstance(said, str) and "total" not in said and "b    80" in said
    use = move("plot units by kind", *INSPECTED, tools=WITH_CODE)
    assert isinstance(use, Use) and "units_by_kind_2 = t.groupby" in use.args["code"]


def test_it_corrects_a_misspelt_column_once_and_guesses_none() -> None:
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


@every_row("request_", ["plot units by region", "give me a cell that adds 1"])
def test_without_the_tool_it_offers_no_code(request_: str) -> None:
    said = move(request_, tools=frozenset(TOOLS - {"list_variables", "inspect_variable"}))
    assert isinstance(said, str) and "no rule for" in said
    assert "Python" not in Session().run("what can you do?").text
    assert "Python code that runs once you approve it" in Session(namespace={}).run("what can you do?").text


@every_row("request_", [
    "What is a plot?", "Remember that the plot of the book is thin", "who wrote the code?", "call me Ana",
    "keep it short, as agreed", "make notes as Ana", "describe the dataframe called sales",
])  # fmt: skip
def test_words_alone_make_no_code(request_: str) -> None:
    _, turn = played(request_)
    assert not code_of(turn, "run_python", "propose_cell")


def test_names_of_columns_are_texts_and_rows_without_a_value_are_said() -> None:
    odd = 'x"]; import os #'
    frame = pd.DataFrame({"kind": ["a", "b", "a"], odd: [1, 2, 3]})
    _, turn = played("plot the number of rows by kind in frame", frame=frame)
    assert "import os" not in "".join(code_of(turn, "run_python"))
    frames = {"df": pd.DataFrame({"region": ["n", "s", "n", "s"], "units": [1.0, None, 3.0, 5.0]})}
    for question in ("total units by region in df", "plot the mean of units by region in df"):
        _, turn = played(question, **frames)
        assert turn.text.endswith("Rows left out: 1 without `units`."), turn.text


# -- the teaching model explains an error from the text of the prompt alone: the line, the variable, the correction


ALL = (*KINDS, *OTHERS, *LATER)


def answer(prompt: str) -> str:
    said = move(prompt)
    assert isinstance(said, str), "no tool is needed"
    return said


def prompts(case: ErrorCase) -> tuple[str, str]:
    error, cells = failure(case)
    text = error_text(error, lambda file: cell_label(file) or None)
    return explain_prompt(text), fix_prompt(text, [CellCode(name, code) for name, code in cells.items()])


@pytest.fixture(autouse=True)
def directory(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@every_row("case", ALL, ids=lambda case: case.name)
def test_an_explanation_names_the_line_and_the_variable(case: ErrorCase) -> None:
    text = answer(prompts(case)[0])
    line = re.match(r"Line (\d+) of (Cell In\[\d+\]) fails with .+:\n\n```python\n(.+)\n```", text)
    assert line and case.line in line[3]
    assert failure(case)[1][line[2].removeprefix("Cell ")].split("\n")[int(line[1]) - 1].strip() == line[3]
    words = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.search(rf"`[^`\n]*{re.escape(case.variable)}[^`\n]*`", words) or not case.variable


@every_row("case", [case for case in ALL if case.fixed], ids=lambda case: case.name)
def test_a_corrected_cell_is_the_cell_with_the_correction(case: ErrorCase) -> None:
    text = answer(prompts(case)[1])
    block = re.search(r"The corrected cell:\n\n```python\n(.*?)\n```", text, re.DOTALL)
    assert block and case.fixed in block[1]
    cells = failure(case)[1].values()
    assert any(len(set(cell.split("\n")) - set(block[1].split("\n"))) <= 2 for cell in cells), "nothing else"
    compile(block[1], "corrected", "exec")


@every_row("name", ["TypeError of arguments", "a key that is a variable", "RecursionError"])
def test_where_the_error_does_not_say_what_is_meant_there_is_no_cell(name: str) -> None:
    case = next(case for case in ALL if case.name == name)
    text = answer(prompts(case)[1])
    assert "I can't give a corrected cell: the error does not say what is meant." in text
    assert "corrected cell:\n" not in text


@every_row(("cell", "says", "never"), table("teaching")["errors"])
def test_the_commonest_errors_and_no_package_of_an_unknown_name(cell: str, says: str, never: str) -> None:
    text = answer(prompts(ErrorCase("one", (cell,), "", ""))[0])
    assert says in text and never not in text.partition("```\n\n")[2]


def test_a_corrected_cell_keeps_its_magic_and_an_error_is_explained_but_no_unknown_one() -> None:
    case = ErrorCase("below a magic", ("total = 1\ntotl",), "totl", "totl")
    error, _ = failure(case)
    text = error_text(error, lambda file: cell_label(file) or None)
    given = answer(fix_prompt(text, [CellCode("In[1]", "%%time\ntotal = 1\ntotl")]))
    assert "```python\n%%time\ntotal = 1\ntotal\n```" in given
    text = prompts(KINDS[0])[0].partition("\n\n")[2]
    assert "the nearest key is 'apple'" in answer(f"Why does this happen?\n\n{text}")
    assert read_failure("What is a Traceback (most recent call last): for?") is None
    case = ErrorCase(
        "odd", ("class Odd(Exception): pass", "x = 5\ndef f(a):\n    [b] = [Odd(a)]\n    raise b\nf(x)"), "", ""
    )
    text = answer(prompts(case)[0])
    assert "Your own code raises this error here." in text
    text = answer(prompts(ErrorCase("bits", ("n = -1", "1 << n"), "", ""))[0].replace("ValueError", "StrangeError"))
    assert "`n` (int, -1)" in text and "no rule for this error" in text


@every_row("text", [
    "Traceback (most recent call last):", "Traceback (most recent call last):\n\n\n",
    "Traceback (most recent call last):\n  Cell In[1], line 9, in <module>\n    >   x | y\nKeyError",
    "Traceback (most recent call last):\n  File x.py, line 1, in f\nKeyError: 'a'",
    "Traceback (most recent call last):\n  Cell In[1], line 9, in f\n        1 | x\nNameError: name 'q' is not defined",
    "Traceback (most recent call last):\n  Cell In[1], line 1, in f\n    >   1 | (((\nTypeError: f() got",
])  # fmt: skip
def test_a_traceback_that_is_cut_off_is_no_error_of_the_model(text: str) -> None:
    assert read_failure(text) is None or answer(text)
    assert move(f"Correct the cell that fails.\n\n{text}")
