"""One thread: its turns, its state as last seen, and what it waits for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

from deepnb.engine import keys
from deepnb.memory.layers import MAIN, Scope
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, NotFoundError
from deepnb.values.messages import BROUGHT_BACK
from deepnb.values.offload import BroughtBack, HistoryMessage
from deepnb.values.server_address import LOST
from deepnb.values.turn import Snapshot, ToolEnded, Turn

_HOOK = re.compile(r"\.(before|after)_(model|agent)$")  # MemoryMiddleware.before_model
_SHOWS = "%agent panel approvals shows"
RUNS = "a run goes on on the server"
UNSIGNED = "a call waits that this user's kernels did not ask about: %agent resume asks about it"


@dataclass
class Thread:
    """One thread. Its `name` is its `thread_id` in the checkpointer."""

    name: str
    parent: str | None = None
    home: str = ""
    """Whose memory, notes and skills it has: the session's, or those of the thread of this name and its forks."""
    scope: Scope = MAIN
    turns: list[Turn] = field(default_factory=list)
    rewound: tuple[tuple[int, int], ...] = ()
    """Each rewind: from which turn, to which."""
    snapshot: Snapshot = field(default_factory=partial(Snapshot, ""))
    """The state as last seen, at the checkpoint it names."""
    files: dict[str, Any] = field(default_factory=dict)
    """path -> FileData at that checkpoint."""
    root: Snapshot | None = None
    """The first state; of a fork, that of the thread it comes from."""
    held: dict[str, Any] = field(default_factory=dict)
    """Writes to its own files that wait until the run that is under way has ended: path -> FileData or None."""
    brought: BroughtBack | None = None
    """What was brought back from the history and no model has answered to yet."""
    asked: tuple[PendingCall, ...] = ()
    """The calls of its last turn that need the user's approval."""
    taken: str = ""
    """The checkpoint that holds what compactions took out of the state, when that was last seen."""
    stored: frozenset[str] = frozenset()
    """The ids of the tool calls whose results are kept beside the state, until their step has ended."""
    unsigned: bool = False
    """Whether it waits with a call that this user's kernels did not ask about."""
    runs: bool = False
    """Whether a run goes on in it on its server, which no turn here follows."""
    gone: int = 0
    """Turns that its server no longer has, as long as nobody was told."""
    decided: dict[str, Decision] = field(default_factory=dict)
    granted: frozenset[str] = frozenset()
    """Tools that the user has allowed here, asked about one of their calls, each as `Current.grant` says it."""
    offered: frozenset[str] = frozenset()
    """Tools that skills ask to have approved, and about which the user was asked once."""
    rebases: bool = False
    """Whether its memory block is to be made anew once nothing waits."""
    pins: dict[str, str] = field(default_factory=dict)
    """Name of a skill that goes before the next prompt -> id of the message that will hold it."""
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        """What LangGraph is given to find it; its checkpoints keep how it was made, as far as it is not like any other."""
        facts = {"deepnb_scope": self.scope.words, "deepnb_parent": self.parent, "deepnb_pool": self.home}
        return {"configurable": {"thread_id": self.name}, "metadata": {k: v for k, v in facts.items() if v}}

    @property
    def unfinished(self) -> bool:
        return bool(self.snapshot.next)

    @property
    def cut(self) -> tuple[str, ...]:
        """Names of the tools that were interrupted in the middle and have no result yet."""
        if not self.unfinished or not self.turns:
            return ()
        last = {e.id: e for e in self.turns[-1].events if isinstance(e, ToolEnded) and not e.path}
        answered = self.answered
        return tuple(e.name for e in last.values() if e.status == "cut" and e.id not in answered)

    @property
    def answered(self) -> frozenset[str]:
        """The ids of the last answer's tool calls that have a result."""
        since = takewhile(lambda m: not m.tool_calls, reversed(self.snapshot.messages))
        return self.stored | {m.tool_call_id for m in since if m.tool_call_id}

    @property
    def added(self) -> BroughtBack | None:
        """What of the history stands before the next prompt; None if nothing does, or if an interrupted turn has it already."""
        found = self.brought
        return None if found and any(m.id == found.id for m in reversed(self.snapshot.messages)) else found

    @property
    def pending(self) -> str | None:
        """Says in one line what the thread waits for; None where nothing is left to run."""
        if not self.unfinished:
            return None
        left = [call.name for call in self.asked if call.key not in self.decided]
        if left and asks_only(self.asked):
            return f"the graph asks {'a question' if len(left) == 1 else f'{len(left)} questions'}: {todo(self.asked)}"
        if left:
            needs = "needs" if len(left) == 1 else "need"
            return f"{', '.join(left)} {needs} your approval: {todo(self.asked)}"
        if self.unsigned:
            return UNSIGNED
        if self.runs:
            return f"{RUNS}: %agent resume follows it"
        if self.cut:
            return f"the tool {self.cut[0]} was interrupted: %agent resume again, or %agent resume skip"
        named = ("the first step" if step == keys.START else step for step in self.snapshot.next)
        steps = dict.fromkeys("model" if _HOOK.search(step) else step for step in named)
        return f"interrupted before {', '.join(steps)}: %agent resume"

    def to_resume(self, decision: str | None) -> Turn:
        """Return the turn to continue; an error if there is no such turn, or if it is open what becomes of an interrupted tool."""
        if not self.unfinished or not self.turns:
            what = self.missing_line() or "nothing to resume in this thread"
            raise NotFoundError(what, "%agent PROMPT starts a turn")
        if any(call.key not in self.decided for call in self.asked):
            raise waits(self)
        if self.cut and not self.runs and decision not in ("again", "skip"):
            do = "%agent resume again runs it again, %agent resume skip continues without it"
            raise InvalidError(f"the tool {self.cut[0]} was interrupted and may have done part of its work", do)
        return self.turns[-1]

    def note_missing(self, there: Sequence[Turn]) -> None:
        """These are the turns that its server has: others that it had are gone. One that failed was taken back here."""
        had = [t for t in self.turns if t.error is None or t.error.startswith(LOST)]
        self.gone += max(0, len(had) - len(there))
        if not there:
            self.turns, self.root = [], None

    def missing_line(self) -> str:
        """Return how many turns its server no longer has, in one line, once; empty where it has all."""
        gone, self.gone = self.gone, 0
        if not gone:
            return ""
        turns = "1 turn" if gone == 1 else f"{gone} turns"
        return f"the server no longer has {turns} of thread {self.name}: %agent turns lists those it has"

    def turn(self, number: int) -> Turn:
        if not 1 <= number <= len(self.turns):
            there = f"has turns 1 to {len(self.turns)}" if self.turns else "has no turns yet"
            raise NotFoundError(f"no turn {number}: thread {self.name} {there}", "%agent turns lists them")
        return self.turns[number - 1]


def check_name(name: str) -> str:
    """Return the name, if it may be a thread's: it becomes the name of its history file."""
    if not name or len(name) > 100 or name.startswith((".", "-")) or not all(c.isalnum() or c in "._-" for c in name):
        raise InvalidError(f"{name!r} is not a valid thread name", "use letters, digits, dots, hyphens and underscores")
    return name


def waits(thread: Thread, current: bool = True) -> DeepnbError:
    """Return the error of a thread in which the user has to decide first."""
    names = ", ".join(dict.fromkeys(call.name for call in thread.asked))
    needs = "an answer" if asks_only(thread.asked) else f"your approval for {names}"
    what = f"turn {len(thread.turns)} of thread {thread.name} needs {needs}"
    return BusyError(what, f"{'' if current else f'%agent switch {thread.name}, then '}{todo(thread.asked)}")


def running(thread: Thread) -> DeepnbError:
    """Return the error of a thread in which a run goes on on its server."""
    return BusyError(f"{RUNS} in thread {thread.name}", "wait until it ends, or %agent resume follows it")


def asks_only(calls: Sequence[PendingCall]) -> bool:
    """Return whether all of these are questions of a graph, which take an answer and no approval."""
    return all(call.is_question for call in calls)


def todo(calls: Sequence[PendingCall]) -> str:
    if asks_only(calls):
        return "%agent resume JSON" if len(calls) == 1 else "%agent resume 1 JSON"
    if len(calls) == 1:
        approve = "" if calls[0].is_unreadable else "%agent approve, or "
        return f"{_SHOWS} it, then {approve}%agent reject WHY"
    return f"{_SHOWS} them, then %agent approve 1, %agent reject 1 WHY, or %agent approve all"


ADDED = "added to this prompt: "
_LEAD = "From earlier in this conversation, word for word:"


def brought_messages(found: BroughtBack | None) -> list[Any]:
    if found is None:
        return []
    from langchain_core.messages import HumanMessage

    return [HumanMessage(brought_text(found.messages), id=found.id, additional_kwargs={"lc_source": BROUGHT_BACK})]


def brought_text(chosen: Iterable[tuple[int, HistoryMessage]]) -> str:
    """Return the words of the message that holds these: (section, message)."""
    body = "\n\n".join(f"### {m.role}\n\n{m.text}" if m.role else m.text for _, m in chosen)
    return f"{_LEAD}\n\n<earlier>\n{body}\n</earlier>"
