"""What is drawn for a question about a table, and the true answers by pandas."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from tests.support.table_verdicts import Label, Truth


@dataclass(frozen=True)
class Table:
    name: str
    value: Any
    frame: pd.DataFrame  # the same for pandas; text is text, and missing is missing
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    time: pd.Series | None = None
    time_column: str | None = None  # the column that says it; None for the index
    id: str | None = None  # a column whose numbers name the rows, once each
    bools: tuple[str, ...] = ()


@cache
def tables() -> dict[str, Table]:
    made = (_crates(), _orders(), _customers(), _readings(), _parcels(), _sales(), _answers(), _invoices())
    return {one.name: one for one in made}


def _days(rng: np.random.Generator, first: str, days: int, count: int) -> pd.Series:
    return pd.Series(pd.Timestamp(first) + pd.to_timedelta(rng.integers(0, days, count), unit="D"))


def _pick(rng: np.random.Generator, labels: str, count: int, missing: float = 0.0) -> pd.Series:
    names = labels.split("|")
    weights = np.arange(len(names), 0, -1) + 1.0
    picked = pd.Series(rng.choice(names, count, p=weights / weights.sum()), dtype=object)
    return picked.mask(pd.Series(rng.random(count) < missing), None)


def _crates() -> Table:
    rng, n = np.random.default_rng(1), 300
    f = pd.DataFrame({"depot": _pick(rng, "Bergen|Turku|Gdansk|Malmo", n), "weight": rng.integers(3, 90, n)})
    f["state"], f["crate_id"] = _pick(rng, "intact|broken|lost", n), np.arange(n) * 3 + 5001
    f["packed"] = _days(rng, "2026-01-01", 150, n)
    return Table("crates", f, f, ("weight",), ("depot", "state"), f["packed"], "packed", "crate_id")


def _orders() -> Table:
    rng, n = np.random.default_rng(2), 1_203
    when = _days(rng, "2025-09-01", 240, n).mask(pd.Series(rng.random(n) < 0.03))
    form = rng.choice(["%Y-%m-%d", "%d %b %Y", "%B %d, %Y"], n, p=[0.6, 0.2, 0.2])
    text = [None if pd.isna(day) else day.strftime(style) for day, style in zip(when, form, strict=True)]
    f = pd.DataFrame({"order_id": np.arange(n) + 100_001, "region": _pick(rng, "North|South|West|East", n, 0.04)})
    f["amount"] = pd.Series(rng.gamma(2, 60, n).round(2)).mask(pd.Series(rng.random(n) < 0.07))
    f["items"], f["status"] = rng.integers(1, 12, n), _pick(rng, "shipped|open|cancelled|returned", n)
    f["ordered"] = text
    return Table("orders", f, f, ("amount", "items"), ("region", "status"), when, "ordered", "order_id")


def _customers() -> Table:
    rng, n = np.random.default_rng(3), 90
    f = pd.DataFrame(
        {"customer_id": rng.integers(2_001, 2_080, n), "name": _pick(rng, "Ana Li|Bo Berg|Cem Kaya|Dee", n)}
    )
    f["city"], f["age"] = _pick(rng, "Lisbon|Porto|Faro", n), rng.integers(18, 80, n)
    f["spent"], f["joined"] = rng.gamma(2, 150, n).round(1), _days(rng, "2023-02-01", 900, n)
    f = pd.concat([f, f.iloc[[4, 17, 33]]], ignore_index=True)
    return Table("customers", f, f, ("age", "spent"), ("name", "city"), f["joined"], "joined")


def _readings() -> Table:
    rng, n = np.random.default_rng(4), 720
    index = pd.date_range("2025-11-03", periods=n, freq="4h")
    f = pd.DataFrame({"sensor": _pick(rng, "alpha|beta|gamma", n).array}, index=index)
    f["temperature"] = np.where(rng.random(n) < 0.05, np.nan, (rng.normal(12, 6, n)).round(2))
    f["humidity"], f["failed"] = rng.integers(20, 100, n), rng.random(n) < 0.08
    return Table(
        "readings", f, f, ("temperature", "humidity"), ("sensor",), pd.Series(index, index=index), bools=("failed",)
    )


def _parcels() -> Table:
    rng, n = np.random.default_rng(5), 40
    f = pd.DataFrame({"parcel_id": np.arange(n) + 901, "carrier": _pick(rng, "Posti|DHL|Bring", n)})
    f["weight_kg"], f["price"] = rng.gamma(2, 3, n).round(2), rng.integers(5, 60, n).astype(float)
    f["country"], f["sent"] = _pick(rng, "Finland|Norway|Estonia", n), _days(rng, "2026-03-01", 90, n)
    value = pl.from_dict({name: column.tolist() for name, column in f.items()})
    return Table("parcels", value, f, ("weight_kg", "price"), ("carrier", "country"), f["sent"], "sent", "parcel_id")


def _sales() -> Table:
    rng, n = np.random.default_rng(6), 200
    f = pd.DataFrame({"城市": _pick(rng, "北京|上海|广州|成都", n), "产品": _pick(rng, "茶叶|咖啡|可可", n)})
    f["数量"], f["金额"] = rng.integers(1, 40, n), rng.gamma(3, 80, n).round(2)
    f["日期"] = _days(rng, "2025-06-01", 300, n)
    return Table("sales", f, f, ("数量", "金额"), ("城市", "产品"), f["日期"], "日期")


def _answers() -> Table:
    rng, n = np.random.default_rng(7), 150
    f = pd.DataFrame({"respondent_id": np.arange(n) + 7_001, "group": _pick(rng, "control|treated|waiting", n, 0.1)})
    f["score"] = rng.integers(1, 41, n)
    f["age"] = pd.Series(rng.integers(16, 75, n).astype(float)).mask(pd.Series(rng.random(n) < 0.12))
    f["satisfied"], f["would_recommend"] = rng.random(n) < 0.6, rng.random(n) < 0.35
    bools = ("satisfied", "would_recommend")
    return Table("answers", f, f, ("score", "age"), ("group",), id="respondent_id", bools=bools)


def _invoices() -> Table:
    rng, n = np.random.default_rng(8), 400
    f = pd.DataFrame({"Order Date": _days(rng, "2024-03-01", 700, n)})
    f["Customer Name"], f["Ship Mode"] = _pick(rng, "Ito|Okoro|Lind|Mata", n), _pick(rng, "Standard|Express|Pickup", n)
    f["unit price"], f["Quantity"] = rng.gamma(2, 20, n).round(2), rng.integers(1, 25, n)
    texts = ("Customer Name", "Ship Mode")
    return Table("invoices", f, f, ("unit price", "Quantity"), texts, f["Order Date"], "Order Date")


class UnfitError(Exception):
    """A drawn question that this table does not have, or that has no single answer."""


STATS = {
    "mean": ("average", "mean"), "sum": ("total", "sum of"), "median": ("median",),
    "max": ("maximum", "highest", "largest"), "min": ("minimum", "lowest", "smallest"),
}  # fmt: skip
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}


class Slots:
    """What is drawn for one question; each slot when it is first needed.

    `s["n"]` is what the question says, `s.n` what pandas needs.
    """

    def __init__(self, table: Table, rng: random.Random) -> None:
        self.table, self.rng, self.f, self.t = table, rng, table.frame, table.name

    def __getitem__(self, slot: str) -> str:
        value = getattr(self, slot)
        if slot in ("n", "n2", "c", "c2", "d", "b", "id"):  # "Order Date" as "order date", crate_id as "crate id"
            return value.lower().replace("_", " ") if self.rng.random() < 0.2 else str(value)
        if slot in ("v", "w", "v2") and self.rng.random() < 0.15:
            return str(value).lower()
        if slot == "k":
            return _WORDS[value] if self.rng.random() < 0.3 else str(value)
        if slot == "m":
            return str(value) if self.rng.random() < 0.2 else f"{value:%B %Y}"
        if slot in ("day", "day2"):
            return f"{value:%Y-%m-%d}" if self.rng.random() < 0.6 else f"{value.day} {value:%B %Y}"
        if slot == "stat":
            return self.rng.choice(STATS[value])
        return str(value)

    def _of(self, kind: Sequence[str], but: str = "") -> str:
        left = [one for one in kind if one != but]
        if not left:
            raise UnfitError
        return self.rng.choice(left)

    n = cached_property(lambda s: s._of(s.table.numbers))
    n2 = cached_property(lambda s: s._of(s.table.numbers, s.n))
    c = cached_property(lambda s: s._of(s.table.texts))
    c2 = cached_property(lambda s: s._of(s.table.texts, s.c))
    v = cached_property(lambda s: s._of(sorted(s.f[s.c].dropna().unique())))
    w = cached_property(lambda s: s._of(sorted(s.f[s.c].dropna().unique()), s.v))
    v2 = cached_property(lambda s: s._of(sorted(s.f[s.c2].dropna().unique())))
    b = cached_property(lambda s: s._of(s.table.bools))
    id = cached_property(lambda s: s._of([s.table.id] if s.table.id else []))
    d = cached_property(lambda s: s._of([s.table.time_column] if s.table.time_column else []))
    k = cached_property(lambda s: s.rng.randint(2, 5))
    x = cached_property(lambda s: s._threshold(0.3, 0.7))
    y = cached_property(lambda s: s._threshold(0.75, 0.9))
    far = cached_property(lambda s: s._threshold(1 - 9 / len(s.f), 1 - 4 / len(s.f)))
    """A threshold that only a few rows exceed."""
    up = cached_property(lambda s: s.rng.random() < 0.6)
    best = cached_property(lambda s: s.rng.choice(("highest", "largest") if s.up else ("lowest", "smallest")))
    most = cached_property(lambda s: "most" if s.up else "fewest")
    stat = cached_property(lambda s: s.rng.choice(list(STATS)))
    rows = cached_property(lambda s: s.rng.choice(["rows", "rows", "records", "entries"]))
    m = cached_property(lambda s: s.rng.choice(sorted(s.months.dropna().unique())))
    zm = cached_property(lambda s: f"{s.m.year}年{s.m.month}月")
    day = cached_property(lambda s: s.time.dropna().dt.normalize().quantile(s.rng.uniform(0.2, 0.5)).normalize())
    day2 = cached_property(lambda s: s.day + pd.Timedelta(days=s.rng.randint(15, 45)))
    zday = cached_property(lambda s: f"{s.day:%Y-%m-%d}")
    months = cached_property(lambda s: s.time.dt.to_period("M"))
    years = cached_property(lambda s: s.time.dt.to_period("Y"))
    days = cached_property(lambda s: s.time.dt.to_period("D"))

    @cached_property
    def time(self) -> pd.Series:
        if self.table.time is None:
            raise UnfitError
        return self.table.time

    def _threshold(self, low: float, high: float) -> Any:
        values = self.f[self.n].dropna().sort_values()
        value = values.iloc[int(self.rng.uniform(low, high) * (len(values) - 1))]
        return int(value) if float(value).is_integer() else float(value)

    @cached_property
    def echoes(self) -> tuple[float, ...]:
        drawn = [self.__dict__[slot] for slot in ("k", "x", "y", "far") if slot in self.__dict__]
        return tuple(float(one) for one in drawn)


def num(s: Slots, value: float, *wrong: float) -> Truth:
    """A number that is unlike the wrong ones and those of the question."""
    if pd.isna(value) or any(abs(value - one) < 0.005 * max(1, abs(value)) for one in (*wrong, *s.echoes)):
        raise UnfitError
    return Truth("number", (float(value),), wrong=tuple(float(one) for one in wrong), echoes=s.echoes)


def count(s: Slots, chosen: Any) -> Truth:
    got = int(chosen.sum())
    if got < 3 or got in (len(s.f), *s.echoes):
        raise UnfitError
    return Truth("number", (got,), echoes=s.echoes)


def stat(s: Slots, chosen: Any = None, how: str = "") -> Truth:
    """A statistic of column n over the chosen rows; that of all rows, and the other statistics, are wrong."""
    kind, values = how or s.stat, s.f[s.n] if chosen is None else s.f.loc[chosen, s.n]
    if len(values) < 3:
        raise UnfitError
    value = float(values.agg(kind))
    others = [float(values.agg(one)) for one in STATS if one != kind]
    others += [] if chosen is None else [float(s.f[s.n].agg(kind))]
    if chosen is not None and same_enough(value, others[-1]):
        raise UnfitError
    return num(s, value, *(one for one in others if not same_enough(value, one)))


def same_enough(value: float, other: float) -> bool:
    return abs(value - other) < 0.005 * max(1, abs(value))


def share(s: Slots, chosen: Any, known: Any = None) -> Truth:
    """How large a part of the rows is chosen: of all, or of those of which it is known."""
    parts = [chosen.sum() / len(s.f), chosen.sum() / (len(s.f) if known is None else known.sum())]
    if not 0.01 < parts[0] < 0.99:
        raise UnfitError
    return Truth("number", tuple(float(one) for part in parts for one in (part, 100 * part)), echoes=s.echoes)


def label(group: Any) -> Label:
    """A group as an answer names it: a month or a day in any form, all else as text."""
    return group if isinstance(group, pd.Period) and group.freqstr in ("M", "D") else str(group)


def per(s: Slots, values: pd.Series, ordered: bool = False) -> Truth:
    if not 1 < len(values) <= 12 or (ordered and values.duplicated().any()):
        raise UnfitError
    labels = tuple(map(label, values.index))
    return Truth("series", tuple(float(one) for one in values), labels, ordered=ordered, echoes=s.echoes)


def winner(s: Slots, values: pd.Series, up: bool | None = None) -> Truth:
    """The one group, month or day that has the most, or the least."""
    ranked = values.sort_values(ascending=not (s.up if up is None else up))
    if len(ranked) < 2 or same_enough(ranked.iloc[0], ranked.iloc[1]) or ranked.iloc[0] in s.echoes:
        raise UnfitError
    labels = list(map(label, ranked.index))
    kind = "time" if isinstance(labels[0], pd.Period) else "label"
    others = () if kind == "time" else tuple(labels[1:])
    return Truth(kind, (float(ranked.iloc[0]),), (labels[0],), others, echoes=s.echoes)  # type: ignore[arg-type]


def rows(s: Slots, chosen: pd.DataFrame, others: pd.DataFrame, ordered: bool = False) -> Truth:
    """Rows by their ids, or by their numbers in column n; of the others none is there."""
    if not 1 < len(chosen) <= 12:
        raise UnfitError
    key = s.table.id or s.n
    if chosen[key].duplicated().any():
        raise UnfitError
    right = tuple(float(one) for one in chosen[key])
    wrong = tuple(float(one) for one in others[key].head(3) if one not in right) if s.table.id else ()
    return Truth(
        "rows", tuple(dict.fromkeys(right)), wrong=wrong, ordered=ordered and not chosen[s.n].duplicated().any()
    )


def top(s: Slots, up: bool | None = None, frame: pd.DataFrame | None = None) -> Truth:
    frame = (s.f if frame is None else frame).dropna(subset=s.n)
    frame = frame.sort_values(s.n, ascending=not (s.up if up is None else up), kind="stable")
    if len(frame) <= s.k or frame[s.n].iloc[s.k - 1] == frame[s.n].iloc[s.k]:
        raise UnfitError
    return rows(s, frame.head(s.k), frame.iloc[s.k :], ordered=True)


def top_groups(s: Slots, values: pd.Series) -> Truth:
    values = values.sort_values(ascending=False)
    if len(values) <= s.k or values.iloc[s.k - 1] == values.iloc[s.k]:
        raise UnfitError
    return per(s, values.head(s.k), ordered=True)


def which_row(s: Slots, up: bool | None = None) -> Truth:
    frame = s.f.sort_values(s.n, ascending=not (s.up if up is None else up))
    if frame[s.n].iloc[0] == frame[s.n].iloc[1]:
        raise UnfitError
    return Truth("number", (float(frame[s.id].iloc[0]),), wrong=(float(frame[s.id].iloc[1]),))


def labels(s: Slots, column: str) -> Truth:
    return Truth("labels", labels=tuple(sorted(map(str, s.f[column].dropna().unique()))))


def repeated(s: Slots, keep: Any = "first") -> int:
    """How many rows are there twice; with times in the index, they are and they are not."""
    if isinstance(s.f.index, pd.DatetimeIndex):
        raise UnfitError
    return int(s.f.duplicated(keep=keep).sum())


def missing(s: Slots) -> Truth:
    gaps = s.f.isna().sum()
    if not gaps.any():
        return Truth("number", (0,))
    whole = tuple(str(one) for one in gaps[gaps == 0].index)
    return Truth("labels", labels=tuple(str(one) for one in gaps[gaps > 0].index), wrong=whole)


def is_v(s: Slots) -> Any:
    return s.f[s.c] == s.v


def not_v(s: Slots) -> Any:
    """The rows whose c is another; no rows have none, which could be counted or not."""
    if s.f[s.c].isna().any():
        raise UnfitError
    return s.f[s.c] != s.v


def dated(s: Slots, first: Any = None, last: Any = None) -> Any:
    """The rows after the day `first` and before the day `last`, where no time of day makes that ambiguous."""
    assert s.d
    time = s.time
    return (time > first if first is not None else time.notna()) & (time < last if last is not None else time.notna())


def size(s: Slots, column: Any = None) -> pd.Series:
    return (s.f[s.c] if column is None else column).value_counts()


def groups(s: Slots, how: str = "", by: Any = None, chosen: Any = None) -> pd.Series:
    f = s.f if chosen is None else s.f[chosen]
    key = f[s.c] if by is None else (by if chosen is None else by[chosen])
    return f[s.n].groupby(key).agg(how or s.stat).dropna()
