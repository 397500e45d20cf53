"""The frozen values that cross every border: snapshot, events, calls, turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

from deepnb.values.agent import Skill
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.budget import Budget
from deepnb.values.messages import Messages
from deepnb.values.offload import Flush, Offload
from deepnb.values.request import Request
from deepnb.values.text import Listing, excerpt, short_repr

Path = tuple[str, ...]
"""Where in the nest of agents something happened: ids of the enclosing `task` calls, outermost first."""

Purpose = Literal["answer", "summary", "flush"]
"""What a model was called for."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider reported them; `cost` in US dollars only where the price of all of them is known."""

    input: int = 0
    output: int = 0
    cached: int | None = 0
    """None where the provider reports no figure for it."""
    cost: float | None = None
    exact: bool = True
    """False if part of it is deepnb's own count, since a call was not reported (shown as `~`)."""

    def __add__(self, other: Usage) -> Usage:
        costs = [u.cost for u in (self, other) if u.input or u.output or u.cost is not None]
        return Usage(
            self.input + other.input,
            self.output + other.output,
            (self.cached or 0) + (other.cached or 0) or (None if None in (self.cached, other.cached) else 0),
            sum(map(float, filter(None, costs))) if costs and None not in costs else None,
            self.exact and other.exact,
        )


Price = tuple[float, float, float]
"""US dollars for a million tokens: of input, of input that was cached, of output.

The user gives them: deepnb ships none, since they change and differ by contract.
"""


def price_of(prices: Mapping[str, Price], model: str, label: str = "") -> Price | None:
    """Return the price given for `label`, or for what the provider calls the model, with `openai:` before it or without."""
    own = not model or label == model or label.partition(":")[2] == model
    for name in (label if own else "", model):
        if name and name in prices:
            return prices[name]
    return next((price for name, price in prices.items() if model and name.partition(":")[2] == model), None)


def cost_of(usage: Usage, price: Price) -> float:
    """US dollars: what was cached at its own price, the rest of the input and the output at theirs."""
    full, cached, output = price
    read = usage.cached or 0
    fresh = max(0, usage.input - read)
    return (fresh * full + read * cached + usage.output * output) / 1_000_000


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread in a list of threads."""

    name: str
    turns: int
    messages: int
    current: bool = False
    parent: str | None = None
    """`NAME@N` of the thread and turn it was forked from."""
    empty: bool = False
    """Whether it has memory, notes and skills of its own, begun with none."""
    shared: bool = False
    """Whether others can read it: then long-term memory is kept from it."""
    compacted: tuple[int, ...] = ()
    """The turns in which its context was compacted, once for each compaction."""
    rewound: tuple[tuple[int, int], ...] = ()
    """Each rewind: from which turn, to which."""
    waits: int = 0
    """Calls that need the user's approval."""
    prompts: tuple[str, ...] = ()
    """Prompts of its newest turns, to the last one."""
    source: str = ""
    """Of one that was opened: what made it, and its file. Its messages are not counted."""
    status: str = ""
    """`idle`, `busy`, `interrupted` or `error`, as a server says; one that was not read there has no turns here."""

    def __repr__(self) -> str:
        facts = [*(["current"] if self.current else []), *([f"from {self.parent}"] if self.parent else []), *self.kind]
        return short_repr(self, " ".join([f"{self.name}: turns={self.turns}", *facts]))

    @property
    def kind(self) -> tuple[str, ...]:
        """`empty`, `shared`: how it was made."""
        return tuple(name for name in ("empty", "shared") if getattr(self, name))


class ThreadInfos(Listing[ThreadInfo]):
    """The threads of a session, in the order they were made."""


@dataclass(frozen=True)
class Snapshot:
    """The state of a thread at one checkpoint."""

    thread: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Text files of the backend, path -> text."""
    binary: Mapping[str, int] = field(default_factory=dict)
    """Files that are not UTF-8 text, path -> bytes."""
    memory: Mapping[str, str] = field(default_factory=dict)
    """What is injected into the prompt, path -> text: may be older than `files` says."""
    skills: tuple[Skill, ...] = ()
    messages: Messages = field(default_factory=Messages)
    offload: Offload | None = None
    next: tuple[str, ...] = ()
    """Steps that were still to run: not empty after an interrupt."""
    checkpoint: str | None = None

    def __repr__(self) -> str:
        files = len(self.files) + len(self.binary)
        return short_repr(self, f"of {self.thread}: messages={len(self.messages)} files={files}")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model: a row of the ledger."""

    number: int
    """Counted from 1 within its turn."""
    purpose: Purpose
    path: Path
    budget: Budget
    usage: Usage | None = None
    seconds: float = 0.0
    model: str = ""
    """What the provider calls the model; empty where it says no name."""
    agent: str = ""
    request: Request | None = field(default=None, compare=False, repr=False)
    answered: int = 0
    """Tokens of the answer by deepnb's own count, where the provider reported no usage."""

    @property
    def spent(self) -> Usage:
        """Its tokens: as reported, or else as counted."""
        return self.usage or Usage(self.budget.total, self.answered, None, exact=False)


@dataclass(frozen=True, slots=True)
class ModelStarted:
    """A model call began."""

    call: Call
    path: Path = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, to be joined to the pieces before it of the same call."""

    text: str
    call: int
    path: Path = ()


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what a model thinks before it answers, to be joined to the pieces before it of the same call."""

    text: str
    call: int
    path: Path = ()


@dataclass(frozen=True, slots=True)
class ModelEnded:
    """A model call ended: what was sent, and what the provider reported."""

    call: Call
    path: Path = ()


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call began; `id` is that of the call."""

    id: str
    name: str
    args: Mapping[str, object]
    path: Path = ()
    place: int = field(default=0, compare=False, repr=False)
    """Counted from 0 among the calls of its answer, which begin side by side in any order."""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call ended, with its result."""

    id: str
    name: str
    result: str
    status: Literal["ok", "error", "cut"]
    """`cut`: interrupted in the middle, no result was recorded."""
    seconds: float
    path: Path = ()
    traceback: str = ""
    """Of a tool that raised: where in the user's code."""


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """Something that code of a `run_python` call put out. It may be shown while the code runs, and comes again then."""

    id: str
    """Of the call."""
    number: int
    """Counted from 1 in the call."""
    kind: Literal["stdout", "stderr", "rich", "end", "variables"]
    """A piece of a text stream; a rich output as Jupyter shows it; that the code has ended; the names it changed."""
    text: str = ""
    """Without credentials; of a rich output what a terminal shows for it."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """MIME type -> a rich output as the kernel displays it."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    path: Path = ()

    def __repr__(self) -> str:
        return short_repr(self, f"{self.kind} {self.number} of {self.id}: {excerpt(self.text)!r}")


@dataclass(frozen=True, slots=True)
class Compacted:
    """Older messages left the prompt."""

    offload: Offload
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Flushed:
    """What is worth keeping went into today's note, before a compaction."""

    flush: Flush
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """One line the user should know of."""

    text: str
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """A request to a model failed, and is sent again after some seconds."""

    reason: str
    """`rate limited`, `the provider is overloaded`."""
    seconds: float
    number: int
    """Of the try that follows: 2 for the first that is made again."""
    of: int
    """Tries there are at most."""
    path: Path = ()

    @property
    def line(self) -> str:
        """`rate limited: trying again in 8 s (2 of 5)`."""
        when = f"in {ceil(self.seconds)} s" if self.seconds else "now"
        return f"{self.reason}: trying again {when} ({self.number} of {self.of})"


@dataclass(frozen=True, slots=True)
class Asked:
    """A call needs the user's approval."""

    call: PendingCall
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """The user's decision on a call was applied."""

    decision: Decision
    path: Path = ()


Event = (
    ModelStarted | TextDelta | ThinkingDelta | ModelEnded | ToolStarted | ToolEnded | CodeOutput
    | Flushed | Compacted | Notice | Retry | Asked | Decided
)  # fmt: skip
"""What `session.stream` yields."""


@dataclass(frozen=True)
class Turn:
    """One prompt and all that came of it. Everything shown can be computed from it."""

    number: int
    """Counted from 1 in its thread."""
    thread: str
    prompt: str
    text: str
    """The last answer; what had been said until then where the turn was interrupted."""
    events: tuple[Event, ...]
    before: Snapshot
    after: Snapshot
    usage: Usage
    budget: Budget | None
    """Of the turn's last model call for an answer of the main agent."""
    model: str = ""
    seconds: float = 0.0
    started: str = ""
    """ISO timestamp."""
    cell: str | None = None
    interrupted: str | None = None
    """What was reached when the turn was interrupted, in one line."""
    error: str | None = None
    asked: tuple[PendingCall, ...] = ()
    """The calls that need the user's approval: the turn continues when they are decided."""
    structured: Any = None
    """The answer as an object of the `response_format`, whose JSON is `text`; after a restart of the kernel that JSON."""

    def __repr__(self) -> str:
        ended = self.error or self.interrupted
        how = f" ({excerpt(ended)})" if ended else ""
        said = f"{excerpt(self.prompt)!r} → {excerpt(self.text)!r}{how}"
        return short_repr(self, f"{self.number} of {self.thread}: {said}")

    @property
    def first_words(self) -> str:
        """The prompt, or so much of it as is known without reading more."""
        return self.prompt

    @property
    def calls(self) -> tuple[Call, ...]:
        """The turn's rows of the ledger."""
        return tuple(e.call for e in self.events if isinstance(e, ModelEnded))

    @property
    def requested(self) -> tuple[Call, ...]:
        """The calls whose request is kept, in order, as they ended; one that did not end as it began."""
        found: dict[int, Call] = {}
        for event in self.events:
            if isinstance(event, ModelStarted | ModelEnded):
                found[event.call.number] = event.call
        return tuple(call for call in found.values() if call.request is not None)

    @property
    def compacted(self) -> int:
        """How often the context of the main agent was compacted in it."""
        return sum(isinstance(e, Compacted) and not e.path for e in self.events)


def fills(
    turns: Iterable[Any], tokens: Callable[[Call], int | None]
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return tokens of each request of the main agent for an answer, indices of those that a compaction came before, and
    turn and number there of each; a call of which `tokens` are not known is left out."""
    totals, marks, places = list[int](), list[int](), list[tuple[int, int]]()
    for turn, event in ((one, e) for one in turns for e in one.events if not e.path):
        if isinstance(event, Compacted):
            marks.append(len(totals))
        elif isinstance(event, ModelEnded) and event.call.purpose == "answer" and (total := tokens(event.call)):
            totals.append(total)
            places.append((turn.number, event.call.number))
    return totals, sorted({mark for mark in marks if mark < len(totals)}), places


class Turns(Listing[Turn]):
    """The turns of a thread, the oldest first."""
