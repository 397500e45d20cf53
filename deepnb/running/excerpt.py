"""Messages of the offloaded history that stand before a thread's next prompt, until a model has answered to them."""

from collections.abc import Iterable, Sequence

from langchain_core.messages import HumanMessage

from deepnb.engine import keys
from deepnb.running.thread import Thread
from deepnb.values.offload import BroughtBack, HistoryMessage
from deepnb.values.turn import Event, ModelEnded, Notice

ADDED = "added to this prompt: "
"""What the notice of it begins with."""
_LEAD = "From earlier in this conversation, word for word:"


def excerpt(thread: Thread) -> BroughtBack | None:
    """What is added to the next prompt; None where there is nothing, or a turn that was interrupted left it in the thread."""
    found = thread.brought
    return None if found is None or _holds(thread, found) else found


def is_answered(thread: Thread, events: Sequence[Event]) -> bool:
    """Whether a run has ended in which a model answered to what stood before its prompt."""
    done = any(isinstance(e, ModelEnded) and e.call.purpose == "answer" and not e.path for e in events)
    return done and thread.brought is not None and _holds(thread, thread.brought)


def messages(found: BroughtBack | None) -> list[HumanMessage]:
    """The message that holds it, if there is any; it is nobody's request."""
    if found is None:
        return []
    return [HumanMessage(text(found.messages), id=found.id, additional_kwargs={"lc_source": keys.BROUGHT_BACK})]


def notices(found: BroughtBack | None) -> tuple[Notice, ...]:
    """What is said of it in the turn it is sent in."""
    return (Notice(f"{ADDED}{found.line}"),) if found else ()


def text(chosen: Iterable[tuple[int, HistoryMessage]]) -> str:
    """The words of the message that holds these: (section, message)."""
    body = "\n\n".join(f"### {m.role}\n\n{m.text}" if m.role else m.text for _, m in chosen)
    return f"{_LEAD}\n\n<earlier>\n{body}\n</earlier>"


def _holds(thread: Thread, found: BroughtBack) -> bool:
    return any(m.id == found.id for m in reversed(thread.snapshot.messages))
