"""Literals in parts, `"sk-a1" + "b2"`: the text as if each were one, and the way back to the places in the text itself."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from deepnb.gate.regex import regex
from deepnb.gate.span import Span

_BODY = r"[A-Za-z0-9_+/=.~!#$%^&*@-]"
_SIGN = r"(?:\+|\.{1,2}|&{1,2}|~|<>|\|\||\\)"  # Python, PHP, Lua, VB, Nix, Elixir, SQL, a line that goes on
_BLANK = r"[ \t]{0,8}"
_COMMENT = rf"(?:(?:#|//)[^\n\"'`]{{0,60}}|/\*[^*\n]{{0,60}}\*/{_BLANK})?"
_JOIN = regex(
    rf"(?P<quote>[\"'`\\])(?:(?<!\\)(?:(?<={_BODY}.)|(?<={_BODY}\\.))(?:"
    rf"{_BLANK}{_COMMENT}{_SIGN}{_BLANK}_?{_COMMENT}(?:\r?\n[ \t>]{{0,80}})?"  # "a" + "b", 'a' . 'b', "a" +  # first\n "b"
    rf"|{_BLANK}{_COMMENT}\r?\n[ \t>]{{0,80}}(?:[ \t]|{_SIGN}{_BLANK})|[ \t]{{1,8}}"  # "a"\n + "b", "a"\n "b", "a" "b"
    rf"|{_BLANK}(?:;|\r?\n|;{_BLANK}\r?\n)[ \t>]{{0,40}}\$?[\w.]{{1,60}}[ \t]{{0,4}}(?:[+.]=|=[ ]?\$?[\w.]{{1,60}}[ ]?[+.])[ \t]{{0,4}}"  # x += "b"
    rf"|\.concat\([ ]?)"  # "a".concat("b")
    rf"[rbfuRBFU@]?\\?(?P=quote)(?={_BODY})"
    r"|(?<=[A-Za-z0-9+/=_-]\\)\r?\n[ \t]{0,40}(?=[A-Za-z0-9+/=_-]))"  # a line that goes on: a\
)
# "".join(["a", "b"]), CONCAT('a', 'b'), paste("a", "b"), ["a", "b"].join(""), "%s%s" % ("a", "b"), "{}{}".format("a", "b")
_CALLS = ("join([", "join((", "].join", "oncat", "CONCAT", "paste", "%s%s", "{}{}")
_CALL = regex(
    r"(?:(?:[\"']{2}\.)?join\s?\(\s?[\[(]|[Cc]oncat!?\s?\(|CONCAT\s?\(|paste0?\s?\(|\[(?=[^\]\n]{4,300}\]\.join)|[\"'](?:%s){2,4}[\"'] ?% ?\("
    r"|[\"'](?:\{\}){2,4}[\"']\.format\()\s{0,8}(?=[\"'])"
)
_COMMA = regex(rf"(?<={_BODY})([\"'])\s{{0,8}},\s{{0,40}}\1(?={_BODY})")
# token: >-\n  a\n  b
_FOLDED = regex(
    r"[:=][ ][>|][+-]?[ \t]{0,4}\r?\n([ \t]{1,40})[A-Za-z0-9+/_-]{8,200}(\r?\n\1)(?=[A-Za-z0-9+/=_-]{4,200}(?:\r?\n|\Z))"
)
_LONGEST, _NEAR = 600, 400
"""Characters of a call that are read, and of the text on either side of the parts."""


class Joined(NamedTuple):
    """A stretch of a text without what stands between the parts of its literals."""

    text: str
    cuts: tuple[int, ...]
    """Where in `text` something was left out, in order."""
    gaps: tuple[int, ...]
    """What to add to a place in `text` before the first cut, after it, and so on."""

    def back(self, span: Span) -> Span | None:
        """The same span in the text itself; None for one within one part, which is found there, too."""
        first, last = bisect_right(self.cuts, span.start), bisect_left(self.cuts, span.end)
        if first == last:
            return None
        return span._replace(start=span.start + self.gaps[first], end=span.end + self.gaps[last])


def joined(text: str) -> Iterator[Joined]:
    """Each stretch of a text that has a literal in parts, with that in one."""
    group: list[tuple[int, int]] = []
    for start, end in _between(text):
        if group and start - group[-1][1] > 2 * _NEAR:
            yield _without(text, group)
            group = []
        group.append((start, end))
    if group:
        yield _without(text, group)


def _between(text: str) -> Iterator[tuple[int, int]]:
    """What stands between two parts, in order."""
    found = [match.span() for match in _JOIN().finditer(text)]
    for call in _CALL().finditer(text) if any(word in text for word in _CALLS) else ():
        end = text.find("]" if call.group()[0] == "[" else ")", call.end(), call.end() + _LONGEST)
        commas = [match.span() for match in _COMMA().finditer(text, call.end(), max(end, call.end()))]
        found += [call.span(), *commas] if commas else []
    found += [match.span(2) for match in _FOLDED().finditer(text)]
    at = 0
    for start, end in sorted(found):
        start -= text[start - 1 : start] == "\\"  # of an escaped quote
        if start >= at:
            yield start, end
            at = end


def _without(text: str, between: list[tuple[int, int]]) -> Joined:
    at = max(0, between[0][0] - _NEAR)
    parts, cuts, gaps, size = list[str](), list[int](), [at], 0
    for start, end in between:
        parts.append(text[at:start])
        size += start - at
        cuts.append(size)
        gaps.append(end - size)
        at = end
    return Joined("".join([*parts, text[at : at + _NEAR]]), tuple(cuts), tuple(gaps))
