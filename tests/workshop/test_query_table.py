"""Structured questions about tables: what is answered, what is left out, and that nothing is evaluated or changed."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.engine.tools import described
from deepnb.workshop.approvals import Effects
from deepnb.workshop.namespace import Question, answer, namespace_tools
from deepnb.workshop.tables import columns_of
from tests.data import rows
from tests.support.hostile import Loud, loud
from tests.support.tables import every_row

SALES = pd.DataFrame({
    "region": ["North", "South", "North", None, "West"], "product": ["a", "b", "a", "c", "a"], "units": [3, 4, 5, 6, 7],
    "price": [1.5, None, 2, 3, 4],
})  # fmt: skip
LABELS = pd.DataFrame({"product": ["a", "b", "b"], "label": ["Apple", "Berry", "Bean"]})


def query(table: str = "sales", /, namespace: dict[str, Any] | None = None, **question: Any) -> str:
    tools = described(namespace_tools({"sales": SALES, "labels": LABELS, "n": 3} if namespace is None else namespace))
    (tool,) = (one for one in tools if one.name == "query_table")
    return str(tool.invoke({"table": table, **question}))


@every_row(
    ("question", "text"),
    rows("table_queries")["answers"],
)  # fmt: skip
def test_a_question_is_answered_by_a_table(question, text):
    assert query(**question) == text


@every_row(("question", "error"), rows("table_queries")["errors"])
def test_an_error_is_one_line_that_names_the_nearest(question, error):
    text = query(**question)
    assert error in text and "\n" not in text


def test_arguments_are_never_evaluated():
    frame = pd.DataFrame({"@x": [1], "units": [2]})
    for bad in ("__import__('os')", "units > 1", "@x + 1", "`units`"):
        of_columns: tuple[dict[str, Any], ...] = ({"by": [bad]}, {"sort": bad}, {"columns": [bad]})
        for question in (*of_columns, {"where": {bad: 1}}, {"aggregate": {bad: "sum"}}):
            assert query("t", {"t": frame}, **question).startswith("Error: there is no column ")
        assert query("t", {"t": frame}, where={"units": bad}).startswith("Error: 'units' holds int64, not str: ")
    assert query("t", {"t": frame}, columns=["@x"]) == "t: 1 row\n@x\n1"


VALUES = {
    "key": st.sampled_from(["a", "b", "c", None]), "year": st.integers(2020, 2023), "units": st.integers(-50, 50),
    "price": st.one_of(st.none(), st.integers(-8, 8).map(lambda n: n / 4)),
}  # fmt: skip


@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), max_size=20),
    by=st.lists(st.sampled_from(["key", "year"]), unique=True), column=st.sampled_from(["units", "price"]),
    how=st.sampled_from(["sum", "mean", "min", "max", "count", "nunique"]), low=st.integers(-50, 50),
    keys=st.lists(st.sampled_from(["a", "b", None]), min_size=1),
)  # fmt: skip
def test_an_answer_is_what_plain_python_computes(rows, by, column, how, low, keys):
    frame = pd.DataFrame(rows, columns=list(VALUES)).astype({"year": "int64", "units": "int64", "price": "float64"})
    question = Question(where={"units": {"min": low}, "key": keys}, by=tuple(by), aggregate={column: [how]})
    got = answer(columns_of(frame), question)
    groups: dict[tuple[Any, ...], list[Any]] = {} if by else {(): []}
    for row in rows:
        if row["units"] >= low and row["key"] in keys:
            groups.setdefault(tuple(row[name] for name in by), []).append(row[column])
    expected = {key: plain_aggregate(how, [v for v in values if v is not None]) for key, values in groups.items()}
    if not by and not any(groups.values()):
        return  # of no rows there is no group
    made = [tuple(None if v != v else v for v in row) for row in got.frame.itertuples(index=False, name=None)]
    assert {row[: len(by)]: row[-1] for row in made} == pytest.approx(expected, nan_ok=True)
    assert got.rows == len(expected)


def plain_aggregate(how, values):
    if how in ("count", "nunique"):
        return len(values if how == "count" else set(values))
    if not values:
        return None
    return {"sum": sum(values), "min": min(values), "max": max(values), "mean": sum(values) / len(values)}[how]


@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), max_size=20),
    sort=st.lists(st.sampled_from(["year", "units", "price"]), min_size=1, unique=True),
    down=st.booleans(),
    head=st.integers(0, 25),
)
def test_rows_are_sorted_as_python_sorts_them_with_missing_values_last(rows, sort, down, head):
    frame = pd.DataFrame(rows, columns=list(VALUES)).astype({"year": "int64", "units": "int64", "price": "float64"})
    signs = [("-" if down else "") + name for name in sort]
    got = answer(columns_of(frame), Question(sort=tuple(signs), columns=tuple(sort), head=head)).frame

    def key(row):
        return [(row[n] is None, (-1 if down else 1) * (row[n] or 0)) for n in sort]

    expected = [tuple(row[n] for n in sort) for row in sorted(rows, key=key)][:head]
    assert [tuple(None if v != v else v for v in row) for row in got.itertuples(index=False, name=None)] == expected


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers())), st.lists(st.tuples(st.sampled_from("bcd"), st.text()))
)
def test_a_join_has_each_pair_of_rows_with_equal_keys(left, right):
    a, b = pd.DataFrame(left, columns=["k", "x"]), pd.DataFrame(right, columns=["k", "y"])
    got = answer(columns_of(a), Question(join="b", on=("k",), head=10_000), columns_of(b)).frame
    expected = [(k, x, y) for k, x in left for other, y in right if k == other]
    assert sorted(got.itertuples(index=False, name=None)) == sorted(expected)


def test_a_join_too_large_is_refused_a_sum_is_exact_and_the_users_tables_stay_as_they_are():
    big = pd.DataFrame({"k": np.zeros(10_000, dtype=int)})
    assert query("t", {"t": big, "u": big}, join={"u": ["k"]}) == (
        "Error: the join would have 100,000,000 rows: join on more columns"
    )
    frame = pd.DataFrame({"n": [2**62, 2**62, 2**62]})
    assert str(3 * 2**62) in query("t", {"t": frame}, aggregate={"n": "sum"})
    frame = pd.DataFrame({"user": ["ann"], "password": ["hunter2-Kf93hf8a"]})
    assert "hunter2" not in query("t", {"t": frame}) and "ann" in query("t", {"t": frame})
    totals = SALES.groupby(["region", "product"])["units"].sum()
    assert query("t", {"t": totals}, where={"region": "North"}) == "t: 1 row match\nregion,product,units\nNorth,a,8"
    before = SALES.copy(deep=True)
    query(by=["region"], aggregate={"units": "sum"})
    query(sort="-price")
    query(join={"labels": ["product"]})
    pd.testing.assert_frame_equal(SALES, before)
    assert list(SALES.columns) == list(before.columns)


@every_row("rows", [3, 5000])
def test_an_answer_stays_in_its_budget_and_counts_what_it_leaves_out(rows):
    wide = pd.DataFrame({f"a_long_column_name_{i}": ["y" * 100] * rows for i in range(300)})
    text = query("t", {"t": wide}, head=rows)
    shown = text.splitlines()[1].count(",") + 1
    assert len(text) <= 2000 and f"{300 - shown} more columns not shown" in text
    lines = text.count("\ny")
    assert lines and (lines == rows or f"\n{rows - lines} more row" in text)


def test_cells_of_other_classes_are_named_and_never_asked():
    frame = pd.DataFrame({"thing": [Loud(), None, Loud()], "units": [1, 2, 3]})
    loud.clear()
    assert query("t", {"t": frame}, where={"units": {"max": 2}}) == "t: 2 rows match\nthing,units\n<Loud>,1\n,2"
    refused = "Error: 'thing' holds Loud, which is not compared: use another column"
    for question in ({"by": ["thing"]}, {"sort": "thing"}, {"where": {"thing": 1}}, {"aggregate": {"thing": "count"}}):
        assert query("t", {"t": frame}, **question) == refused
    assert loud == []


@every_row(("by", "text"), [
    ("index.month", "t: 3 rows, 2 groups by index.month\nindex.month,rows\n2026-01,1\n2026-02,2"),
    ("index.weekday", "t: 3 rows, 3 groups by index.weekday\nindex.weekday,rows\nMonday,1\nSaturday,1\nSunday,1"),
    ("n.month", "Error: 'n' holds int64, no dates: group by the column itself"),
])  # fmt: skip
def test_dates_are_grouped_by_a_period_also_those_of_an_index(by, text):
    frame = pd.DataFrame({"n": [1, 2, 3]}, index=pd.to_datetime(["2026-01-31", "2026-02-01", "2026-02-02"]))
    query = next(tool for tool in namespace_tools({"t": frame}) if tool.__name__ == "query_table")
    assert query("t", {}, [by], {}, [], "", 20, {}) == text


def test_the_tool_changes_nothing_for_approvals():
    assert Effects(lambda path: False).of("query_table", {"table": "sales"}) == "reads"
