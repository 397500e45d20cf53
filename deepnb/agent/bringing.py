"""Bringing back: messages of the offloaded history, word for word, before the next prompt of their thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from langchain_core.messages import HumanMessage

from deepnb.core.errors import DeepnbError
from deepnb.core.values import BroughtBack, Event, HistoryMessage, HistorySection, ModelEnded, Notice
from deepnb.engine import keys
from deepnb.engine.request import MESSAGE_TOKENS

if TYPE_CHECKING:
    from deepnb.agent.session import Session
    from deepnb.agent.thread import Thread

SYNTAX = "%agent history --bring SECTION[:MESSAGES], e.g. --bring 1 or --bring 1:2,5-7"

_LEAD = "From earlier in this conversation, word for word:"
_ROOM = 500
"""Tokens that are left for the prompt and its answer."""


def bring(session: Session, thread: Thread, section: int, numbers: Iterable[int] | None) -> BroughtBack:
    """Put messages of a section before the next prompt, beside those that wait there already."""
    there = waiting(thread)
    chosen = dict.fromkeys([*(there.messages if there else ()), *_chosen(session.history(), section, numbers)])
    messages = tuple(sorted(chosen, key=lambda pair: (pair[0], pair[1].number)))
    tokens = session.count(_text(messages)) + MESSAGE_TOKENS
    brought = BroughtBack(str(uuid4()), messages, tokens, session.built.meter.counter.exact)
    room = _room(session)
    if room is not None and tokens > room:
        raise DeepnbError(
            f"{brought.line} is more than has room: {room:,} tokens below the trigger", f"choose fewer: {SYNTAX}"
        )
    thread.brought = brought
    return brought


def waiting(thread: Thread) -> BroughtBack | None:
    """What stands before the next prompt; None where there is nothing, or a turn that failed left it in the thread."""
    brought = thread.brought
    return None if brought is None or _holds(thread, brought) else brought


def sent(thread: Thread, events: Sequence[Event]) -> None:
    """A run has ended: what was before its prompt waits no more, once a model has answered to it."""
    answered = any(isinstance(e, ModelEnded) and e.call.purpose == "answer" and not e.path for e in events)
    if thread.brought is not None and answered and _holds(thread, thread.brought):
        thread.brought = None


def messages(brought: BroughtBack | None) -> list[HumanMessage]:
    """The message that holds it, if there is any; it is nobody's request."""
    if brought is None:
        return []
    kwargs = {"lc_source": keys.BROUGHT_BACK}
    return [HumanMessage(_text(brought.messages), id=brought.id, additional_kwargs=kwargs)]


def notices(brought: BroughtBack | None) -> tuple[Notice, ...]:
    """What is said of it in the turn it is sent in."""
    return (Notice(f"brought back before this prompt: {brought.line}"),) if brought else ()


def _chosen(
    sections: Sequence[HistorySection], section: int, numbers: Iterable[int] | None
) -> list[tuple[int, HistoryMessage]]:
    if not sections:
        raise DeepnbError("nothing was offloaded yet, so nothing can be brought back", "%agent history")
    if not 1 <= section <= len(sections):
        raise DeepnbError(f"no section {section}: there are 1 to {len(sections)}", "%agent history lists them")
    items = {item.number: item for item in sections[section - 1].items}
    wanted = list(items) if numbers is None else list(numbers)
    if not wanted:
        raise DeepnbError(f"no message of section {section} was chosen", SYNTAX)
    for missing in (n for n in wanted if n not in items):
        raise DeepnbError(f"section {section} has no message {missing}: there are 1 to {len(items)}", SYNTAX)
    return [(section, items[n]) for n in wanted]


def _text(chosen: Iterable[tuple[int, HistoryMessage]]) -> str:
    body = "\n\n".join(f"### {m.role}\n\n{m.text}" if m.role else m.text for _, m in chosen)
    return f"{_LEAD}\n\n<earlier>\n{body}\n</earlier>"


def _holds(thread: Thread, brought: BroughtBack) -> bool:
    return any(m.id == brought.id for m in reversed(thread.snapshot.messages))


def _room(session: Session) -> int | None:
    """Tokens between what every request holds and the trigger; None where no window is known."""
    limit, budget = session.rule.trigger_tokens, session.budget()
    if limit is None:
        return None
    fixed = sum(budget.parts.get(p, 0) for p in ("system", "memory", "skills", "tools")) if budget else 0
    return max(0, limit - fixed - _ROOM)
