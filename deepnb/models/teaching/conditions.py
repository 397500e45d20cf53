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
    """Rows of which a column compares so: `==`, `not`, `in`, `and`, `contains`, `missing`, `>`, `>=`, `<`, `<=`."""

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
    """The tokens of one reading, which become fewer, and what was read of them.

    `by_how` is the aggregate in a group clause (`by total weight`), `by_word` the word that it begins with.
    """

    frame: Frame
    tokens: list[Token]
    where: list[Condition] = field(default_factory=list)
    by: list[Token] = field(default_factory=list)
    by_how: str = ""
    by_word: str = ""

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
_SIGNS = {"after": ">", "before": "<", "since": ">=", "until": "<="}
_OF_DATES = ("up to", "above", "below", "大于", "小于")
"""Comparisons of numbers that are said of dates, too."""


def conditions(p: Parse) -> None:
    """Put `k` in place of each condition, and take out `where` and `and` around them."""
    p.sub("Cq(?=[>!ncib])", lambda ts: ts[:1])  # `a weight that is above 5`
    p.sub("Cc[?V]", lambda ts: _kept(p, ts[0].value.is_text, ts[0].value.name, "contains", ts[2].text.strip('"“”')))
    p.sub("z>(?=N)", lambda ts: [replace(ts[1], value=f"{ts[1].value} {ts[0].value}")])  # `weigh more than 5`
    p.sub("[ND]g?@", lambda ts: [replace(ts[-1], kind=">"), *ts[:-1]])  # `5 or more`
    p.sub("C?b[ND]g?&[ND]g?C?|C?[ND]&[ND]b", lambda ts: _limited(p, ts, ">=", "<="))
    p.sub("Ci?>[ND]g?|>[ND]g?C|>[ND]g?|C?D>", lambda ts: _compared(p, ts))
    if p.kinds[:1] != "m":  # `missing values in weight` is no condition
        p.sub(
            "Cm|nC",
            lambda ts: _kept(p, (k := next(t.value for t in ts if t.kind == "C")).type != "bool", k.name, "missing"),
        )
    for pattern in ("C?i?[!n]i?C?V(?:[|&]!?V)*", "Ci?V(?:[|&]V)*", "V(?:[|&]V)*C", "V(?:[|&]V)*", "V"):
        p.sub(pattern, lambda ts: _equal(p, ts))
    p.sub("Ci?Ng?(?![SRfCU])", lambda ts: _limited(p, ts, "=="))
    p.sub("Ci?D|D", lambda ts: _dated(p, ts))
    p.sub("k(?:&?k)+", lambda ts: ts[:1])
    p.sub("(?:(?<=[ASXB]C)|(?<=BU))kR", lambda ts: ts[:1])  # `mean weight of broken crates`
    p.sub("q?k", lambda ts: [])


def _kept(p: Parse, fits: bool, column: str, sign: str, value: Any = None) -> list[Token] | None:
    if fits:
        p.where.append(Condition(column, sign, value))
    return _DONE if fits else None


def _limited(p: Parse, tokens: list[Token], *signs: str) -> list[Token] | None:
    """Limits of the one column of dates or of numbers that is beside them, or that the adjective speaks of."""
    named, limits = ([t for t in tokens if t.kind in kinds] for kinds in ("C", "ND"))
    if len({t.kind for t in limits}) > 1:
        return None
    if limits[0].kind == "D":
        left = [t for t in named if not t.value.is_date]
        column = next((t.value for t in named if t.value.is_date), None) or the_date(p, limits[0])
        values = [
            f"{t.value[1]} 23:59:59.999999" if sign in (">", "<=") else t.value[0]
            for t, sign in zip(limits, signs, strict=True)
        ]
    else:
        hint = next((replace(t, value=t.value.partition(" ")[2]) for t in tokens if t.kind == ">"), None)
        alike = [c for c in p.frame.columns if hint and c.is_number and hinted(c.name, hint)]
        found = [t.value for t in named] or alike
        if len(found) != 1 or not found[0].is_number or (named and hint and hint.value and found != alike):
            return None
        if unit := next((t for t in tokens if t.kind == "g" and t.value not in found[0].units), None):
            raise Unplaced(unit.text)
        left, column, values = [], found[0], [t.value for t in limits]
    p.where += [Condition(column.name, sign, value) for sign, value in zip(signs, values, strict=True)]
    return [*left, *_DONE]


def _compared(p: Parse, tokens: list[Token]) -> list[Token] | None:
    sign, limit = (next(t for t in tokens if t.kind in kinds) for kinds in (">", "ND"))
    head, _, hint = sign.value.partition(" ")
    if limit.kind == "D" and hint == "age":  # what is older comes from an earlier day
        head = "before" if head == ">" else "after"
    elif limit.kind == "D" and (
        hint or (head[0] in "<>" and sign.text[0] not in "<>" and sign.text.lower() not in _OF_DATES)
    ):
        raise Unplaced(sign.text)
    elif limit.kind == "N" and head in _SIGNS:
        return None
    return _limited(p, tokens, _SIGNS.get(head, head))


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


def the_date(p: Parse, token: Token) -> Column:
    """The only column of dates."""
    if len(p.frame.dates) != 1:
        raise Unplaced(token.text, "dates")
    return p.frame.dates[0]


def _dated(p: Parse, tokens: list[Token]) -> list[Token] | None:
    """A day, a month or a year; of a year there may be a column of its own."""
    first, last = tokens[-1].value
    years = [c for c in p.frame.columns if c.is_number and c.name.lower() == "year"]
    if len(tokens) == 1 and years and first.endswith("01-01") and last.endswith("12-31"):
        if p.frame.dates:
            raise Unplaced(tokens[-1].text, "two")
        return _kept(p, True, years[0].name, "==", float(first[:4]))
    if len(tokens) > 1 and not tokens[0].value.is_date:
        return None
    return _limited(p, [*tokens, tokens[-1]], ">=", "<=")
