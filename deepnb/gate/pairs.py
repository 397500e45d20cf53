"""A name and its value with more than an operator between them: a type, a tag, a call, a line end, half a sentence.

One row per form: what must stand before the name, what between it and the value, and how plain the value must be.
The quantifiers are bounded, and what stands before is searched for in a short stretch.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deepnb.gate.names import Name
from deepnb.gate.regex import regex
from deepnb.gate.shapes import (
    password_like,
    plainly_made,
    quoted_password_like,
    strong_password_like,
    token_like,
)
from deepnb.gate.values import Value, value_at

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


_QUOTE = r"[rbfuLNE@$]?(?=\\{0,2}[\"'`\u201c\u201e\u2018\xab])"
_WRAPPERS = r"(?:(?:Some|str|bytes|(?:[A-Za-z_.:]{0,24})(?:Secret|String|SecretStr)(?:::(?:from|new))?)\()?"
_TYPE = r"[*&\[\]?]{0,3}[A-Za-z_][^\n=;{}\"]{0,40}?"
_TEXT_TYPE = (
    r"(?:\*?(?:string|String|str|text|varchar|char|nvarchar|byte|bytes|\[\]byte|auto|NSString[ ]?\*)(?:\(\d{1,4}\))?)"
)
_ATTRIBUTES = r"(?:\s{1,40}[\w:.-]{1,30}\s?=\s?[\"'][^\"'<>\n]{0,60}[\"']){0,3}?"
_OPEN_TAGS = r"\s{0,120}(?:<!\[CDATA\[|<(?:value|string|val|text)>)?\s{0,120}"
_NAMES = r"(?:name|key|id|type|property|variable)\s?=\s?[\"'][\w.:/-]{0,40}\Z"  # name="
_NAME_ATTRIBUTE = regex(_NAMES, re.IGNORECASE)
_SETTERS = (
    r"(?:set|put|add|append|define|header|env|environ|prop|property|with|insert|of|arg|param|update|store|register)"
)
_FIELDS = r"(?:\s{1,40}[\"']?[\w-]{1,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w.-]{0,40}[\"']?,?){0,2}?"
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
    _Form(regex(r"[*_`]{0,3}[ \t#]{0,8}\r?\n(?:[ \t>]{0,40}(?:(?:```|~~~|---|===)\w{0,12})?[ \t]{0,4}\r?\n){0,3}[ \t>]{0,40}"), regex(r"(?:^|\n)[ \t>]{0,8}(?:#{1,6}[ ]|\*\*|__)[^\n]{0,40}\Z"), alone=True),
)  # fmt: skip
_END = regex(r"[\"'`]{0,3}[ \t]{0,40}[,;)]{0,2}[ \t]{0,40}(?:\.?<|\r?\n|\Z)")

# The value first: `value: V, name: NAME`, `V is the NAME`.
_VALUE_FIRST = regex(
    r"(?:value|default)\\?[\"']?\s{0,4}[:=]\s{0,4}(?:\\?[\"'])?([^\s\"'\\,<>]{4,200})(?:\\?[\"'])?,?\s{0,40}(?:- )?"
    r"\\?[\"']?(?:name|key|id|type)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?[\w.:/-]{0,40}\Z",
    re.IGNORECASE,
)
_SAID_FIRST = regex(
    r"(?:^|[\s\"'`(\u201c])([^\s\"'`(\u201c]{6,128})[\"'`\u201d]?[ ](?:(?:as|is|was|=)[ ]|\()(?:[\w']{1,12}[ ]){0,3}[\w-]{0,24}[ _-]?\Z"
)
# connect("...")  # the password
_SAID_IN_COMMENT = regex(r"[\"']([^\s\"']{6,128})[\"'][\])}]{0,3},?[ \t]{1,10}(?:#|//|--)[ ]?[\w ,/]{0,30}\Z")
_VALUE_BEFORE = ((_SAID_IN_COMMENT, 200, True), (_VALUE_FIRST, 320, False), (_SAID_FIRST, 220, True))


def pair_value(text: str, name: Name) -> Value | None:
    """The credential that is given to a name in one of these forms."""
    return next(_after(text, name), None) or next(_before(text, name), None)


def _after(text: str, name: Name) -> Iterator[Value]:
    for form in _FORMS:
        between = form.between().match(text, name.stop)
        if between is None or (form.before and not _stands(form.before, text, name.start, _BACK)):
            continue
        value = value_at(text, between.end())
        if form.alone and not _END().match(text, value.end):
            continue
        if (value.quoted or not form.quoted) and _is_credential(value, name, form.strict):
            yield value


def _before(text: str, name: Name) -> Iterator[Value]:
    for pattern, back, strict in _VALUE_BEFORE:
        if found := _stands(pattern, text, name.start, back):
            value = Value(*found.span(1), found[1], False)
            if _is_credential(value, name, strict):
                yield value


def _stands(pattern: _Pattern, text: str, end: int, back: int) -> re.Match[str] | None:
    """What stands right before a place, within `back` characters."""
    return pattern().search(text, max(0, end - back), end)


def _is_credential(value: Value, name: Name, strict: bool) -> bool:
    if name.family in ("token", "key") or (not strict and name.family != "password"):
        return token_like(value.text) or (name.family == "secret" and plainly_made(value.text))
    if strict:
        return strong_password_like(value.text, quoted=value.quoted)
    return quoted_password_like(value.text) if value.quoted else password_like(value.text)
