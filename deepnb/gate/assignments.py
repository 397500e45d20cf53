"""The value given to a telling name: with an operator, in one of many forms, or in the column of a table."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress, islice
from typing import NamedTuple

from deepnb.gate.shapes import password_like, plainly_made, quoted_password_like, strong_password_like, token_like
from deepnb.gate.spans import Finding, Name, Value, names, regex, value_at

_CLOSE = r"[\"'`\])*\\_]{0,6}"  # token"], `token`
_SEPARATOR = regex(
    rf"{_CLOSE}(?:[ ]?[(\uff08][^\s()\uff08\uff09]{{0,30}}[)\uff09])?[ \t]{{0,20}}"
    r"(?:(?:for|of|to|on|at)(?:[ ][\w.-]{1,30}){1,3}?[ ]?(?=is\b|[:=]))?"
    r"(?::[ \t]{0,4}[A-Za-z_][\w.\[\] |]{0,40}=(?!=)(?=[ \t]{0,4}[^\s,;)}\]\"']|[ \t]{0,4}[\"'][^\s,;)}\]])|[?:+.]=|::=|\|\|=|\?\?=|:-|=>|[\u2192\u21d2\u27f6]|(?<!\) )->|<<<|={1,3}|!==?|[:=>\uff1a\uff1d]"
    r"|(?:is|ist|lautet|lauten|es|est|was|are|è|é|jest|är)\b[:\uff1a]?|(?:\u8bbe\u7f6e|\u8bbe|\u6539|\u66f4\u65b0|\u4fee\u6539){0,2}[是为為成は][:\uff1a]?)"
    r"[ \t]{0,20}(?:[*_]{1,2}[ \t]?)?(?:(?:[rbfuLNE@]|U&)(?=[\"'])|q'[\[({<!|]|\{(?=[^{}\s]{0,60}(?:[!#%^*+=~@.-]|\d[A-Za-z]|[a-z]\d{3})[^{}\s]{0,60}\}))?"
)
# The names beside one name of a list, then the values: `user, password = "ann", "..."`, `(name, password) VALUES ('ann', '...')`
_LIST_BEFORE = regex(r"(?:^|\n|\()[ \t>+-]{0,40}(?:(?:const|let|var|my|local)[ ])?[(\[]?((?:[$@]?[\w.\"`]{1,40},\s{0,20}){0,12})[\w.$@\"`]{0,40}\Z")  # fmt: skip
_LIST_AFTER = regex(r"[\"`]?(?:,\s{0,20}[\w.$@\"`]{1,40}){0,12}[ )\]]{0,2}\s{0,8}(?::?=(?!=)|(?i:values))\s{0,8}[(\[]?")
_ITEM = regex(r"\s{0,20}(?:\w?([\"'`])([^\n]{0,200}?)\1|[^,\"'`()\n]{1,80}(?:\([^()\n]{0,80}\))?)\s{0,8}(?:,|(?=[)\];\n#])|\Z)")  # fmt: skip
# `= part1 + part2`, `= f"{a}{b}"`, `="$A$B"`, and a part's own literal before it
_CHAIN = regex(r"[\"']{0,2}\]?[ \t]{0,4}:?=[ \t]{0,4}f?[\"'`]?((?:[${]{0,2}[A-Za-z_]\w{0,40}\}?(?:[ ]?[+.][ ]?)?){2,8})")  # fmt: skip
_PART = r"(?:^|[\n;])[ \t>+-]{{0,40}}(?:\w{{1,8}}[ ])?\$?{}[ \t]{{0,4}}:?=[ \t]{{0,4}}[\"']?([^\"'\s;]{{2,128}})"
_DASHES = regex(r"(?:\s|^)--?[\w-]{0,30}\Z")  # --api-
# `api key K`, `密码 P`: with nothing between, only what is plainly made by chance.
_SPACE = regex(r"[ ]{1,2}(?=[^\s]{20}|[\x21-\x7e]{6,40}(?:\s|\Z))")
_FLAG = regex(r"[ ]{1,3}(?![-$])")
_PARTS_BEFORE = 600
_STEP = 256  # after a long value that is none, go on here: work stays linear on one endless line


def assignments(text: str, low: str) -> Iterator[Finding]:
    text = text.translate(_BARS) if any(chr(bar) in text for bar in _BARS) else text
    word, done, rows_start, rows_end = "", 0, 0, 0
    for name in names(text, low):
        if name.word != word:
            word, done, rows_start, rows_end = name.word, 0, 0, 0
        if name.start < done:
            continue
        listed = _listed(text, name)
        value, good = listed or _value_of(text, name)
        if not good and not listed and (found := next(_in_a_form(text, name), None)):
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


def _span(name: Name, value: Value) -> Finding:
    kind = {"key": "API key"}.get(name.family, name.family)
    return Finding(value.start, value.end, kind, f"a value named {name.label}")


def _listed(text: str, name: Name) -> tuple[Value, bool] | None:
    """Return the value of a name in a list of names, as far in the list of values, and whether it is a credential."""
    after = _LIST_AFTER().match(text, name.stop)
    before = after and _LIST_BEFORE().search(text, max(0, name.start - 300), name.start)
    if after is None or before is None or "," not in before[1] + after[0]:
        return None
    at, item = after.end(), None
    for _ in range(before[1].count(",") + 1):
        if (item := _ITEM().match(text, at)) is None:
            return None
        at = item.end()
    if item is None or item[2] is None:
        return Value(name.stop, name.stop, "", False), False
    value = Value(*item.span(2), item[2], True)
    return value, quoted_password_like(value.text) if name.family == "password" else token_like(value.text)


def _parts(text: str, name: Name) -> list[Value]:
    """Return the literals of the variables that are joined to a credential of this name; none where one of them has none."""
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


# -- A name and its value with more than an operator between them: a type, a tag, a call, a line end, half a sentence
# One row per form: what must stand before the name, what between it and the value, and how plain the value must be.
# The quantifiers are bounded, and what stands before is searched for in a short stretch.

_BACK = 72
_Pattern = Callable[[], re.Pattern[str]]


@dataclass(frozen=True)
class _Form:
    """`strict`: the value must have letters and more; `quoted`: and quotes; `alone`: and its line for itself."""

    between: _Pattern
    before: _Pattern | None = None
    strict: bool = True
    quoted: bool = False
    alone: bool = False


_QUOTE = r"[rbfuLNE@$]?(?=\\{0,2}[\"'`\u201c\u201e\u2018\xab])"  # f"
_WRAPPERS = r"(?:(?:Some|str|bytes|(?:[A-Za-z_.:]{0,24})(?:Secret|String|SecretStr)(?:::(?:from|new))?)\()?"
_TYPE = r"[*&\[\]?]{0,3}[A-Za-z_][^\n=;{}\"]{0,40}?"  # list[str]
_TEXT_TYPE = (
    r"(?:\*?(?:string|String|str|text|varchar|char|nvarchar|byte|bytes|\[\]byte|auto|NSString[ ]?\*)(?:\(\d{1,4}\))?)"
)
_ATTRIBUTES = r"(?:\s{1,40}[\w:.-]{1,30}\s?=\s?[\"'][^\"'<>\n]{0,60}[\"']){0,3}?"  # type="plain"
_OPEN_TAGS = r"\s{0,120}(?:<!\[CDATA\[|<(?:value|string|val|text)>)?\s{0,120}"  # <string>
_NAMES = r"(?:name|key|id|type|property|variable)\s?=\s?[\"'][\w.:/-]{0,40}\Z"  # name="
_NAME_ATTRIBUTE = regex(_NAMES, re.IGNORECASE)
_SETTERS = (
    r"(?:set|put|add|append|define|header|env|environ|prop|property|with|insert|of|arg|param|update|store|register)"
)
_FIELDS = r"(?:\s{1,40}[\"']?[\w-]{1,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w.-]{0,40}[\"']?,?){0,2}?"  # kind: secret
_VALUE_WORD = r"[\"']?[A-Za-z_]{0,16}(?:value|default|content|body)[\"']?\s{0,4}[:=]\s{0,4}"

_FORMS: tuple[_Form, ...] = (
    # var apiKey string = "...", char key[] = "...", key: Annotated[str, ...] = "...", key = Some("..."), key = ( \n "..."
    _Form(regex(rf"(?:\[\w{{0,8}}\]){{0,2}}[ \t]{{0,8}}(?::[ \t]{{0,8}}{_TYPE}|{_TEXT_TYPE})?[ \t]{{0,8}}(?::?=(?![=~>])|<<?-)[ \t]{{0,8}}" rf"(?:\\\n|\([ \t]{{0,4}}\n)?\s{{0,40}}{_WRAPPERS}\s{{0,4}}[rbfuL@$]?{_QUOTE}"), strict=False, quoted=True),
    # key = getenv("X") or "...", key = ask() if tty else "...", env.KEY || "...", ENV.fetch("KEY") { "..." }
    _Form(regex(rf"(?:[ \t]{{0,4}}:?=(?!=)[^\n]{{1,120}}?|[\"')\]]{{0,4}})(?:[ )](?:or|else|\|\||\?\?|\?:)|[ ]\{{)[ ]{{0,2}}{_QUOTE}"), quoted=True),
    # setenv("NAME", "..."), and any ("NAME", "...")
    _Form(regex(rf"\\?[\"'`][ \t]{{0,4}},\s{{0,20}}{_QUOTE}"), regex(rf"{_SETTERS}[A-Za-z_]{{0,12}}\s?\([ \t]{{0,4}}[\"'`][\w.:/ -]{{0,40}}\Z", re.IGNORECASE), strict=False, quoted=True),
    _Form(regex(rf"\\?[\"'`](?:[ \t]{{0,4}},|\)\.\w{{1,20}}\()\s{{0,20}}{_QUOTE}"), regex(r"[(,\[][ \t]{0,4}\\?[\"'`][\w.:/ #*=-]{0,40}\Z"), quoted=True),
    # passwords = ["..."], credentials = ("ann", "...")
    _Form(regex(rf"[ \t]{{0,4}}[:=][ \t]{{0,4}}[\[({{][ ]?(?:[\"'](?!(?:type|name|host|file|path|url|id)\b)[^\"'\n]{{0,64}}[\"'][,:][ ]?)?{_QUOTE}"), quoted=True),
    # .setPassword("..."), .password("...")
    _Form(regex(rf"\([ \t]{{0,4}}{_QUOTE}"), regex(r"(?:\.|set_?|with_?|=[ ]?)(?!get|load|read|find|fetch)[A-Za-z_]{0,20}\Z", re.IGNORECASE), quoted=True),
    # password '...', (setq token "..."), #define KEY "..."
    _Form(regex(rf"[ \t]{{1,8}}{_QUOTE}"), quoted=True),
    # <password type="plain">\n...
    _Form(regex(rf"(?:{_ATTRIBUTES})\s{{0,4}}>{_OPEN_TAGS}"), regex(r"<(?:[\w.-]{1,30}:)?[\w.-]{0,40}\Z"), strict=False),
    # <key>NAME</key> <string>..., <td>NAME</td><td><code>..., <b>NAME</b>: ..., your NAME is <strong>...
    _Form(regex(r"(?:[ ]is)?[: ]{0,2}(?=<)(?:</[\w:.-]{1,30}>[:\s]{0,80}){0,3}(?:<[\w:.-]{1,30}(?:[ ][^<>\n]{0,80})?>[:\s]{0,80}){0,3}"), alone=True),
    # <add key="NAME" value="...">, <NAME value="...">, <string name="NAME">...
    _Form(regex(rf"[\"']?{_ATTRIBUTES}\s{{1,40}}(?:[\w-]{{0,12}}value|content|default)\s?=\s?{_QUOTE}", re.IGNORECASE), regex(rf"{_NAMES}|<[\w.:-]{{0,40}}\Z", re.IGNORECASE), strict=False),
    _Form(regex(rf"[\"']{_ATTRIBUTES}\s{{0,4}}>{_OPEN_TAGS}"), _NAME_ATTRIBUTE, strict=False),
    # name: NAME \n value: ...
    _Form(regex(rf"\\?[\"']?\s{{0,2}}[,{{]?{_FIELDS}\s{{0,40}}\\?{_VALUE_WORD}", re.IGNORECASE), regex(r"(?:name|key|var|variable|setting|property|id)\\?[\"']?\s{0,3}[:=]?\s{0,3}\\?[\"']?[\w.:/-]{0,40}\Z", re.IGNORECASE), strict=False),
    # --name NAME --value ...
    _Form(regex(r"[\"']?[ ]{1,3}--?(?:value|body|b|v|data|secret-string)[ =]{1,2}")),
    # | NAME | ... |
    _Form(regex(r"[*_`]{0,3}[ \t]{0,40}\|[ \t]{0,40}[*_]{0,3}"), regex(r"(?:^|[\n|])[ \t]{0,20}[*_`]{0,3}[\w ]{0,40}\Z")),
    # ENV NAME ..., with password ...
    _Form(regex(r"[\"']?[ \t]{1,8}"), regex(r"(?:^|[\s/,%])(?:with|and|use|env|arg|setenv|setx|set|add|put|/|)[ \t]{1,4}(?:the |my |your |our |-\w{1,3} )?[\"']?[\w./:-]{0,40}[ ]?\Z", re.IGNORECASE)),
    # a line of two words
    _Form(regex(r"[ \t]{1,20}"), regex(r"(?:^|\n)[ \t]{0,20}[\w.-]{0,40}[ ]?\Z"), alone=True),
    # the NAME was changed to ..., NAME - ...
    _Form(regex(r"[*_`]{0,3}(?:[ ](?:has been|was|is|got|now|still|just|changed|set|reset|rotated|updated)){0,3}[ ](?:to|now|is|was|reads|equals)[ ]" r"|[*_`]{0,3}[ ][\u2013\u2014-][ ]" r"|[ ](?:for|of|to|on|at|in)(?:[ ][\w.'-]{1,30}){1,4}?[ ](?:is|was)[ ]", re.IGNORECASE)),
    # NAME:\n ..., NAME: |\n ...
    _Form(regex(r"[\"'`*_)]{0,4}[ \t]{0,4}(?:(?:is|are|ist)\b)?[ \t]{0,4}[:=\uff1a][*_]{0,3}[ \t]{0,4}[|>]?[+-]?\\?[ \t]{0,4}\r?\n" r"(?:[ \t>]{0,40}(?:(?:```|~~~)\w{0,12})?[ \t]{0,4}\r?\n){0,3}[ \t>]{0,40}"), alone=True),
    # In [4]: NAME \n Out[4]: '...', >>> print(NAME) \n ..., $ echo $NAME \n ...
    _Form(regex(r"[\"')\]]{0,4}\r?\n(?:Out\[\d{1,5}\]:[ ])?[ ]{0,4}"), regex(r"(?:In \[\d{1,5}\]: |>>> |(?:^|\n)[$%!][ ]?(?:echo|printenv)[ ])(?:print\()?[\w.${(\[\"']{0,40}\Z"), alone=True),
    # ## NAME \n\n ...
    _Form(regex(r"[*_`]{0,3}[ \t#]{0,8}\r?\n(?:[ \t>]{0,40}(?:(?:```|~~~|---|===)\w{0,12})?[ \t]{0,4}\r?\n){0,3}[ \t>]{0,40}"), regex(r"(?:^|\n)[^\w\n#*]{0,8}(?:#{1,6}[ ]|\*\*|__)[^\n]{0,40}\Z"), alone=True),
)  # fmt: skip
_END = regex(r"[\"'`]{0,3}[ \t]{0,40}[,;)]{0,2}[ \t]{0,40}(?:\.?<|\r?\n|\Z)")  # ",

# The value first: `value: V, name: NAME`, `V is the NAME`.
_VALUE_FIRST = regex(
    r"(?i)(?:value|default)\\?[\"']?\s{0,4}[:=]\s{0,4}(?:\\?[\"'])?([^\s\"'\\,<>]{4,200})(?:\\?[\"'])?,?\s{0,40}(?:- )?"
    r"\\?[\"']?(?:name|key|id|type)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.:/-]{0,40}\Z",
)
_SAID_FIRST = regex(
    r"(?:^|[\s\"'`(\u201c])([^\s\"'`(\u201c]{6,128})[\"'`\u201d]?[ ](?:(?:as|is|was|=)[ ]|\()(?:[\w']{1,12}[ ]){0,3}[\w-]{0,24}[ _-]?\Z"
)
# connect("...")  # the password
_SAID_IN_COMMENT = regex(r"[\"']([^\s\"']{6,128})[\"'][\])}]{0,3},?[ \t]{1,10}(?:#|//|--)[ ]?[\w ,/]{0,30}\Z")
_VALUE_BEFORE = ((_SAID_IN_COMMENT, 200, True), (_VALUE_FIRST, 320, False), (_SAID_FIRST, 220, True))


def _in_a_form(text: str, name: Name) -> Iterator[Value]:
    """Yield the credentials that are given to a name in one of these forms: after it, then before it."""
    for form in _FORMS:
        between = form.between().match(text, name.stop)
        if between is None or (form.before and not form.before().search(text, max(0, name.start - _BACK), name.start)):
            continue
        value = value_at(text, between.end())
        if form.alone and not _END().match(text, value.end):
            continue
        if (value.quoted or not form.quoted) and _is_credential(value, name, form.strict):
            yield value
    for pattern, back, strict in _VALUE_BEFORE:
        if found := pattern().search(text, max(0, name.start - back), name.start):
            value = Value(*found.span(1), found[1], False)
            if _is_credential(value, name, strict):
                yield value


def _is_credential(value: Value, name: Name, strict: bool) -> bool:
    if name.family in ("token", "key") or (not strict and name.family != "password"):
        return token_like(value.text) or (name.family == "secret" and plainly_made(value.text))
    if strict:
        return strong_password_like(value.text, quoted=value.quoted)
    return quoted_password_like(value.text) if value.quoted else password_like(value.text)


# -- A column of a table whose head is a telling name: in Markdown, HTML, text with commas, semicolons or tabs, and as printed

_ROWS, _WIDTH = 200, 2000
_HEAD_END = regex(r"[*_`\"' ]{0,6}(?:[|,;\t\r\n]|\Z)")  # ** |
_HEAD = regex(r"(?:[\w ]{1,40}:[ ])?[*_`\"' ]{0,6}[^\W\d](?:[^\W\d]|[ .:-]){0,40}[*_`\"' ]{0,6}\r?")
_RULE = regex(r"[ \t>]{0,20}[|+\u2500-\u257f]?[ \t]{0,20}:?[-=\u2500-\u257f]{1,200}:?[ \t|:=+\u2500-\u257f-]{0,2000}")
_BARS = str.maketrans("\u2502\u2503\u2506\u2551", "||||")
"""The bars that polars and rich draw tables with, each read as a `|`."""
# "   user  password"
_PRINTED_HEAD = regex(r"(?=[ ]|[^\n]{1,200}[ ]{2})[ ]{0,200}[^\W\d][\w.-]{0,40}(?:[ ]{1,200}[^\W\d][\w.-]{0,40}){0,30}[ ]{0,200}\r?")  # fmt: skip
_WORD = regex(r"\S{1,200}")
_HTML_END = regex(r"[ :]{0,2}(?:</\w{1,9}>\s{0,40}){0,3}</t[hd]>")  # </b></td>
_HTML_ROW = regex(r"<tr\b(?:[^<]|<(?!/?tr\b)){0,4000}")  # <tr><td>ann
_HTML_CELL = regex(r"<t[hd]\b[^<>]{0,200}>(?:\s|\\n|<\w[^<>]{0,100}>){0,12}([^<>\n]{0,200})")
_QUOTES = "*_`\"' \t\r"


class Column(NamedTuple):
    """Its credentials, and where the table's rows begin and end."""

    cells: tuple[Value, ...]
    start: int
    end: int


def column(text: str, name: Name) -> Column | None:
    """Return the column that a name heads; None where the name is no head."""
    if (found := _html(text, name) or _printed(text, name) or _separated(text, name)) is None:
        return None
    values = [cell.text for cell in found.cells]
    if name.family in ("password", "secret"):
        good = [strong_password_like(value) for value in values]
    else:  # no word of a text, as under `token` they often are
        good = [plainly_made(value) or (len(value) >= 16 and token_like(value)) for value in values]
    return found._replace(cells=tuple(compress(found.cells, good)))


def _html(text: str, name: Name) -> Column | None:
    start = text.rfind("<tr", max(0, name.start - _WIDTH), name.start) if _HTML_END().match(text, name.stop) else -1
    if start < 0:
        return None
    at = sum(1 for _ in _HTML_CELL().finditer(text, start, name.start)) - 1
    rows = list(islice(_HTML_ROW().finditer(text, name.stop, name.stop + _ROWS * 100), _ROWS))
    cells = [next(islice(_HTML_CELL().finditer(text, *row.span()), max(at, 0), None), None) for row in rows]
    values = tuple(Value(*m.span(1), m[1], False) for m in cells if m)
    return Column(values, name.stop, rows[-1].end() if rows else start)


def _printed(text: str, name: Name) -> Column | None:
    """Columns with spaces between, perhaps after one of numbers without a head."""
    start, end = text.rfind("\n", 0, name.start) + 1, text.find("\n", name.stop, name.stop + _WIDTH)
    if end < 0 or name.start - start > _WIDTH or not _PRINTED_HEAD().fullmatch(text, start, end):
        return None
    heads, cells, stop = list(_WORD().finditer(text, start, end)), [], end
    after = sum(m.start() >= name.stop for m in heads)
    for row in _rows(text, end + 1):
        words = list(_WORD().finditer(text, *row))
        if len(words) not in (len(heads), len(heads) + 1):
            break
        stop = row[1]
        cells.append(words[-1 - after])
    return Column(tuple(Value(*m.span(), m[0], False) for m in cells), end, stop) if cells else None


def _separated(text: str, name: Name) -> Column | None:
    if _HEAD_END().match(text, name.stop) is None:
        return None
    start = text.rfind("\n", max(0, name.start - _WIDTH), name.start) + 1
    end = text.find("\n", name.stop, name.stop + _WIDTH)
    if end < 0 or (start == 0 and name.start > _WIDTH):
        return None
    head = text[start:end]
    rows = _rows(text, end + 1)
    if (first := next(rows, None)) is None:
        return None
    ruled = "|" in head and _RULE().fullmatch(text, *first) is not None
    sign = "|" if ruled else next((c for c in "\t;," if c in head), "")
    count = head.count(sign) if sign else 0
    if not count:
        return None
    if not ruled:  # a head is words alone, and the first line of its table
        above = text.rfind("\n", max(0, start - 1 - _WIDTH), max(0, start - 1)) + 1
        beyond = text[above : max(above, start - 1)].split(sign)
        follows = len(beyond) == count + 1 and all(len(cell.split()) <= 3 for cell in beyond)
        if follows or not all(_HEAD().fullmatch(cell) for cell in head.split(sign)):
            return None
    at = head.count(sign, 0, name.start - start)
    stop, cells = first[1], []
    for row in rows if ruled else (first, *rows):
        parts = text[slice(*row)].split(sign)
        if len(parts) != count + 1:
            break
        stop, value = row[1], parts[at].strip(_QUOTES)
        begin = row[0] + sum(len(part) + 1 for part in parts[:at]) + parts[at].find(value)
        cells.append(Value(begin, begin + len(value), value, False))
    return Column(tuple(cells), end, stop)


def _rows(text: str, at: int) -> Iterator[tuple[int, int]]:
    for _ in range(_ROWS):
        if at >= len(text):
            return
        if (end := text.find("\n", at, at + _WIDTH)) < 0 and len(text) - at > _WIDTH:
            return
        end = end if end >= 0 else len(text)
        yield at, end
        at = end + 1
