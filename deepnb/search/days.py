"""Days that a question names ("on 14 March", "last week", 三天前), and the day that a text says it is of.

English and Chinese; a date in figures alone is ISO's. What is relative is so to a given day. A date without a year is
of the latest year that has anything of it, and half as much of the years before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from deepnb.search.words import Scores

AFTER, BEFORE = 7.0, 1.0
"""Days after a date, and before it, in which nearness falls to a third: one tells of what was rather than of what will
be."""
MOST = 20
"""Different days, weeks and so on that are read out of one question."""
EARLIER = 0.5
"""What the same day of an earlier year is worth, where the question has no year."""

_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_NUMBERS = {
    word: n for n, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1)
}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "a few": 3}
_HAN = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}

_MONTH = r"(?P<month>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|{})\b\.?".format("|".join(_MONTHS))
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_ZH = r"[\d零〇一二三四五六七八九十两]"
_ZH_YEAR = r"(?P<year>(?:19|20)\d\d|[零〇一二三四五六七八九]{4}|今|去|前)年"
_ZH_MONTH = rf"(?P<month>{_ZH}{{1,2}})月"
_ZH_DAY = rf"(?P<day>{_ZH}{{1,3}})[日号號]"
_FULL = (
    r"(?<![\d.])(?P<year>(?:19|20)\d\d)[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)(?![\d-])",  # 2026-03-04
    rf"\b{_DAY} (?:of )?{_MONTH},? {_YEAR}",  # 4 March 2026
    rf"\b{_MONTH} {_DAY},? {_YEAR}",  # March 4, 2026
    rf"(?P<year>(?:19|20)\d\d)年{_ZH_MONTH}{_ZH_DAY}",  # 2026年3月4日
)
IN_FIGURES = re.compile(r"(?:19|20)\d\d")  # 2026
_FULL_DATE = [re.compile(pattern, re.IGNORECASE) for pattern in _FULL]
_BESIDE = re.compile(
    rf"\b(?:{'|'.join(_DAYS)}|am|pm|at|on)\b|(?:星期|周)[一二三四五六日天]|[上下]午|\d+", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Span:
    """From the first to the last day; `yearly` where the question does not say of which year."""

    first: date
    last: date
    yearly: bool = False


@dataclass(frozen=True)
class Asked:
    """What a question says on time, and what is left of it as words: "yesterday" is not in what was said then."""

    spans: tuple[Span, ...]
    rest: str


def asked_days(question: str, today: date) -> Asked:
    """Return the days that a question names; a number, a month or a day of the week is a word of it, too, and stays."""
    spans: list[Span] = []
    text, rest = question, question
    for pattern, read, relative in _PATTERNS:
        for found in list(pattern.finditer(text)):
            span = None
            with suppress(ValueError, OverflowError, KeyError):
                span = read(found, today)
            if span is not None:
                spans.append(span)
                text = text.replace(found[0], " " * len(found[0]), 1)
                rest = rest.replace(found[0], " ", 1) if relative else rest
    return Asked(tuple(dict.fromkeys(spans))[:MOST], rest if rest.strip(" ?？.。") else question)


def day_of(text: str, before: int | None = None) -> date | None:
    """Return the first whole date in a heading or a path; or, in a line, one that begins `before` so many characters."""
    if not IN_FIGURES.search(text):
        return None
    found = next(filter(None, (pattern.search(text) for pattern in _FULL_DATE)), None)
    if found is None or (before is not None and found.start() >= before):
        return None
    with suppress(ValueError, KeyError):
        return date(int(found["year"]), _month(found["month"]), _number(found["day"]))
    return None


def is_date(line: str) -> bool:
    """Return whether a line has a whole date and nothing else, but for the day of the week and the time of day."""
    for pattern in _FULL_DATE:
        line, dates = pattern.subn(" ", line)
        if dates:
            return not _WORD.search(_BESIDE.sub(" ", line))
    return False


def nearness(spans: tuple[Span, ...], days: Scores) -> Scores:
    """For each ordinal of a day (NaN: none) how near it is to the nearest span: 1 in it, 0 far away or without a day."""
    out = np.zeros(len(days))
    known = np.flatnonzero(~np.isnan(days))
    if not len(known):
        return out
    ordinals = days[known]
    last = date.fromordinal(int(ordinals.max())).year
    years = range(last, date.fromordinal(int(ordinals.min())).year - 2, -1)
    best = np.zeros(len(known))
    for span in spans:
        worth = 1.0
        for moved in (_in_year(span, year) for year in years) if span.yearly else (span,):
            late = np.maximum(ordinals - moved.last.toordinal(), 0)
            early = np.maximum(moved.first.toordinal() - ordinals, 0)
            near = np.exp(-late / AFTER - early / BEFORE)
            best = np.maximum(best, worth * near)
            worth = EARLIER if near.max() == 1 else worth
    out[known] = best
    return out


def _in_year(span: Span, year: int) -> Span:
    def moved(day: date) -> date:
        return day.replace(year=year, day=28) if (day.month, day.day) == (2, 29) else day.replace(year=year)

    return Span(moved(span.first), moved(span.last))


# -- what is read


Read = Callable[[re.Match[str], date], Span | None]


def _date(found: re.Match[str], today: date) -> Span | None:
    """Return a day, a month or a year, with as much of it as the pattern has."""
    parts = found.groupdict()
    said = parts.get("year")
    year = today.year
    if said is not None:  # 2026, 二〇二六, 今, 去, 前
        back = "今去前".find(said)
        year = year - back if back >= 0 else int("".join(str(_HAN.get(sign, sign)) for sign in said))
    if (month := parts.get("month")) is None:
        return Span(date(year, 1, 1), date(year, 12, 31))
    number = _month(month)
    if (day := parts.get("day")) is None:
        return _whole_month(date(year, number, 1), yearly=said is None)
    if said is None and (number, _number(day)) == (2, 29):
        year = 2024  # a leap year: which one is meant is seen by what there is
    one = date(year, number, _number(day))
    return Span(one, one, yearly=said is None)


def _ago(found: re.Match[str], today: date) -> Span:
    count = _number(found["count"])
    unit = found["unit"].lower()
    if unit in ("day", "天", "日"):
        return _one(today - timedelta(days=count))
    if unit in ("week", "周", "星期", "礼拜"):
        return _week(today, count)
    if unit in ("month", "月"):
        return _month_back(today, count)
    return Span(date(today.year - count, 1, 1), date(today.year - count, 12, 31))


def _last(found: re.Match[str], today: date) -> Span:
    """ "last week" and its like; "past" and "this" are until today."""
    last = found["which"].lower() in ("last", "previous", "上", "上个")
    unit = found["unit"].lower()
    if unit in ("week", "周", "星期", "礼拜"):
        return _week(today, 1 if last else 0)
    if unit in ("weekend", "周末"):
        monday = today - timedelta(days=today.weekday())
        ended = monday - timedelta(days=2) if last or today.weekday() < 5 else monday + timedelta(days=5)
        return Span(ended, ended + timedelta(days=1))
    if unit in ("month", "月"):
        return _month_back(today, 1 if last else 0)
    year = today.year - last
    return Span(date(year, 1, 1), date(year, 12, 31))


def _weekday(found: re.Match[str], today: date) -> Span:
    """Return the latest such day before today; "this Monday" may be today."""
    back = (today.weekday() - _DAYS.index(found["weekday"].lower())) % 7
    return _one(today - timedelta(days=back or (0 if (found["which"] or "").lower() == "this" else 7)))


def _zh_weekday(found: re.Match[str], today: date) -> Span:
    """上周三 is of the calendar week before; 周三 alone the latest one."""
    number = 6 if found["weekday"] in "日天" else "一二三四五六".index(found["weekday"])
    weeks = len((found["which"] or "").replace("个", ""))
    if not weeks or found["which"][0] in "这本":
        return _one(today - timedelta(days=(today.weekday() - number) % 7))
    return _one(today - timedelta(days=today.weekday() - number + 7 * weeks))


def _days_back(count: int) -> Read:
    return lambda found, today: _one(today - timedelta(days=count))


def _one(day: date) -> Span:
    return Span(day, day)


def _week(today: date, back: int) -> Span:
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return Span(monday, monday + timedelta(days=6))


def _month_back(today: date, back: int) -> Span:
    months = today.year * 12 + today.month - 1 - back
    return _whole_month(date(months // 12, months % 12 + 1, 1))


def _whole_month(first: date, *, yearly: bool = False) -> Span:
    following = (first + timedelta(days=31)).replace(day=1)
    return Span(first, following - timedelta(days=1), yearly)


def _month(said: str) -> int:
    if said[0].isascii() and said[0].isalpha():
        return next(n for n, name in enumerate(_MONTHS, 1) if name.startswith(said[:3].lower()))
    return _number(said)


def _number(said: str) -> int:
    """12, "three", "a", 十二 or 两."""
    if said.lower() in _NUMBERS:
        return _NUMBERS[said.lower()]
    if "十" in said:
        tens, _, ones = said.partition("十")
        return (_HAN[tens] if tens else 1) * 10 + (_HAN[ones] if ones else 0)
    return int("".join(str(_HAN.get(sign, sign)) for sign in said))


def _patterns() -> Iterator[tuple[re.Pattern[str], Read, bool]]:
    """Yield what is looked for, the longest first, how it is read, and whether it is relative to today."""
    sure = "|".join(month for month in _MONTHS if month not in ("may", "march"))
    absolute = (
        *_FULL,
        rf"{_ZH_YEAR}{_ZH_MONTH}{_ZH_DAY}",
        r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])",
        rf"\b{_MONTH},? (?:of )?{_YEAR}",
        rf"\b{_DAY} (?:of )?{_MONTH}",
        rf"\b{_MONTH} (?:the )?{_DAY}",
        rf"\b(?:in|of|during|since|until|by|from|late|early|mid|this|last) (?:late |early |mid-?)?{_MONTH}",
        rf"\b(?P<month>{sure})\b",
        rf"{_ZH_YEAR}{_ZH_MONTH}份?",
        rf"{_ZH_MONTH}{_ZH_DAY}",
        rf"(?<!个){_ZH_MONTH}份?(?!前|后)",
        rf"\b(?:in|during|since|of) {_YEAR}",
    )
    weekday, zh_weekday = rf"(?P<weekday>{'|'.join(_DAYS)})\b", "(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
    relative: tuple[tuple[str, Read], ...] = (
        (rf"\b(?P<which>last|past) {weekday}", _weekday),
        (rf"(?P<which>上上个?|上个?){zh_weekday}", _zh_weekday),
        (rf"\b{_COUNT} (?P<unit>day|week|month|year)s? ago\b", _ago),
        (rf"(?P<count>{_ZH}{{1,3}})个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:以|之)?前", _ago),
        (r"大前天", _days_back(3)),
        (r"\bthe day before yesterday\b|前天|前晚", _days_back(2)),
        (r"\byesterday\b|\blast night\b|昨天|昨日|昨晚|昨夜", _days_back(1)),
        (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今日|今早|今晚", _days_back(0)),
        (r"\bthe week before last\b|上上个?(?:周|星期|礼拜)(?![一二三四五六日天])", lambda _, today: _week(today, 2)),
        (r"\bthe month before last\b", lambda _, today: _month_back(today, 2)),
        (r"\b(?P<which>last|previous|this|past) (?P<unit>weekend|week|month|year)\b", _last),
        (r"(?P<which>上个?|这个?|本)(?P<unit>周末|周|星期|礼拜|月)", _last),
        (_ZH_YEAR, _date),
    )
    for pattern in absolute:
        yield re.compile(pattern, re.IGNORECASE), _date, False
    for pattern, read in relative:
        yield re.compile(pattern, re.IGNORECASE), read, True
    yield re.compile(rf"\b(?P<which>this|on) {weekday}", re.IGNORECASE), _weekday, False
    yield re.compile(rf"(?<![下每])(?P<which>这个?|本)?{zh_weekday}"), _zh_weekday, False


_PATTERNS = tuple(_patterns())
