"""Days that a question names ("on 14 March", "last week", 三天前), and the day that a text says it is of.

English and Chinese, and what `phrases` makes of other languages; a date in figures alone is ISO's. What is relative is so
to a given day. A date without a year is of the latest year that has anything of it, and half as much of the years before.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from deepnb.search.keys import Scores
from deepnb.search.phrases import in_english, only_fillers
from deepnb.search.words import folded

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
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "few": 3, "a few": 3}
_NUMBERS |= {"four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_AFTER_DAY = "and|at|in|i|we|he|she|they|did|was|were|about|with|for|when|to|by|from"
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
_BESIDE_DATE = rf"\b(?:{'|'.join(_DAYS)}|am|pm|at|on)\b|(?:星期|周)[一二三四五六日天]|[上下]午|\d+"
_BESIDE = re.compile(_BESIDE_DATE, re.IGNORECASE)
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Span:
    """From the first to the last day; `yearly` where the question does not say of which year."""

    first: date
    last: date
    yearly: bool = False


Read = Callable[[re.Match[str], date], Span]


@dataclass(frozen=True)
class Asked:
    """What a question says on time, and what is left of it as words: "yesterday" is not in what was said then.

    `alone` where nothing else is asked: those words of the dates that a text may have.
    """

    spans: tuple[Span, ...]
    rest: str
    alone: str | None = None


def asked_days(question: str, today: date) -> Asked:
    """Return the days that a question names; a number, a month or a day of the week is a word of it, too, and stays."""
    said = folded(question)
    text, names = in_english(said)
    foreign = text != said
    for pattern, both in _RANGES:
        text = pattern.sub(both, text)
    found = _Found(text, text, [], [])
    found.read(_PATTERNS, today)
    weak = _Found(found.text, found.rest, [*found.places], [*found.said])
    weak.read(_WEAK, today)
    if weak.places and only_fillers(weak.text, foreign=foreign):
        return Asked(weak.spans(text, today), question, " ".join([*weak.said, *names]))
    rest = f"{found.rest} {' '.join(names)}"
    if not found.places:
        return Asked((), question)
    return Asked(found.spans(text, today), rest if rest.strip(" ?？.。") else question)


@dataclass
class _Found:
    """A question while it is read: without its dates; without the relative ones; each place and span; the other dates."""

    text: str
    rest: str
    places: list[tuple[int, int, Span]]
    said: list[str]

    def read(self, patterns: tuple[tuple[re.Pattern[str], Read, bool], ...], today: date) -> None:
        for pattern, read, relative in patterns:
            for found in list(pattern.finditer(self.text)) if len(self.places) < MOST else ():
                with suppress(ValueError, OverflowError, KeyError, StopIteration):
                    a, b = found.span()
                    self.places.append((a, b, read(found, today)))
                    gap = " " * (b - a)
                    self.text = self.text[:a] + gap + self.text[b:]
                    if relative:
                        self.rest = self.rest[:a] + gap + self.rest[b:]
                    else:
                        self.said.append(found[0])

    def spans(self, text: str, today: date) -> tuple[Span, ...]:
        """Return the spans, where two are joined by a word such as "to" as one, and one that is "since" a day until today."""
        out: list[Span] = []
        begin = end = -1
        for a, b, span in sorted(self.places, key=lambda place: place[0]):
            gap = text[end:a].lower().strip(" ,，(（") if out else None
            whole = [one.first.replace(month=12, day=31) == one.last and not one.yearly for one in (*out[-1:], span)]
            weekdays = [bool(_WEEKDAY.search(part)) for part in (text[begin:end], text[a:b])]
            between = end >= 0 and _AND.fullmatch(text, end, a) and _BETWEEN.search(text, 0, end)
            if gap in _NEXT and out[-1].yearly != span.yearly and any(whole):  # May last year, 去年五月
                one, year = (span, out.pop()) if span.yearly else (out.pop(), span)
                span = replace(_in_year(one, year.first.year), yearly=False)
            elif gap in _NEXT and weekdays[0] != weekdays[1]:  # Tuesday, 4 May: of the two the date counts
                other = out.pop()
                span = span if weekdays[0] else other
            elif out and (between or _TO.fullmatch(text, end, a)):
                span = _joined(out.pop(), span, today, all(weekdays))
            elif _SINCE.search(text[:a]) or _SINCE.match(text[a:b]) or text[b:].startswith("以来"):
                first = _in_year(span, span.first.year - (span.first > today)).first if span.yearly else span.first
                span = Span(first, max(first, today))
            elif span.first == span.last and _WEEK_OF.search(text[:a]):
                span = Span(_week(span.first, 0).first, _week(span.first, 0).last, span.yearly)
            elif out and end == a - 1 and text[a:b].lower().startswith("of "):  # the last week of October
                out.pop()
            out.append(span)
            begin, end = a, b
        return tuple(dict.fromkeys(out))[:MOST]


def _joined(one: Span, other: Span, today: date, weekdays: bool) -> Span:
    """Return the days from one to another: "Monday to Wednesday", "20 December to 6 January"."""
    first, last = one.first, other.last
    if weekdays:
        last = first + timedelta(days=(last - first).days % 7)
        back = timedelta(days=7 if last > today else 0)
        first, last = first - back, last - back
    elif first > last:
        first = _in_year(one, last.year - 1).first
    return Span(first, last, one.yearly and other.yearly and one.first <= last)


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


def _date(found: re.Match[str], today: date) -> Span:
    """Return a day, a month or a year, with as much of it as the pattern has."""
    parts = found.groupdict()
    said = parts.get("year")
    year = _year(said, today)
    if (month := parts.get("month")) is None:
        return Span(date(year, 1, 1), date(year, 12, 31))
    number = _month(month)
    if (day := parts.get("day")) is None:
        return _whole_month(date(year, number, 1), yearly=said is None)
    if said is None and (number, _number(day)) == (2, 29):
        year = 2024  # a leap year: which one is meant is seen by what there is
    one = date(year, number, _number(day))
    return Span(one, one, yearly=said is None)


def _year(said: str | None, today: date) -> int:
    """2026, 二〇二六, 今, 去, 前; that of today where none is said."""
    if said is None or said in "今去前":
        return today.year - "今去前".index(said or "今")
    return _number(said)


_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "周末": "weekend", "月": "month"}
_UNITS |= {"季度": "quarter", "年": "year"}


def _unit(found: re.Match[str]) -> str:
    return _UNITS.get(found["unit"], found["unit"].lower())


def _back(unit: str, count: int, today: date) -> Span:
    """Return the day, week, month, quarter or year so many before that of today."""
    match unit:
        case "day":
            return _one(today - timedelta(days=count))
        case "week":
            return _week(today, count)
        case "month":
            return _month_back(today, count)
        case "quarter":
            at = today.year * 4 + (today.month - 1) // 3 - count
            return _quarter(at // 4, at % 4 + 1)
    return Span(date(today.year - count, 1, 1), date(today.year - count, 12, 31))


def _ago(found: re.Match[str], today: date) -> Span:
    return _back(_unit(found), _number(found["count"]), today)


def _last(found: re.Match[str], today: date) -> Span:
    """ "last week" and its like; "past" and "this" are until today."""
    last = _which(found.groupdict()) in ("last", "previous", "上", "上个")
    if (unit := _unit(found)) != "weekend":
        return _back(unit, int(last), today)
    monday = today - timedelta(days=today.weekday())
    ended = monday - timedelta(days=2) if last or today.weekday() < 5 else monday + timedelta(days=5)
    return Span(ended, ended + timedelta(days=1))


def _weekday(found: re.Match[str], today: date, before: int = 0) -> Span:
    """Return the latest such day before today; "this Monday" may be today."""
    back = (today.weekday() - _day_of_week(found["weekday"])) % 7
    return _one(today - timedelta(days=(back or (0 if _which(found.groupdict()) == "this" else 7)) + before))


def _zh_weekday(found: re.Match[str], today: date) -> Span:
    """上周三 is of the calendar week before; 周三 alone the latest one."""
    number = _day_of_week(found["weekday"])
    weeks = len((found["which"] or "").replace("个", ""))
    if not weeks or found["which"][0] in "这本":
        return _one(today - timedelta(days=(today.weekday() - number) % 7))
    return _one(today - timedelta(days=today.weekday() - number + 7 * weeks))


def _day_in_week(found: re.Match[str], today: date) -> Span:
    """Return a day of a week that is named beside it: "Tuesday last week", 两周前的周二."""
    parts = found.groupdict()
    back = _number(parts["count"]) if parts["count"] else {"last": 1, "previous": 1, "this": 0}.get(_which(parts), 2)
    return _one(_week(today, back).first + timedelta(days=_day_of_week(found["weekday"])))


def _which(parts: dict[str, str | None]) -> str:
    return (parts.get("which") or "").lower()


def _day_in_month(found: re.Match[str], today: date) -> Span:
    """Return such a day of last month, of this one, or else the latest there was: "on the 4th"."""
    parts, day = found.groupdict(), _number(found["day"])
    if which := _which(parts):
        return _one(_month_back(today, int(which in ("last", "上", "上个"))).first.replace(day=day))
    months = (_month_back(today, back) for back in range(12))
    days = (month.first.replace(day=day) for month in months if day <= month.last.day)
    return _one(next(one for one in days if one <= today))


def _recent(found: re.Match[str], today: date) -> Span:
    """ "the last three days": with today."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[_unit(found)]
    return Span(today - timedelta(days=_number(found["count"] or "1") * days), today)


def _numbered_week(found: re.Match[str], today: date) -> Span:
    weeks = (date.fromisocalendar(year, int(found["week"]), 1) for year in (today.year, today.year - 1))
    first = next(monday for monday in weeks if monday <= today)
    return Span(first, first + timedelta(days=6))


def _in_quarter(found: re.Match[str], today: date) -> Span:
    parts = found.groupdict()
    which = parts["quarter"].lower()
    said = parts.get("year") or parts.get("before")
    span = _quarter(_year(said, today), _ORDINALS.get(which) or _number(which))
    return Span(span.first, span.last, yearly=not said)


def _quarter(year: int, number: int) -> Span:
    return Span(date(year, number * 3 - 2, 1), _whole_month(date(year, number * 3, 1)).last)


def _figures(found: re.Match[str], today: date) -> Span:
    """11/18, or 18/11 where there is no eighteenth month."""
    month, day = int(found["a"]), int(found["b"])
    if month > 12:
        month, day = day, month
    one = date(int(found["year"] or today.year), month, day)
    return Span(one, one, yearly=not found["year"])


def _day_of_week(name: str) -> int:
    if name in "一二三四五六日天":
        return "一二三四五六日天".index(name) - (name == "天")
    return next(n for n, day in enumerate(_DAYS) if day.startswith(name[:3].lower()))


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


_SURE_MONTH = "|".join(month for month in _MONTHS if month not in ("may", "march"))
_ABSOLUTE = (
    *_FULL,
    rf"{_ZH_YEAR}{_ZH_MONTH}{_ZH_DAY}",
    r"(?<![\d-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\d-])",
    rf"\b{_MONTH},? (?:of )?{_YEAR}",
    rf"\b{_DAY} (?:of )?{_MONTH}",
    rf"\b{_MONTH} (?:the )?{_DAY}",
    rf"\b(?:in|of|during|since|until|by|from|late|early|mid|this|last) (?:late |early |mid-?)?{_MONTH}",
    rf"\b(?P<month>{_SURE_MONTH})\b",
    rf"{_ZH_YEAR}{_ZH_MONTH}份?",
    rf"{_ZH_MONTH}{_ZH_DAY}",
    rf"(?<!个){_ZH_MONTH}份?(?!前|后)",
    rf"\b(?:in|during|since|of) {_YEAR}",
)
_WEEKDAY_NAME, _ZH_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)})\b", "(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])"
_WEEKS = rf"(?:(?P<which>last|this|previous) week|the week before last|{_COUNT} weeks? ago)"
_ZH_UNIT = "(?P<unit>天|日|周|星期|礼拜|月|年)"
_RELATIVE: tuple[tuple[str, Read], ...] = (
    (rf"\b(?:on )?{_WEEKDAY_NAME},? (?:(?:of|in|de|der) )?{_WEEKS}\b", _day_in_week),
    (rf"\b{_WEEKS}(?:'s)? (?:on )?{_WEEKDAY_NAME}", _day_in_week),
    (rf"(?P<count>{_ZH}{{1,3}})个?(?:周|星期|礼拜)(?:以|之)?前的?{_ZH_WEEKDAY}", _day_in_week),
    (rf"\b(?:on )?(?:the )?{_DAY} of (?P<which>last|this) month\b", _day_in_month),
    (rf"(?P<which>上个?|这个?|本)月{_ZH_DAY}", _day_in_month),
    (rf"\b(?:the )?{_WEEKDAY_NAME} before last\b", lambda found, today: _weekday(found, today, 7)),
    (rf"\b(?P<which>last|past) {_WEEKDAY_NAME}", _weekday),
    (rf"(?P<which>上上个?|上个?){_ZH_WEEKDAY}", _zh_weekday),
    (rf"\b{_COUNT} (?P<unit>day|week|month|year)s? ago\b", _ago),
    (rf"(?P<count>{_ZH}{{1,3}})个?{_ZH_UNIT}(?:以|之)?前", _ago),
    (rf"\b(?:(?:last|past|previous) {_COUNT}|past) (?P<unit>day|week|month|year)s?\b", _recent),
    (rf"(?:最近|过去|近)(?:的)?(?P<count>{_ZH}{{1,3}})个?{_ZH_UNIT}间?", _recent),
    (r"大前天", _days_back(3)),
    (r"\bthe day before yesterday\b|前天|前晚|前儿", _days_back(2)),
    (r"\byesterday\b|\blast night\b|昨天|昨日|昨晚|昨夜|昨儿", _days_back(1)),
    (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今天|今日|今早|今晚|今儿", _days_back(0)),
    (r"\bthe week before last\b|上上个?(?:周|星期|礼拜)(?![一二三四五六日天])", lambda _, today: _week(today, 2)),
    (r"\bthe month before last\b|上上个?月", lambda _, today: _month_back(today, 2)),
    (r"\b(?P<which>last|previous|this|past) (?P<unit>weekend|week|month|year|quarter)\b", _last),
    (r"(?P<which>上个?|这个?|本)(?P<unit>周末|(?:周|星期|礼拜)(?![一二三四五六日天])|月|季度)", _last),
    (_ZH_YEAR, _date),
)
_QUARTERS = (
    rf"\b(?:(?P<before>(?:19|20)\d\d)[ -])?Q(?P<quarter>[1-4])\b(?:(?:,? (?:of )?|[/-]){_YEAR})?",
    rf"\b(?P<quarter>{'|'.join(_ORDINALS)}) quarter\b(?: (?:of )?{_YEAR})?",
    rf"(?:{_ZH_YEAR})?第?(?P<quarter>[一二三四1-4])季度",
)
_OTHERS: tuple[tuple[str, Read], ...] = (
    (rf"\b(?P<which>this|on) {_WEEKDAY_NAME}", _weekday),
    (rf"(?<![下每个])(?P<which>这个?|本)?{_ZH_WEEKDAY}", _zh_weekday),
    (rf"\bon the {_DAY}(?=\W*$|[^\w\s]|\s+(?:{_AFTER_DAY})\b)", _day_in_month),
)
_WEAK_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?"
_WEAK_ROWS: tuple[tuple[str, Read], ...] = (
    (rf"\b(?:(?P<which>last|past|this|on) )?{_WEAK_WEEKDAY}", _weekday),
    (rf"\b(?:(?:on|from) )?(?:the )?{_DAY.replace(')?', ')')}", _day_in_month),
    (rf"(?<![\d月]){_ZH_DAY}", _day_in_month),
    (r"(?:\b(?:over|at|on|during) )?(?:\bthe )?(?P<unit>\bweekend\b|周末)", _last),
    (r"\bmy (?P<unit>week|month|year)\b", _last),
    (r"\b(?:week|kw|semaine|semana) (?P<week>\d\d?)\b", _numbered_week),
    (r"(?<![\d/.])(?P<a>\d\d?)/(?P<b>\d\d?)(?:/(?P<year>(?:19|20)\d\d))?(?![\d/])", _figures),
    (r"(?<![\d.-])(?P<b>\d\d?)[.-](?P<a>\d\d?)[.-](?P<year>(?:19|20)\d\d)?(?![\d-])", _figures),
    (rf"\b{_MONTH}", _date),
    (rf"\b{_YEAR}(?!年)", _date),
)
"""What is a date only where nothing else is asked."""


_FIXED = (*((pattern, _in_quarter) for pattern in _QUARTERS), *((pattern, _date) for pattern in _ABSOLUTE))
_PATTERNS, _WEAK = (
    tuple((re.compile(pattern, re.IGNORECASE), read, (pattern, read) in _RELATIVE) for pattern, read in rows)
    for rows in ((*_FIXED, *_RELATIVE, *_OTHERS), _WEAK_ROWS)
)
"""The longest first, with how each is read, and whether it is relative to today."""

_TO = re.compile(r"(?:\s|'s)*(?:to|until|till|through|bis|zum?|jusqu['’]au|à|au|al?|hasta|-|–|—|~|到|至|から)\s*(?:the |le |el |on )?", re.IGNORECASE)  # fmt: skip
_AND = re.compile(r"\s*(?:and|und|et|y|和|与)\s*(?:the |le |el |on )?", re.IGNORECASE)
_WEEKDAY = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)|(?:周|星期|礼拜)[一二三四五六日天]", re.IGNORECASE)
_NEXT = ("", "the", "of", "の", "的")
"""What may stand between two parts of one date."""
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre)\b", re.IGNORECASE)
_SINCE = re.compile(r"(?:\b(?:since|seit(?: dem)?|depuis(?: le)?|desde(?: el)?)|自从?)\s*(?:on )?(?:last )?$|since\b", re.IGNORECASE)  # fmt: skip
_WEEK_OF = re.compile(r"\b(?:week|woche|semaine|semana)(?: of| vom| du| del)?(?: the)? $", re.IGNORECASE)
_MID = r"(?:st|nd|rd|th|\.)? ?(to|until|till|through|and|bis|und|au|al?|et|y|-|–) ?(?:the |le |el )?"
_NAMED = _MONTH.replace("?P<month>", "").replace(r"\b\.?", r"\b")
_RANGES = (
    (re.compile(rf"\b([0-3]?\d){_MID}([0-3]?\d)(?:st|nd|rd|th)? (?:of )?{_NAMED}", re.IGNORECASE), r"\1 \4 \2 \3 \4"),
    (re.compile(rf"\b{_NAMED} ([0-3]?\d){_MID}([0-3]?\d)(?:st|nd|rd|th)?\b(?!:)", re.IGNORECASE), r"\1 \2 \3 \1 \4"),
    (re.compile(rf"({_ZH}{{1,2}}月)({_ZH}{{1,3}})[日号]?([到至~—–-])({_ZH}{{1,3}})[日号]"), r"\1\2日\3\1\4日"),
)
