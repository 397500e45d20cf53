"""What a provider read from its cache, and why it was less than it had seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile

from deepnb.core.request import Request, Sent
from deepnb.core.values import Call, Path, Purpose, Turn, Usage

LEAST = 1_024
"""Tokens below which Anthropic and OpenAI cache nothing."""
KEPT = 300
"""Seconds for which they keep a prompt since its last use, unless paid for longer."""

_CHANGED = {
    "tools": "the tools changed",
    "system": "the system prompt changed",
    "skills": "the skills changed",
    "memory": "the memory block was made anew",
    "summary": "the context was compacted",
}


def cache_drops(turns: Sequence[Turn]) -> Iterator[tuple[Turn, Call, str]]:
    """Each call of a thread, and in a few words why less of it was cached than could have been; empty where it was not.

    The words come from comparing each request with the one before it of the same agent and purpose. A provider that
    has reported no cached token so far is not judged.
    """
    before: dict[tuple[Path, Purpose], tuple[Turn, Call]] = {}
    caches = False
    for turn in turns:
        for call in turn.calls:
            caches = caches or bool(call.usage and call.usage.cached)
            last = before.get((call.path, call.purpose))
            yield turn, call, _reason(*last, turn, call) if last and caches else ""
            before[call.path, call.purpose] = turn, call


def last_cached(turns: Sequence[Turn]) -> tuple[Usage, str] | None:
    """The usage of the main agent's last call for an answer, with its reason; None where no token was cached so far."""
    calls = [(call, drop) for _, call, drop in cache_drops(turns) if call.usage and not call.path]
    if not any(call.usage.cached for call, _ in calls if call.usage):
        return None
    answers = [(call.usage, drop) for call, drop in calls if call.purpose == "answer" and call.usage]
    return answers[-1] if answers else None


def same_beginning(before: Request, now: Request) -> int:
    """Tokens at the beginning of a request that are as in another: what a provider's cache can read again."""
    pairs = takewhile(lambda pair: _is_same(*pair), zip(before, now, strict=False))
    return sum(piece.tokens for _, piece in pairs)


def _is_same(a: Sent, b: Sent) -> bool:
    return a is b or (a.part, a.label, a.text) == (b.part, b.label, b.text)


def _reason(turn_before: Turn, before: Call, turn: Turn, call: Call) -> str:
    if before.usage is None or call.usage is None or before.usage.input < LEAST:
        return ""
    if call.usage.cached >= 0.9 * before.usage.input:
        return ""
    if (call.model or turn.model) != (before.model or turn_before.model):
        return "another model answered"
    if changed := _first_change(before.request, call.request):
        return _CHANGED.get(changed, "earlier messages changed")
    if turn is not turn_before and (pause := _pause(turn_before, turn)) >= KEPT:
        return f"{pause / 60:,.0f} minutes since the call before"
    return "the provider did not keep it"


def _first_change(before: Request | None, now: Request | None) -> str:
    """The part of the first piece that is no longer as it was; empty where all of them are."""
    if before is None or now is None:
        return ""
    for a, b in zip(before, now, strict=False):
        if not _is_same(a, b):
            return b.part if b.part in _CHANGED else a.part
    return "" if sum(1 for _ in before) <= sum(1 for _ in now) else "messages"


def _pause(before: Turn, turn: Turn) -> float:
    """Seconds between two turns; 0 where a clock gives no such times."""
    try:
        began, started = datetime.fromisoformat(before.started), datetime.fromisoformat(turn.started)
        return (started - began).total_seconds() - before.seconds
    except (ValueError, TypeError):
        return 0.0
