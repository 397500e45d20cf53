"""The model calls of a thread: each by its turn and number, and the request before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deepnb.core.errors import DeepnbError
from deepnb.core.values import Call, ModelEnded, ModelStarted, Turn
from deepnb.core.xray import Xray


def calls(turn: Turn) -> tuple[Call, ...]:
    """A turn's calls in order, as they ended; one that did not end as it began."""
    found: dict[int, Call] = {}
    for event in turn.events:
        if isinstance(event, ModelStarted | ModelEnded):
            found[event.call.number] = event.call
    return tuple(found.values())


def xray(turns: Sequence[Turn], turn: int | None = None, call: int | None = None) -> Xray:
    """The request of a call: of the last one, of a turn's last, or of call `call` of turn `turn`, both from 1."""
    sent = [(t.number, c) for t in turns for c in calls(t) if c.request is not None]
    if not sent:
        raise DeepnbError("no model call yet", "%agent PROMPT makes one")
    at = turn if turn is not None else sent[-1][0]
    there = [c for number, c in sent if number == at]
    if not there:
        raise DeepnbError(f"no call in a turn {at}: the turns go from 1 to {sent[-1][0]}", "%agent turns lists them")
    if call is None:
        chosen = next((c for c in reversed(there) if c.purpose == "answer" and not c.path), there[-1])
    elif (one := next((c for c in there if c.number == call), None)) is None:
        raise DeepnbError(
            f"no call {call} in turn {at}: its calls are {', '.join(str(c.number) for c in there)}",
            "%agent budget lists them",
        )
    else:
        chosen = one
    assert chosen.request is not None
    earlier = next(_before(sent, at, chosen), None)
    if earlier is None:
        return Xray(at, chosen, chosen.request)
    number, before = earlier
    since = f"call {before.number}" if number == at else f"turn {number}, call {before.number}"
    return Xray(at, chosen, chosen.request, before.request, since)


def _before(sent: Sequence[tuple[int, Call]], turn: int, call: Call) -> Iterator[tuple[int, Call]]:
    """The calls before one, of the same agent and purpose, the nearest first."""
    at = next(i for i, (number, c) in enumerate(sent) if number == turn and c is call)
    return ((n, c) for n, c in reversed(sent[:at]) if (c.path, c.purpose) == (call.path, call.purpose))
