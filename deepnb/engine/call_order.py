"""The calls of one answer begin side by side, in any order; they are told of in the order the model made them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deepnb.core.messages import Added
from deepnb.core.values import Decided, Event, Path


@dataclass(frozen=True)
class Waits:
    """A call waits for the user: the calls after it are told of without it."""

    id: str
    path: Path


class CallOrder:
    """Hands events and messages on; those of a call wait until the calls before it have begun.

    It is told of events by the threads that the tools run in, and hands on one at a time.
    """

    def __init__(self, emit: Callable[[Event], None], added: Callable[[Added], None] = lambda message: None) -> None:
        """`emit` takes events, `added` messages."""
        self._emit, self._added = emit, added
        self._lock = threading.RLock()
        self._expected: dict[Path, list[str]] = {}
        """Agent -> the calls of its last answer that have not begun, in their order; none where it made but one."""
        self._held: dict[str, list[Event | Added | Waits]] = {}

    def expect(self, path: Path, ids: Iterable[str]) -> None:
        """An agent's answer made these calls; those of its last one are all done with."""
        with self._lock:
            self._release(path)
            self._expected.pop(path, None)
            if len(calls := list(ids)) > 1:
                self._expected[path] = calls

    def add(self, event: Event | Added | Waits) -> None:
        """Hand an event on, or hold it."""
        with self._lock:
            place = self._call(event) if self._expected else None
            if place is not None:
                path, call = place
                self._held.setdefault(call, []).append(event)
                while (left := self._expected[path]) and left[0] in self._held:
                    self._hand_on(left.pop(0))
            elif isinstance(event, Added):
                self._added(event)
            elif not isinstance(event, Waits):
                self._emit(event)

    def release(self) -> None:
        """Hand on all that is held: the step has ended, and no call before it begins any more."""
        with self._lock:
            while self._held:
                for path in tuple(self._expected):
                    self._release(path)
                for call in tuple(self._held):  # an interrupt may have met a call between two lines
                    self._hand_on(call)

    def _call(self, event: Event | Added | Waits) -> tuple[Path, str] | None:
        """The agent that made the call which an event is of, and its id; None where that has begun, or is unknown."""
        ids = (*event.path, _id(event))
        places = ((ids[:at], ids[at]) for at in range(len(ids)))
        return next(((path, call) for path, call in places if call in self._expected.get(path, ())), None)

    def _release(self, path: Path) -> None:
        """Hand on what is held of an agent's calls."""
        calls = self._expected.get(path, [])
        last = max((at for at, call in enumerate(calls) if call in self._held), default=-1)
        begun, self._expected[path] = calls[: last + 1], calls[last + 1 :]
        for call in begun:
            self._hand_on(call)

    def _hand_on(self, call: str) -> None:
        for event in self._held.pop(call, ()):
            self.add(event)


def _id(event: Event | Added | Waits) -> str:
    """The id of the call that an event or a message belongs to; empty for one that belongs to no call."""
    if isinstance(event, Added):
        return event.message.tool_call_id or ""
    return event.decision.call.id if isinstance(event, Decided) else getattr(event, "id", "")
