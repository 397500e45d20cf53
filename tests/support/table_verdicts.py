"""Whether the text of an answer about a table is right, a refusal, or wrong."""

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pandas as pd

Verdict = Literal["right", "refused", "wrong"]
Label: TypeAlias = str | Any  # a text, or a pandas period
Kind = Literal["number", "label", "labels", "time", "rows", "series", "yes", "description"]


@dataclass(frozen=True)
class Truth:
    kind: Kind
    numbers: tuple[float, ...] = ()
    """A number: forms of which one suffices. Rows: one number of each row. A label, a time: the figure that belongs to
    it, if the answer gives figures at all. A description: the number of rows."""
    labels: tuple[Label, ...] = ()
    """What must be named. A label or a time: the first that is named of those that could be."""
    wrong: tuple[float | Label, ...] = ()
    """Figures that may not stand before the right one; labels that may not stand before it, or not at all."""
    ordered: bool = False
    echoes: tuple[float, ...] = ()
    shape: bool = False
    """Whether the number of rows and columns is what is asked; elsewhere `300 rows and 5 columns` is no figure."""
    refuse: bool = False


_REFUSALS = (
    *("have no rule", "i cannot place", "i can't place", "could not place", "nothing in my prompt"),
    *("i remember nothing about that", "can't tell", "has no column like", "没有规则", "没有对应的规则", "看不出"),
    *("没有类似", "无法理解", "不明白", "提示词里没有", "提示中没有"),
)
_EMPTY = r"missing|rows?|values?|nans?|nulls?|blanks?|empty|gaps?|duplicat\w*|repeated|twice"
_NONE = re.compile(
    rf"^\W*(?:no|none|nothing|zero)\b|\b(?:no|none|zero|nothing)\b[^.\n]{{0,30}}\b(?:{_EMPTY})\b"
    rf"|\b(?:{_EMPTY})\b[^.\n]{{0,30}}\bnone\b|没有|无(?!法)|不存在",
    re.IGNORECASE,
)  # `No rows are repeated`, `Missing values: none`; not `list_variables shows none`
_SHAPE = re.compile(r"\d+ rows?(?:,| and| x| by)? \d+ columns?|\d+ 行 ?[,，x]? ?\d+ 列")
_YES = re.compile(r"\b(yes|there (?:is|are) (?!no\b|none\b))|^有|是的|(?<!没)有", re.IGNORECASE)
_FIGURE = re.compile(r"(?<![A-Za-z0-9_.])([-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s?[%％])?")
_MONTHS = {name.lower(): at for at in range(1, 13) for name in (calendar.month_name[at], calendar.month_abbr[at])}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"(?P<y>(?:19|20)\d\d)[-/年](?P<m>\d{1,2})(?:[-/月](?P<d>\d{1,2})日?)?月?(?:[T ]\d\d:\d\d(?::\d\d)?)?"),
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)? (?P<n>{_MONTH})\.?,? (?P<y>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)", re.IGNORECASE),
    re.compile(rf"\b(?P<n>{_MONTH})\.?,?(?: (?P<y>(?:19|20)\d\d))?\b", re.IGNORECASE),
)
_MOST = 6
"""Figures beside the right one with which an answer still answers, and does not list what there is, if the right one is
not the first."""


def verdict(truth: Truth, answer: str) -> Verdict:
    first = answer.strip().partition("\n")[0].lower().replace("’", "'")
    if any(words in first for words in _REFUSALS):
        return "right" if truth.refuse else "refused"
    text = answer if truth.shape else _SHAPE.sub("(its shape)", answer)
    return "right" if not truth.refuse and _CHECKS[truth.kind](truth, text) else "wrong"


def same(written: str, percent: bool, value: float) -> bool:
    """Whether a figure as it is written is this value, rounded at most to three digits, whole numbers to four."""
    got = float(written.replace(",", "").replace("−", "-")) / (100 if percent else 1)
    if percent and abs(got - value) <= 0.00505:  # 33 % for 0.3333
        return True
    if float(value).is_integer() and abs(value) < 10_000:
        return abs(got - value) < 1e-9
    digits = (4, 5, 6) if float(value).is_integer() else (3, 4, 5, 6)
    near = any(abs(got - float(f"{value:.{n}g}")) <= 1e-9 * max(1, abs(value)) for n in digits)
    places = len(written.partition(".")[2].partition("e")[0])
    exact = abs(got - value) <= 0.500001 * 10**-places and (places >= 2 or abs(value) >= 100 or abs(got - value) < 1e-9)
    return near or exact


def dates(text: str) -> list[tuple[int, int, int | None, int, int | None]]:
    found: list[tuple[int, int, int | None, int, int | None]] = []
    for pattern in _DATES:
        for one in pattern.finditer(text):
            if any(one.start() < end and start < one.end() for start, end, *_ in found):
                continue
            part = one.groupdict()
            month = int(part["m"]) if part.get("m") else _MONTHS[part["n"].lower()]
            year, day = (int(part[key]) if part.get(key) else None for key in ("y", "d"))
            found.append((one.start(), one.end(), year, month, day))
    return sorted(found)


def figures(text: str) -> list[tuple[int, str, bool]]:
    for start, end, *_ in dates(text):
        if re.search(r"\d", text[start:end]):
            text = text[:start] + "#" * (end - start) + text[end:]
    return [(one.start(), one[1], bool(one[2])) for one in _FIGURE.finditer(text)]


def places(text: str, label: Label) -> Iterator[tuple[int, int]]:
    if isinstance(label, pd.Period):
        yield from ((start, end) for start, end, y, m, d in dates(text) if _is_period(label, y, m, d))
        return
    ascii_ends = [
        r"(?<![A-Za-z0-9_])" if label[:1].isascii() else "",
        "(?![A-Za-z0-9_])" if label[-1:].isascii() else "",
    ]
    yield from (one.span() for one in re.finditer(re.escape(label).join(ascii_ends), text, re.IGNORECASE))


def _is_period(period: pd.Period, year: int | None, month: int, day: int | None) -> bool:
    ends = (None, 1, period.end_time.day) if period.freqstr == "M" else (period.start_time.day,)
    return month == period.month and year in (None, period.year) and day in ends


def _first(text: str, value: float) -> int:
    return next((at for at, written, percent in figures(text) if same(written, percent, value)), -1)


def _number(truth: Truth, text: str) -> bool:
    found = [at for at in (_first(text, value) for value in truth.numbers) if at >= 0]
    if not found and 0 in truth.numbers and (none := _NONE.search(text)):
        found = [none.start()]
    early = [at for value in truth.wrong if isinstance(value, float | int) and (at := _first(text, value)) >= 0]
    said = [one for one in figures(text) if not any(same(one[1], one[2], value) for value in truth.echoes)]
    first = bool(found and said) and min(found) <= said[0][0]
    few = first or len({written for _, written, _ in said}) <= _MOST + 1
    return bool(found) and all(at > min(found) for at in early) and few


def _figure_fits(truth: Truth, text: str) -> bool:
    given = [one for one in figures(text) if not any(same(one[1], one[2], value) for value in truth.echoes)]
    return not truth.numbers or not given or any(_first(text, value) >= 0 for value in truth.numbers)


def _label(truth: Truth, text: str) -> bool:
    right = [at for label in truth.labels for at, _ in places(text, label)]
    other = [at for label in truth.wrong if not isinstance(label, float | int) for at, _ in places(text, label)]
    if truth.kind == "time":
        other += [start for start, *_ in dates(text) if start not in right]
    return bool(right) and min(right) < min(other, default=len(text)) and _figure_fits(truth, text)


def _labels(truth: Truth, text: str) -> bool:
    named = all(any(True for _ in places(text, label)) for label in truth.labels)
    return named and not any(any(True for _ in places(text, str(label))) for label in truth.wrong)


def _rows(truth: Truth, text: str) -> bool:
    at = [_first(text, value) for value in truth.numbers]
    if min(at, default=0) < 0 or (truth.ordered and at != sorted(at)):
        return False
    return all(_first(text, value) < 0 for value in truth.wrong if isinstance(value, float | int))


def _series(truth: Truth, text: str) -> bool:
    spots = sorted((*spot, label) for label in truth.labels for spot in places(text, label))
    firsts = []
    for label, value in zip(truth.labels, truth.numbers, strict=True):
        right = -1
        for at, (start, end, named) in enumerate(spots):
            until = next((one[0] for one in spots[at + 1 :] if one[2] != label), len(text))
            if named == label and right < 0 and _first(text[end:until], value) >= 0:
                right = start
        firsts.append(right)
    return bool(firsts) and min(firsts) >= 0 and (not truth.ordered or firsts == sorted(firsts))


def _yes(truth: Truth, text: str) -> bool:
    if any(value and _first(text, value) >= 0 for value in truth.numbers):
        return True
    no = bool(_NONE.search(text)) or _first(text, 0) >= 0
    return no if truth.labels == ("no",) else not no and bool(_YES.search(text))


_CHECKS: dict[Kind, Callable[[Truth, str], bool]] = {
    "number": _number, "label": _label, "labels": _labels, "time": _label, "rows": _rows, "series": _series,
    "yes": _yes,
    "description": lambda truth, text: (
        _labels(truth, text) and all(_first(text, value) >= 0 for value in truth.numbers)),
}  # fmt: skip
