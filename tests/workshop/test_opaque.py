"""What is said of values whose code is never called, and of values too big to be read whole."""

import enum
import functools

import numpy as np
import pandas as pd
import pytest

from deepnb.workshop.describe import describe, list_of_variables
from tests.support.hostile import Loud, loud
from tests.support.tables import every_row


class Meta(type):
    """A class that answers for itself, and notes it."""

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
    assert loud == []
    assert shown.startswith(text) and "xxx" not in shown + listed


def test_of_a_frame_under_another_class_the_way_to_read_it_is_named():
    assert describe("x", Derived({"a": [1]})).endswith("Derived is a subclass: pandas.DataFrame(...) of it is read")


@every_row(
    ("value", "text"),
    [
        (pd.Index(["a", "b", None], name="k"), "x: Index, 3 labels\n  str, 1 missing\n  first labels: a, b, "),
        (pd.RangeIndex(3), "x: RangeIndex, 3 labels\n  int64, 0 missing\n  first labels: 0, 1, 2"),
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


def test_columns_with_few_values_show_the_size_of_each_group():
    frame = pd.DataFrame({"region": ["N", "S", "N", "N"], "year": [2023, 2023, 2024, 2024] * 1})
    assert "region | str | 4 | 2 distinct: N (3), S (1)" in describe("t", frame)
    years = describe("t", pd.concat([frame] * 2))
    assert "year | int64 | 8 | min 2023 (N), mean 2024, max 2024 (N); 2 distinct: 2023 (4), 2024 (4)" in years


KEY = "sk-ant-api03-Zk39fjQ0aLw82mNbVcXz71PqRsTuYw5E"


@every_row(
    "namespace",
    [
        {"password": "correct-Horse7-battery"},
        {"x": KEY},
        {"config": {"password": "correct-Horse7-battery"}},
        {"x": [KEY]},
    ],
)
def test_what_looks_like_a_credential_is_not_shown(namespace):
    (name, value) = next(iter(namespace.items()))
    shown = describe(name, value) + list_of_variables(namespace)
    assert "Horse7" not in shown and "fjQ0aLw82" not in shown and name in shown


def test_a_longer_table_is_a_sample_and_a_shorter_one_is_not():
    assert "figures are of a sample: 1 row in 3 of 300000" in describe("t", pd.DataFrame({"n": range(300_000)}))
    assert "sample" not in describe("t", pd.DataFrame({"n": range(200_000)}))


def test_a_figure_is_its_axes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    axes.set(title="Units", xlabel="region", ylabel="units")
    axes.plot([1, 2])
    assert describe("fig", figure) == "fig: Figure\n  Axes: Units, x region, y units, 1 line"
