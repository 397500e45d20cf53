"""One prompt run with several options: what came of it with each of them, and the figures that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deepnb.gate import redact
from deepnb.values.approvals import PendingCall
from deepnb.values.budget import Budget
from deepnb.values.files import FileDiffs, file_diffs
from deepnb.values.request import Request
from deepnb.values.text import excerpt, short_repr
from deepnb.values.turn import Call, Compacted, Event, Notice, ToolEnded, ToolStarted, Turn, Usage
from deepnb.values.xray import UNKNOWN, Caching, cacheable

State = Literal["waiting", "running", "done", "needs approval", "failed", "stopped", "interrupted", "not run"]

NOT_RUN = "a comparison runs no call that needs approval or can't be undone"


@dataclass(frozen=True)
class Column:
    """What came of a prompt with one combination of options."""

    options: Mapping[str, str]
    """Option -> its value in words: `{"memory_refresh": "call"}`."""
    state: State = "waiting"
    turn: Turn | None = None
    """The turn in the fork; None where none began."""
    problem: str = ""
    """Why it did not end well, in one line."""
    thread: str = ""
    """The thread it is kept in; empty for one that was dropped."""
    begun: Request | None = None
    """The last request of the thread that was forked, where it went to the same model."""
    caching: Caching = UNKNOWN
    """How the provider of its model caches prompts, as far as that is known."""
    layers: tuple[str, ...] = ()
    """The memory files that its prompt has where they exist."""

    def __repr__(self) -> str:
        answer = f" → {excerpt(self.answer)!r}" if self.answer else ""
        return short_repr(self, f"{self.name}: {self.state}{answer}")

    @property
    def name(self) -> str:
        """`memory_refresh=call, trigger=0.5`."""
        return ", ".join(f"{option}={value}" for option, value in self.options.items())

    @property
    def answer(self) -> str:
        return self.turn.text if self.turn is not None else ""

    @property
    def _events(self) -> list[Event]:
        return [event for event in self.turn.events if not event.path] if self.turn is not None else []

    @property
    def tool_calls(self) -> tuple[tuple[ToolStarted, str], ...]:
        """The tool calls of the main agent that ran, in their order, each with how it ended."""
        found: list[tuple[ToolStarted, str]] = []
        at: dict[str, int] = {}
        for event in self._events:
            if isinstance(event, ToolStarted):
                at[event.id] = len(found)
                found.append((event, "cut"))
            elif isinstance(event, ToolEnded) and event.id in at:
                found[at[event.id]] = found[at[event.id]][0], event.status
        asked = {call.id for call in self.asked}
        return tuple((call, status) for call, status in found if status != "cut" or call.id not in asked)

    @property
    def asked(self) -> tuple[PendingCall, ...]:
        """The calls that needed approval, and were not run."""
        return self.turn.asked if self.turn is not None else ()

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.turn.calls if self.turn is not None else ()

    @property
    def usage(self) -> Usage:
        return self.turn.usage if self.turn is not None else Usage()

    @property
    def budget(self) -> Budget | None:
        """The last request by part."""
        return self.turn.budget if self.turn is not None else None

    @property
    def cached(self) -> float | None:
        """The share of the input that the provider read from its cache; None where it reports none."""
        reported = [call.usage for call in self.calls if call.usage is not None]
        read, cached = (sum(getattr(usage, name) or 0 for usage in reported) for name in ("input", "cached"))
        return cached / read if cached and read else None

    @property
    def cacheable(self) -> float | None:
        """The share of the main agent's input that its provider can have kept from the request before it."""
        answers = (call for call in self.calls if call.purpose == "answer" and not call.path)
        sent = [call.request for call in answers if call.request is not None]
        total = sum(request.tokens for request in sent)
        before = [self.begun, *sent]
        same = sum(cacheable(a, b, self.caching) for a, b in zip(before, sent, strict=False) if a is not None)
        return same / total if total else None

    @property
    def stale(self) -> tuple[str, ...]:
        """The memory files of which the model was last told another text than they have now."""
        if self.turn is None or not self.turn.calls:
            return ()
        told, files = self.turn.after.memory, self.turn.after.files
        paths = {*told, *(path for path in self.layers if files.get(path, "").strip())}
        return tuple(sorted(p for p in paths if told.get(p) not in ((now := files.get(p, "")), redact(now))))

    @property
    def compactions(self) -> int:
        return sum(isinstance(event, Compacted) for event in self._events)

    @property
    def notes(self) -> tuple[str, ...]:
        """What there was to say of it while it ran, a line each."""
        return tuple(dict.fromkeys(event.text for event in self._events if isinstance(event, Notice)))

    @property
    def changed(self) -> FileDiffs:
        """The changes that it made in files, those of its thread included."""
        return file_diffs(self.turn.before.files, self.turn.after.files) if self.turn is not None else FileDiffs()
