"""A text -> the credentials in it, and the text without them.

No entropy is measured over whole texts: a hash, an id or an image is as random as a key. A value is a
credential for its own shape (`ghp_...`), its armour (PEM) or the name it is given (`password = ...`).
Law: `redact(redact(t)) == redact(t)`, and `credentials(redact(t)) == ()`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from deepnb.gate.assignments import assignments
from deepnb.gate.kinds import COMMANDS, PASSES, PHRASES, SENTENCES, TOKENS, Kind
from deepnb.gate.random_values import beside_words, keys_by_prefix
from deepnb.gate.shapes import passphrase, strong_password_like, token_like
from deepnb.gate.spans import Finding, regex

_MARK = regex(r"\[redacted: [A-Za-z0-9 ()-]{1,48}\]")
_LONG = regex(r"\S{16,65536}(?:\S{1,65536}){0,65536}")  # words: no token is shorter
_SMALLEST_REST = 4
_SHORT, _KEPT = 2_000, 4_096
"""Of texts without a credential: characters of one that is remembered, and how many are. No other is remembered."""
_WHOLE = regex(r"(?<!\w)|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F])")
_TOKENS = tuple((literal, kind) for kind in TOKENS for literal in kind.literals)
_SENTENCES = tuple((literal, kind) for kind in SENTENCES for literal in kind.literals)
_PHRASES = tuple((literal, kind) for kind in (*PHRASES, *COMMANDS) for literal in kind.literals)
_SAID = tuple(dict.fromkeys(literal for literal, _ in (*_PHRASES, *_SENTENCES)))
_ROW = regex(r"[A-Za-z0-9+/]{32,2048}={0,2}")


_LEAST_OWN = 12
"""Characters of a key of this process: what is shorter (`none`, `test`) would be found in plain text."""
OWN: set[str] = set()
"""The credentials that this process itself uses, such as a provider's key: found word for word, whatever their shape."""
CLEAN: set[str] = set()
"""Texts that hold no credential: another set from each new value on, so that no search begun before adds to it."""


def add_own(value: str) -> None:
    """From now on this value counts as a credential wherever it stands; short ones are no secrets."""
    global CLEAN
    if len(value.strip()) >= _LEAST_OWN:
        OWN.add(value.strip())
        CLEAN = set()


def leaks(content: bytes) -> bool:
    """Return whether bytes hold a credential, in whichever encoding they are read."""
    encodings = ("utf-8", "utf-16", "utf-16-be", "latin-1", "gb18030")
    read = (content.decode(encoding, "replace") for encoding in encodings)
    return any(map(credentials, (*read, content.replace(b"\0", b"").decode("latin-1"))))


def credentials(text: str) -> tuple[Finding, ...]:
    """Return the credentials in a text, in order, disjoint; overlapping ones are one, under the more telling kind."""
    if text in (clean := CLEAN):
        return ()
    marks = [m.span() for m in _MARK().finditer(text)] if "[redacted: " in text else []
    read = _MARK().sub(lambda m: "*" * len(m[0]), text) if marks else text  # `password` in a mark names nothing
    parts = (back(span) for part, back in joined(read) for span in _spans(part))
    spans = [*_spans(read), *filter(None, parts)]
    if spans:
        spans = _joined(spans)
        spans = _joined([*spans, *_again(read, spans)])
    if spans and marks:  # the parts that are no mark of an earlier redaction; what is left of a few signs is nothing
        starts, ends = zip(*marks, strict=True)
        found, spans = spans, []
        for span in found:
            within = marks[bisect_right(ends, span.start) : bisect_left(starts, span.end)]
            edges = [span.start, *chain.from_iterable(within), span.end]
            for here, there in zip(edges[::2], edges[1::2], strict=True):
                if here < there and (not within or sum(map(str.isalnum, text[here:there])) >= _SMALLEST_REST):
                    spans.append(span._replace(start=here, end=there))
    findings, line, seen = list[Finding](), 1, 0
    for span in spans:
        line += text.count("\n", seen, span.start)
        seen = span.start
        findings.append(span._replace(line=line))
    if not findings and len(text) <= _SHORT:
        if len(clean) >= _KEPT:
            clean.clear()
        clean.add(text)
    return tuple(findings)


def redact(text: str) -> str:
    """Return the text with `[redacted: GitHub token]` for each credential; the same object if it has none."""
    # A mark may bring two halves together: what is no mark shrinks each time.
    while text not in CLEAN and (findings := credentials(text)):
        parts, at = [], 0
        for found in findings:
            parts += [text[at : found.start], f"[redacted: {found.kind}]"]
            at = found.end
        text = "".join([*parts, text[at:]])
    return text


def redact_value(value: Any) -> Any:
    """Return a JSON-like value with its texts redacted, keys kept; the same object where nothing was found.

    A text under a telling key counts as given to that name: `{"password": "..."}`.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        made = {key: _under(key, item) for key, item in value.items()}
        return made if any(made[key] is not item for key, item in value.items()) else value
    if isinstance(value, (list, tuple)):
        items = [redact_value(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        if isinstance(value, tuple):
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return items
    return value


def reasons(findings: Iterable[Finding]) -> str:
    """Return what was found, and in which lines, never the value: `a value named password (line 2, 5); what looks like ...`."""
    lines: dict[str, list[int]] = {}
    for found in findings:
        lines.setdefault(found.reason, []).append(found.line)
    return "; ".join(f"{reason} (line {', '.join(map(str, sorted(set(at))))})" for reason, at in lines.items())


def refusal(findings: Iterable[Finding], where: str) -> str:
    """Return one line that says what was refused and where, never the value: for a tool's answer or an error."""
    place = " ".join(redact(where).split())
    return f"not written to {place}: it holds {reasons(findings)}; write where it is kept instead, never the value"


def _under(key: Any, item: Any) -> Any:
    if isinstance(item, str) and isinstance(key, str) and key[-2:] in ("id", "Id", "ID"):
        lead = "id: "  # it may have a prefix and be drawn by chance; a credential of another kind is taken out
        new = redact(lead + item)[len(lead) :]
        return item if new == item else new
    new = redact(item) if isinstance(item, str) else redact_value(item)
    if not isinstance(new, str) or not isinstance(key, str) or not 4 <= len(new) <= 4096:
        return new
    lead = f'"{key[:80]}": "'  # what a mark leaves of a value may be one still: host:5432:db:user:[redacted: ...]
    if (quoted := lead + new.replace('"', "'").replace("\n", " ") + '"') in CLEAN:
        return new
    found = next((f for f in credentials(quoted) if f.start >= len(lead)), None)
    return f"[redacted: {found.kind}]" if found else new


def _spans(text: str) -> Iterator[Finding]:
    for key in tuple(OWN):
        found = re.finditer(re.escape(key), text) if key in text else ()
        yield from (Finding(*match.span(), "API key", "a key that this session uses") for match in found)
    if "PRIVATE KEY" in text:
        yield from private_keys(text)
    words = [word.span() for word in _LONG().finditer(text)]
    long = "\n".join([text[start:end] for start, end in words])
    for literal, kind in _TOKENS:
        if literal in long:
            yield from _where(kind, literal, text, text)
    low = text.lower()
    if len(low) != len(text):
        low = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    said = {literal for literal in _SAID if literal in low}
    for literal, kind in _PHRASES:
        if literal in said:
            yield from _where(kind, literal, text, low)
    for kind in PASSES:
        for match in kind.pattern().finditer(text) if kind.pattern().search(long) else ():
            if kind.check is None or kind.check(match[1]):
                yield kind.span(match)
    if words:
        yield from keys_by_prefix(text, words)
        yield from beside_words(text, words)
    yield from assignments(text, low)
    for literal, kind in _SENTENCES:
        if literal in said:
            yield from _where(kind, literal, text, low)


def _where(kind: Kind, literal: str, text: str, hay: str) -> Iterator[Finding]:
    at = hay.find(literal)
    while at >= 0:
        stop = at + 1
        if (match := kind.pattern().match(text, at)) and (kind.check is None or kind.check(match[1])):
            yield kind.span(match)
            stop = max(stop, match.end(1))
        at = hay.find(literal, stop)


def _joined(spans: Iterable[Finding]) -> list[Finding]:
    ranked = sorted((span.start, span.end, rank, span) for rank, span in enumerate(spans))
    joined: list[tuple[int, Finding]] = []
    for start, end, rank, span in ranked:
        if joined and start < joined[-1][1].end:
            best, held = joined[-1]
            telling = span if rank < best else held
            joined[-1] = (min(best, rank), telling._replace(start=held.start, end=max(held.end, end)))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _again(text: str, spans: list[Finding]) -> Iterator[Finding]:
    """Yield the values that were found, wherever else they stand as whole words: what a cell prints, a part of a URL."""
    values = {text[span.start : span.end]: span for span in reversed(spans) if span.end - span.start >= 8}
    told = [v for v in values if strong_password_like(v, quoted=True) or token_like(v) or passphrase(v)]
    for value in told[: 1 + (1 << 26) // len(text)]:  # so that time stays linear
        end = 0
        while (at := text.find(value, end)) >= 0:
            end = at + len(value)
            if _WHOLE().match(text, at) and not text[end : end + 1].replace("_", "a").isalnum():
                yield values[value]._replace(start=at, end=end)


# -- Private keys in PEM armour, whole or cut short, also indented, quoted, numbered, in a diff or in a JSON string

_ARMOUR = regex(r"-----(BEGIN|END) ([A-Z0-9 ]{0,30})PRIVATE KEY(?: BLOCK)?-----")
_BODY = regex(r"[A-Za-z0-9+/]{32}")  # MIIEpAIBAAKCAQEA7bq1...
_PIECE = regex(
    r"([A-Za-z0-9+/=]{16,2048})"  # MIIEpAIBAAKCAQEA7bq1
    r"|\\[rnt]"  # a line feed in a string of JSON or Python
    r"|(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[\w ,.()/:@+-]{0,100}"  # DEK-Info: AES-128-CBC,0A1B
    r"|[\r\n][ \t]{0,12}\d{1,6}[\t:|]"  # a line's number: 12 and a tab
    r"""|[\s"'`,+>|#*/()\\-]"""  # what quotes, indents or joins lines
)
_LAST = regex(r"""[A-Za-z0-9+/=]{1,15}(?:\\[rnt]|[\s"'`,+>|#*/()\\-]){0,64}""")  # the short row at the end: Zm9vYg==
_LONGEST = 65536


def private_keys(text: str) -> Iterator[Finding]:
    """Yield each from its BEGIN to its END; of one cut short, or with more than base64 between them, the rows alone."""
    marks = list(_ARMOUR().finditer(text))
    for at, mark in enumerate(marks):
        if mark[1] != "BEGIN":
            continue
        after = marks[at + 1] if at + 1 < len(marks) else None
        end = after if after and after[1] == "END" else None
        limit = min(after.start() if after else len(text), mark.end() + _LONGEST)
        kind = f"private key ({mark[2].strip()})" if mark[2].strip() else "private key"
        why = "a private key in PEM armour"
        read = stop = mark.end()  # where the rows and what stands between them end, and where the last row does
        while read < limit and (piece := _PIECE().match(text, read, limit)):
            read = piece.end()
            stop = read if piece[1] else stop
        if end and limit == end.start() and (read == limit or _LAST().fullmatch(text, read, limit)):
            read = limit
            stop = end.end()
        if _BODY().search(text, mark.end(), min(stop, limit)):
            yield Finding(mark.start(), stop, kind, why)
        if end:
            yield from (Finding(*row.span(), kind, why) for row in _ROW().finditer(text, read, limit))


# -- Literals in parts, `"sk-a1" + "b2"`: the text as if each were one, and the way back to the places in the text itself

_TEXT_BODY = r"[A-Za-z0-9_+/=.~!#$%^&*@-]"
_SIGN = r"(?:\+|\.{1,2}|&{1,2}|~|<>|\|\||\\)"  # Python, PHP, Lua, VB, Nix, Elixir, SQL, a line that goes on
_BLANK = r"[ \t]{0,8}"
_COMMENT = rf"(?:(?:#|//)[^\n\"'`]{{0,60}}|/\*[^*\n]{{0,60}}\*/{_BLANK})?"
_JOIN = regex(
    rf"(?P<quote>[\"'`\\])(?:(?<!\\)(?:(?<={_TEXT_BODY}.)|(?<={_TEXT_BODY}\\.))(?:"
    rf"{_BLANK}{_COMMENT}{_SIGN}{_BLANK}_?{_COMMENT}(?:\r?\n[ \t>]{{0,80}})?"  # "a" + "b", 'a' . 'b', "a" +  # first\n "b"
    rf"|{_BLANK}{_COMMENT}\r?\n[ \t>]{{0,80}}(?:[ \t]|{_SIGN}{_BLANK})|[ \t]{{1,8}}"  # "a"\n + "b", "a"\n "b", "a" "b"
    rf"|{_BLANK}(?:;|\r?\n|;{_BLANK}\r?\n)[ \t>]{{0,40}}\$?[\w.]{{1,60}}[ \t]{{0,4}}(?:[+.]=|=[ ]?\$?[\w.]{{1,60}}[ ]?[+.])[ \t]{{0,4}}"  # x += "b"
    rf"|\.concat\([ ]?)"  # "a".concat("b")
    rf"[rbfuRBFU@]?\\?(?P=quote)(?={_TEXT_BODY})"
    r"|(?<=[A-Za-z0-9+/=_-]\\)\r?\n[ \t]{0,40}(?=[A-Za-z0-9+/=_-]))"  # a line that goes on: a\
)
# "".join(["a", "b"]), CONCAT('a', 'b'), paste("a", "b"), ["a", "b"].join(""), "%s%s" % ("a", "b"), "{}{}".format("a", "b")
_CALLS = ("join([", "join((", "].join", "oncat", "CONCAT", "paste", "%s%s", "{}{}")
_CALL = regex(
    r"(?:(?:[\"']{2}\.)?join\s?\(\s?[\[(]|[Cc]oncat!?\s?\(|CONCAT\s?\(|paste0?\s?\(|\[(?=[^\]\n]{4,300}\]\.join)|[\"'](?:%s){2,4}[\"'] ?% ?\("
    r"|[\"'](?:\{\}){2,4}[\"']\.format\()\s{0,8}(?=[\"'])"
)
_COMMA = regex(rf"(?<={_TEXT_BODY})([\"'])\s{{0,8}},\s{{0,40}}\1(?={_TEXT_BODY})")
# token: >-\n  a\n  b
_FOLDED = regex(r"[:=][ ][>|][+-]?[ \t]{0,4}\r?\n([ \t]{1,40})[A-Za-z0-9+/_-]{8,200}(\r?\n\1)(?=[A-Za-z0-9+/=_-]{4,200}(?:\r?\n|\Z))")  # fmt: skip
Back = Callable[[Finding], Finding | None]
_LONGEST_JOINED, _NEAR = 600, 400
"""Characters of a call that are read, and of the text on either side of the parts."""


def joined(text: str) -> Iterator[tuple[str, Back]]:
    """Yield each stretch of a text that has a literal in parts, with that in one, and what gives a span of it in the text."""
    found = [match.span() for match in _JOIN().finditer(text)]
    for call in _CALL().finditer(text) if any(word in text for word in _CALLS) else ():
        end = text.find("]" if call.group()[0] == "[" else ")", call.end(), call.end() + _LONGEST_JOINED)
        commas = [match.span() for match in _COMMA().finditer(text, call.end(), max(end, call.end()))]
        found += [call.span(), *commas] if commas else []
    found += [match.span(2) for match in _FOLDED().finditer(text)]
    group, at = list[tuple[int, int]](), 0
    for start, end in sorted(found):
        start -= text[start - 1 : start] == "\\"  # of an escaped quote
        if start < at:
            continue
        if group and start - at > 2 * _NEAR:
            yield _without(text, group)
            group = []
        group.append((start, end))
        at = end
    if group:
        yield _without(text, group)


def _without(text: str, between: list[tuple[int, int]]) -> tuple[str, Back]:
    at = max(0, between[0][0] - _NEAR)
    parts, cuts, gaps, size = list[str](), list[int](), [at], 0
    for start, end in between:
        parts.append(text[at:start])
        size += start - at
        cuts.append(size)
        gaps.append(end - size)
        at = end

    def back(span: Finding) -> Finding | None:
        first, last = bisect_right(cuts, span.start), bisect_left(cuts, span.end)
        if first == last:  # within one part, where it is found, too
            return None
        return span._replace(start=span.start + gaps[first], end=span.end + gaps[last])

    return "".join([*parts, text[at : at + _NEAR]]), back
