"""A variable in a few lines."""

import types

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.exact import figure
from tests.support.tables import every_row

PLANETS = pd.DataFrame(
    {
        "name": ["Mercury", "Venus", "Earth", "Jupiter"],
        "gravity_m_s2": [3.7, 8.87, 9.80665, 23.12],
        "moons": [0, 0, 1, 95],
        "rings": [False, False, False, True],
        "seen": pd.date_range("2024-01-01", periods=4),
        "note": [None, "hot, very", None, "big"],
    }
)


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")

    __str__ = __repr__


def greet(name, *, loud=False):
    """Say hello.

    More.
    """


def test_a_table_is_its_columns_and_first_rows():
    assert describe("planets", PLANETS) == (
        "planets: DataFrame, 4 rows x 6 columns\n"
        "column | type | non-null | summary\n"
        "name | str | 4 | 4 distinct: Mercury, Venus, Earth, ...\n"
        "gravity_m_s2 | float64 | 4 | min 3.7 (Mercury), mean 11.37, max 23.12 (Jupiter)\n"
        "moons | int64 | 4 | min 0 (Mercury), mean 24, max 95 (Jupiter)\n"
        "rings | bool | 4 | 1 True, 3 False\n"
        "seen | datetime | 4 | min 2024-01-01, max 2024-01-04\n"
        "note | str | 2 | 2 distinct: hot, very, big\n"
        "first rows:\n"
        "name,gravity_m_s2,moons,rings,seen,note\n"
        "Mercury,3.7,0,False,2024-01-01,\n"
        'Venus,8.87,0,False,2024-01-02,"hot, very"\n'
        "Earth,9.807,1,False,2024-01-03,\n"
        "Jupiter,23.12,95,True,2024-01-04,big"
    )


@every_row("dtype", [object, "str", "string", "category"])
def test_text_columns_have_one_name_and_give_labels(dtype):
    text = describe("t", PLANETS.assign(name=PLANETS["name"].astype(dtype)))
    assert ("name | category |" if dtype == "category" else "name | str |") in text
    assert "max 95 (Jupiter)" in text


def test_no_text_column_no_label_but_a_text_index_labels():
    assert "max 95\n" in describe("t", PLANETS[["moons"]])
    text = describe("t", PLANETS.set_index("name")[["moons"]])
    assert "max 95 (Jupiter)" in text
    assert "first rows:\nname,moons\nMercury,0\n" in text


def test_a_series_is_a_table_of_one_column():
    assert describe("moons", PLANETS["moons"]).startswith(
        "moons: Series, 4 rows\ncolumn | type | non-null | summary\nmoons | int64 | 4 | min 0, mean 24, max 95\n"
    )


@every_row(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame({"a": []}),
        pd.DataFrame({"a": [None, None]}),
        pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"]),
        pd.DataFrame({"l": [[1], {}, "t"], "h": [Hostile()] * 3, "p": pd.period_range("2024", periods=3, freq="D")}),
        pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")}),
        pd.DataFrame({"f": [float("nan"), float("inf")], "z": pd.to_datetime(["2024-01-01", None], utc=True)}),
        PLANETS.groupby(["rings", "name"])["moons"].sum(),
        pd.DataFrame({"v": [1, 2]}, index=[0.5, 1.5]),
        pd.DataFrame({("a", 1): [1], ("b", 2): ["x"]}),
    ],
)
def test_odd_tables_are_described(frame):
    text = describe("t", frame)
    assert text.startswith("t: ") and "column | type" in text and "unprintable DataFrame" not in text


@every_row("budget", [300, 1500, 4000])
def test_many_columns_stay_in_the_budget_and_the_last_line_counts_the_rest(budget):
    wide = pd.DataFrame({f"column_{i}": range(9) for i in range(200)})
    text = describe("wide", wide, budget)
    shown = text.count(" | int64 | ")
    assert len(text) <= budget and shown
    assert text.splitlines()[-1] == f"{200 - shown} more columns not shown"


def test_columns_are_summarized_only_where_shown():
    assert len(describe("big", pd.DataFrame(np.zeros((10, 20_000))))) <= 1500


@every_row(
    ("value", "text"),
    [
        (3, "x: int, 3"),
        (None, "x: NoneType, None"),
        ("it's", 'x: str, "it\'s"'),
        ("y" * 200, "x: str, 200 characters\n'" + "y" * 200 + "'"),
        ([1, "a"], "x: list, 2 items\n  1\n  'a'"),
        ({"a": [1]}, "x: dict, 1 item\n  'a': [1]"),
        (list(range(20)), "x: list, 20 items\n" + "".join(f"  {i}\n" for i in range(8)) + "  12 more items not shown"),
        (np.arange(3.0), "x: ndarray, shape (3,), float64\n  min 0, mean 1, max 2\n  first values: 0, 1, 2"),
        (np.array(["a"]), "x: ndarray, shape (1,), <U1\n  first values: a"),
        (np.float64(2.5), "x: float64, 2.5"),
        (greet, "x: function, greet(name, *, loud=False)\n  Say hello."),
        (Hostile, "x: class, Hostile()"),
    ],
)
def test_other_values(value, text):
    assert describe("x", value) == text


def test_a_module_is_its_name_and_first_line():
    module = types.ModuleType("csv", "\nCSV parsing and writing.\n\nMore.")
    assert describe("csv", module) == "csv: module, csv: CSV parsing and writing."


def test_a_value_that_resists_every_question():
    class Value:
        def __getattribute__(self, name):
            raise RuntimeError

    value = Value()
    texts = describe("v", value), list_of_variables({"v": value})
    assert texts == ("v: Value", "v: Value")


def test_a_whole_number_is_exact_and_any_other_has_four_digits():
    numbers = (3.7, 9.80665, 2024, 0, -0.5, 123456, 1234567.8, 1.898e27, float("inf"))
    assert " ".join(map(figure, numbers)) == "3.7 9.807 2024 0 -0.5 123456 1235000 1.898e+27 inf"


def test_the_list_of_variables_is_the_users_own():
    namespace = {"_": 1, "_i3": "x", "In": [], "Out": {}, "exit": 1, "quit": 1, "get_ipython": 1, "np": np}
    assert list_of_variables(namespace) == "(no variables)"
    namespace |= {"planets": PLANETS, "moons": PLANETS["moons"], "n": 3, "greet": greet, "a": np.zeros((2, 2))}
    assert list_of_variables(namespace).splitlines() == [
        "planets: DataFrame, 4 rows x 6 columns",
        "moons: Series, 4 rows",
        "n: int, 3",
        "greet: function, greet(name, *, loud=False)",
        "a: ndarray, shape (2, 2), float64",
    ]
    assert list_of_variables({f"v{i}": i for i in range(150)}).splitlines()[-1] == "50 more variables not shown"


@given(
    st.recursive(
        st.none() | st.floats() | st.text() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_value_is_within_the_budget(value):
    assert len(describe("x", value, 200)) <= 200
