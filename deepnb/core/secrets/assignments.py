"""`password = ...`, `"api_key": "..."`, `密码：...`: values known only by the name they are given to.

The name is found by substring search in the lowered text; what follows is read by three small bounded
patterns (rest of the name, separator, value). Names of other things that only begin alike are passed
over: `tokenizer`, `token_count`, `password_file`, `bypass`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from deepnb.core.regex import regex
from deepnb.core.secrets.shapes import password_like, quoted_password_like, token_like

Span = tuple[int, int, str]

_PASSWORDS = {
    **dict.fromkeys(
        ("pass", "pwd", "pw", "kennwort", "contraseña", "contrasena", "senha", "пароль", "密码", "密碼", "口令"),
        "password",
    ),
    **dict.fromkeys(("パスワード", "비밀번호", "암호", "暗号"), "password"),
}
_TOKENS = {
    **dict.fromkeys(("token", "令牌", "トークン"), "token"),
    **dict.fromkeys(("secret", "credential", "凭证", "凭据"), "secret"),
    **dict.fromkeys(("密钥", "密鑰", "密匙", "秘钥"), "key"),
}
_NAMES = {**_PASSWORDS, **_TOKENS, "key": "key", "_auth": "token"}
_KEY_BEFORE = regex(
    r"(?:api|access|auth|account|secret|private|encryption|encrypt|signing|master|storage|service|deploy|admin|client|bot)[ _-]?\Z"
)
# The rest of the name after the word that was found, and what makes it the name of something else.
_TAIL = regex(r"(?:[A-Za-z0-9_-]{0,40})(?:[ ](?:access[ ])?(?:key|token))?")
_OTHER_THING = regex(
    r"(?:(?:^|[_-])(?:file|path|dir|url|uri|endpoint|names?|ids?|count|limit|length|len|type|field|env|var|policy|expiry|"
    r"expires?|expiration|ttl|hash(?:ers)?|hint|prompt|label|reset|ref|min|max|header|prefix|enabled|required|rules?|"
    r"version|validators?|index|budget|usage|store|manager|provider|class|form|page|regex|pattern|input|args?|context|sha\d{1,3}|md5|digest)"
    r"|(?<=[a-z])(?:File|Path|Url|Uri|Name|Id|Count|Limit|Length|Type|Field|Ref|Policy|Hash))s?\Z"
    r"|(?:^|[_-])(?:PATH|FILE|URL|NAME|ID|COUNT|LIMIT|HASH|TYPE)\Z",
)
_PASS_TAIL = regex(r"(?i:w|words?|wd|wort|phrases?|code|wrd)?(?=[_\d-]|[A-Z]|\Z)")
_OTHER_KEYS = regex(r"(?:PRIMARY|FOREIGN|CACHE|SORT|PARTITION|PUBLIC|LICENSE|IDEMPOTENCY|HOST|ROW|GROUP)_\Z")
_CLOSE = r"[\"'`\])*\\_]{0,6}"
_SEPARATOR = regex(
    rf"{_CLOSE}(?:[ ]?[(\uff08][^\s()\uff08\uff09]{{0,30}}[)\uff09])?[ \t]{{0,20}}"
    r"(?:(?:for|of|to|on|at)(?:[ ][\w.-]{1,30}){1,3}?[ ]?(?=is\b|[:=]))?"
    r"(?::[ \t]{0,4}[A-Za-z_][\w.\[\] |]{0,40}=(?!=)|:=|=>|(?<!\) )->|={1,3}|!==?|[:=>\uff1a\uff1d]"
    r"|(?:is|ist|lautet|lauten|es|est|was|are)\b[:\uff1a]?|(?:\u8bbe\u7f6e|\u8bbe|\u6539|\u66f4\u65b0|\u4fee\u6539){0,2}[是为為成は][:\uff1a]?)"
    r"[ \t]{0,20}(?:[*_]{1,2}[ \t]?)?(?:[rbfuL@](?=[\"']))?"
)
_DASHES = regex(r"(?:\s|^)--[\w-]{0,30}\Z")
# `api key K`, `密码 P`: with nothing between, only what is plainly made by chance.
_SPACE = regex(r"[ ]{1,2}(?=[^\s]{20}|[\x21-\x7e]{6,40}(?:\s|\Z))")
_FLAG = regex(r"[ ]{1,3}(?![-$])")
_OPEN = regex(r"\\{0,2}[\"']|[`\u201c\u2018\u300c\u300e\xab]|&quot;")
_SHUT = {"\u201c": "\u201d", "\u2018": "\u2019", "\u300c": "\u300d", "\u300e": "\u300f", "\xab": "\xbb"}
_VALUE = regex(
    r"[^\s\"'`<>\u2018-\u201f\u3001-\u303f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff0f\uff1a-\uff1f]{1,4096}"
)
_CUT = regex(r"\\[nrt\"'\\]|;|,|&(?=[\w%.-]{1,40}=)|\|")
_STEP = 256  # after a long value that is none, go on here: work stays linear on one endless line


class _Key(NamedTuple):
    """A name that is given something: what stands between, where that something starts, and the name's family."""

    start: int
    separator: str
    family: str
    loud: bool


def assignments(text: str, low: str) -> Iterator[Span]:
    """Spans of the values given to such names, with their kinds; `low` is the text, lowered, of one length."""
    for word, family in _NAMES.items():
        at = low.find(word)
        while at >= 0:
            stop = at + 1
            key = _key(text, low, at, word, family)
            if key is not None:
                start, end, good = _value(text, key)
                if good:
                    yield start, end, {"key": "API key"}.get(family, family)
                    stop = end
                elif end - start > 2 * _STEP:
                    stop = at + _STEP
            at = low.find(word, stop)


def _key(text: str, low: str, at: int, word: str, family: str) -> _Key | None:
    end = at + len(word)
    if word == "key" and _KEY_BEFORE().search(low[max(0, at - 12) : at]) is None and not _loud_key(text, at):
        return None
    match = _TAIL().match(text, end)
    tail = match.group().rstrip("-") if match else ""
    stop = end + len(tail)
    between = _SEPARATOR().match(text, stop)
    if between is None and text.startswith(" ", stop) and _DASHES().search(text[max(0, at - 40) : at]):
        between = _FLAG().match(text, stop)
    if between is None and (family != "password" or not word.isascii()):
        between = _SPACE().match(text, stop)
    if between is None or not _is_name(text, at, word, tail) or _OTHER_THING().search(tail.split(" ")[0]):
        return None
    separator = "--" if between.re is _FLAG() else between.group()
    return _Key(between.end(), separator, family, text[at:stop].isupper())


def _loud_key(text: str, at: int) -> bool:
    """`WEATHER_KEY`, but no `PRIMARY_KEY`."""
    return text.startswith("_KEY", at - 1) and at > 1 and _OTHER_KEYS().search(text[max(0, at - 16) : at]) is None


def _is_name(text: str, at: int, word: str, tail: str) -> bool:
    """Not `bypass`, `passenger`, `tokenizer`, `tokens`."""
    if word == "pw":
        return not text[max(0, at - 1) : at].isalnum() and (not tail or tail[0] in "_-")
    if word == "token":
        return not tail[:1].islower() and (tail[:1] != "S" or tail[1:2] == "E")
    if word != "pass":
        return True
    before = text[at - 1] if at else ""
    within = before.isascii() and before.islower() and text[at].islower()
    bare = not tail.lower().startswith(("w", "phrase"))
    return _PASS_TAIL().match(tail) is not None and not (within and bare)


def _value(text: str, key: _Key) -> tuple[int, int, bool]:
    """Start, end, and whether it is a credential."""
    start = key.start
    quote = _OPEN().match(text, start)
    if quote is not None:
        shut = text.find(_SHUT.get(quote.group(), quote.group()), quote.end(), quote.end() + 4096)
        value = text[quote.end() : shut] if shut >= 0 else ""
        if value and "\n" not in value:
            good = quoted_password_like(value) if key.family == "password" else token_like(value)
            good = good and (len(value) >= 20 or bool(key.separator.strip()))
            return quote.end(), shut, good
        start = quote.end()
    return _bare(text, start, key)


def _bare(text: str, start: int, key: _Key) -> tuple[int, int, bool]:
    found = _VALUE().match(text, start)
    if found is None:
        return start, start, False
    value = found.group()
    cut = next((m for m in _CUT().finditer(value) if m.group() != "," or not value[m.end() :].strip()), None)
    listed = cut is not None and cut.group() == ";"
    value = value[: cut.start()] if cut else value
    # A sentence's or a bracket's end is not the value's; an open bracket within keeps its closing one.
    ends = ".,:;" if "(" in value or "{" in value else ".,:;)]}"
    value = value.rstrip(ends + "*" if "*" in key.separator else ends)
    if key.family == "password":
        tight = key.loud and key.separator == "="
        good = password_like(value, plain=tight or (listed and key.separator == "="))
        good = good or (
            key.separator == "=" and len(value) >= 16 and value.isalpha() and value.islower() and value.isascii()
        )
    else:
        good = token_like(value) and (len(value) >= 20 or bool(key.separator.strip()))
    return start, start + (len(value) if good else len(found.group())), good
