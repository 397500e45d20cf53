"""The flush by hand: what is worth keeping of the thread goes into today's note, and nothing leaves the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deepnb.agent import play
from deepnb.core.errors import DeepnbError
from deepnb.core.values import Event, Flush, Flushed
from deepnb.engine import keys
from deepnb.engine.run import apart
from deepnb.memory.layers import note_path

if TYPE_CHECKING:
    from deepnb.agent.session import Session
    from deepnb.agent.state import State
    from deepnb.agent.thread import Thread


def flush(session: Session, thread: Thread, state: State) -> Flush:
    """Ask once, silently, what is worth keeping of the messages that are still sent; kept with the last turn."""
    if thread.unfinished:
        raise DeepnbError("the last turn is not finished", "%agent resume, then %memory flush")
    if not thread.turns:
        raise DeepnbError("nothing to flush: the thread has no turns yet", "%agent PROMPT starts one")
    built = session.built
    if (flusher := built.flush) is None:
        raise DeepnbError("there is no memory to write to", "deepnb.Session(enable_memory=True)")
    values = state.values(thread)
    cut = int((values.get(keys.OFFLOAD) or {}).get("cutoff_index", 0))
    said = [m for m in (values.get(keys.MESSAGES) or [])[cut:] if "lc_source" not in m.additional_kwargs]
    events: list[Event] = []
    session.backend.begin()
    made = apart(
        lambda: flusher(said, values, session.now(), by_hand=True) if said else None,
        events.append,
        session.recorder(thread, built),
    )
    if made is None:
        return Flush(note_path(session.now()))
    state.look(thread)
    told = tuple(play.joined([*events, Flushed(made)]))
    session.transcripts.outside(thread.name, thread.snapshot.messages, told)
    last = thread.turns[-1]
    thread.turns[-1] = replace(
        last, events=(*last.events, *told), usage=last.usage + play.usage(told), after=thread.snapshot
    )
    return made
