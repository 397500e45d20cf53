"""Who is writing just now: set round a tool call or a user's command, read by the guard."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from deepnb.backends.journal import Origin

Heard = Callable[[], tuple[Sequence[str], Sequence[str]]]
"""(texts of others, what the user says) in the messages a writer answers to."""


def _nothing() -> tuple[Sequence[str], Sequence[str]]:
    return (), ()


@dataclass(frozen=True)
class Writer:
    """The facts about a write that the write itself does not tell."""

    origin: Origin = "user"
    heard: Heard = _nothing
    note: str = ""
    agent: tuple[str, ...] = ()
    """Ids of the `task` calls round a nested agent, outermost first: each agent has seen what it has seen."""
    tool: bool = False
    """Whether a tool of an agent writes, or code of one; not the engine for it."""
    run: int | None = None
    """Number of the run it belongs to; None outside one."""
    tell: Callable[[str], None] | None = None
    """Takes the conflicts of what is written, a line each; None where the footer is the only place to say them."""


USER = Writer()
_WRITER: ContextVar[Writer] = ContextVar("writer", default=USER)


def writer() -> Writer:
    """Who is writing; the user where nobody said otherwise."""
    return _WRITER.get()


@contextmanager
def writing(**changes: Any) -> Iterator[Writer]:
    """Write with these facts within this block."""
    chosen = replace(_WRITER.get(), **changes)
    token = _WRITER.set(chosen)
    try:
        yield chosen
    finally:
        _WRITER.reset(token)


def note_writes(note: str) -> None:
    """Enter what is written in this context from now on with a note."""
    _WRITER.set(replace(_WRITER.get(), note=note))
