"""Tables that hold code of the user: looking at them runs none of it."""

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype, register_extension_dtype

from deepnb.magics.interpolate import fill
from deepnb.workshop.describe import describe, list_of_variables
from deepnb.workshop.namespace import namespace_tools

ran: list[str] = []


def noisy(base: type, **more: Any) -> type:
    """Return a subclass whose every method notes that it was called."""

    def method(name: str) -> Any:
        def call(self: Any, *args: Any, **named: Any) -> Any:
            ran.append(f"{base.__name__}.{name}")
            return getattr(base, name)(self, *args, **named)

        return call

    names = [n for n in dir(base) if callable(getattr(base, n)) and n not in QUIET and not n.startswith("_from")]
    return type(f"Noisy{base.__name__.title()}", (base,), {n: method(n) for n in names} | more)


QUIET = {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__del__"}


def noting(name: str, answer: Callable[..., Any]) -> Any:
    def call(self: Any, *args: Any, **named: Any) -> Any:
        ran.append(name)
        return answer(self, *args)

    return call


Zone: Any = type("Zone", (dt.tzinfo,), {
    "utcoffset": noting("utcoffset", lambda self, at: dt.timedelta(0)),
    "dst": noting("dst", lambda self, at: None), "tzname": noting("tzname", lambda self, at: "z"),
    "__repr__": noting("repr of a zone", lambda self: "Zone"), "__str__": noting("str of a zone", lambda self: "Zone"),
    "__eq__": noting("eq of a zone", lambda self, other: self is other),
    "__hash__": noting("hash of a zone", lambda self: 1),
})  # fmt: skip


@register_extension_dtype
class LoudType(ExtensionDtype):
    type = object
    name = property(noting("dtype.name", lambda self: "loud"))  # type: ignore[assignment]

    @classmethod
    def construct_array_type(cls) -> Any:
        return LoudArray


class LoudArray(ExtensionArray):
    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, dtype=object)

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        return cls(list(scalars))

    def __len__(self) -> int:
        return len(self.values)

    def _at(self, key: Any) -> Any:
        return self.values[key] if isinstance(key, int) else LoudArray(self.values[key])

    dtype = property(noting("dtype", lambda self: LoudType()))
    nbytes = property(noting("nbytes", lambda self: 1))
    __getitem__ = noting("getitem", _at)
    isna = noting("isna", lambda self: np.zeros(len(self.values), dtype=bool))
    copy = noting("copy", lambda self: LoudArray(self.values))
    take = noting("take", lambda self, indices: LoudArray(self.values[indices]))
    to_numpy = noting("to_numpy", lambda self, *args: self.values)
    __array__ = noting("__array__", lambda self, *args: self.values)


class Noted:
    def __deepcopy__(self, memo: Any) -> Any:
        ran.append("deepcopy")
        return self

    __copy__ = __reduce__ = __repr__ = __eq__ = __deepcopy__  # type: ignore[assignment]


SHADOWED = ("iloc", "head", "columns", "index", "shape", "attrs", "copy", "to_frame")


def shadowed(table: Any, *names: str) -> Any:
    for name in names:
        table.__dict__[name] = lambda *args, name=name, **named: ran.append(f"shadowed {name}")
    return table


def with_attrs(table: Any) -> Any:
    table.attrs["note"] = Noted()
    return table


def tables() -> dict[str, Any]:
    zone, number, text, small = Zone(), noisy(float), noisy(str), noisy(int)
    moments = pd.to_datetime(["2026-01-01", "2026-01-02"]).tz_localize(zone)
    plain = {"n": [1, 2], "g": ["a", "b"]}
    intervals = np.empty(2, dtype=object)
    intervals[:] = [pd.Interval(number(0), number(1)), pd.Interval(number(1), number(2))]
    objects = np.empty(2, dtype=object)
    objects[:] = [dt.datetime(2026, 1, 1, tzinfo=zone), pd.Timestamp("2026-01-01", tz=zone)]
    clocks = np.empty(2, dtype=object)
    clocks[:] = [dt.time(1, tzinfo=zone), dt.time(2, tzinfo=zone)]
    named = np.empty(2, dtype=object)
    named[:] = [dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(0), text("z")))] * 2
    return {
        "zoned": pd.DataFrame({"x": moments, **plain}), "zoned index": pd.DataFrame(plain, index=moments),
        "zoned columns": pd.DataFrame([[1, 2]], columns=moments),
        "zoned level": pd.DataFrame(plain, index=pd.MultiIndex.from_arrays([moments, ["a", "b"]], names=["x", "k"])),
        "zoned categories": pd.DataFrame({"x": pd.Categorical(moments), **plain}),
        "zoned intervals": pd.DataFrame({"x": pd.IntervalIndex.from_arrays(moments, moments), **plain}),
        "zoned objects": pd.DataFrame({"x": objects, **plain}), "zoned times": pd.DataFrame({"x": clocks, **plain}),
        "zone with a name": pd.DataFrame({"x": named, **plain}), "a series": pd.Series(moments, name="x"),
        "an index": moments,
        "an index of an array": pd.Index(LoudArray([1, 2]), name="x"),
        "array": pd.DataFrame({"x": LoudArray([1, 2]), **plain}),
        "array series": pd.Series(LoudArray([1, 2]), name="x"),
        "array index": pd.DataFrame(plain, index=pd.Index(LoudArray([1, 2]), name="x")),
        "attrs": with_attrs(pd.DataFrame({"x": [1, 2], **plain})),
        "attrs of a series": with_attrs(pd.Series([1, 2], name="x")),
        "shadowed": shadowed(pd.DataFrame({"x": [1, 2], **plain}), *SHADOWED),
        "shadowed series": shadowed(pd.Series([1, 2], name="x"), "iloc", "array", "index", "name", "to_frame", "dtype"),
        "intervals": pd.DataFrame({"x": intervals, **plain}), "interval series": pd.Series(intervals, name="x"),
        "an interval": pd.Interval(number(0), number(1)),
        "numbers": pd.DataFrame({"x": np.array([number(1), number(2)], dtype=object), **plain}),
        "texts": pd.DataFrame({"x": np.array([text("a"), text("b")], dtype=object), **plain}),
        "names": pd.DataFrame([[1, 2]], columns=pd.Index([text("x"), small(3)], dtype=object)),
        "name of a series": pd.Series([1, 2], name=text("x")),
        "name of an index": pd.DataFrame(plain, index=pd.Index([1, 2], name=text("x"))),
    }  # fmt: skip


def test_looking_runs_no_code_of_values_and_names_what_is_not_read_by_its_type():
    wrong = []
    for label, value in tables().items():
        ran.clear()
        namespace = {"t": value}
        tools = {tool.__name__: tool for tool in namespace_tools(namespace)}
        inspect, query = tools["inspect_variable"], tools["query_table"]
        looks: dict[str, Callable[[], object]] = {
            "inspect": partial(inspect, "t"),
            "list": partial(list_of_variables, namespace),
        }
        for where, by, aggregate, columns, sort in (
            ({}, [], {}, [], ""), ({"x": "2026-01-01"}, [], {}, [], ""), ({"x": {"min": 1}}, [], {}, [], ""),
            ({"n": 1}, [], {}, [], ""), ({}, ["x"], {}, [], ""),
            ({}, ["g"], {"x": ["count", "min", "nunique"]}, [], ""), ({}, ["x.month"], {}, [], ""),
            ({}, [], {}, ["x"], ""), ({}, [], {}, [], "-x"),
        ):  # fmt: skip
            asked = (where, by, aggregate, columns, sort)
            looks[f"query {asked}"] = partial(query, "t", *asked, 20, {})
        if hasattr(value, "iloc"):
            looks["fill in"] = partial(fill, "{t}", namespace)
        for how, look in looks.items():
            text = look()
            if ran:
                wrong.append(f"{label}, {how}: {ran[:3]}")
                ran.clear()
            if isinstance(text, str) and "unprintable" in text and "index" not in label:
                wrong.append(f"{label}, {how}: {text}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)
    shown = describe("t", tables()["array"])
    assert "x | LoudArray | ? | ..." in shown and "n | int64 | 2 |" in shown
    assert "x | DatetimeArray | ? | ..." in describe("t", tables()["zoned"])
