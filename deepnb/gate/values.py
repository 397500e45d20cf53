"""The value that begins at a place in a text: to its closing quote, or to where no value goes on."""

from typing import NamedTuple

from deepnb.gate.regex import regex

_OPEN = regex(r"\\{0,2}[\"']|[`\u201c\u201e\u2018\u300c\u300e]|\xab[ \xa0\u202f]?|&quot;")
_SHUT = dict(zip("\u201c\u201e\u2018\u300c\u300e\xab", "\u201d\u201c\u2019\u300d\u300f\xbb", strict=True))
_VALUE = regex(
    r"[^\s\"'`<>\u2018-\u201f\u3001-\u303f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff0f\uff1a-\uff1f]{1,4096}"
)
_CUT = regex(r"\\[nrt\"'\\]|;|,|&(?=[\w%.-]{1,40}=)|\|")
_FIELD = regex(r"[A-Za-z_$][\w.$]{0,40}[:=(]")  # after a comma, what is not the value's: `password:r,strength:a`


class Value(NamedTuple):
    """Where it is, without its quotes, and whether it has any."""

    start: int
    end: int
    text: str
    quoted: bool


def value_at(text: str, start: int, *, bold: bool = False) -> Value:
    """What stands there; empty where nothing does. `bold`: stars may close it."""
    quote = _OPEN().match(text, start)
    if quote is not None:
        shut = text.find(_SHUT.get(quote[0][0], quote[0]), quote.end(), quote.end() + 4096)
        value = text[quote.end() : shut].rstrip("\xa0\u202f ") if shut >= 0 else ""
        if value and "\n" not in value:
            return Value(quote.end(), quote.end() + len(value), value, True)
        start = quote.end()
    found = _VALUE().match(text, start)
    if found is None:
        return Value(start, start, "", False)
    value = found.group()
    cut = next(
        (
            m
            for m in _CUT().finditer(value)
            if m.group() != "," or not value[m.end() :].strip() or _FIELD().match(value, m.end())
        ),
        None,
    )
    value = value[: cut.start()] if cut else value
    # A sentence's or a bracket's end is not the value's; an open bracket within keeps its closing one.
    ends = ".,:;" if "(" in value or "{" in value else ".,:;)]}"
    value = value.rstrip(ends + "*" if bold else ends)
    return Value(start, start + len(value), value, False)
