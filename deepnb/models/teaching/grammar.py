"""The grammar of questions about a table: from tokens to one question, or to a word that has no place.

A question is read only if each of its words is used or means nothing. A token has a letter, so a question is a short
text: conditions (`k`) and groups are taken out of it, and what is left has to be one of the `_SHAPES` as a whole. Words
that can be read in several ways are tried in each: two readings that both make sense, and differ, are none.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

from deepnb.models.teaching.tables import Column, Frame
from deepnb.models.teaching.vocabulary import Token, pieces, spans

_READINGS = 96
"""Readings that are tried."""
_ADDED = ("sum", "count")


@dataclass(frozen=True)
class Condition:
    """Rows of which a column compares so: `==`, `not`, `in`, `contains`, `missing`, `present`, `>`, `>=`, `<`, `<=`."""

    column: str
    sign: str
    value: Any = None


@dataclass(frozen=True)
class Ask:
    """A question about one table. An empty text stands for what is not asked."""

    what: str
    column: str = ""
    hows: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    """Columns to group by; `date.month` for the months of a date."""
    where: tuple[Condition, ...] = ()
    most: bool = True
    """Whether the largest is asked for, or the smallest."""
    head: int = 0
    against: str = ""
    """A second column."""
    kind: str = ""
    """The kind of a plot."""
    word: str = ""
    """The word that a doubt about the question is to name."""


class Unplaced(Exception):
    """Raise for a word that has no place in a question, with a reason if there is one."""

    def __init__(self, word: str, why: str = "") -> None:
        super().__init__(word)
        self.word, self.why = word, why


@dataclass
class Parse:
    """The tokens of one reading, which become fewer."""

    frame: Frame
    tokens: list[Token]
    where: list[Condition] = field(default_factory=list)
    by: list[Token] = field(default_factory=list)
    by_how: str = ""
    """The aggregate in a group clause: `by total weight`."""

    @property
    def kinds(self) -> str:
        return "".join(token.kind for token in self.tokens)

    def sub(self, pattern: str, change: Callable[[list[Token]], list[Token] | None]) -> None:
        """Put other tokens in place of each match; a change that gives None leaves it."""
        at = 0
        while found := re.compile(pattern).search(self.kinds, at):
            new = change(self.tokens[found.start() : found.end()])
            if new is not None:
                self.tokens[found.start() : found.end()] = new
            at = found.start() + (1 if new is None else len(new))

    def first(self, kinds: str) -> Token:
        return next(token for token in self.tokens if token.kind in kinds)

    def columns(self) -> list[Token]:
        return [token for token in self.tokens if token.kind == "C"]

    @property
    def where_asked(self) -> tuple[Condition, ...]:
        return tuple(self.where)


def read(request: str, frame: Frame) -> Ask:
    """The question that a request asks of a table. Raise `Unplaced` for a word without a place, or with two."""
    words = pieces(request, frame)
    failure: Unplaced | None = None
    first, wide = spans(words, frame, {})
    for phrases in (first, *(spans(words, frame, {at: length - 1})[0] for at, length in wide)):
        asks: dict[Ask, tuple[Token, ...]] = {}
        for tokens in islice(product(*phrases), _READINGS):
            try:
                asks.setdefault(_question(list(tokens), frame), tokens)
            except Unplaced as error:
                failure = error if failure is None or (error.why and not failure.why) else failure
        if len(asks) > 1:  # `crate` is the row first, and then its identifier
            rows = [ask for ask, found in asks.items() if any(t.kind == "T" and not t.of for t in found)]
            asks = {ask: asks[ask] for ask in rows} if len(rows) == 1 and _of_ids(asks, rows[0]) else asks
        if len(asks) == 1:
            return next(iter(asks))
        if asks:
            one, other = list(asks.values())[:2]
            raise Unplaced(next((a.text for a, b in zip(one, other, strict=True) if a != b), one[0].text), "two")
    raise failure or Unplaced(words[0] if words else request)


def _of_ids(asks: dict[Ask, tuple[Token, ...]], rows: Ask) -> bool:
    """Whether other readings differ in an identifier where this one has the row."""
    return all(
        all(a == b or (a.kind == "T" and b.kind == "C" and b.value.is_id) for a, b in zip(asks[rows], found, strict=True))
        for found in asks.values()
    )


def _question(tokens: list[Token], frame: Frame) -> Ask:
    p = Parse(frame, [t for t in tokens if not (t.kind == "T" and t.of)])
    tables = [t for t in tokens if t.kind == "T"]
    if len(tables) - sum(t.of for t in tables) > 1 or sum(t.of for t in tables) > 1:
        raise Unplaced(tables[-1].text)
    p.tokens = [replace(t, kind="R") if t.kind == "T" else t for t in p.tokens]
    p.sub("cC?[?VQ]", lambda ts: None)
    _conditions(p)
    if odd := next((t for t in p.tokens if t.kind == "?"), None):
        raise Unplaced(odd.text)
    p.sub("KC|CK", lambda ts: [t for t in ts if t.kind == "C"])  # `the column weight`
    p.sub("Y", lambda ts: [replace(ts[0], kind="B"), replace(ts[0], kind="U")])  # `monthly`
    p.sub("BK", lambda ts: ts[1:])  # `per column`
    p.sub("B[CU](?:&?B?[CU])*(?![CU])", lambda ts: _grouped(p, [t for t in ts if t.kind in "CU"], ""))
    p.sub("B[AS]?A?C", lambda ts: _grouped(p, ts[-1:], next((t.value for t in ts if t.kind == "A"), "")))
    p.sub("z", lambda ts: None)
    verbs = [t for t in p.tokens if t.kind == "z"]
    p.tokens = [t for t in p.tokens if t.kind != "z"]
    p.sub("[R]", lambda ts: [] if ts[0].of and ts[0].value == "row" and len(p.tokens) > 1 else None)
    asked = _plotted(p) if "P" in p.kinds or "p" in p.kinds else _shaped(p, verbs)
    for verb in verbs:
        if not _hinted(asked.column, verb):
            raise Unplaced(verb.text)
    return replace(asked, where=tuple(p.where))


def _grouped(p: Parse, tokens: list[Token], how: str) -> list[Token] | None:
    if p.by:
        return None
    p.by, p.by_how = tokens, how
    return []


def _hinted(column: str, token: Token) -> bool:
    """Whether a verb or an adjective fits a column: `heaviest` fits `body_mass_g`."""
    return any(hint in column.lower() for hint in token.value.split() if hint not in ("max", "min", "most", "date"))


# -- conditions


def _conditions(p: Parse) -> None:
    """Put `k` in place of each condition, and take out `where` and `and` around them."""
    p.sub("cq?[?VC]|Cc[?V]", lambda ts: None)
    p.sub("Cc[?V]", lambda ts: _kept(p, Condition(ts[0].value.name, "contains", ts[2].text), ts[0].value.is_text))
    p.sub("C?b[NDY]g?&[ND]g?C?", lambda ts: _between(p, ts))
    p.sub("Ci?>[ND]g?|>[ND]g?C|>[ND]g?", lambda ts: _compared(p, ts))
    p.sub("Cm|C!m", lambda ts: _missing(p, ts[0], "present" if len(ts) == 3 else "missing"))
    p.sub("nC", lambda ts: _missing(p, ts[1], "missing"))
    p.sub("C?i?[!n]i?C?V(?:[|&]!?V)*", lambda ts: _equal(p, ts))
    p.sub("C?i?V(?:[|&]V)*C?", lambda ts: _equal(p, ts))
    p.sub("V", lambda ts: _equal(p, ts))
    p.sub("Ci?Ng?(?![SRfCU])", lambda ts: _number(p, ts))
    p.sub("Ci?D", lambda ts: _dated(p, ts[-1], ts[0].value))
    p.sub("D", lambda ts: _dated(p, ts[0], None))
    p.sub("k(?:&k)+", lambda ts: ts[:1])
    p.sub("q?k", lambda ts: [])


_DONE = [Token("k", "")]


def _kept(p: Parse, condition: Condition, fits: bool) -> list[Token] | None:
    if fits:
        p.where.append(condition)
    return _DONE if fits else None


def _sided(p: Parse, tokens: list[Token]) -> Column | None:
    """The column of numbers that a comparison is about: beside it, by its word, or by a unit."""
    named = [t.value for t in tokens if t.kind == "C"]
    sign = next((t for t in tokens if t.kind == ">"), None)
    hinted = [c for c in p.frame.columns if sign and c.is_number and _hinted(c.name, Token("", "", sign.value[2:]))]
    found: list[Column] = named or (hinted if len(hinted) == 1 else [])
    unit = next((t for t in tokens if t.kind == "g"), None)
    if len(found) != 1 or not found[0].is_number or (named and sign and sign.value[2:].strip() and named != hinted):
        return None
    if unit and unit.value not in found[0].units:
        raise Unplaced(unit.text)
    return found[0]


def _between(p: Parse, tokens: list[Token]) -> list[Token] | None:
    low, high = (t for t in tokens if t.kind in "ND")
    if low.kind == high.kind == "D":
        column = next((t.value for t in tokens if t.kind == "C"), None) or _the_date(p, low)
        p.where += [Condition(column.name, ">=", low.value[0]), Condition(column.name, "<=", _end(high.value[1]))]
        return _DONE if column.is_date else None
    sided = _sided(p, tokens)
    if sided and low.kind == high.kind:
        p.where += [Condition(sided.name, ">=", low.value), Condition(sided.name, "<=", high.value)]
    return _DONE if sided else None


def _end(day: str) -> str:
    return f"{day} 23:59:59.999999"


_BEFORE_AND_AFTER = {"after": (">", 1), "before": ("<", 0), "since": (">=", 0), "until": ("<=", 1), ">": (">", 1)}


def _compared(p: Parse, tokens: list[Token]) -> list[Token] | None:
    sign = next(t for t in tokens if t.kind == ">")
    limit = next(t for t in tokens if t.kind in "ND")
    head = sign.value.split()[0]
    if limit.kind == "D":
        column = next((t.value for t in tokens if t.kind == "C"), None) or _the_date(p, limit)
        way, side = _BEFORE_AND_AFTER.get(head) or ({"<": ("<", 0), ">=": (">=", 0), "<=": ("<=", 1)}[head])
        if not column.is_date:
            return None
        day = limit.value[side]
        return _kept(p, Condition(column.name, way, _end(day) if side else day), True)
    sided = _sided(p, tokens)
    if sided is None or head not in (">", "<", ">=", "<="):
        return None
    return _kept(p, Condition(sided.name, head, limit.value), True)


def _missing(p: Parse, token: Token, sign: str) -> list[Token] | None:
    return _kept(p, Condition(token.value.name, sign), token.value.type != "bool")


def _equal(p: Parse, tokens: list[Token]) -> list[Token] | None:
    """A value, or several of one column; the name of the column may be beside it."""
    named = {t.value.name for t in tokens if t.kind == "C"}
    values = [t.value for t in tokens if t.kind == "V"]
    columns = {column for column, _ in values}
    denied = [t for t in tokens if t.kind in "!n"]
    joins = {t.kind for t in tokens if t.kind in "&|"}
    if len(columns) != 1 or (named and named != columns) or len(joins) > 1 or len(denied) > 1:
        return None
    (column,) = columns
    given = tuple(value for _, value in values)
    if isinstance(given[0], bool):
        return _kept(p, Condition(column, "==", given[0] != bool(denied)), len(given) == 1)
    if denied and denied[0].kind == "n" and p.kinds.startswith("E"):
        return None
    sign = "not" if denied else "==" if len(given) == 1 else "and" if joins == {"&"} else "in"
    if any(one.column == column and one.sign == sign for one in p.where):
        return None
    return _kept(p, Condition(column, sign, given if len(given) > 1 or denied else given[0]), True)


def _number(p: Parse, tokens: list[Token]) -> list[Token] | None:
    column, number = tokens[0].value, tokens[-1] if tokens[-1].kind == "N" else tokens[-2]
    if tokens[-1].kind == "g" and tokens[-1].value not in column.units:
        raise Unplaced(tokens[-1].text)
    return _kept(p, Condition(column.name, "==", number.value), column.is_number)


def _the_date(p: Parse, token: Token) -> Column:
    """The column of dates, or of years for a year; there must be one."""
    if len(p.frame.dates) != 1:
        raise Unplaced(token.text, "dates")
    return p.frame.dates[0]


def _dated(p: Parse, token: Token, column: Column | None) -> list[Token] | None:
    years = [c for c in p.frame.columns if c.is_number and c.name.lower() == "year"]
    whole_year = token.value[0].endswith("01-01") and token.value[1].endswith("12-31")
    if column is None and years and whole_year and not p.frame.dates:
        return _kept(p, Condition(years[0].name, "==", float(token.value[0][:4])), True)
    if column is None and years and whole_year:
        raise Unplaced(token.text, "two")
    found = column or _the_date(p, token)
    if not found.is_date:
        return None
    p.where += [Condition(found.name, ">=", token.value[0]), Condition(found.name, "<=", _end(token.value[1]))]
    return _DONE


# -- shapes


def _shaped(p: Parse, verbs: list[Token]) -> Ask:
    for pattern, build in _SHAPES:
        if re.fullmatch(pattern, p.kinds):
            return build(p, verbs)
    kinds = p.kinds
    for at, token in enumerate(p.tokens):
        if any(re.fullmatch(pattern, kinds[:at] + kinds[at + 1 :]) for pattern, _ in _SHAPES):
            raise Unplaced(token.text)
    odd = p.tokens or p.by
    raise Unplaced(next((t.text for t in odd if t.kind not in "RC"), odd[0].text if odd else "?"))


def _keys(p: Parse, tokens: list[Token] | None = None) -> tuple[str, ...]:
    """The columns to group by."""
    keys = []
    for token in p.by if tokens is None else tokens:
        if token.kind == "U":
            keys.append(f"{_the_date(p, token).name}.{token.value}")
        elif token.value.is_number and "int" not in token.value.type.lower() and not token.value.is_id:
            raise Unplaced(token.text, "number")
        else:
            keys.append(token.value.name)
    return tuple(keys)


def _measure(token: Token, how: str = "max") -> str:
    """The name of a column of figures. Raise `Unplaced` for names, and for the sum of identifiers or years."""
    column: Column = token.value
    if column.is_date and how in ("max", "min"):
        return column.name
    if not column.is_number or column.is_id:
        raise Unplaced(token.text, "id" if column.is_id else "text")
    if column.name.lower() in ("year", "month", "day", "quarter", "week") and how == "sum":
        raise Unplaced(token.text, "text")
    return column.name


def _hows(tokens: list[Token]) -> tuple[str, ...]:
    found: list[str] = []
    for token in tokens:
        found += ["min", "max"] if token.value == "range" else [token.value.split()[0]]
    return tuple(dict.fromkeys(found))


def _only(p: Parse, by: bool = False, where: bool = True) -> None:
    """Raise `Unplaced` for groups or conditions that a shape can't have."""
    if p.by and not by:
        raise Unplaced(p.by[0].text)
    if p.where and not where:
        raise Unplaced(str(p.where[0].value or p.where[0].column))


def _describe(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    columns = p.columns()
    return Ask("describe", columns[0].value.name if columns else "")


def _size(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    return Ask("size")


def _names(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    return Ask("columns")


def _rows(p: Parse, _: list[Token]) -> Ask:
    """The rows alone: those that conditions keep, a count of each group, or what the table is."""
    if p.by:
        return _count(p, _)
    return Ask("rows") if p.where else Ask("describe")


def _count(p: Parse, _: list[Token]) -> Ask:
    return Ask("count", by=_keys(p))


def _exists(p: Parse, _: list[Token]) -> Ask:
    _only(p)
    if not p.where:
        raise Unplaced(p.tokens[0].text)
    return Ask("exists")


def _count_of(p: Parse, _: list[Token]) -> Ask:
    """`how many depots`: how many there are; `how many units`: all of them together."""
    token = p.columns()[0]
    if token.value.adds_up:
        return Ask("figure", token.value.name, ("sum",), _keys(p))
    if token.value.is_number and not token.value.is_id or token.value.type == "bool" or token.value.is_date:
        raise Unplaced(token.text)
    return Ask("figure", token.value.name, ("nunique",), _keys(p))


def _counts_of(p: Parse, _: list[Token]) -> Ask:
    _only(p)
    return Ask("count", by=_keys(p, p.columns()))


def _distinct(p: Parse, _: list[Token]) -> Ask:
    """`the different depots`, and how many there are."""
    token = p.columns()[0]
    counted = "H" in p.kinds
    if not counted:
        _only(p)
        return Ask("distinct", token.value.name)
    return Ask("figure", token.value.name, ("nunique",), _keys(p))


def _column_alone(p: Parse, _: list[Token]) -> Ask:
    """`revenue by region` is a sum; `weight of crate 502` its value; `the depots` which there are."""
    token = p.columns()[0]
    column: Column = token.value
    if p.by:
        if not column.adds_up:
            raise Unplaced(token.text, "how")
        return Ask("figure", column.name, ("sum",), _keys(p))
    if p.where:
        return Ask("value", column.name, word=token.text)
    return Ask("distinct" if column.is_text else "describe", column.name)


def _figure(p: Parse, _: list[Token]) -> Ask:
    tokens, columns = [t for t in p.tokens if t.kind in "Aa"], p.columns()
    hows = ("sum",) if tokens[0].kind == "a" else _hows(tokens)
    if len({t.value for t in tokens}) != len(tokens):
        raise Unplaced(tokens[-1].text)
    if any(one.sign == "and" for one in p.where) and not set(hows) <= {"sum"}:
        raise Unplaced(str(next(one.value[-1] for one in p.where if one.sign == "and")), "and")
    return Ask("figure", _measure(columns[0], hows[0]), hows, _keys(p))


def _sum(p: Parse, _: list[Token]) -> Ask:
    token = p.columns()[0]
    if not token.value.adds_up:
        raise Unplaced(p.tokens[0].text)
    return Ask("figure", token.value.name, ("sum",), _keys(p))


def _extreme(p: Parse, _: list[Token]) -> Ask:
    """The largest value of a column, in all or in each group; `highest mean weight by depot` is one of the groups."""
    s, column = p.first("S"), p.columns()[0]
    how = [t for t in p.tokens if t.kind == "A"]
    _fits(s, column)
    if how:
        if len(p.by) != 1:
            raise Unplaced(how[0].text)
        return Ask("top", _measure(column, how[0].value), _hows(how), _keys(p), most=_is_max(s), head=1)
    if "most" in s.value:
        raise Unplaced(s.text)
    return Ask("figure", _measure(column), ("max" if _is_max(s) else "min",), _keys(p))


def _is_max(token: Token) -> bool:
    return token.value.startswith("max")


def _fits(s: Token, column: Token) -> None:
    """Raise `Unplaced` for an adjective that says another column: the heaviest price."""
    hints = s.value.split()[1:]
    dated = "date" in hints and column.value.is_date
    if hints and hints != ["most"] and not dated and not _hinted(column.value.name, s):
        raise Unplaced(s.text)


def _hint(p: Parse, s: Token) -> Token:
    """The column that an adjective speaks of: `heaviest` of `body_mass_g`."""
    found = [c for c in p.frame.columns if c.is_number and not c.is_id and _hinted(c.name, s)]
    if "date" in s.value and not found:
        found = p.frame.dates
    if s.value in ("max", "min"):
        figures = [c for c in p.frame.columns if re.search("diameter|radius|size|area|population", c.name.lower())]
        found = (
            [c for c in figures if c.is_number]
            if s.text.lower() in ("largest", "biggest", "smallest", "最大", "最小")
            else []
        )
    if len(found) != 1:
        raise Unplaced(s.text, "of what")
    return Token("C", s.text, found[0])


def _top(p: Parse, verbs: list[Token]) -> Ask:
    """`which depot has the highest total weight`, `top 3 depots by weight`, `the month with the most rows`."""
    kinds = p.kinds
    head = next((int(t.value) for t in p.tokens if t.kind == "N"), 1)
    key = p.tokens[re.search("[CU]", kinds).start()]  # type: ignore[union-attr]
    s = next((t for t in p.tokens if t.kind in "SG"), Token("S", "top", "max most"))
    how = [t for t in p.tokens if t.kind == "A"] or ([Token("A", "", p.by_how)] if p.by_how else [])
    how += [Token("A", "", "sum") for t in p.tokens if t.kind == "a"]
    figures = [t for t in p.tokens if t.kind == "C" and t is not key]
    if s.kind == "G" or ("R" in kinds and s.value.endswith("most") and not figures):
        _only(p)
        return Ask("top", by=_keys(p, [key]), most=_is_max(s), head=head)
    if not figures and len(p.by) == 1 and p.by[0].kind == "C":
        figures, p.by = p.by, []
    _only(p)
    if not figures and "R" in kinds:  # `which depot has the heaviest crate`
        figures = [_hint(p, s)]
        if how or key.kind == "U":
            raise Unplaced(s.text)
        return Ask("best", figures[0].value.name, most=_is_max(s), head=head, against=key.value.name, word=s.text)
    if not figures and verbs:
        found = [c for c in p.frame.columns if c.adds_up and _hinted(c.name, verbs[0])]
        if len(found) != 1:
            raise Unplaced(verbs[0].text)
        figures = [Token("C", verbs[0].text, found[0])]
    figure = figures[0] if figures else _hint(p, s)
    _fits(s, figure)
    named = key.kind == "C" and p.frame.distinct(key.value) == str(p.frame.rows)
    if key.kind == "C" and key.value.is_number and not key.value.is_id and key.value.name == figure.value.name:
        raise Unplaced(key.text)
    keys = _keys(p, [key])
    measure = _measure(figure, how[0].value if how else "max")
    if how:
        hows = _hows(how)
    elif figure.value.is_date:
        return Ask("best", measure, most=_is_max(s), head=head, against=key.value.name, word=s.text)
    elif "most" in s.value or named:
        hows = ("sum",)
    else:
        hows = ("sum" if figure.value.adds_up else "mean", "max" if _is_max(s) else "min")
    return Ask("top", measure, hows, keys, most=_is_max(s), head=head, word=s.text)


def _best(p: Parse, verbs: list[Token]) -> Ask:
    """`the heaviest crate`, `the 3 rows with the highest weight`, `top 3 rows by weight`, `when was weight highest`."""
    head = next((int(t.value) for t in p.tokens if t.kind == "N"), 1)
    s = next((t for t in p.tokens if t.kind == "S"), Token("S", "top", "max most"))
    figures, by = p.columns(), p.by
    if not figures and len(by) == 1 and by[0].kind == "C" and (by[0].value.is_number or by[0].value.is_date):
        figures, p.by = by, []
    _only(p)
    if not figures and "N" in p.kinds and "S" not in p.kinds:
        return Ask("rows", head=head)
    figure = figures[0] if figures else _hint(p, s)
    _fits(s, figure)
    against = _the_date(p, p.first("w")).name if "w" in p.kinds else ""
    return Ask("best", _measure(figure), most=_is_max(s), head=head, against=against, word=s.text)


def _last(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    return Ask("tail", head=next((int(t.value) for t in p.tokens if t.kind == "N"), 1))


def _first(p: Parse, _: list[Token]) -> Ask:
    _only(p)
    return Ask("rows", head=1)


def _share(p: Parse, _: list[Token]) -> Ask:
    columns = p.columns()
    measure = _measure(columns[0], "sum") if columns else ""
    if columns and not columns[0].value.adds_up:
        raise Unplaced(columns[0].text, "text")
    if bool(p.by) == (len({one.column for one in p.where}) == 1) or len({one.column for one in p.where}) > 1:
        raise Unplaced(p.first("X").text, "of what")
    return Ask("share", measure, ("sum",) if measure else (), _keys(p))


def _missing_values(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    columns = p.columns()
    return Ask("missing", columns[0].value.name if columns else "")


def _duplicates(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    columns = p.columns()
    return Ask("duplicates", columns[0].value.name if columns else "")


def _sorted(p: Parse, _: list[Token]) -> Ask:
    down = next((_is_max(t) for t in p.tokens if t.kind == "o"), False)
    columns = p.columns() or [t for t in p.by if t.kind == "C"]
    if len(columns) != 1 or len(p.by) > 1 or (p.by and p.columns()):
        raise Unplaced(p.first("O").text)
    return Ask("sort", columns[0].value.name, most=down)


def _correlation(p: Parse, _: list[Token]) -> Ask:
    _only(p, where=False)
    one, other = p.columns()
    return Ask("corr", _measure(one, "corr"), against=_measure(other, "corr"))


_G = "f?N?f?[CU]"
_SHAPES: tuple[tuple[str, Callable[[Parse, list[Token]], Ask]], ...] = (
    (r"R", _rows),
    (r"Q|QR|QRQ|QC", _describe),
    (r"y|yK|Ky|yR|RQ?K|K|KR|KRQ|QK|QKR|yKR", _names),
    (r"s|sR|Rs|HK|HKR|HRK|KH|HRE?&K", _size),
    (r"H|HR|RH|HRE|HEa|HaR|HRa|HREa|RHE|aHR|aH|EHR", _count),
    (r"E|ER|RE", _exists),
    (r"CH", _counts_of),
    (r"HC|HCE|HCEa|HCa|aHC", _count_of),
    (r"dC|HdC|HdCE|HCd|dCE|Ed?C|CE", _distinct),
    (r"C|RC", _column_alone),
    (r"A(?:&A)*R?C|CA|aC|Ca|RCA|ACR", _figure),
    (r"MC|MCE|MCa", _sum),
    (r"SR?C|CS|SAC|ASC|CAS|ACS", _extreme),
    (rf"{_G}(?:SA|AS|S)C?a?|{_G}C(?:SA|AS|S)|{_G}ACS|{_G}R?SR|{_G}SR|{_G}RS|G{_G}|{_G}G|SN[CU]|fN?[CU]|NG[CU]|GN[CU]", _top),
    (r"RSC|NRSC|fNRSC|SCR|SR|RS|RCS|CSN?R|NSR|SNR|NSC|fNC|fNR|wSC|wCS|wSR|wRS|CSR", _best),
    (r"lNR|lR", _last),
    (r"fR", _first),
    (r"X|XR|XC|RX|CX", _share),
    (r"E?m|E?mR|mC|H?mC|HmK?R?|mHK?C?|mH|Km|KmH|EmC|mK|HmCE|HmE|EmK|KHm|EKm", _missing_values),
    (r"E?H?uR?|HuRE|E?HRuE?|E?Ru|E?uC|H?uC|Cu|Cd", _duplicates),
    (r"R?OR?C?o?|oR?O?C?|OoC?", _sorted),
    (r"rb?C&C|Cr&?C|C&Cr", _correlation),
)  # fmt: skip
"""What may be left of a question, and what it then asks; the first that fits is taken."""


def _plotted(p: Parse) -> Ask:
    """`plot revenue by region`, `histogram of weight`, `plot weight against price`, `bar chart of rows per depot`."""
    kind = next((t.value for t in p.tokens if t.kind == "p"), "")
    over = [t for t in p.tokens if t.kind == "t"]
    p.tokens = [t for t in p.tokens if t.kind not in "Ppt"]
    columns, kinds = p.columns(), p.kinds
    if over and not p.by:
        p.by = [Token("C", over[0].text, _the_date(p, over[0]))]
        kind = kind or "line"
    keys = _keys(p)
    if re.fullmatch(r"C[v&]C", kinds) and not keys:
        one, other = (_measure(t, "corr") for t in columns)
        return Ask("plot", one, against=other, kind="scatter")
    dated = bool(p.by) and (p.by[0].kind == "U" or p.by[0].value.is_date)
    if re.fullmatch(r"H?R?|HR", kinds) and keys and len(keys) == 1:
        return Ask("plot", by=keys, kind=kind or ("line" if dated else "bar"))
    if re.fullmatch(r"A?C|CA", kinds) and len(keys) < 2:
        how = _hows([t for t in p.tokens if t.kind == "A"])
        if not keys:
            if how or kind not in ("", "hist"):
                raise Unplaced(p.tokens[0].text)
            return Ask("plot", _measure(columns[0]), kind="hist")
        single = p.by[0].kind == "C" and p.frame.distinct(p.by[0].value) == str(p.frame.rows)
        how = how or (("sum",) if columns[0].value.adds_up or single else ("mean",))
        return Ask("plot", _measure(columns[0], how[0]), how, keys, kind=kind or ("line" if dated else "bar"))
    raise Unplaced(next((t.text for t in p.tokens if t.kind not in "ACHR"), p.tokens[0].text if p.tokens else "?"))
