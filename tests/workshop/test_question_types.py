"""Twenty questions about columns of every kind: each answer is what Python computes, or an error names type and example."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import pandas as pd
import pytest

from deepnb.workshop.exact import cell
from deepnb.workshop.namespace import namespace_tools
from tests.support.typed_columns import Kind, kinds, mean

EXPLAINED = re.compile(r"Error: 'x' holds \w.*such as \S")


def ask(value: Any, **question: Any) -> str:
    (query,) = (tool for tool in namespace_tools({"t": value}) if tool.__name__ == "query_table")
    given = {"where": {}, "by": [], "aggregate": {}, "columns": [], "sort": "", "head": 20, "join": {}, **question}
    return str(query("t", **given))


def rows(text: str) -> list[list[str]]:
    said = re.compile(r"missing values: |\d+ more rows? not shown$")
    lines = [line for line in text.splitlines()[2:] if not said.match(line)]
    return [[written(one) for one in row] for row in csv.reader(lines)]


def written(text: str) -> str:
    """Return a text of a length of time as pandas has it: Python writes `1 day, 0:00:00`."""
    text = re.sub(r"(:\d\d)\.\d+$", r"\1", text)  # each unit of times has seconds
    return str(pd.Timedelta(text.replace(",", " "))) if re.search(r"\d:\d\d:\d\d$", text) and "-" not in text else text


def questions(kind: Kind) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield 20 questions with the rows that answer them; None where nothing but an error can."""
    present, (low, middle, high) = kind.present, kind.written
    place = [
        None if value is None else min(i for i, one in enumerate(kind.values) if one == value) for value in present
    ]
    least, at_middle, most = (min(i for i, one in enumerate(kind.values) if one == value) for value in kind.values)

    def numbers(keep: Any) -> list[list[str]]:
        return [[str(n)] for n, at in enumerate(place) if keep(at)]

    def where(condition: Any) -> dict[str, Any]:
        return {"where": {"x": condition}, "columns": ["n"]}

    for i, written in enumerate(kind.written):
        yield where(written), numbers(lambda at, i=i: at is not None and kind.values[at] == kind.values[i])
    yield where([low, high]), numbers(lambda at: at in (least, most))
    yield where([middle, None]), numbers(lambda at: at is None or kind.values[at] == kind.values[1])
    yield where(None), numbers(lambda at: at is None)
    if kind.absent is not None:
        yield where(kind.absent), []
        yield where([kind.absent, low]), numbers(lambda at: at == least)
    else:
        yield where([low, low]), numbers(lambda at: at == least)
        yield where([]), []
    yield where({"no": [1]}), None
    if kind.ordered:
        yield where({"min": middle}), numbers(lambda at: at is not None and at >= at_middle)
        yield where({"max": low}), numbers(lambda at: at == least)
        yield where({"min": low, "max": high}), numbers(lambda at: at is not None)
    sizes = Counter((type(value), value) for value in present)
    yield {"by": ["x"]}, sorted([cell(value), str(size)] for (_, value), size in sizes.items())
    yield (
        {"by": ["g"], "aggregate": {"x": "count"}},
        sorted([g, str(sum(v is not None for v, h in zip(present, "aabbaabb", strict=True) if g == h))] for g in "ab"),
    )
    known = [value for value in present if value is not None]
    yield {"aggregate": {"x": ["nunique", "count"]}}, [[str(len(set(known))), str(len(known))]]
    if kind.ordered:
        yield {"aggregate": {"x": "min"}}, [[cell(kind.values[least])]]
        yield {"aggregate": {"x": ["max"]}}, [[cell(kind.values[most])]]
        last = [[str(n)] for n, at in enumerate(place) if at is None]
        order = sorted((at, n) for n, at in enumerate(place) if at is not None)
        yield {"sort": "x", "columns": ["n"]}, [[str(n)] for _, n in order] + last
        order.sort(key=lambda one: -one[0])
        yield {"sort": "-x", "columns": ["n"]}, [[str(n)] for _, n in order] + last
    if kind.mean:
        yield {"aggregate": {"x": "mean"}}, [[cell(mean(known))]]
    yield {"columns": ["x"], "head": 2}, [[cell(value)] for value in present[:2]]
    yield (
        {"where": {"x": low}, "by": ["g"], "aggregate": {"n": "sum"}},
        sorted(
            [g, str(sum(found))]
            for g in "ab"
            if (found := [n for n, (at, h) in enumerate(zip(place, "aabbaabb", strict=True)) if at == least and g == h])
        ),
    )


@pytest.mark.slow
def test_every_answer_is_right_or_its_error_names_type_and_example():
    wrong, refused, asked = [], [], 0
    made = kinds()
    for kind in made:
        for question, expected in questions(kind):
            asked += 1
            text = ask(kind.table, **question)
            if text.startswith("Error: "):
                refused.append(f"{kind.name}: {question}: {text}")
                if expected is not None and not EXPLAINED.match(text):
                    wrong.append(refused[-1])
                continue
            got = rows(text)
            wanted = [[written(x) for x in row] for row in expected or ()]
            if expected is None or (sorted(got) if question.get("by") else got) != wanted:
                wrong.append(f"{kind.name}: {question}: {got} is not {expected}")
    assert len(made) >= 60 and asked >= 15 * len(made)
    needless = [one for one in refused if "'no'" not in one]
    assert not wrong, f"{len(wrong)} of {asked}, {len(needless)} refused\n" + "\n".join(wrong)
    assert len(needless) <= asked // 10, "\n".join(needless)
    print(f"{len(made)} tables, {asked} questions, {len(needless)} refused")


FITS: dict[type, tuple[type, ...]] = {
    str: (str, bytes, PurePath), float: (int, float, complex, Decimal, Fraction), bool: (bool,),
}  # fmt: skip
WRONG_TYPES: list[Any] = ["no such thing", 77.5, True, "2026-99-99", "(", {"min": "no such thing"}, {"max": True}]


def test_a_value_of_another_type_is_never_no_rows_and_a_name_of_two_columns_is_said():
    """A column of texts, of paths or of bytes holds what a text says, one of numbers any number, one of bools both."""
    wrong = []
    for kind in kinds():
        for value in WRONG_TYPES:
            fits = FITS[type(value) if not isinstance(value, dict) else type(next(iter(value.values())))]
            if any(isinstance(one, fits) for one in kind.values):
                continue
            text = ask(kind.table, where={"x": value}, columns=["n"])
            if not EXPLAINED.match(text):
                wrong.append(f"{kind.name}: {value!r}: {text.splitlines()[0]}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)
    two = pd.DataFrame([[1, 2], [3, 4]], columns=["max", "max"])
    both = pd.DataFrame({"k": [1, 2, 3], "v": [1, 1, 2]}, index=pd.Index([5, 6, 7], name="k"))
    several = pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "x"), ("b", "x")]))
    for table, name in ((two, "max"), (both, "k"), (several, "a, x")):
        for question in ({"where": {name: 1}}, {"by": [name]}, {"sort": name}, {"aggregate": {name: "sum"}}):
            text = ask(table, **question)
            assert text.startswith(f"Error: 2 columns are called {name!r}") and f"{name}_1" in text, text
        shown = ask(table, columns=[name])
        assert f"{name}_1" in shown.splitlines()[1].replace('"', ""), shown
        assert f"2 columns are called {name!r}" in shown, shown
        assert ask(table, where={f"{name}_2": 77}).startswith("t: 0 rows")
    assert ask(both, where={"k_1": 6}, columns=["k_2"]).splitlines()[:3] == ["t: 1 row match", "k_2", "2"]
