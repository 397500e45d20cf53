"""What happened in a session, as far as exercises ask: its turns, its journal, the decisions, and where words come from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deepnb.backends.journal import Entry
from deepnb.running.thread import Thread
from deepnb.session.session import Session
from deepnb.values.approvals import Decision
from deepnb.values.messages import BROUGHT_BACK
from deepnb.values.turn import Decided, ToolEnded, Turn

_WORD = re.compile(r"[^\W\d_]{4,}|\w*\d\w*|[㐀-鿿]{2}")
"""What tells one fact from another: a word of some length, anything with a figure in it, two Chinese characters."""


def threads(session: Session) -> list[Thread]:
    """All threads, in the order they were made."""
    found = session.workspace.threads
    return [found[name] for name in found.names]


def turns(session: Session, thread: str) -> list[Turn]:
    """The turns of a thread; none where there is no such thread."""
    found = session.workspace.threads
    return list(found[thread].turns) if thread in found.names else []


def results(made: Iterable[Turn], tool: str) -> list[ToolEnded]:
    """The calls of a tool that ended well."""
    events = (event for turn in made for event in turn.events if isinstance(event, ToolEnded))
    return [event for event in events if event.name == tool and event.status == "ok"]


def decisions(made: Iterable[Turn]) -> list[Decision]:
    """What the user decided on calls."""
    return [event.decision for turn in made for event in turn.events if isinstance(event, Decided)]


def entries(
    session: Session, *, origin: str | None = None, thread: str | None = None, note: str | None = None
) -> list[Entry]:
    """The changes in the journal of memory files and notes that fit, oldest first."""
    wanted = {"origin": origin, "thread": thread, "note": note}
    fits = {name: value for name, value in wanted.items() if value is not None}
    return [
        one
        for one in session.memory.log_entries()
        if not one.path.endswith("/SKILL.md") and all(getattr(one, name) == value for name, value in fits.items())
    ]


def added(change: Entry) -> list[str]:
    """The lines that a change of the journal brought."""
    return _lines(change, "+")


def removed(change: Entry) -> list[str]:
    """The lines that it took away."""
    return _lines(change, "-")


def _lines(change: Entry, sign: str) -> list[str]:
    body = change.diff.split("@@", 1)[-1].split("\n")[1:]
    return [line[1:] for line in body if line.startswith(sign) and line[1:].strip()]


def came_back(turn: Turn) -> list[str]:
    """The texts that were brought back from the history in a turn."""
    new = turn.after.messages[len(turn.before.messages) :]
    return [message.text for message in new if message.source == BROUGHT_BACK]


def draws_on(turn: Turn, text: str) -> bool:
    """Whether an answer has a word of a text that nobody said in the thread."""
    said = [turn.prompt, *(m.text for m in turn.before.messages if m.role == "user" and m.source is None)]
    return bool(_words(turn.text) & _words(text) - _words(" ".join(said)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - {"user"}  # which is how an agent's notes name who said it
