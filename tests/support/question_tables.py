"""Eight tables as users have them: messy dates, missing values, ids, duplicates, an index of dates, polars, Chinese."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl


@dataclass(frozen=True)
class Table:
    name: str
    value: Any
    frame: pd.DataFrame
    """The same for pandas; text is text, and missing is missing."""
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    time: pd.Series | None = None
    time_column: str | None = None
    """The column that says it; None for the index."""
    id: str | None = None
    """A column whose numbers name the rows, once each."""
    bools: tuple[str, ...] = ()


@cache
def tables() -> dict[str, Table]:
    made = (_crates(), _orders(), _customers(), _readings(), _parcels(), _sales(), _answers(), _invoices())
    return {one.name: one for one in made}


def _days(rng: np.random.Generator, first: str, days: int, count: int) -> pd.Series:
    return pd.Series(pd.Timestamp(first) + pd.to_timedelta(rng.integers(0, days, count), unit="D"))


def _pick(rng: np.random.Generator, labels: str, count: int, missing: float = 0.0) -> pd.Series:
    """Labels, the first more often than the last."""
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
    """Dates are text of three unambiguous forms; amounts, regions and dates are missing here and there."""
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
    """Names and ids are there twice, some rows whole."""
    rng, n = np.random.default_rng(3), 90
    f = pd.DataFrame(
        {"customer_id": rng.integers(2_001, 2_080, n), "name": _pick(rng, "Ana Li|Bo Berg|Cem Kaya|Dee", n)}
    )
    f["city"], f["age"] = _pick(rng, "Lisbon|Porto|Faro", n), rng.integers(18, 80, n)
    f["spent"], f["joined"] = rng.gamma(2, 150, n).round(1), _days(rng, "2023-02-01", 900, n)
    f = pd.concat([f, f.iloc[[4, 17, 33]]], ignore_index=True)
    return Table("customers", f, f, ("age", "spent"), ("name", "city"), f["joined"], "joined")


def _readings() -> Table:
    """An index of times without a name."""
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
    """A survey: groups and ages are missing here and there, and there is no date."""
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
