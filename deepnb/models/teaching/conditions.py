"""Conditions in a question about a table: `where depot is Bergen`, `broken crates`, `weight above 5`, `in January 2026`.

Each is taken out of the tokens of a question; what is left is read by the grammar.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deepnb.models.teaching.tables import Column, Frame, name_words
from deepnb.models.teaching.vocabulary import Token


@dataclass(frozen=True)
class Condition:
    """Rows of which a column compares so: `==`, `not`, `in`, `contains`, `missing`, `present`, `>`, `>=`, `<`, `<=`."""

    column: str
    sign: str
    value: Any = None


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
    by_word: str = ""
    """The word that it begins with: `each` does not lead to a measure."""

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

    def columns(self) -> list[Token]:
        return [token for token in self.tokens if token.kind == "C"]


def hinted(column: str, token: Token) -> bool:
    """Whether a verb or an adjective fits a column: `heaviest` fits `body_mass_g`."""
    return bool(set(name_words(column)) & (set(token.value.split()) - {"max", "min", "most", "date"}))


_DONE = [Token("k", "")]
_SIDES = {"after": "> 1", "before": "< 0", "since": ">= 0", "until": "<= 1", ">": "> 1", "<": "< 0", ">=": ">= 0"}
_SIDES["<="] = "<= 1"
"""Sign -> that of a date, and whether the end of the day is meant."""
_OF_DATES = ("up to", "above", "below", "大于", "小于")
"""Comparisons of numbers that are said of dates, too."""


def conditions(p: Parse) -> None:
    """Put `k` in place of each condition, and take out `where` and `and` around them."""
    p.sub("Cq(?=[>!ncib])", lambda ts: ts[:1])  # `a weight that is above 5`
    p.sub("Cc[?V]", lambda ts: _kept(p, ts[0].value.is_text, ts[0].value.name, "contains", ts[2].text.strip('"“”')))
    p.sub("z>(?=N)", lambda ts: [replace(ts[1], value=f"{ts[1].value} {ts[0].value}")])  # `weigh more than 5`
    p.sub("[ND]g?@", lambda ts: [replace(ts[-1], kind=">"), *ts[:-1]])  # `5 or more`
    p.sub("C?b[ND]g?&[ND]g?C?|C?[ND]&[ND]b", lambda ts: _between(p, ts))
    p.sub("Ci?>[ND]g?|>[ND]g?C|>[ND]g?|C?D>", lambda ts: _compared(p, ts))
    if p.kinds[:1] != "m":  # `missing values in weight` is no condition
        p.sub("Cm|C!m", lambda ts: _missing(p, ts[0], "present" if len(ts) == 3 else "missing"))
    p.sub("n[C]", lambda ts: _missing(p, ts[1], "missing"))
    for pattern in ("C?i?[!n]i?C?V(?:[|&]!?V)*", "Ci?V(?:[|&]V)*", "V(?:[|&]V)*C", "V(?:[|&]V)*", "V"):
        p.sub(pattern, lambda ts: _equal(p, ts))
    p.sub("Ci?Ng?(?![SRfCU])", lambda ts: _number(p, ts))
    p.sub("Ci?D|D", lambda ts: _dated(p, ts[-1], ts[0].value if len(ts) > 1 else None))
    p.sub("k(?:&?k)+", lambda ts: ts[:1])
    p.sub("(?:(?<=[ASXB]C)|(?<=BU))kR", lambda ts: ts[:1])  # `mean weight of broken crates`
    p.sub("q?k", lambda ts: [])


def _kept(p: Parse, fits: bool, column: str, sign: str, value: Any = None) -> list[Token] | None:
    if fits:
        p.where.append(Condition(column, sign, value))
    return _DONE if fits else None


def _sided(p: Parse, tokens: list[Token]) -> Column | None:
    """The column of numbers that a comparison is about: beside it, or by the adjective that compares."""
    named = [t.value for t in tokens if t.kind == "C"]
    hint = next((replace(t, value=t.value.partition(" ")[2]) for t in tokens if t.kind == ">"), None)
    alike = [c for c in p.frame.columns if hint and c.is_number and hinted(c.name, hint)]
    found: list[Column] = named or alike
    if len(found) != 1 or not found[0].is_number or (named and hint and hint.value and named != alike):
        return None
    if unit := next((t for t in tokens if t.kind == "g" and t.value not in found[0].units), None):
        raise Unplaced(unit.text)
    return found[0]


def _between(p: Parse, tokens: list[Token]) -> list[Token] | None:
    low, high = (t for t in tokens if t.kind in "ND")
    if low.kind == high.kind == "D":
        named = [t for t in tokens if t.kind == "C"]
        dated = [t for t in named if t.value.is_date]
        column = dated[0].value if dated else the_date(p, low)
        p.where += [Condition(column.name, ">=", low.value[0]), Condition(column.name, "<=", _end(high.value[1]))]
        return [*(t for t in named if t not in dated), *_DONE]
    sided = _sided(p, tokens)
    if sided is None or low.kind != high.kind:
        return None
    p.where.append(Condition(sided.name, ">=", low.value))
    return _kept(p, True, sided.name, "<=", high.value)


def _end(day: str) -> str:
    return f"{day} 23:59:59.999999"


def _compared(p: Parse, tokens: list[Token]) -> list[Token] | None:
    sign, limit = (next(t for t in tokens if t.kind in kinds) for kinds in (">", "ND"))
    head = sign.value.split()[0]
    if limit.kind == "D":
        named = [t for t in tokens if t.kind == "C"]
        dated = [t for t in named if t.value.is_date]
        column = dated[0].value if dated else the_date(p, limit)
        if hint := sign.value.partition(" ")[2]:
            if hint != "age":
                raise Unplaced(sign.text)
            head = "before" if head == ">" else "after"  # what is older comes from an earlier day
        elif head[0] in "<>" and sign.text[0] not in "<>" and sign.text.lower() not in _OF_DATES:
            raise Unplaced(sign.text)
        way, late = _SIDES[head].split()
        p.where.append(Condition(column.name, way, _end(limit.value[1]) if late == "1" else limit.value[0]))
        return [*(t for t in named if t not in dated), *_DONE]
    sided = _sided(p, tokens)
    return _kept(p, head in (">", "<", ">=", "<="), sided.name, head, limit.value) if sided else None


def _missing(p: Parse, token: Token, sign: str) -> list[Token] | None:
    return _kept(p, token.value.type != "bool", token.value.name, sign)


def _equal(p: Parse, tokens: list[Token]) -> list[Token] | None:
    """A value, or several of one column; the name of the column may be beside it."""
    named = {t.value.name for t in tokens if t.kind == "C"}
    values = [t for t in tokens if t.kind == "V"]
    columns = {t.value[0] for t in values}
    denied = [t for t in tokens if t.kind in "!n"]
    joins = {t.kind for t in tokens if t.kind in "&|"}
    bare = any(t.text.lower() in ("true", "false") for t in values) and not named
    if len(columns) != 1 or (named and named != columns) or len(joins) > 1 or len(denied) > 1 or bare:
        return None
    (column,) = columns
    given = tuple(t.value[1] for t in values)
    if isinstance(given[0], bool):
        return _kept(p, len(given) == 1, column, "==", given[0] != bool(denied))
    sign = "not" if denied else "==" if len(given) == 1 else "and" if joins == {"&"} else "in"
    fits = not any(one.column == column for one in p.where) and not (denied and p.kinds.startswith("E"))
    return _kept(p, fits, column, sign, given if len(given) > 1 or denied else given[0])


def _number(p: Parse, tokens: list[Token]) -> list[Token] | None:
    column, number = tokens[0].value, next(t for t in tokens if t.kind == "N")
    if tokens[-1].kind == "g" and tokens[-1].value not in column.units:
        raise Unplaced(tokens[-1].text)
    return _kept(p, column.is_number, column.name, "==", number.value)


def the_date(p: Parse, token: Token) -> Column:
    if len(p.frame.dates) != 1:
        raise Unplaced(token.text, "dates")
    return p.frame.dates[0]


def _dated(p: Parse, token: Token, column: Column | None) -> list[Token] | None:
    """A day, a month or a year; of a year there may be a column of its own."""
    years = [c for c in p.frame.columns if c.is_number and c.name.lower() == "year"]
    if column is None and years and token.value[0].endswith("01-01") and token.value[1].endswith("12-31"):
        if p.frame.dates:
            raise Unplaced(token.text, "two")
        return _kept(p, True, years[0].name, "==", float(token.value[0][:4]))
    found = column or the_date(p, token)
    if found.is_date:
        p.where.append(Condition(found.name, ">=", token.value[0]))
    return _kept(p, found.is_date, found.name, "<=", _end(token.value[1]))
