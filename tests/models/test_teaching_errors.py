"""The teaching model explains an error from the text of the prompt alone: the line, the variable, the correction."""

from __future__ import annotations

import re
from typing import Any

import pytest

from deepnb.magics.code_cells import explain_prompt, fix_prompt
from deepnb.magics.last_error import CellCode
from deepnb.models.teaching.model import read_failure
from deepnb.workshop.error_text import error_text
from tests.support.error_cases import KINDS, LATER, OTHERS, ErrorCase, cell_label, failure
from tests.support.tables import every_row
from tests.support.teaching import move

ALL = (*KINDS, *OTHERS, *LATER)


def answer(prompt: str) -> str:
    said = move(prompt)
    assert isinstance(said, str), "no tool is needed"
    return said


def prompts(case: ErrorCase) -> tuple[str, str]:
    """What `%agent explain` and `%agent fix` send."""
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
    cell = failure(case)[1][line[2].removeprefix("Cell ")]
    assert cell.split("\n")[int(line[1]) - 1].strip() == line[3]
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


@every_row(
    ("cell", "says", "never"),
    [
        ("import cv2", "%pip install opencv-python", "csv"),
        ("import sklearnn_of_mine", "There is no module `sklearnn_of_mine` here.", "%pip"),
        ("import jsn", "There is no module `jsn` here.", "import json"),
        ("'a' + 1.0", "A text can only be joined to a text.", "no rule"),
        ("import pandas as pd\npd.Series(['x']).dt", "`pd.to_datetime(...)`", "no rule"),
        ("int(float('nan'))", "A missing value (NaN) can't be a whole number.", "no rule"),
        ("1 / 0", "The divisor is 0.", "`0` is not 0"),
    ],
)
def test_the_commonest_errors_and_no_package_of_an_unknown_name(cell: str, says: str, never: str) -> None:
    text = answer(prompts(ErrorCase("one", (cell,), "", ""))[0])
    assert says in text and never not in text.partition("```\n\n")[2]


def test_a_corrected_cell_keeps_its_magic() -> None:
    case = ErrorCase("below a magic", ("total = 1\ntotl",), "totl", "totl")
    error, _ = failure(case)
    text = error_text(error, lambda file: cell_label(file) or None)
    given = answer(fix_prompt(text, [CellCode("In[1]", "%%time\ntotal = 1\ntotl")]))
    assert "```python\n%%time\ntotal = 1\ntotal\n```" in given


def test_an_error_in_a_question_is_explained_as_well() -> None:
    text = prompts(KINDS[0])[0].partition("\n\n")[2]
    assert "the nearest key is 'apple'" in answer(f"Why does this happen?\n\n{text}")
    assert read_failure("What is a Traceback (most recent call last): for?") is None


def test_an_unknown_kind_of_error_is_not_guessed_at() -> None:
    case = ErrorCase(
        "odd", ("class Odd(Exception): pass", "x = 5\ndef f(a):\n    [b] = [Odd(a)]\n    raise b\nf(x)"), "", ""
    )
    text = answer(prompts(case)[0])
    assert "Your own code raises this error here." in text
    text = answer(prompts(ErrorCase("bits", ("n = -1", "1 << n"), "", ""))[0].replace("ValueError", "StrangeError"))
    assert "`n` (int, -1)" in text and "no rule for this error" in text


@every_row(
    "text",
    [
        "Traceback (most recent call last):",
        "Traceback (most recent call last):\n\n\n",
        "Traceback (most recent call last):\n  Cell In[1], line 9, in <module>\n    >   x | y\nKeyError",
        "Traceback (most recent call last):\n  File x.py, line 1, in f\nKeyError: 'a'",
        "Traceback (most recent call last):\n  Cell In[1], line 9, in f\n        1 | x\nNameError: name 'q' is not defined",
        "Traceback (most recent call last):\n  Cell In[1], line 1, in f\n    >   1 | (((\nTypeError: f() got",
    ],
)
def test_a_traceback_that_is_cut_off_is_no_error_of_the_model(text: str) -> None:
    assert read_failure(text) is None or answer(text)
    assert move(f"Correct the cell that fails.\n\n{text}")
