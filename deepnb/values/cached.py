"""What a provider read from its cache, and why it was less than it had seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, takewhile

from deepnb.values.request import Request, Sent
from deepnb.values.turn import Call, Path, Purpose, Turn, Usage

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


@dataclass(frozen=True)
class Caching:
    """What is known of how a provider caches a prompt."""

    marks: bool = False
    """Whether it keeps a prefix only up to the marks that are set (Anthropic's: tools, system prompt, messages)."""
    least: int = 0
    """Tokens below which it keeps nothing."""


UNKNOWN = Caching()


def cacheable(before: Request, now: Request, how: Caching) -> int:
    """Tokens at the beginning of a request that a provider can have kept from the one before it.

    Where it is not known whether tools are read before the system prompt or after it (templates of local models do
    either), what is the same in both orders.
    """
    if how.marks:
        same = same_beginning(before, now)
        found = max((end for end in _marked_ends(before) if end <= same), default=0)
    else:
        found = min(same_beginning(before, now), same_beginning(_tools_last(before), _tools_last(now)))
    return found if found >= how.least else 0


def same_beginning(before: Iterable[Sent], now: Iterable[Sent]) -> int:
    """Tokens at the beginning of a request that are as in another."""
    pairs = takewhile(lambda pair: _is_same(*pair), zip(before, now, strict=False))
    return sum(piece.tokens for _, piece in pairs)


def _tools_last(request: Request) -> Iterator[Sent]:
    """The pieces as a template has them that writes the tools below the system prompt."""
    tools = [piece for piece in request.head if piece.part == "tools"]
    rest = (piece for piece in request.head if piece.part != "tools")
    return chain(rest, tools, *request.body)


def _marked_ends(request: Request) -> Iterator[int]:
    """Where the marks of a request stand, in tokens from its beginning, as `engine.prompt_cache` sets them."""
    head = list(request.head)
    memory = next((i for i, piece in enumerate(head) if piece.part == "memory"), 0)
    while memory and not head[memory - 1].text.strip():  # the blank lines above it are of the same block
        memory -= 1
    yield sum(piece.tokens for piece in head[:memory])
    total = sum(piece.tokens for piece in head)
    yield total
    answer = max((i for i, one in enumerate(request.body) if one and one[0].part == "assistant"), default=0)
    for number, pieces in enumerate(request.body):
        if number == answer:
            yield total
        total += sum(piece.tokens for piece in pieces)
    yield total


def _is_same(a: Sent, b: Sent) -> bool:
    return a is b or (a.part, a.label, a.text) == (b.part, b.label, b.text)


def _reason(turn_before: Turn, before: Call, turn: Turn, call: Call) -> str:
    if before.usage is None or call.usage is None or before.usage.input < LEAST:
        return ""
    if (call.usage.cached or 0) >= 0.9 * before.usage.input:
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
