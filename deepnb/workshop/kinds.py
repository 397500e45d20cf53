"""Values of a question brought to the kind of the column that they are compared with, or an error that names kind and example.

JSON has texts, numbers and bools alone: a date or a decimal is written as a text. It is compared with each kind that a
column holds as that kind, and never as another one, which would match no row without saying why. Bytes, intervals and
complex numbers are not compared.
"""

import datetime as dt
import operator
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from deepnb.values.errors import InvalidError
from deepnb.workshop.exact import class_name, is_missing, plain
from deepnb.workshop.tables import held

NUMERIC = frozenset({"sum", "mean", "median", "std"})
_SAFE_SUM = 2**63
_REAL = (int, float, Decimal, Fraction)
_JSON = (bool, int, float, complex, str)
_BOOLS = {"true": True, "false": False, "1": True, "0": False}


def compared(column: Any, name: str, how: str, value: Any) -> Any:
    """Return which rows of a readable column compare so (`eq`, `ge`, `le`) with a value that is not None."""
    import pandas as pd

    value, kind = plain(value), class_name(column.dtype)
    holds, example = held(column, name, ", such as {}")
    misfit = InvalidError(f"{holds}, not {class_name(value)}", f"give a value of its type{example}")
    if kind == "CategoricalDtype":
        return pd.Series(_of_categories(column.cat, name, how, value, misfit), dtype=bool)
    if kind in ("IntervalDtype", "PeriodDtype") or getattr(column.dtype, "kind", "O") == "O":
        mask = pd.Series(_of_objects(column, how, value, misfit), dtype=bool)
    else:
        first = column.dropna().iloc[:1].tolist()
        try:
            mask = getattr(column, how)(_brought(first[0], value, how)) if first else column.notna()
        except Exception:
            raise misfit from None
        mask = mask.fillna(False).astype(bool)
    if type(value) in (int, float) and len(mask) and not mask.any() and type(column.dropna().iloc[:1].max()) is str:
        raise misfit  # 7 may be written as 007 there
    return mask


def aggregated(column: Any, how: str) -> Any:
    """Return a column as it is aggregated so; None for one without the numbers that it needs.

    Whole numbers near the limit of 64 bits are Python's own, so that their sum is exact.
    """
    kind, code = class_name(column.dtype), getattr(column.dtype, "kind", "O")
    if kind == "CategoricalDtype":
        if how in NUMERIC or not column.dtype.ordered:
            column = column.astype(column.dtype.categories.dtype)
    elif kind in ("IntervalDtype", "PeriodDtype"):
        column = column.astype(object)
    elif code in "iu" and len(column) and column.notna().any():
        largest = max(abs(int(column.max())), abs(int(column.min())))
        column = column.astype(object) if largest * len(column) >= _SAFE_SUM else column
    code = getattr(column.dtype, "kind", "O")
    computed = code in "biufc" or (code == "m" and how != "std") or (code == "M" and how in ("mean", "median"))
    if computed or how not in NUMERIC:
        return column
    kinds = {type(plain(value)) for value in column if not is_missing(value)} if code == "O" else {object}
    if not kinds <= {*_REAL}:
        return None
    return column if how == "sum" and len(kinds) == 1 else column.astype("float64")


def _of_categories(column: Any, name: str, how: str, value: Any, misfit: InvalidError) -> Any:
    """Compare the categories, each once: as the values they are, or by their place where they have an order."""
    import numpy as np
    import pandas as pd

    ranked = column.ordered and how != "eq"
    try:
        hits = compared(pd.Series(column.categories.array), name, "eq" if ranked else how, value).to_numpy()
    except InvalidError:
        raise misfit from None
    codes = column.codes.to_numpy()
    if not ranked:
        return np.append(hits, False)[codes]
    if not hits.any():
        raise misfit
    return getattr(operator, how)(codes, hits.argmax()) & (codes >= 0)


def _of_objects(column: Any, how: str, value: Any, misfit: InvalidError) -> list[bool]:
    """Compare with the values of each kind as that kind; a range needs all of them, of texts and numbers what JSON has is meant."""
    values = [None if is_missing(one) else plain(one) for one in column]
    examples = {_kind(one): one for one in values if one is not None}
    kinds = {kind for kind, _ in examples}
    if type(value) is bool and bool not in kinds and kinds:
        raise misfit
    of_json = {kind for kind in kinds if kind in _JSON} if len(kinds) > 1 and type(value) in _JSON else set()
    meant = {kind for kind in of_json if (kind is str) == (type(value) is str)}
    brought: dict[tuple[type, bool], Any] = {}
    for kind, one in examples.items():
        if meant and kind[0] in of_json:
            brought |= {kind: value} if kind[0] in meant else {}
            continue
        with suppress(Exception):  # pandas raises many kinds for a text that it can't read
            brought[kind] = _brought(one, value, how)
    if examples and (not brought or (how != "eq" and len(brought) < len(examples))):
        raise misfit
    compare = getattr(operator, how)
    try:
        return [one is not None and (kind := _kind(one)) in brought and compare(one, brought[kind]) for one in values]
    except TypeError:  # complex numbers have no order
        raise misfit from None


def _kind(value: Any) -> tuple[type, bool]:
    return type(value), getattr(value, "tzinfo", None) is not None


def _brought(one: Any, value: Any, how: str) -> Any:
    """Return a value converted to the type of `one`, a value of the column; raise an exception if it can't be."""
    import pandas as pd

    if (kind := type(one)) is bool:
        return _BOOLS[str(value).casefold()]
    if type(value) is bool:
        raise ValueError
    if kind is str:
        if type(value) is not str and how != "eq":
            raise ValueError
        return str(value)
    if kind in _JSON or kind in _REAL:
        number = value
        if kind is Decimal or kind is Fraction:
            number = kind(str(value))
        elif type(value) not in (int, float):
            number = int(value) if re.fullmatch(r"\s*[+-]?\d+\s*", str(value)) else float(str(value))
        if number != number:
            raise ValueError
        return number
    if type(value) in (int, float, complex):
        raise ValueError
    text = str(value).strip()
    if class_name(one) in ("date", "datetime", "Timestamp"):
        return _moment(one, text, how)
    if class_name(one) in ("timedelta", "Timedelta"):
        if not re.search(r"[a-zA-Z:]", text):
            raise ValueError  # pandas takes a bare number for nanoseconds
        return pd.Timedelta(text.replace(",", " "))
    if kind is dt.time:
        found = dt.time.fromisoformat(text)
        if (found.tzinfo is None) != (one.tzinfo is None):
            raise ValueError
        return found
    if class_name(one) == "Period":
        return pd.Period(text, freq=one.freq)
    if kind is UUID or hasattr(kind, "as_posix"):
        return kind(text)
    raise ValueError


def _moment(one: Any, text: str, how: str) -> Any:
    """Return a time in the zone of the column where it names none, or a day; of a time in a day's range the day it means."""
    import pandas as pd

    if not re.search(r"\d{4}", text):
        raise ValueError  # pandas reads `now`, and `5` as a day of this month
    at = pd.Timestamp(text)
    if type(one) is dt.date:
        if at.tzinfo is not None or (how == "eq" and at != at.normalize()):
            raise ValueError
        return at.date() + dt.timedelta(days=how == "ge" and at != at.normalize())
    if one.tzinfo is None and at.tzinfo is not None:
        raise ValueError
    return at if one.tzinfo is None or at.tzinfo is not None else at.tz_localize(one.tzinfo)
