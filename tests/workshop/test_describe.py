"""A variable in a few lines, also of values whose code is never called, or that are too big to be read whole."""

import enum
import functools
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.exact import figure
from tests.support.hostile import Loud, loud
from tests.support.tables import every_row

PLANETS = pd.DataFrame({
    "name": ["Mercury", "Venus", "Earth", "Jupiter"], "gravity_m_s2": [3.7, 8.87, 9.80665, 23.12],
    "moons": [0, 0, 1, 95], "rings": [False, False, False, True], "seen": pd.date_range("2024-01-01", periods=4),
    "note": [None, "hot, very", None, "big"],
})  # fmt: skip


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


def test_text_labels_and_the_size_of_each_group_are_shown():
    assert "max 95\n" in describe("t", PLANETS[["moons"]])
    text = describe("t", PLANETS.set_index("name")[["moons"]])
    assert "max 95 (Jupiter)" in text and "first rows:\nname,moons\nMercury,0\n" in text
    frame = pd.DataFrame({"region": ["N", "S", "N", "N"], "year": [2023, 2023, 2024, 2024] * 1})
    assert "region | str | 4 | 2 distinct: N (3), S (1)" in describe("t", frame)
    years = describe("t", pd.concat([frame] * 2))
    assert "year | int64 | 8 | min 2023 (N), mean 2024, max 2024 (N); 2 distinct: 2023 (4), 2024 (4)" in years


@every_row("frame", [
    pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame({"a": [None, None]}),
    pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"]),
    pd.DataFrame({"l": [[1], {}, "t"], "h": [Hostile()] * 3, "p": pd.period_range("2024", periods=3, freq="D")}),
    pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")}),
    pd.DataFrame({"f": [float("nan"), float("inf")], "z": pd.to_datetime(["2024-01-01", None], utc=True)}),
    PLANETS.groupby(["rings", "name"])["moons"].sum(), pd.DataFrame({"v": [1, 2]}, index=[0.5, 1.5]),
    pd.DataFrame({("a", 1): [1], ("b", 2): ["x"]}),
])  # fmt: skip
def test_odd_tables_are_described(frame):
    text = describe("t", frame)
    assert text.startswith("t: ") and "column | type" in text and "unprintable DataFrame" not in text


@every_row("budget", [300, 1500, 4000])
def test_many_columns_stay_in_the_budget_and_the_last_line_counts_the_rest(budget):
    wide = pd.DataFrame({f"column_{i}": range(9) for i in range(200)})
    text = describe("wide", wide, budget)
    shown = text.count(" | int64 | ")
    assert len(text) <= budget and shown and text.splitlines()[-1] == f"{200 - shown} more columns not shown"


@every_row(("value", "text"), [
    (3, "x: int, 3"), (None, "x: NoneType, None"), ("it's", 'x: str, "it\'s"'),
    ("y" * 200, "x: str, 200 characters\n'" + "y" * 200 + "'"), ([1, "a"], "x: list, 2 items\n  1\n  'a'"),
    ({"a": [1]}, "x: dict, 1 item\n  'a': [1]"),
    (list(range(20)), "x: list, 20 items\n" + "".join(f"  {i}\n" for i in range(8)) + "  12 more items not shown"),
    (np.arange(3.0), "x: ndarray, shape (3,), float64\n  min 0, mean 1, max 2\n  first values: 0, 1, 2"),
    (np.array(["a"]), "x: ndarray, shape (1,), <U1\n  first values: a"),
    (np.float64(2.5), "x: float64, 2.5"),
    (greet, "x: function, greet(name, *, loud=False)\n  Say hello."),
    (Hostile, "x: class, Hostile()"),
])  # fmt: skip
def test_other_values(value, text):
    assert describe("x", value) == text


def test_modules_series_frames_under_another_class_and_values_that_resist():
    module = types.ModuleType("csv", "\nCSV parsing and writing.\n\nMore.")
    assert describe("csv", module) == "csv: module, csv: CSV parsing and writing."
    assert describe("moons", PLANETS["moons"]).startswith(
        "moons: Series, 4 rows\ncolumn | type | non-null | summary\nmoons | int64 | 4 | min 0, mean 24, max 95\n"
    )
    assert describe("x", Derived({"a": [1]})).endswith("Derived is a subclass: pandas.DataFrame(...) of it is read")

    class Value:
        def __getattribute__(self, name):
            raise RuntimeError

    value = Value()
    texts = describe("v", value), list_of_variables({"v": value})
    assert texts == ("v: Value", "v: Value")
    numbers = (3.7, 9.80665, 2024, 0, -0.5, 123456, 1234567.8, 1.898e27, float("inf"))
    assert " ".join(map(figure, numbers)) == "3.7 9.807 2024 0 -0.5 123456 1235000 1.898e+27 inf"
    namespace = {"_": 1, "_i3": "x", "In": [], "Out": {}, "exit": 1, "quit": 1, "get_ipython": 1, "np": np}
    assert list_of_variables(namespace) == "(no variables)"
    namespace |= {"planets": PLANETS, "moons": PLANETS["moons"], "n": 3, "greet": greet, "a": np.zeros((2, 2))}
    assert list_of_variables(namespace).splitlines() == [
        "planets: DataFrame, 4 rows x 6 columns", "moons: Series, 4 rows", "n: int, 3",
        "greet: function, greet(name, *, loud=False)", "a: ndarray, shape (2, 2), float64",
    ]  # fmt: skip
    assert list_of_variables({f"v{i}": i for i in range(150)}).splitlines()[-1] == "50 more variables not shown"


@given(
    st.recursive(
        st.none() | st.floats() | st.text() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
def test_any_value_is_within_the_budget(value):
    assert len(describe("x", value, 200)) <= 200


class Meta(type):
    def __getattribute__(cls, name):
        loud.append(f"class {name}")
        return type.__getattribute__(cls, name)

    def __hash__(cls):
        loud.append("class __hash__")
        return 1

    def __eq__(cls, other):
        loud.append("class __eq__")
        return True


class Led(metaclass=Meta):
    pass


class Text(str):
    __slots__ = ()

    def __str__(self):
        loud.append("Text.__str__")
        return "x"

    __repr__ = __str__

    def __hash__(self):
        loud.append("Text.__hash__")
        return 1


class Many(dict):
    def __iter__(self):
        loud.append("Many.__iter__")
        return iter(())

    def __len__(self):
        loud.append("Many.__len__")
        return 1


class Derived(pd.DataFrame):
    def __repr__(self):
        loud.append("Derived.__repr__")
        return "x"

    @property
    def shape(self):
        loud.append("Derived.shape")
        return (1, 1)


def default(a, /, thing=Loud(), *rest, key=1, **more):  # noqa: B008
    """Take a thing."""


def objects(*values):
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column


@every_row(
    ("value", "text"),
    [
        (Loud(), "x: Loud\n  names: width, area(), lazy"),
        ([Loud()], "x: list, 1 item\n  <Loud>"),
        ({"a": Loud(), "b": [Loud()]}, "x: dict, 2 items\n  'a': <Loud>\n  'b': [<Loud>]"),
        ((Text("s"),), "x: tuple, 1 item\n  <Text>"),
        (Led(), "x: Led"),
        (Led, "x: class, Led()"),
        (Many(a=1), "x: Many"),
        (objects(Loud(), None), "x: ndarray, shape (2,), object\n  values of type Loud"),
        (default, "x: function, default(a, /, thing=<Loud>, *rest, key=1, **more)\n  Take a thing."),
        (pd.DataFrame({"a": objects(Loud(), None)}), "x: DataFrame, 2 rows x 1 columns\ncolumn | type | non-null | summary\n"
            "a | object | ? | values of type Loud\nfirst rows:\na\n<Loud>\n"),
        (pd.Series(objects(Loud(), Led())), "x: Series, 2 rows\ncolumn | type | non-null | summary\n"
            "value | object | ? | values of type Led, Loud\nfirst rows:\nvalue\n<Loud>\n<Led>"),
        (Derived({"a": [1]}), "x: Derived\n  names: "),
    ],
    ids=map(str, range(12)),
)  # fmt: skip
def test_nothing_of_a_misbehaving_value_is_called(value, text):
    loud.clear()
    shown = describe("x", value)
    listed = list_of_variables({"x": value})
    assert loud == [] and shown.startswith(text) and "xxx" not in shown + listed


@every_row(
    ("value", "text"),
    [
        (pd.Index(["a", "b", None], name="k"), "x: Index, 3 labels"),
        (pd.RangeIndex(3), "x: RangeIndex, 3 labels"),
        (np.array([1.0, np.nan, 3.0]), "x: ndarray, shape (3,), float64\n  min 1, mean 2, max 3, 1 missing\n  first values: 1, , 3"),
        (10**5000, "x: int, <int of 16610 bits>"),
        (enum.Enum("Color", "red green"), "x: class, Color("),
        (functools.partial(len), "x: partial\n  names: func, args, keywords"),
        (b"z" * 10**8, "x: bytes\nb'zzz"),
    ],
    ids=map(str, range(7)),
)  # fmt: skip
def test_other_kinds_of_values(value, text):
    assert describe("x", value).startswith(text)


KEY = "sk-ant-api03-Zk39fjQ0aLw82mNbVcXz71PqRsTuYw5E"


@every_row("namespace", [
    {"password": "correct-Horse7-battery"}, {"x": KEY}, {"config": {"password": "correct-Horse7-battery"}},
    {"x": [KEY]},
])  # fmt: skip
def test_what_looks_like_a_credential_is_not_shown(namespace):
    (name, value) = next(iter(namespace.items()))
    shown = describe(name, value) + list_of_variables(namespace)
    assert "Horse7" not in shown and "fjQ0aLw82" not in shown and name in shown


def test_a_longer_table_is_a_sample_and_a_figure_is_its_axes():
    assert "figures are of a sample: 1 row in 3 of 300000" in describe("t", pd.DataFrame({"n": range(300_000)}))
    assert "sample" not in describe("t", pd.DataFrame({"n": range(200_000)}))
    assert len(describe("big", pd.DataFrame(np.zeros((10, 20_000))))) <= 1500
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    axes.set(title="Units", xlabel="region", ylabel="units")
    axes.plot([1, 2])
    assert describe("fig", figure) == "fig: Figure\n  Axes: Units, x region, y units, 1 line"
