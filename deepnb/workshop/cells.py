"""One value of a table as text, the same on every machine; a credential is not shown."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime
from numbers import Integral
from typing import Any

from deepnb.gate import redact_value
from deepnb.workshop.exact import ITEMS, cut, is_missing, is_scalar, plain, short

CELL = 30  # characters of one cell of a table


def cell(value: Any, limit: int = CELL) -> str:
    """One value of a table: floats with four digits, integers in full (they may be names), no time at midnight."""
    value = plain(value)
    if is_missing(value):
        return ""
    if type(value) is str:
        return cut(" ".join(value[: 4 * limit].split()), limit)
    if type(value) is tuple:
        return cut(", ".join(cell(v, limit) for v in value[:ITEMS]), limit)
    if type(value) is float:
        return figure(value)
    if not is_scalar(value):
        return short(value, limit)
    if isinstance(value, datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    if type(value) in (int, bytes):
        return short(value, limit)
    return cut(" ".join(str(value).split()), limit)


def cell_of(name: str, value: Any) -> str:
    """One value of a column; a credential is not shown."""
    return "[redacted]" if is_credential(name, value) else cell(value)


def figure(number: Any) -> str:
    """A whole number as it is; any other with at most four significant digits, without an exponent where it can be."""
    if isinstance(number, Integral) and abs(int(number)) < 10**15:
        return str(int(number))
    return f"{float(f'{float(number):.4g}'):.15g}"


def is_credential(name: object, value: object) -> bool:
    """Whether a text is, or is named like, a credential; of a longer one the first characters are asked."""
    if type(name) is not str or type(value) is not str:
        return False
    given = {name: value[:4000]}
    return redact_value(given) is not given


def csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(cells))
    return line.getvalue()
