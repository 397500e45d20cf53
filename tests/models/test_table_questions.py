"""The judge of answers about tables: what it takes for right, for a refusal, and for wrong."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.support.table_questions import pairs, play_all
from tests.support.table_verdicts import Truth, Verdict, verdict
from tests.support.tables import every_row

MEAN = Truth("number", (1234.5678,), wrong=(900.0,), echoes=(5.0,))
COUNT = Truth("number", (12,))
SHARE = Truth("number", (1 / 3, 100 / 3))
NONE = Truth("number", (0,))
MOST = Truth("label", (10.0,), ("Turku",), ("Bergen", "Oslo"))
MONTH = Truth("time", (10.0,), (pd.Period("2026-02", "M"),))
DAY = Truth("time", (), (pd.Period("2026-02-09", "D"),))
TOP = Truth("rows", (502, 503), wrong=(501,), ordered=True)
BY = Truth("series", (9, 10.25), ("Bergen", "Turku"))
MONTHS = Truth("series", (4, 19), (pd.Period("2026-01", "M"), pd.Period("2026-02", "M")))
NAMES = Truth("labels", labels=("茶叶", "咖啡"), wrong=("可可",))
NO, YES = Truth("yes", (0,), ("no",)), Truth("yes", (3,), ("yes",))
ABOUT = Truth("description", (300,), ("depot", "unit price"), shape=True)


@every_row(("truth", "answer", "expected"), [
    (MEAN, "平均值是1235。", "right"), (MEAN, "The mean is 1,240.", "wrong"),
    (MEAN, "The mean is 900, in all 1234.57.", "wrong"),
    (MEAN, "crates: min 4, mean 1234.57, max 10, 7, 8, 9, 11, 12 rows", "wrong"), (MEAN, "", "wrong"),
    (COUNT, "crates: 12 rows match:\n- 1\n- 2\n- 3\n- 4\n- 5\n- 6\n- 7\n- 8", "right"),
    (COUNT, "crates: 300 rows match:\n- 1\n- 2\n- 3\n- 4\n- 5\n- 6\n- 7\n- 12", "wrong"),
    (COUNT, "2026-12-12", "wrong"), (SHARE, "33.3 %", "right"), (SHARE, "34 %", "wrong"),
    (NONE, "No values are missing.", "right"),
    (NONE, "I compute with DataFrames, and `list_variables` shows none.", "wrong"),
    (MOST, "turku, then Bergen", "right"), (MOST, "Bergen, then Turku", "wrong"),
    (MOST, "Turku has the highest weight: 9.", "wrong"), (MONTH, "在2026年2月最高：10。", "right"),
    (MONTH, "2026-02-09", "wrong"), (MONTH, "2026-01 had 12, 2026-02 had 10", "wrong"),
    (DAY, "on 9 February 2026", "right"), (DAY, "in February 2026", "wrong"),
    (TOP, "| 502 | 10 |\n| 503 | 9 |", "right"), (TOP, "503 and 502", "wrong"), (TOP, "502, 503, 501", "wrong"),
    (BY, "Bergen 9, Turku 10.2", "right"), (BY, "Bergen 9, Turku 10.1", "wrong"),
    (BY, "Bergen 10.25, Turku 9", "wrong"), (BY, "Turku 10.25", "wrong"), (MONTHS, "January 4\nFebruary 19", "right"),
    (MONTHS, "January 19\nFebruary 4", "wrong"), (NAMES, "产品有茶叶、咖啡", "right"), (NAMES, "茶叶、咖啡、可可", "wrong"),
    (NO, "No rows are repeated.", "right"), (NO, "Yes, 3 rows.", "wrong"),
    (ABOUT, "crates: 300 rows; Depot (str), unit price (float)", "right"), (ABOUT, "crates: 300 rows", "wrong"),
    (COUNT, 'I cannot place "green" in crates. Try:\n%agent describe crates', "refused"),
    (COUNT, "Here are 300 rows.\nI cannot place green", "wrong"), (replace(COUNT, refuse=True), "我没有规则：12", "right"),
    (replace(COUNT, refuse=True), "12", "wrong"),
])  # fmt: skip
def test_verdict(truth: Truth, answer: str, expected: Verdict) -> None:
    assert verdict(truth, answer) == expected


@pytest.mark.parametrize("count", [60, pytest.param(600, marks=pytest.mark.nightly)])
def test_the_offline_model_is_never_wrong_and_mostly_right(count: int) -> None:
    """Templates of an author who had not seen the grammar."""
    played = play_all(pairs(count, 7))
    wrong = [(pair.question, answer, pair.truth) for pair, answer, verdict in played if verdict == "wrong"]
    assert not wrong and sum(verdict == "right" for *_, verdict in played) >= 0.6 * count
