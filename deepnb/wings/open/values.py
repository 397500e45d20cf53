"""A session made elsewhere, as its file tells it, and lists of such sessions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from deepnb.values.messages import Message
from deepnb.values.offload import Offload
from deepnb.values.text import Listing, excerpt, moment, short_repr
from deepnb.values.turn import Call, Compacted, Event, ModelEnded, ToolStarted, Usage, fills

HIDDEN = "(hidden by the provider)"
"""Stands for thinking that the file holds only in encrypted form."""

OTHER_BRANCHES = "turns in other branches"
"""In `SessionIndex.counts`: prompts that were taken back or left."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A memory file as a tool call changed it."""

    path: str
    """As the call named it: it is never opened."""
    call: str
    turn: int
    before: str | None = None
    """The whole file before, where the session file holds it."""
    after: str | None = None
    """The whole file after, where the call wrote it."""
    hunks: tuple[tuple[str, str], ...] = ()
    """What was replaced by what, where it did not."""


@dataclass(frozen=True)
class FileTurn:
    """One prompt and all that came of it."""

    number: int
    """Counted from 1."""
    prompt: str
    text: str = ""
    """The answer."""
    started: str = ""
    """ISO timestamp, or empty."""
    ended: str = ""
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()
    """Of the main agent, the prompt first."""
    edits: tuple[FileEdit, ...] = ()
    """Of memory files."""
    interrupted: str | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number}: {excerpt(self.prompt)!r} calls={len(self.calls)}")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Of the main agent, and of those it called: these have a `path`. `usage.input` is the context size."""
        return tuple(event.call for event in self.events if isinstance(event, ModelEnded))

    @cached_property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.model for call in self.calls if call.model and not call.path))

    @cached_property
    def tools(self) -> Mapping[str, int]:
        """Name -> calls by the main agent."""
        return Counter(e.name for e in self.events if isinstance(e, ToolStarted) and not e.path)

    @cached_property
    def nested_tools(self) -> Mapping[str, int]:
        """Name -> calls by the agents it called."""
        return Counter(e.name for e in self.events if isinstance(e, ToolStarted) and e.path)

    @cached_property
    def compactions(self) -> tuple[Offload, ...]:
        """`before` and `after` of one are 0 where the file does not say."""
        return tuple(event.offload for event in self.events if isinstance(event, Compacted) and not event.path)

    @property
    def seconds(self) -> float:
        return seconds_between(self.started, self.ended)

    @cached_property
    def usage(self) -> Usage:
        """All tokens spent in it, those of nested agents included."""
        return sum((call.usage for call in self.calls if call.usage), Usage())

    @property
    def context(self) -> int | None:
        """What its last call of the main agent was given; None where unknown: no call, or a compaction came after it."""
        given: int | None = None
        for event in (one for one in self.events if not one.path):
            if isinstance(event, Compacted):
                given = event.offload.after or None
            elif isinstance(event, ModelEnded) and event.call.purpose == "answer" and event.call.usage:
                given = event.call.usage.input or given
        return given


@dataclass(frozen=True)
class SessionIndex:
    """A session whole."""

    format: str
    """Name of the format: `claude-code`."""
    kind: str
    """As it is shown: `Claude Code`."""
    path: str
    id: str
    """The session's own; of a database its thread."""
    turns: tuple[FileTurn, ...] = ()
    title: str = ""
    cwd: str = ""
    """Where it was at work: never opened."""
    version: str = ""
    """Of the program that wrote it, or of the format."""
    window: int | None = None
    system_prompt: str | None = None
    """The prompt that the file records, or None."""
    bytes: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    """What else was counted: `commands`, `turns in other branches`, `subagents`."""
    bad: int = 0
    """Lines that can't be read."""
    notices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, f"{self.kind} {self.id}: turns={len(self.turns)}")

    @property
    def context(self) -> int | None:
        """What the last call of the main agent was given; None where unknown: no call, or a compaction came after it."""
        for turn in reversed(self.turns):
            if turn.compactions or any(c.usage and c.usage.input and not c.path for c in turn.calls):
                return turn.context
        return None

    @property
    def compactions(self) -> int:
        return sum(len(turn.compactions) for turn in self.turns)

    @property
    def usage(self) -> Usage:
        """All tokens spent, those of nested agents included."""
        return sum((turn.usage for turn in self.turns), Usage())

    @cached_property
    def fills(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Tokens of each request, where a compaction came before one, and where each was, as `fills` of turns says it."""
        return fills(self.turns, lambda call: call.spent.input)


@dataclass(frozen=True)
class SessionFile:
    """A session that was opened."""

    index: SessionIndex


@dataclass(frozen=True)
class SessionRow:
    """A session in a list of sessions, as the beginning of its file tells it."""

    path: str
    id: str
    kind: str
    at: str = ""
    """ISO timestamp of its last change, or of the file's."""
    prompt: str = ""
    """First words of the first prompt, or the title."""
    bytes: int = 0
    several: bool = False
    """Whether its file may have others, so that its id is to be named."""
    problem: str = ""
    """Why it can't be opened, in one line; empty for a good one."""

    def __repr__(self) -> str:
        return short_repr(self, self.problem or f"{self.kind} {self.at}: {excerpt(self.prompt)!r}")


class SessionRows(Listing[SessionRow]):
    """Sessions below a directory, the newest first."""

    __slots__ = ()


def seconds_between(start: str, end: str) -> float:
    """Return seconds from one ISO timestamp to another; 0.0 if they do not say, or clocks went back."""
    first = moment(start)
    return max(0.0, moment(end) - first) if first else 0.0
