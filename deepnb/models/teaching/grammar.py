"""The grammar of questions about a table, and of the conditions in them.

Each is taken out of the tokens of a question; what is left is read by the grammar.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from operator import itemgetter
from typing import Any

from deepnb.models.teaching.conversation import chinese
from deepnb.models.teaching.tables import Column, Frame, name_words, singular
from deepnb.models.teaching.vocabulary import Token, pieces, spans


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
            if (new := change(self.tokens[found.start() : found.end()])) is not None:
                self.tokens[found.start() : found.end()] = new
            at = found.start() + (1 if new is None else len(new))

    def columns(self) -> list[Token]:
        return [token for token in self.tokens if token.kind == "C"]


def hinted(column: str, token: Token) -> bool:
    """Return whether a verb or an adjective fits a column: `heaviest` fits `body_mass_g`."""
    return bool(set(name_words(column)) & (set(token.value.split()) - {"max", "min", "most", "date"}))


_DONE = [Token("k", "")]
_FIRST = itemgetter(slice(1))
_SIGNS = {"after": ">", "before": "<", "since": ">=", "until": "<="}
_OF_DATES = ("up to", "above", "below", "大于", "小于")  # comparisons of numbers that are said of dates, too


def conditions(p: Parse) -> None:
    """Put `k` in place of each condition, and take out `where` and `and` around them."""
    p.sub("Cq(?=[>!ncib])", _FIRST)  # `a weight that is above 5`
    p.sub("Cc[?V]", lambda ts: _kept(p, ts[0].value.is_text, ts[0].value.name, "contains", ts[2].text.strip('"“”')))
    p.sub("z>(?=N)", lambda ts: [replace(ts[1], value=f"{ts[1].value} {ts[0].value}")])  # `weigh more than 5`
    p.sub("[ND]g?@", lambda ts: [replace(ts[-1], kind=">"), *ts[:-1]])  # `5 or more`
    p.sub("C?b[ND]g?&[ND]g?C?|C?[ND]&[ND]b", partial(_limited, p, (">=", "<=")))
    p.sub("Ci?>[ND]g?|>[ND]g?C|>[ND]g?|C?D>", partial(_compared, p))
    if p.kinds[:1] != "m":  # `missing values in weight` is no condition
        p.sub(
            "Cm|nC",
            lambda ts: _kept(p, (k := next(t.value for t in ts if t.kind == "C")).type != "bool", k.name, "missing"),
        )
    for pattern in ("C?i?[!n]i?C?V(?:[|&]!?V)*", "Ci?V(?:[|&]V)*", "V(?:[|&]V)*C", "V(?:[|&]V)*", "V"):
        p.sub(pattern, partial(_equal, p))
    p.sub("Ci?Ng?(?![SRfCU])", partial(_limited, p, ("==",)))
    p.sub("Ci?D|D", partial(_dated, p))
    p.sub("k(?:&?k)+", _FIRST)
    p.sub("(?:(?<=[ASXB]C)|(?<=BU))kR", _FIRST)  # `mean weight of broken crates`
    p.sub("q?k", lambda ts: [])


def _kept(p: Parse, fits: bool, column: str, sign: str, value: Any = None) -> list[Token] | None:
    if fits:
        p.where.append(Condition(column, sign, value))
    return _DONE if fits else None


def _limited(p: Parse, signs: Sequence[str], tokens: list[Token]) -> list[Token] | None:
    """Limits of the one column of dates or of numbers that is beside them, or that the adjective speaks of."""
    named, limits = ([t for t in tokens if t.kind in kinds] for kinds in ("C", "ND"))
    if len({t.kind for t in limits}) > 1:
        return None
    if limits[0].kind == "D":
        left = [t for t in named if not t.value.is_date]
        column = next((t.value for t in named if t.value.is_date), None) or the_date(p, limits[0])
        pairs = zip(limits, signs, strict=True)
        values = [f"{t.value[1]} 23:59:59.999999" if sign in (">", "<=") else t.value[0] for t, sign in pairs]
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
    return _limited(p, [_SIGNS.get(head, head)], tokens)


def _equal(p: Parse, tokens: list[Token]) -> list[Token] | None:
    """Return a value, or several of one column; the name of the column may be beside it."""
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
    if len(p.frame.dates) != 1:
        raise Unplaced(token.text, "dates")
    return p.frame.dates[0]


def _dated(p: Parse, tokens: list[Token]) -> list[Token] | None:
    """Return a day, a month or a year; of a year there may be a column of its own."""
    first, last = tokens[-1].value
    years = [c for c in p.frame.columns if c.is_number and c.name.lower() == "year"]
    if len(tokens) == 1 and years and first.endswith("01-01") and last.endswith("12-31"):
        if p.frame.dates:
            raise Unplaced(tokens[-1].text, "two")
        return _kept(p, True, years[0].name, "==", float(first[:4]))
    if len(tokens) > 1 and not tokens[0].value.is_date:
        return None
    return _limited(p, (">=", "<="), [*tokens, tokens[-1]])


# -- The grammar of questions about a table: from tokens to one question, or to a word that has no place
# A question is read only if each of its words is used or means nothing. A token has a letter, so a question is a short
# text: conditions (`k`) and groups are taken out of it, and what is left has to be one of the `_SHAPES` as a whole. Words
# that can be read in several ways are tried in each: two readings that both make sense, and differ, are none.


@dataclass(frozen=True)
class Ask:
    """A question about one table; what is empty is not asked.

    `by` may be `date.month`, `against` is a second column, `kind` that of a plot or the order of groups, `word` what a
    doubt is to name, and `slip` a misspelt column as it was typed, with its name.
    """

    what: str
    column: str = ""
    how: str = ""
    by: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    most: bool = True  # whether the largest is asked for, or the smallest
    head: int = 0
    against: str = ""
    kind: str = ""
    word: str = ""
    slip: tuple[str, ...] = ()


def dated(by: str) -> tuple[str, str]:
    """Return the column of a group, and its period if it has one: `sold.month` is the months of `sold`."""
    column, _, period = by.rpartition(".")
    return (column, period) if period in ("year", "quarter", "month", "week", "weekday", "day") and column else (by, "")


def read(request: str, frame: Frame) -> Ask:
    """Return the question that a request asks of a table. Raise `Unplaced` for a word without a place, or with two."""
    words = pieces(request, frame)
    failure = None if words else Unplaced(request or "?")
    for short in range(-1, len(words)):
        phrases = spans(words, frame, short)
        asks: dict[Ask, tuple[Token, ...]] = {}
        for tokens in islice(product(*phrases), 96):
            try:
                asks.setdefault(_question(list(tokens), frame), tokens)
            except Unplaced as error:
                failure = error if failure is None or (error.why and not failure.why) else failure
        if len(asks) > 1:  # `crate` is the row first, and then its identifier
            plain = {ask: found for ask, found in asks.items() if not any(_named_by_row(t, frame) for t in found)}
            asks = plain if len(plain) == 1 else asks
        if len(asks) == 1:
            return next(iter(asks))
        if asks:
            one, other = list(asks.values())[:2]
            raise Unplaced(next((a.text for a, b in zip(one, other, strict=True) if a != b), one[0].text), "two")
    raise failure or Unplaced(words[0])


def _named_by_row(token: Token, frame: Frame) -> bool:
    """Return whether a token is an identifier that has the name of the rows: `crate_id` said as `crate`."""
    return token.kind == "C" and token.value.is_id and singular(token.text) in frame.nouns  # fmt: skip


def _question(tokens: list[Token], frame: Frame) -> Ask:
    tables = [t for t in tokens if t.kind == "T"]
    if len(tables) - sum(t.of for t in tables) > 1 or sum(t.of for t in tables) > 1:
        raise Unplaced(tables[-1].text)
    text = "".join(t.text for t in tokens)
    rows = any(t.kind == "R" for t in tokens) or (chinese(text) and tokens[0].kind == "T")
    kept = [t for t in tokens if t.kind != "T" or not (t.of or rows)]  # `how many rows does sales have`
    p = Parse(frame, [replace(t, kind="R") if t.kind == "T" else t for t in kept])
    conditions(p)
    if strange := [t for t in p.tokens if t.kind == "?"]:  # `how wobbly`: the word is wobbly
        raise Unplaced(max(strange, key=lambda t: t.text.lower() not in ("how", "who", "why")).text)
    p.sub("KC|CK", lambda ts: [t for t in ts if t.kind == "C"])  # `the column weight`
    p.sub("BK", itemgetter(slice(1, None)))  # `per column`
    p.sub("B[CU](?:&B?[CU]|B[CU])*(?![CUAS])", partial(_grouped, p, ""))
    p.sub("BC(?=[AS])|B[CU](?=[AS]?C)", partial(_grouped, p, ""))  # `for each depot the mean weight`
    p.sub("BA?S?C", lambda ts: _grouped(p, next((t.value for t in ts if t.kind in "AS"), ""), [ts[0], ts[-1]]))
    p.sub("R", lambda ts: [] if ts[0].of and ts[0].value == "row" and len(p.tokens) > 1 else None)
    verbs = [t for t in p.tokens if t.kind == "z"]
    p.tokens = [t for t in p.tokens if t.kind != "z"]
    if set("Pp") & set(p.kinds):
        asked = _plotted(p)
    elif what := next((name for name, pattern in _SHAPES.items() if re.fullmatch(pattern, p.kinds)), ""):
        asked = _asked(p, what)
    else:
        for at, token in enumerate(p.tokens):
            if any(re.fullmatch(pattern, p.kinds[:at] + p.kinds[at + 1 :]) for pattern in _SHAPES.values()):
                raise Unplaced(token.text)
        odd = [*p.tokens, *p.by, *(Token("k", str(one.value or one.column)) for one in p.where), Token("k", "?")]
        likely = [*(t for t in odd if t.kind in ">!nb|@ND"), *(t for t in odd if t.kind not in "RCk"), odd[0]]
        raise Unplaced(likely[0].text)
    if verb := next((verb for verb in verbs if not hinted(asked.column, verb)), None):
        raise Unplaced(verb.text)
    return replace(asked, where=tuple(p.where))


def _grouped(p: Parse, how: str, tokens: list[Token]) -> list[Token] | None:
    if p.by:
        return None
    p.by, p.by_how, p.by_word = [t for t in tokens if t.kind in "CU"], how, tokens[0].text.lower()
    return []


_G = "(?:f?N|Nf)?[CU]"
_SHAPES = {
    "rows": r"R",
    "describe": r"Q|QR|RQ|QRQ|QC|y|yK|Ky|yR|RQ?K|K|KR|KRQ|QK|QKR|yKR",
    "size": r"s|sR|Rs|HK|HKR|HRK|KH",
    "count": r"h|hR|E|ER|RE|E?H|E?HRE?a?|RE?H|HaR|HEa?|aH|RaE?H|EHR|aRH|RHa|aHR",
    "counts": r"CH|Ch|hC",
    "number": r"HCE?a?|aHC",
    "distinct": r"dC|dCH|HdC|HdCE|EHdC|HCd|dHC|dCE|Ed?C|CE",
    "column": r"C|RC",
    "figure": r"AR?Co?|ACO?o|CAH?|aC|Ca|RCA|MCE?a?|CHA",
    "extreme": r"SR?C|SCO?o|CSH?|SAC|ASC|CAS|ACS|fC|lC",
    "top": rf"{_G}(?:SA|AS|S)C?a?|{_G}C(?:SA|AS|S)|{_G}ACS|{_G}R?SR|{_G}RS|G{_G}|{_G}G|{_G}RSC|[SfN]N?[CU]|NG[CU]|GN[CU]|{_G}S",
    "best": r"S|fN|NS|NSCR|RSC|NRSC|fNRSC|SCR|SR|fNSR|RS|RCS|CSNR|NSR|SNR|NSC|SNC|fNC|CfN|fNR|wSC|wCS|wSR|wRS|NfR|RCSN",
    "first": r"fR",
    "share": r"X|XR",
    "missing": r"E?q?m|KEm|R?E?R?m|mR|mC|H?mC|HmK?R?|mHK?C?|mH|Km|KmH|EmC|mK|HmC?E|EmK|KHm|E?Km|HCm|Em",
    "duplicates": r"E?H?uR?|HuRE|E?HRuE?|E?Ru|E?uC|H?uC|Cu|Cd",
    "sort": r"R?OR?C?o?|oR?O?C?|OoC?|R?OR?C?o?&?fNR|R?OR?C?o?&?Nf?R|fNRO?C?o?|R?o&?f?NR",
}
"""What a question asks, and what may be left of it then; the first that fits is taken."""
_WHOLE = ("describe", "size", "missing", "duplicates")  # what is asked of a whole table only


def _asked(p: Parse, what: str) -> Ask:
    of, columns, where = {t.kind: t for t in reversed(p.tokens)}, p.columns(), p.where
    head = int(of["N"].value) if "N" in of else 0
    if p.by and (what in (*_WHOLE, "counts", "first", "share") or (p.by_how and what not in ("top", "best"))):
        raise Unplaced(p.by[0].text)
    if where and what in _WHOLE:
        raise Unplaced(str(where[0].value or where[0].column))
    if what in ("figure", "extreme", "column") and (rows := next((t for t in p.tokens if t.value == "row"), None)):
        raise Unplaced(rows.text)
    if what in _WHOLE:
        return Ask(what, columns[0].value.name if columns else "")
    if what == "first":
        return Ask("rows", head=head or 1)
    if what == "rows":
        return Ask("count", by=_keys(p)) if p.by else Ask("rows" if where else "describe")
    if what == "counts" or (what == "count" and (p.by or where or "R" in of)):
        return Ask("count", by=_keys(p, columns or p.by))
    if what == "sort":
        key, o = [*columns, *p.by], of.get("O", p.tokens[0])
        if len(key) != 1 or key[0].kind != "C" or (p.by and o.text.endswith(" by")):
            raise Unplaced(o.text)
        return Ask(what, key[0].value.name, most="o" in of and of["o"].value == "max", head=head)
    if what == "share":
        if len({one.column for one in where}) != 1:
            raise Unplaced(of["X"].text, "of what")
        return Ask(what)
    order = of["o"].value if "o" in of else ""
    if order and not p.by:  # one figure has no order
        raise Unplaced(of["o"].text)
    how = next((t.value or "sum" for t in p.tokens if t.kind in "Aa"), "")
    if what in ("top", "best"):
        return _ranked(p, what, head or 1, how)
    if not columns:
        raise Unplaced(p.tokens[0].text)
    return _of_column(p, what, columns[0], how, order)


def _of_column(p: Parse, what: str, token: Token, how: str, order: str) -> Ask:
    column: Column = token.value
    if what == "number" and column.adds_up:  # `how many units`
        return Ask("figure", column.name, "sum", _keys(p))
    if what == "number" and not (column.is_text or column.is_id):
        raise Unplaced(token.text)
    if what in ("number", "distinct"):
        counted = Ask("figure", column.name, "nunique", _keys(p))
        return counted if "H" in p.kinds else Ask("count", by=_keys(p, [token, *p.by]))
    if what == "column" and not p.by:
        if column.is_text and not p.where:
            return Ask("count", by=_keys(p, [token]))
        return Ask("rows" if p.where else "describe", column.name)
    if what in ("column", "figure"):
        how = how or ("sum" if column.adds_up else "")  # `units per region`, `how much revenue`
        if not how:
            raise Unplaced(token.text, "how")
        if (odd := next((one for one in p.where if one.sign == "and"), None)) and how != "sum":
            raise Unplaced(str(odd.value[-1]), "and")
        return Ask("figure", _measure(token, how), how, _keys(p), kind=order)
    s = next(t for t in p.tokens if t.kind in "Sfl")
    most = s.value.startswith("max") or s.kind == "l"
    if p.kinds == "CS" and s.value.endswith("most") and not column.is_number and not p.by:
        return Ask("top", by=(column.name,), most=most, head=1)
    _fits(s, token)
    if (s.kind != "S" and not column.is_date) or "most" in s.value:
        raise Unplaced(s.text, "of what")
    if how:
        if len(p.by) != 1:
            raise Unplaced(next(t.text for t in p.tokens if t.kind == "A"))
        return Ask("top", _measure(token, how), how, _keys(p), most=most, head=1)
    return Ask("figure", _measure(token), "max" if most else "min", _keys(p), kind=order)


def _ranked(p: Parse, what: str, head: int, how: str) -> Ask:
    """Return the groups or the rows with the most, or the least: `top 3 depots by weight`, `the heaviest crate`, `when was ...`."""
    kinds, f = p.kinds, next((t for t in p.tokens if t.kind == "f"), Token("f", "top"))
    s = next((t for t in p.tokens if t.kind in "SG"), Token("S", f.text, "min most" if f.value else "max most"))
    most, how = s.value.startswith("max"), how or p.by_how
    key = next(t for t in p.tokens if t.kind in "CU") if what == "top" else None
    figures = [t for t in p.columns() if t is not key]
    counted = key and (s.kind == "G" or ("R" in kinds and s.value.endswith("most") and not figures))
    if not figures and not counted and len(p.by) == 1 and p.by[0].kind == "C" and p.by_word in ("by", "按", "按照"):
        figures, p.by = p.by, [t for t in p.by if f.text.lower() == "first"]  # by what is the first?
    if p.by or len(figures) > 1:
        raise Unplaced([*figures, *p.by][-1].text)
    if key and counted:
        return Ask("top", by=_keys(p, [key]), most=most, head=head)
    if not figures and "S" not in kinds and not key:
        return Ask("rows", head=head)
    figure = figures[0] if figures else _hint(p, s)
    _fits(s, figure)
    measure = _measure(figure, how or "max")
    if key and key.value == figure.value:
        raise Unplaced(key.text)
    single = key and key.kind == "C" and ("R" in kinds or key.value.distinct == p.frame.rows)
    if key is None or (not how and (single or (key.kind == "C" and figure.value.is_date))):
        against = the_date(p, p.tokens[0]).name if kinds[0] == "w" else key.value.name if key else ""
        if how:
            raise Unplaced(s.text)
        return Ask("best", measure, most=most, head=head, against=against, word=s.text)
    how = how or ("sum" if "most" in s.value else "")
    return Ask("top", measure, how, _keys(p, [key]), most=most, head=head, word=s.text)


def _keys(p: Parse, tokens: list[Token] | None = None) -> tuple[str, ...]:
    keys = []
    for token in p.by if tokens is None else tokens:
        if token in p.by and _named_by_row(token, p.frame):  # `per order` is each row
            raise Unplaced(token.text)
        if token.kind == "C" and token.value.is_number and "int" not in token.value.type.lower():
            raise Unplaced(token.text, "number")
        keys.append(token.value.name if token.kind == "C" else f"{the_date(p, token).name}.{token.value}")
    return tuple(keys)


def _measure(token: Token, how: str = "max") -> str:
    """Return the name of a column of figures. Raise `Unplaced` for names, and for the sum of years."""
    column: Column = token.value
    if column.is_date and how in ("max", "min"):
        return column.name
    if not column.is_number or column.is_id:
        raise Unplaced(token.text, "id" if column.is_id else "text")
    if column.name.lower() in ("year", "month", "day", "quarter", "week") and how == "sum":
        raise Unplaced(token.text, "text")
    return column.name


def _fits(s: Token, column: Token) -> None:
    """Raise `Unplaced` for an adjective that says another column: the heaviest price."""
    hints = {*s.value.split()[1:]} - {"most", "size"}
    dated = "date" in hints and column.value.is_date
    if s.kind == "S" and hints and not dated and not hinted(column.value.name, s):
        raise Unplaced(s.text)


def _hint(p: Parse, s: Token) -> Token:
    """Return the column that an adjective speaks of: `heaviest` of `body_mass_g`, `largest` of `diameter_km`."""
    figures = [c for c in p.frame.columns if c.is_number and not c.is_id]
    s = replace(s, value=s.value.replace("size", "size diameter radius area population"))
    found = [c for c in figures if hinted(c.name, s)]
    found = found or (p.frame.dates if "date" in s.value else [])
    if len(found) != 1:
        raise Unplaced(s.text, "of what")
    return Token("C", s.text, found[0])


def _plotted(p: Parse) -> Ask:
    """`plot revenue by region`, `histogram of weight`, `plot weight against price`, `bar chart of rows per depot`."""
    kind = next((t.value for t in p.tokens if t.kind == "p"), "")
    over = next((t for t in p.tokens if t.kind == "t"), None)
    p.tokens = [t for t in p.tokens if t.kind not in "Ppt"]
    if over and not p.by:
        p.by, kind = [Token("C", over.text, the_date(p, over))], kind or "line"
    columns, kinds, keys = p.columns(), p.kinds, _keys(p)
    if re.fullmatch(r"C[v&]C", kinds) and not keys and kind in ("", "scatter"):
        return Ask("plot", _measure(columns[0]), against=_measure(columns[1]), kind="scatter")
    kind = kind or ("line" if p.by and (p.by[0].kind == "U" or p.by[0].value.is_date) else "bar")
    if re.fullmatch(r"H?R?", kinds) and len(keys) == 1 and kind in ("bar", "line"):
        return Ask("plot", by=keys, kind=kind)
    if re.fullmatch(r"C", kinds) and not keys and kind in ("bar", "hist"):
        return Ask("plot", _measure(columns[0]), kind="hist")
    if re.fullmatch(r"A?C|CA", kinds) and len(keys) == 1 and kind in ("bar", "line"):
        how = next((t.value for t in p.tokens if t.kind == "A"), "sum" if columns[0].value.adds_up else "mean")
        return Ask("plot", _measure(columns[0], how), how, keys, kind=kind)
    raise Unplaced(next((t.text for t in p.tokens if t.kind not in "ACHR"), p.tokens[0].text if p.tokens else "plot"))
