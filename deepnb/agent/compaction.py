"""What leaves a thread's context, from outside a run: compacting by hand, and the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from deepnb.agent import play
from deepnb.context import history
from deepnb.core.clock import moment
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Compacted, Event, HistorySection, Offload
from deepnb.engine.run import apart

if TYPE_CHECKING:
    from deepnb.agent.session import Session
    from deepnb.agent.state import State
    from deepnb.agent.thread import Thread


def compact(session: Session, thread: Thread, state: State, tell: Callable[[Event], None]) -> Offload:
    """Compact a thread, all but its last turn; what is done is told as it happens, and kept with that turn."""
    if thread.unfinished:
        raise DeepnbError("the last turn is not finished", "%agent resume, then %agent compact")
    if not thread.turns:
        raise DeepnbError("nothing to compact: the thread has no turns yet", "%agent PROMPT starts one")
    built, budget, events = session.built, session.budget(), list[Event]()

    def told_of(event: Event) -> None:
        events.append(event)
        tell(event)

    fixed = sum(budget.parts[p] for p in ("system", "memory", "skills", "tools")) if budget else 0
    values = state.values(thread)
    session.backend.begin()
    done = apart(
        lambda: built.compaction.compact(values, thread.name, fixed, events.append),
        events.append,
        session.recorder(thread, built),
    )
    if done is None:
        raise DeepnbError("nothing to compact: there is no turn before the last", "go on, %agent budget shows how far")
    update, made = done
    state.put(thread, update)
    last = thread.turns[-1]
    told = tuple(play.joined(events))
    session.transcripts.outside(thread.name, thread.snapshot.messages, told)
    thread.turns[-1] = replace(
        last, events=(*last.events, *told), usage=last.usage + play.usage(told), after=thread.snapshot
    )
    return made


def sections(session: Session) -> tuple[HistorySection, ...]:
    """What was offloaded from the current thread, by time, each with the compaction it came of."""
    path = f"{history.PREFIX}{session.thread}.md"
    made = [e.offload for t in session.turns for e in t.events if isinstance(e, Compacted) and not e.path]
    if (last := session.snapshot.offload) is not None and last not in made:
        made.append(last)
    found = sorted(history.sections(path, session.files.get(path, "")), key=lambda one: moment(one.at))
    return tuple(_joined(found, made))


def _joined(found: list[HistorySection], made: list[Offload]) -> list[HistorySection]:
    """Each section with its compaction: that of its time, and of several the newest to the newest."""
    out = []
    for one in reversed(found):
        at = next((i for i in range(len(made))[::-1] if made[i].at == one.at), None)
        out.append(one if at is None else replace(one, offload=made.pop(at)))
    return out[::-1]
