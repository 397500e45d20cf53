"""A text -> the credentials in it, and the text without them.

No entropy is measured over whole texts: a hash, an id or an image is as random as a key. A value is a
credential for its own shape (`ghp_...`), its armour (PEM) or the name it is given (`password = ...`).
Law: `redact(redact(t)) == redact(t)`, and `credentials(redact(t)) == ()`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deepnb.gate import own
from deepnb.gate.assignments import assignments
from deepnb.gate.beside import beside_words
from deepnb.gate.commands import COMMANDS
from deepnb.gate.joins import joined
from deepnb.gate.kinds import PASSES, PHRASES, TOKENS, Kind
from deepnb.gate.pem import private_keys
from deepnb.gate.prefixes import keys_by_prefix
from deepnb.gate.regex import regex
from deepnb.gate.sentences import SENTENCES
from deepnb.gate.shapes import passphrase, strong_password_like, token_like
from deepnb.gate.span import Span

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


@dataclass(frozen=True, slots=True)
class Finding:
    """One credential: what kind, where; `line` counts from 1. The value itself is not kept."""

    kind: str
    start: int
    end: int
    line: int
    reason: str


def credentials(text: str) -> tuple[Finding, ...]:
    """The credentials in a text, in order, disjoint; overlapping ones are one, under the more telling kind."""
    if text in (clean := own.CLEAN):
        return ()
    marks = [m.span() for m in _MARK().finditer(text)] if "[redacted: " in text else []
    read = _MARK().sub(lambda m: "*" * len(m[0]), text) if marks else text  # `password` in a mark names nothing
    parts = (part.back(span) for part in joined(read) for span in _spans(part.text))
    spans = [*_spans(read), *filter(None, parts)]
    if spans:
        spans = _joined(spans)
        spans = _joined([*spans, *_again(read, spans)])
    if spans and marks:
        spans = list(_outside(spans, marks, text))
    findings, line, seen = [], 1, 0
    for start, end, kind, reason in spans:
        line += text.count("\n", seen, start)
        seen = start
        findings.append(Finding(kind, start, end, line, reason))
    if not findings and len(text) <= _SHORT:
        if len(clean) >= _KEPT:
            clean.clear()
        clean.add(text)
    return tuple(findings)


def redact(text: str) -> str:
    """The text with `[redacted: GitHub token]` for each credential; the same object if it has none."""
    # A mark may bring two halves together: what is no mark shrinks each time.
    while text not in own.CLEAN and (findings := credentials(text)):
        parts, at = [], 0
        for found in findings:
            parts += [text[at : found.start], f"[redacted: {found.kind}]"]
            at = found.end
        text = "".join([*parts, text[at:]])
    return text


def redact_value(value: Any) -> Any:
    """A JSON-like value with its texts redacted, keys kept; the same object where nothing was found.

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
    """What was found, and in which lines, never the value: `a value named password (line 2, 5); what looks like ...`."""
    lines: dict[str, list[int]] = {}
    for found in findings:
        lines.setdefault(found.reason, []).append(found.line)
    return "; ".join(f"{reason} (line {', '.join(map(str, sorted(set(at))))})" for reason, at in lines.items())


def refusal(findings: Iterable[Finding], where: str) -> str:
    """One line that says what was refused and where, never the value: for a tool's answer or an error."""
    place = " ".join(redact(where).split())
    return f"not written to {place}: it holds {reasons(findings)}; write where it is kept instead, never the value"


def _under(key: Any, item: Any) -> Any:
    if isinstance(item, str) and isinstance(key, str) and key[-2:] in ("id", "Id", "ID"):
        return _id(item)
    new = redact(item) if isinstance(item, str) else redact_value(item)
    if new is not item or not isinstance(item, str) or not isinstance(key, str) or not 4 <= len(item) <= 4096:
        return new
    lead = f'"{key[:80]}": "'
    quoted = lead + item.replace('"', "'").replace("\n", " ") + '"'
    if quoted in own.CLEAN:
        return item
    found = next((f for f in credentials(quoted) if f.start >= len(lead)), None)
    return f"[redacted: {found.kind}]" if found else item


def _id(text: str) -> str:
    """An id, which may have a prefix and be drawn by chance; a credential of any other kind is taken out."""
    lead = "id: "
    new = redact(lead + text)[len(lead) :]
    return text if new == text else new


def _lowered(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _spans(text: str) -> Iterator[Span]:
    """All candidates, the more telling kinds first."""
    if own.OWN:
        yield from own.own_credentials(text)
    if "PRIVATE KEY" in text:
        yield from private_keys(text)
    words = [word.span() for word in _LONG().finditer(text)]
    long = "\n".join([text[start:end] for start, end in words])
    for literal, kind in _TOKENS:
        if literal in long:
            yield from _where(kind, literal, text, text)
    low = _lowered(text)
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


def _where(kind: Kind, literal: str, text: str, hay: str) -> Iterator[Span]:
    at = hay.find(literal)
    while at >= 0:
        stop = at + 1
        if kind.back:
            match = kind.pattern().search(text, max(0, at - kind.back), at + 96)
        else:
            match = kind.pattern().match(text, at)
        if match and (kind.check is None or kind.check(match[1])):
            yield kind.span(match)
            stop = max(stop, match.end(1))
        at = hay.find(literal, stop)


def _joined(spans: Iterable[Span]) -> list[Span]:
    ranked = sorted((span.start, span.end, rank, span) for rank, span in enumerate(spans))
    joined: list[tuple[int, Span]] = []
    for start, end, rank, span in ranked:
        if joined and start < joined[-1][1].end:
            best, held = joined[-1]
            telling = span if rank < best else held
            joined[-1] = (min(best, rank), telling._replace(start=held.start, end=max(held.end, end)))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _again(text: str, spans: list[Span]) -> Iterator[Span]:
    """The values that were found, wherever else they stand as whole words: what a cell prints, a part of a URL."""
    values = {text[span.start : span.end]: span for span in reversed(spans) if span.end - span.start >= 8}
    told = [v for v in values if strong_password_like(v, quoted=True) or token_like(v) or passphrase(v)]
    for value in told[: 1 + (1 << 26) // len(text)]:  # so that time stays linear
        end = 0
        while (at := text.find(value, end)) >= 0:
            end = at + len(value)
            if _WHOLE().match(text, at) and not text[end : end + 1].replace("_", "a").isalnum():
                yield values[value]._replace(start=at, end=end)


def _outside(spans: Iterable[Span], marks: list[tuple[int, int]], text: str) -> Iterator[Span]:
    """The parts of spans that are no mark of an earlier redaction; what is left of a few signs is nothing."""
    at = 0
    for start, end, kind, reason in spans:
        while at and marks[at - 1][1] > start:
            at -= 1
        while at < len(marks) and marks[at][1] <= start:
            at += 1
        here, i = start, at
        cut = False
        while i < len(marks) and marks[i][0] < end:
            if _worth(text[here : max(here, marks[i][0])]):
                yield Span(here, marks[i][0], kind, reason)
            here, cut, i = marks[i][1], True, i + 1
        if here < end and (not cut or _worth(text[here:end])):
            yield Span(here, end, kind, reason)


def _worth(rest: str) -> bool:
    return sum(c.isalnum() for c in rest) >= _SMALLEST_REST
