"""Twenty questions about columns of every kind: each answer is what Python computes, or an error names type and example."""

import csv
import datetime as dt
import pathlib
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from deepnb.workshop.exact import cell
from deepnb.workshop.namespace import namespace_tools

# -- columns of 60 kinds as notebooks have them, each with the values that Python has for it and how JSON writes them

ROWS = (2, 0, 1, 2, None, 1, 2, 0)  # which of a kind's three values, the least first, is in which row


@dataclass(frozen=True)
class Kind:
    name: str
    table: Any
    values: tuple[Any, Any, Any]  # three values from the least to the most, as Python compares them
    written: tuple[Any, Any, Any]
    absent: Any  # what it writes for a value of the kind that no row has; None if there is none
    rows: tuple[int | None, ...] = ROWS
    ordered: bool = True
    mean: bool = False

    @property
    def present(self) -> list[Any]:
        return [None if i is None else self.values[i] for i in self.rows]


def frame(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": column, "n": range(len(ROWS)), "g": list("aabbaabb")})


def taken(values: Any, rows: tuple[int | None, ...] = ROWS) -> list[Any]:
    return [None if i is None else values[i] for i in rows]


def objects(values: Any) -> pd.Series:
    return pd.Series(taken(values), dtype=object)


BERLIN = ZoneInfo("Europe/Berlin")
DATES = (dt.date(2025, 12, 31), dt.date(2026, 3, 1), dt.date(2026, 3, 2))
TIMES = (dt.datetime(2025, 1, 1), dt.datetime(2026, 3, 1, 10, 30), dt.datetime(2026, 3, 2, 0, 0, 5))
ZONED = tuple(one.replace(tzinfo=BERLIN) for one in TIMES)
CLOCK = (dt.time(0, 5), dt.time(9, 30), dt.time(23, 0, 1))
LAGS = (dt.timedelta(0, 90), dt.timedelta(1), dt.timedelta(2, 3600))
MONEY = (Decimal("-0.30"), Decimal("1.10"), Decimal("2.35"))
IDS = tuple(sorted(uuid.UUID(int=i * 2**100 + 7) for i in (3, 1, 2)))
GRADES = ("low", "middle", "high")
TEXTS = ("apple", "Pear", "äpfel")


def json_of(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one if isinstance(one, int | float | str) else str(one) for one in values)


def kind(name: str, column: Any, values: Any, absent: Any, written: Any = None, **more: Any) -> Kind:
    table = column if not isinstance(column, pd.Series) else frame(column)
    return Kind(name, table, tuple(values), tuple(json_of(values) if written is None else written), absent, **more)


def typed(values: Any, dtype: Any) -> pd.Series:
    return pd.Series(pd.array(taken(values), dtype=dtype))


def of_pandas() -> Iterator[Kind]:
    iso = [one.isoformat() for one in TIMES]
    yield kind("object dates", objects(DATES), DATES, "2024-02-29")
    yield kind("object datetimes", objects(TIMES), TIMES, "2024-02-29 00:00", iso)
    yield kind("object zoned", objects(ZONED), ZONED, "2024-02-29T00:00+01:00", [z.isoformat() for z in ZONED])
    yield kind("datetime64[ns]", typed(TIMES, "datetime64[ns]"), TIMES, "2024-02-29", iso, mean=True)
    yield kind("datetime64[s]", typed(TIMES, "datetime64[s]"), TIMES, "2024-02-29", mean=True)
    zoned = typed(ZONED, "datetime64[us, Europe/Berlin]")
    yield kind("zoned", zoned, ZONED, "2024-02-29", [z.isoformat() for z in ZONED], mean=True)
    utc = [z.astimezone(dt.UTC).isoformat() for z in ZONED]
    yield kind("zoned, asked in UTC", zoned, ZONED, "2024-02-29T00:00Z", utc, mean=True)
    yield kind("zoned, asked without zone", zoned, ZONED, "2024-02-29", iso, mean=True)
    yield kind("times", objects(CLOCK), CLOCK, "11:11")
    yield kind("timedelta64", typed(LAGS, "timedelta64[ns]"), LAGS, "7 days", mean=True)
    yield kind("object timedeltas", objects(LAGS), LAGS, "7 days 01:00:00")
    yield kind("Decimal as numbers", objects(MONEY), MONEY, 9.99, [-0.3, 1.1, 2.35], mean=True)
    yield kind("Decimal as texts", objects(MONEY), MONEY, "9.99", mean=True)
    thirds = (Fraction(1, 3), Fraction(1, 2), Fraction(2))
    yield kind("Fraction", objects(thirds), thirds, 7, ["1/3", 0.5, 2], mean=True)
    bools = (False, True, True)
    whole = tuple(0 if i is None else i for i in ROWS)
    yield kind("bool", pd.Series(taken(bools, whole)), bools, None, rows=whole, mean=True)
    yield kind("boolean", typed(bools, "boolean"), bools, None, mean=True)
    yield kind("boolean as texts", typed(bools, "boolean"), bools, None, ["false", "true", "True"], mean=True)
    yield kind("object bools", objects(bools), bools, None)
    few, large = (-3, 0, 12), (2**63 - 3, 2**63 - 2, 2**63 - 1)
    yield kind("int64", pd.Series(taken(few, whole)), few, 5, rows=whole, mean=True)
    yield kind("int64 as texts", pd.Series(taken(few, whole)), few, "5", ["-3", "0", "12"], rows=whole, mean=True)
    yield kind("Int64", typed(few, "Int64"), few, 5, mean=True)
    yield kind("Int8 as floats", typed(few, "Int8"), few, 4.5, [-3.0, 0.0, 12.0], mean=True)
    yield kind("Int64, large", typed(large, "Int64"), large, 2**62)
    yield kind("object ints", objects((1, 2, 10**30)), (1, 2, 10**30), 10**31)
    parts = (-0.25, 0.1, 3e9)
    yield kind("float64", typed(parts, "float64"), parts, 0.2, mean=True)
    yield kind("Float64", typed(parts, "Float64"), parts, 0.2, ["-0.25", "0.1", "3e9"], mean=True)
    small = (-0.25, 0.5, 2.0)
    yield kind("float32", pd.Series(taken(small), dtype="float32"), small, 0.75, mean=True)
    yield kind("Sparse", pd.Series(pd.arrays.SparseArray(taken(small, whole))), small, 0.75, rows=whole, mean=True)
    codes = ("007", "10", "9")
    yield kind("texts of digits", objects(codes), codes, "11")
    yield kind("texts of digits, as numbers", typed(codes, "string"), codes, None, ["007", 10, 9])
    yield kind("str", pd.Series(taken(sorted(TEXTS))), sorted(TEXTS), "fig")
    yield kind("category", pd.Series(pd.Categorical(taken(sorted(TEXTS)))), sorted(TEXTS), "fig", ordered=False)
    steps = pd.Series(pd.Categorical(taken(GRADES), GRADES, ordered=True))
    yield kind("category in order", steps, GRADES, None)
    yield kind("category of ints", typed(few, "Int64").astype("category"), few, 5, [-3, "0", 12], ordered=False)
    dated = pd.Series(pd.Categorical(taken([pd.Timestamp(one) for one in DATES])))
    yield kind("category of dates", dated, [pd.Timestamp(d) for d in DATES], "2024-02-29", map(str, DATES), ordered=False)  # fmt: skip
    cuts = pd.IntervalIndex.from_breaks([0, 1, 2.5, 10])
    yield kind("interval", typed(cuts, cuts.dtype), cuts, "(7, 8]", ["(0, 1]", "(1.0, 2.5]", "(2.5,10]"])
    yield kind("category of intervals", pd.Series(pd.Categorical(taken(cuts), cuts, ordered=True)), cuts, None)
    days = pd.IntervalIndex.from_breaks(pd.to_datetime(["2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]))
    written = ["(2026-01-01, 2026-02-01]", "(2026-02-01, 2026-03-01]", "(2026-03-01 00:00:00, 2026-04-01 00:00:00]"]
    yield kind("interval of dates", typed(days, days.dtype), days, None, written)
    for code, absent in (("M", "2020-01"), ("D", "2020-01-01"), ("Q", "2020Q1"), ("h", "2020-01-01 05:00")):
        spans = pd.PeriodIndex(TIMES, freq=code)
        yield kind(f"period {code}", typed(spans, spans.dtype), spans, absent)
    yield kind("object periods", objects(pd.PeriodIndex(TIMES, freq="M")), pd.PeriodIndex(TIMES, freq="M"), "2020-01")
    yield kind("UUID", objects(IDS), IDS, str(uuid.UUID(int=5)))
    yield kind("UUID in capitals", objects(IDS), IDS, None, [str(one).upper() for one in IDS])
    yield kind("texts of UUIDs", objects(json_of(IDS)), json_of(IDS), str(uuid.UUID(int=5)))
    raw = (b"a", b"b", b"\xff")
    yield kind("bytes", objects(raw), raw, "c", ["a", "b'b'", "b'\\xff'"])
    paths = tuple(pathlib.PurePosixPath(one) for one in ("/a", "/a/b", "/c"))
    yield kind("paths", objects(paths), paths, "/x")
    waves = (1j, 1 + 0j, 2 + 1j)
    yield kind("complex", typed(waves, "complex128"), waves, "3j", ["1j", 1, "2+1j"], ordered=False, mean=True)
    mixed = (1, "1", "a")
    yield kind("numbers and texts", objects(mixed), mixed, "b", ordered=False)
    several = (DATES[0], "2026-03-01", 7)
    yield kind(
        "dates, texts and numbers", objects(several), several, "b", ["2025-12-31", "2026-03-01", 7], ordered=False
    )
    numbers = (Decimal("-0.5"), 2, 2.5)
    yield kind("Decimals, ints and floats", objects(numbers), numbers, 9, [-0.5, 2, 2.5])


def of_arrow() -> Iterator[Kind]:
    import pyarrow as pa

    def made(values: Any, kind_: Any = None) -> Any:
        return pa.array(taken(values), type=kind_)

    def backed(values: Any, kind_: Any) -> pd.Series:
        return pd.Series(pd.array(taken(values), dtype=pd.ArrowDtype(kind_)))

    few, parts, money = (-3, 0, 12), (-0.25, 0.1, 3e9), pa.decimal128(12, 2)
    yield kind("Arrow int64", backed(few, pa.int64()), few, "5", mean=True)
    yield kind("Arrow string", backed(sorted(TEXTS), pa.string()), sorted(TEXTS), "fig")
    yield kind("Arrow bool", backed((False, True, True), pa.bool_()), (False, True, True), None, mean=True)
    yield kind("Arrow date", backed(DATES, pa.date32()), DATES, "2024-02-29")
    zone = pa.timestamp("us", "Europe/Berlin")
    yield kind("Arrow zoned", backed(ZONED, zone), ZONED, "2024-02-29", [z.isoformat() for z in ZONED], mean=True)
    yield kind("Arrow decimal", backed(MONEY, money), MONEY, 9.99, [-0.3, "1.1", 2.35], mean=True)
    yield kind("Arrow duration", backed(LAGS, pa.duration("us")), LAGS, "7 days", mean=True)
    yield kind("Arrow time", backed(CLOCK, pa.time64("us")), CLOCK, "11:11")
    rest = {"n": list(range(len(ROWS))), "g": list("aabbaabb")}
    for name, values, type_, absent, mean in (
        ("double", parts, pa.float64(), 0.2, True), ("date", DATES, pa.date32(), "2024-02-29", False),
        ("timestamp", TIMES, pa.timestamp("us"), "2024-02-29", True),
        ("zoned", ZONED, zone, "2024-02-29 00:00+01:00", True), ("decimal", MONEY, money, "9.99", True),
        ("large_string", tuple(sorted(TEXTS)), pa.large_string(), "fig", False),
    ):  # fmt: skip
        yield kind(f"pyarrow {name}", pa.table({"x": made(values, type_), **rest}), values, absent, mean=mean)
    words = pa.table({"x": made(sorted(TEXTS)).dictionary_encode(), **rest})
    yield kind("pyarrow dictionary", words, sorted(TEXTS), "fig", ordered=False)


def of_polars() -> Iterator[Kind]:
    import polars as pl

    rest = {"n": list(range(len(ROWS))), "g": list("aabbaabb")}
    for name, values, type_, absent, more in (
        ("Int32", (-3, 0, 12), pl.Int32, "5", {"mean": True}),
        ("Float64", (-0.25, 0.1, 3e9), pl.Float64, 0.2, {"mean": True}),
        ("String", tuple(sorted(TEXTS)), pl.String, "fig", {}),
        ("Boolean", (False, True, True), pl.Boolean, None, {"mean": True}), ("Date", DATES, pl.Date, "2024-02-29", {}),
        ("Datetime", TIMES, pl.Datetime("ms"), "2024-02-29", {"mean": True}),
        ("zoned", ZONED, pl.Datetime("us", "Europe/Berlin"), "2024-02-29 00:00+01:00", {"mean": True}),
        ("Duration", LAGS, pl.Duration("us"), "7 days", {"mean": True}), ("Time", CLOCK, pl.Time, "11:11", {}),
        ("Decimal", MONEY, pl.Decimal(12, 2), 9.99, {"mean": True}),
        ("Categorical", tuple(sorted(TEXTS)), pl.Categorical, "fig", {"ordered": False}),
        ("Enum", GRADES, pl.Enum(GRADES), None, {}),
    ):  # fmt: skip
        table = pl.DataFrame({"x": pl.Series(taken(values), dtype=type_), **rest})
        yield kind(f"polars {name}", table, values, absent, **more)


def kinds() -> list[Kind]:
    return [*of_pandas(), *of_arrow(), *of_polars()]


def number(value: Any) -> Any:
    """Return a value as pandas means it: numbers as floats, times as their own."""
    return float(value) if isinstance(value, Decimal | Fraction | bool) else value


def mean(values: list[Any]) -> Any:
    made = pd.Series([number(one) for one in values])
    return made.mean() if not isinstance(values[0], complex) else complex(np.mean(values))


Ask = Callable[..., str]


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
