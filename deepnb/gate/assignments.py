"""`password = ...`, `"api_key": "..."`, `密码：...`: the value that follows its name, with an operator or a verb between."""

import re
from collections.abc import Iterator

from deepnb.gate.names import Name, names
from deepnb.gate.pairs import pair_value
from deepnb.gate.regex import regex
from deepnb.gate.shapes import password_like, plainly_made, quoted_password_like, token_like
from deepnb.gate.span import Span
from deepnb.gate.tables import column, with_bars
from deepnb.gate.values import Value, value_at

_CLOSE = r"[\"'`\])*\\_]{0,6}"
_SEPARATOR = regex(
    rf"{_CLOSE}(?:[ ]?[(\uff08][^\s()\uff08\uff09]{{0,30}}[)\uff09])?[ \t]{{0,20}}"
    r"(?:(?:for|of|to|on|at)(?:[ ][\w.-]{1,30}){1,3}?[ ]?(?=is\b|[:=]))?"
    r"(?::[ \t]{0,4}[A-Za-z_][\w.\[\] |]{0,40}=(?!=)(?=[ \t]{0,4}[^\s,;)}\]\"']|[ \t]{0,4}[\"'][^\s,;)}\]])|[?:+.]=|::=|\|\|=|\?\?=|:-|=>|[\u2192\u21d2\u27f6]|(?<!\) )->|<<<|={1,3}|!==?|[:=>\uff1a\uff1d]"
    r"|(?:is|ist|lautet|lauten|es|est|was|are|è|é|jest|är)\b[:\uff1a]?|(?:\u8bbe\u7f6e|\u8bbe|\u6539|\u66f4\u65b0|\u4fee\u6539){0,2}[是为為成は][:\uff1a]?)"
    r"[ \t]{0,20}(?:[*_]{1,2}[ \t]?)?(?:(?:[rbfuLNE@]|U&)(?=[\"'])|q'[\[({<!|]|\{(?=[^{}\s]{0,60}(?:[!#%^*+=~@.-]|\d[A-Za-z]|[a-z]\d{3})[^{}\s]{0,60}\}))?"
)
# The names beside one name of a list, then the values: `user, password = "ann", "..."`, `(name, password) VALUES ('ann', '...')`
_LIST_BEFORE = regex(
    r"(?:^|\n|\()[ \t>+-]{0,40}(?:(?:const|let|var|my|local)[ ])?[(\[]?((?:[$@]?[\w.\"`]{1,40},\s{0,20}){0,12})[\w.$@\"`]{0,40}\Z"
)
_LIST_AFTER = regex(r"[\"`]?(?:,\s{0,20}[\w.$@\"`]{1,40}){0,12}[ )\]]{0,2}\s{0,8}(?::?=(?!=)|(?i:values))\s{0,8}[(\[]?")
_ITEM = regex(
    r"\s{0,20}(?:\w?([\"'`])([^\n]{0,200}?)\1|[^,\"'`()\n]{1,80}(?:\([^()\n]{0,80}\))?)\s{0,8}(?:,|(?=[)\];\n#])|\Z)"
)
# `= part1 + part2`, `= f"{a}{b}"`, `="$A$B"`, and a part's own literal before it
_CHAIN = regex(
    r"[\"']{0,2}\]?[ \t]{0,4}:?=[ \t]{0,4}f?[\"'`]?((?:[${]{0,2}[A-Za-z_]\w{0,40}\}?(?:[ ]?[+.][ ]?)?){2,8})"
)
_PART = r"(?:^|[\n;])[ \t>+-]{{0,40}}(?:\w{{1,8}}[ ])?\$?{}[ \t]{{0,4}}:?=[ \t]{{0,4}}[\"']?([^\"'\s;]{{2,128}})"
_DASHES = regex(r"(?:\s|^)--?[\w-]{0,30}\Z")
# `api key K`, `密码 P`: with nothing between, only what is plainly made by chance.
_SPACE = regex(r"[ ]{1,2}(?=[^\s]{20}|[\x21-\x7e]{6,40}(?:\s|\Z))")
_FLAG = regex(r"[ ]{1,3}(?![-$])")
_PARTS_BEFORE = 600
_STEP = 256  # after a long value that is none, go on here: work stays linear on one endless line


def assignments(text: str, low: str) -> Iterator[Span]:
    """Spans of the values given to such names, with their kinds; `low` is the text, lowered, of one length."""
    text = with_bars(text)
    word, done, rows_start, rows_end = "", 0, 0, 0
    for name in names(text, low):
        if name.word != word:
            word, done, rows_start, rows_end = name.word, 0, 0, 0
        if name.start < done:
            continue
        listed = _listed(text, name)
        value, good = listed or _value_of(text, name)
        if not good and not listed and (found := pair_value(text, name)):
            value, good = found, True
        if good:
            yield _span(name, value)
            done = max(value.end, name.stop)
        elif parts := _parts(text, name):
            yield from (_span(name, part) for part in parts)
        elif value.end - value.start > 2 * _STEP:
            done = name.start + _STEP
        elif not rows_start < name.start < rows_end and (table := column(text, name)):
            rows_start, rows_end = table.start, table.end
            for cell in table.cells:
                yield _span(name, cell)


def _span(name: Name, value: Value) -> Span:
    kind = {"key": "API key"}.get(name.family, name.family)
    return Span(value.start, value.end, kind, f"a value named {name.label}")


def _listed(text: str, name: Name) -> tuple[Value, bool] | None:
    """The value of a name in a list of names, which is as far in the list of values, and whether it is a credential."""
    after = _LIST_AFTER().match(text, name.stop)
    before = after and _LIST_BEFORE().search(text, max(0, name.start - 300), name.start)
    if after is None or before is None or "," not in before[1] + after[0]:
        return None
    at, item = after.end(), None
    for _ in range(before[1].count(",") + 1):
        item = _ITEM().match(text, at)
        if item is None:
            return None
        at = item.end()
    if item is None or item[2] is None:
        return Value(name.stop, name.stop, "", False), False
    value = Value(*item.span(2), item[2], True)
    return value, quoted_password_like(value.text) if name.family == "password" else token_like(value.text)


def _parts(text: str, name: Name) -> list[Value]:
    """The literals of the variables that are joined to a credential of this name; none where one of them has none."""
    chain = _CHAIN().match(text, name.stop)
    found = list[re.Match[str]]()
    for word in re.findall(r"[A-Za-z_]\w*", chain[1]) if chain else ():
        given = list(re.finditer(_PART.format(word), text[max(0, name.start - _PARTS_BEFORE) : name.start]))
        if not given:
            return []
        found.append(given[-1])
    whole, at = "".join(part[1] for part in found), max(0, name.start - _PARTS_BEFORE)
    good = len(found) > 1 and (quoted_password_like(whole) if name.family == "password" else token_like(whole))
    return [Value(at + part.start(1), at + part.end(1), part[1], True) for part in found] if good else []


def _value_of(text: str, name: Name) -> tuple[Value, bool]:
    """What is given to a name, and whether it is a credential."""
    between = _SEPARATOR().match(text, name.stop)
    if between is None and _DASHES().search(text, max(0, name.start - 40), name.start):
        between = _FLAG().match(text, name.stop)
    if between is None and (name.family != "password" or not name.word.isascii()):
        between = _SPACE().match(text, name.stop)
    if between is None:
        return Value(name.stop, name.stop, "", False), False
    separator = "--" if between.re is _FLAG() else between.group()
    value = value_at(text, between.end(), bold="*" in separator)
    if name.family != "password":
        token = token_like(value.text) and (len(value.text) >= 20 or bool(separator.strip()))
        return value, token or (name.family == "secret" and plainly_made(value.text))
    if value.quoted:
        return value, quoted_password_like(value.text)
    tight = separator == "=" and text[name.start : name.stop].isupper()
    listed = separator == "=" and text.startswith(";", value.end)
    plain = value.text.isalpha() and value.text.islower() and value.text.isascii()
    good = password_like(value.text, plain=tight or listed) or (separator == "=" and len(value.text) >= 16 and plain)
    return value, good
