"""Who writes at the moment, set round a tool call or a user's command, and why a text is not written."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from posixpath import normpath
from typing import Any

from deepnb.backends.journal import Origin, is_journal
from deepnb.gate import credentials, refusal
from deepnb.gate.directives import unsaid
from deepnb.values.files import RECORDS
from deepnb.values.lazy import set_in_block
from deepnb.values.text import whole

Heard = Callable[[], tuple[Sequence[str], Sequence[str]]]
"""(texts of others, what the user says) in the messages a writer answers to."""


@dataclass(frozen=True)
class Writer:
    """The facts about a write that the write itself does not tell."""

    origin: Origin = "user"
    heard: Heard = lambda: ((), ())
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
    """Return who is writing; the user where nobody said otherwise."""
    return _WRITER.get()


def writing(**changes: Any) -> AbstractContextManager[Writer]:
    return set_in_block(_WRITER, replace(_WRITER.get(), **changes))


def note_writes(note: str) -> None:
    """Enter what is written in this context from now on with a note."""
    _WRITER.set(replace(_WRITER.get(), note=note))


# -- why a text is not written: it can't be a file's, or it brings a credential


OWN = "deepnb keeps its records there"
_MARK = "[redacted: "
_INSTRUCTIONS = ("/skills/", "/agents/")
_REACH = 60
"""Lines round one that was added which are looked at with it: a private key of 4,096 bits has 51."""


def is_withheld(path: str) -> bool:
    """Return whether whoever writes just now may not write a file, or delete a directory: the journal, and for a tool the records."""
    return is_journal(path) or (writer().tool and f"{normpath('/' + path.lstrip('/'))}/".casefold().startswith(RECORDS))


def unfit(path: str, text: str) -> str | None:
    """Return why a text can't be a file, whatever the backend would make of it."""
    if not path.startswith("/"):
        return f"Error: not written to {path}: a path begins with /"
    if "//" in path:  # some backends take it for one
        return f"Error: not written to {path}: a path has no // in it"
    half = f"Error: not written to {path}: it holds half of a character that takes two (a lone surrogate)"
    return half if whole(text) is not text else None


def credential_in(before: str, after: str, path: str) -> str | None:
    """Return why a change is refused: it brings a credential, or the mark of one that was redacted, or is named so."""
    again = "; do not try again" if writer().origin == "agent" else ""
    if credentials(path):
        return f"Error: not written: the path itself holds a credential{again}"
    held, lines = set(before.split("\n")), after.split("\n")
    added = {n for n, line in enumerate(lines, 1) if line not in held}
    near = set[int]().union(*(range(n - _REACH, n + _REACH + 1) for n in added))
    text = "\n".join(line if n in near else "" for n, line in enumerate(lines, 1))
    ends = ((one, one.line + text.count("\n", one.start, one.end)) for one in credentials(text))
    if found := [one for one, end in ends if not added.isdisjoint(range(one.line, end + 1))]:
        return f"Error: {refusal(found, path)}{again}"
    if any(_MARK in lines[n - 1] for n in added):
        return f"Error: not written to {path}: a credential was taken out of this call{again}"
    return None


def guard_refusal(path: str, before: str, after: str, heard: Heard) -> str | None:
    """Return why a change of a guarded file is not made; `heard` gives the texts of others and what the user says."""
    if problem := credential_in(before, after, path):
        return problem
    if not (lines := to_ask_about(path, added_lines(before, after), heard)):
        return None
    return (
        f"Error: not written to {path}: this reads like an instruction, and the user did not say it: {lines[0]!r}."
        " Ask the user first: it can be written once they have said it themselves."
    )


def to_ask_about(path: str, added: Sequence[str], heard: Heard) -> tuple[str, ...]:
    """Return the added lines that the user is asked about; in skills and subagents, which instruct, those that others said."""
    if not any(map(str.strip, added)):
        return ()
    return unsaid(added, *heard(), copied=path.startswith(_INSTRUCTIONS), noted=writer().origin == "flush")


def added_lines(before: str, after: str) -> list[str]:
    held = set(before.split("\n"))
    return [line for line in after.split("\n") if line not in held]
