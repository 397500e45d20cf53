"""A table of polars or pyarrow in a few lines, as one of pandas."""

import datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deepnb.magics.interpolate import fill
from deepnb.values.errors import LimitError
from deepnb.workshop import tables
from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.namespace import namespace_tools
from deepnb.workshop.tables import columns_of
from tests.support.hostile import Loud, loud
from tests.support.tables import every_row

PLANETS = {
    "name": ["Mercury", "Venus", "Earth", "Jupiter"], "gravity": [3.7, 8.87, None, 23.12], "moons": [0, 0, None, 95],
    "rings": [False, False, None, True],
    "seen": [datetime.datetime(2024, 1, day) for day in range(1, 5)],
    "note": [None, "hot, very", None, "big"],
}  # fmt: skip
LINES = (
    "4 rows x 6 columns\n"
    "column | type | non-null | summary\n"
    "name | str | 4 | 4 distinct: Mercury, Venus, Earth, ...\n"
    "gravity | float64 | 3 | min 3.7 (Mercury), mean 11.9, max 23.12 (Jupiter)\n"
    "moons | int64 | 3 | min 0 (Mercury), mean 31.67, max 95 (Jupiter)\n"
    "rings | bool | 3 | 1 True, 2 False\n"
    "seen | datetime | 4 | min 2024-01-01, max 2024-01-04\n"
    "note | str | 2 | 2 distinct: hot, very, big\n"
    "first rows:\n"
    "name,gravity,moons,rings,seen,note\n"
    "Mercury,3.7,0,False,2024-01-01,\n"
    'Venus,8.87,0,False,2024-01-02,"hot, very"\n'
    "Earth,,,,2024-01-03,\n"
    "Jupiter,23.12,95,True,2024-01-04,big"
)
TABLES = {
    "polars DataFrame": pl.DataFrame(PLANETS),
    "pyarrow Table": pa.table(PLANETS),
    "pyarrow RecordBatch": pa.RecordBatch.from_pydict(PLANETS),
}
BOTH = pytest.mark.parametrize("made", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])


def column_lines(text):
    return [line for line in text.splitlines() if " | " in line][1:]


@every_row("kind", TABLES)
def test_a_table_is_its_columns_and_first_rows(kind):
    assert describe("planets", TABLES[kind]) == f"planets: {kind}, {LINES}"
    assert list_of_variables({"planets": TABLES[kind]}) == f"planets: {kind}, 4 rows x 6 columns"


def test_a_series_is_a_table_of_one_column():
    series = pl.DataFrame(PLANETS)["moons"]
    head = "m: polars Series, 4 rows\ncolumn | type | non-null | summary\nmoons | int64 |"
    assert describe("m", series).startswith(head)
    assert "\nvalue | int64 | 2 | min 1, mean 1.5, max 2\n" in describe("m", pl.Series([1, 2]))


@BOTH
def test_types_have_the_names_they_have_with_pandas(made):
    day = datetime.date(2024, 1, 1)
    zoned = [datetime.datetime(2024, 7, 1, 5, tzinfo=datetime.UTC)] * 2
    berlin = pl.Series(zoned).dt.convert_time_zone("Europe/Berlin")
    frame = pl.DataFrame({
        "zoned": berlin, "day": [day, None], "time": [datetime.time(1, 2)] * 2, "lag": [datetime.timedelta(days=1)] * 2,
        "price": [Decimal("1234.56"), None], "group": pl.Series(["a", "b"], dtype=pl.Categorical),
        "small": pl.Series([1, 2], dtype=pl.UInt8), "half": pl.Series([0.5, 1.5], dtype=pl.Float32),
        "huge": [2**60 + 1, None], "nothing": [None, None],
    })  # fmt: skip
    text = describe("t", frame if made is pl.DataFrame else frame.to_arrow(), 3000)
    assert column_lines(text) == [
        "zoned | datetime (Europe/Berlin) | 2 | min 2024-07-01 07:00:00, max 2024-07-01 07:00:00",
        "day | date | 1 | min 2024-01-01, max 2024-01-01", "time | time | 2 | 1 distinct: 01:02:00 (2)",
        "lag | timedelta | 2 | min 1 days 00:00:00, max 1 days 00:00:00",
        "price | decimal | 1 | min 1235 (a), mean 1235, max 1235 (a)",
        "group | category | 2 | 2 distinct: a, b", "small | uint8 | 2 | min 1 (a), mean 1.5, max 2 (b)",
        "half | float32 | 2 | min 0.5 (a), mean 1, max 1.5 (b)",
        "huge | int64 | 1 | min 1.153e+18 (a), mean 1.153e+18, max 1.153e+18 (a)",
        "nothing | null | 0 | all missing",
    ]  # fmt: skip
    assert f",1234.56,a,1,0.5,{2**60 + 1},\n" in text


@BOTH
def test_nested_values_and_bytes_are_not_read(made):
    text = describe("t", made({"many": [[1, 2], [3]], "pair": [{"a": 1}, {"a": 2}], "raw": [b"ab", b"c"], "n": [1, 2]}))
    assert column_lines(text)[:3] == ["many | list | 2 | ...", "pair | struct | 2 | ...", "raw | bytes | 2 | ..."]
    assert text.endswith("many,pair,raw,n\n...,...,...,1\n...,...,...,2")


class LoudScalar(pa.ExtensionScalar):
    def as_py(self, **kwargs):
        loud.append("as_py")
        return super().as_py(**kwargs)


class LoudType(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int64(), "loud")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()

    def __arrow_ext_scalar_class__(self):
        loud.append("scalar")
        return LoudScalar

    def __str__(self):
        loud.append("str")
        return "loud"

    __repr__ = __str__


def test_no_code_of_the_values_is_called():
    loud.clear()
    objects = pl.DataFrame({"o": pl.Series([Loud(), Loud()], dtype=pl.Object)})
    assert column_lines(describe("t", objects)) == ["o | object | 2 | ..."]
    loud.clear()  # polars itself compares on construction
    describe("t", objects)
    extension = pa.table({"e": pa.ExtensionArray.from_storage(LoudType(), pa.array([1, 2]))})
    assert column_lines(describe("t", extension)) == ["e | extension | 2 | ..."] and loud == []


@pytest.mark.skipif(not hasattr(pl, "BaseExtension"), reason="this polars has no types that a program adds")
def test_values_of_a_type_added_to_polars_are_not_read():
    class Added(pl.BaseExtension):
        def __init__(self):
            super().__init__("deepnb.added", pl.Int64, None)

        @classmethod
        def ext_from_params(cls, *args):
            return cls()  # polars itself calls this when it is asked for the types

    pl.register_extension_type("deepnb.added", Added)
    frame = pl.DataFrame({"e": pl.Series([1, 2]).ext.to(Added())})
    assert column_lines(describe("t", frame)) == ["e | extension | 2 | ..."]


@every_row("made", [pl.DataFrame, pa.table, pd.DataFrame], ids=["polars", "pyarrow", "pandas"])
def test_credentials_are_masked_by_name_and_value(made):
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    text = describe("t", made({"password": ["hunter2hunter2"], "other": [key], "n": [1]}))
    assert "hunter2" not in text and "abcdefgh" not in text
    assert text.endswith("password,other,n\n[redacted],[redacted],1")


@BOTH
def test_a_long_table_is_a_sample_from_all_over_it(made):
    rows = 300_000
    columns = {"n": list(range(rows)), "mod": [i % 5 for i in range(rows)], "gap": [1, None] * (rows // 2)}
    text = describe("t", made(columns))
    assert "figures are of a sample: 1 row in 6 of 300000" in text
    assert "n | int64 | 300000 | min 0, mean 149" in text and "max 299" in text
    assert "mod | int64 | 300000 | min 0, mean 2, max 4; 5 distinct: 0 (10000)," in text
    assert "gap | int64 | 150000 | min 1" in text  # of the whole table
    assert "sample" not in describe("t", made({"n": list(range(100_000))}))


def test_a_sample_goes_across_chunks_and_a_long_table_of_another_library_is_not_copied():
    parts = pa.chunked_array([list(range(at, at + 1_000)) for at in range(0, 200_000, 1_000)])
    assert "n | int64 | 200000 | min 0, mean 99" in describe("t", pa.table({"n": parts}))
    with pytest.raises(LimitError, match="only 100,000 of another library are copied"):
        columns_of(pl.DataFrame({"n": range(300_000)}))


@BOTH
def test_large_texts_are_cut_before_they_are_copied(made, monkeypatch):
    texts = made({"t": ["x" * 1000 + "a", "x" * 1000 + "b"] * 2})
    assert "t | str | 4 | 2 distinct: " in describe("t", texts)
    monkeypatch.setattr(tables, "LARGE", 100)
    assert "t | str | 4 | 1 distinct: " in describe("t", texts)


@BOTH
def test_empty_tables(made):
    assert "0 rows x 0 columns" in describe("t", made({}))
    empty = pl.DataFrame(PLANETS).head(0)
    text = describe("t", empty if made is pl.DataFrame else empty.to_arrow())
    assert {line.split(" | ")[-1] for line in column_lines(text)} == {"no rows"}


def test_a_lazy_frame_stays_lazy_and_a_subclass_is_not_read():
    def fail(frame):
        loud.append("computed")
        return frame

    loud.clear()
    text = describe("lazy", pl.LazyFrame(PLANETS).map_batches(fail))
    assert text.startswith("lazy: LazyFrame\n  names: ")
    assert text.endswith("\n  it is lazy: .collect() gives a table that can be shown")
    assert fill("{lazy}", {"lazy": pl.LazyFrame(PLANETS)}).text == describe("lazy", pl.LazyFrame(PLANETS))
    assert loud == []

    class Mine(pl.DataFrame):
        pass

    assert describe("t", Mine(PLANETS)).startswith("t: Mine\n  names: ")


@every_row("kind", TABLES)
def test_a_prompt_has_the_same_description_and_questions_are_answered(kind):
    assert fill("{t}", {"t": TABLES[kind]}).text == describe("t", TABLES[kind])
    query = next(tool for tool in namespace_tools({"t": TABLES[kind]}) if tool.__name__ == "query_table")
    answer = query("t", {"gravity": {"min": 8.0}}, [], {}, ["name", "seen"], "-gravity", 20, {})
    assert answer == "t: 2 rows match\nname,seen\nJupiter,2024-01-04\nVenus,2024-01-02"
    months = query("t", {}, ["seen.month"], {}, [], "", 20, {})
    assert months == "t: 4 rows, 1 group by seen.month\nseen.month,rows\n2024-01,4"


@every_row("storage", ["python", "pyarrow"])
def test_pandas_text_is_the_same_with_and_without_pyarrow(storage):
    frame = pd.DataFrame({"name": ["a", None, "b", "a"], "n": [1, 2, 3, 4]})
    plain = describe("t", frame.assign(name=frame["name"].astype(object)))
    assert describe("t", frame.assign(name=frame["name"].astype(pd.StringDtype(storage)))) == plain
    with pd.option_context("mode.string_storage", storage):
        texts = frame["name"].where(frame["name"].isna(), frame["name"].astype("str"))
        assert describe("t", frame.assign(name=texts)) == plain


def test_pandas_columns_of_arrow_have_plain_names():
    days = pd.date_range("2024-01-01", periods=2)
    frame = pd.DataFrame({"x": [1.5, 2.5], "n": [1, 2], "b": [True, False], "at": days})
    assert describe("t", frame.convert_dtypes(dtype_backend="pyarrow")) == describe("t", frame)
