"""A turn of an opened session as the beginning of a live thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from deepnb.core.errors import RefusedError
from deepnb.core.messages import SUMMARY, Message
from deepnb.core.session_file import FileContent, FileTurn, SessionIndex
from deepnb.core.values import Compacted, Event, ModelEnded, Snapshot, Turn
from deepnb.running.opened import OpenedWorkspace
from deepnb.running.thread import Thread
from deepnb.running.workspace import Workspace

MOST_CHARACTERS = 8_000_000
"""Characters of messages that a fork begins with."""
MOST_LINES = 200
"""Lines of memory that are offered."""


def carry(opened: OpenedWorkspace, index: SessionIndex, work: Workspace, name: str | None, number: int) -> str:
    """Start a thread in a workspace as an opened session stood after a turn; gives its name.

    Approvals, policies and files do not come along. Memory waits for the user, line by line.
    """
    from deepnb.engine import keys
    from deepnb.engine.carried import carried

    work.current.idle()
    if work.options.graph is not None:
        raise RefusedError(
            "a graph of your own can't go on from an opened session", "%agent use MODEL, then fork again"
        )
    source = opened.current.thread.name
    first, messages = view(opened, index.turns[:number])
    origin = f"{index.kind}, session {index.id}, turns {first} to {number}"
    tools = {tool for tool, _ in work.built.tools}
    made = work.threads.new(name, origin=f"{source}@{number}")
    try:
        work.state.start(made)
        work.state.put(made, {keys.MESSAGES: carried(messages, tools, index.kind, origin)})
        made.turns = _turns(opened, index, made, number, first)
        work.transcripts.outside(made.name, made.snapshot.messages, ())
    except BaseException:
        work.threads.undo()
        raise
    _offer(work, opened.content.memory(number), f"from {index.kind}, session {index.id}")
    work.current.tell()
    return made.name


def view(opened: OpenedWorkspace, turns: Sequence[FileTurn]) -> tuple[int, list[Message]]:
    """(number of the first turn that is in it, what the model had after these turns): the last summary, and what came since.

    Turns before the last ones are left out where all are more than any model takes.
    """
    kept: list[list[Message]] = []
    last = max((turn.number for turn in turns if turn.compactions), default=1)
    first, room = last, MOST_CHARACTERS
    for turn in reversed(turns[last - 1 :]):
        found = list(opened.content.content(turn.number).messages)
        at = [n for n, message in enumerate(found) if message.source == SUMMARY] if turn.compactions else []
        found = found[at[-1] :] if at else found
        room -= sum(len(message.text) for message in found)
        if kept and room < 0:
            first = turn.number + 1
            break
        kept.append(found)
    return first, [message for found in reversed(kept) for message in found]


def _turns(opened: OpenedWorkspace, index: SessionIndex, made: Thread, number: int, first: int) -> list[Turn]:
    """The turns as the thread's own: those that a compaction has removed by their first words and figures."""
    turns = []
    for figures in index.turns[:number]:
        content = opened.content.content(figures.number) if figures.number >= first else _short(figures)
        answers = [call.budget for call in figures.calls if not call.path and call.purpose == "answer"]
        turns.append(
            Turn(
                figures.number, made.name, content.prompt, content.text, content.events,
                Snapshot(made.name), Snapshot(made.name), figures.usage, answers[-1] if answers else None,
                figures.models[-1] if figures.models else "", content.seconds, figures.started,
                interrupted=content.interrupted,
            )
        )  # fmt: skip
    turns[-1] = replace(turns[-1], after=made.snapshot)
    return turns


def _short(figures: FileTurn) -> FileContent:
    events: list[Event] = [ModelEnded(call, call.path) for call in figures.calls]
    events += (Compacted(one.offload) for one in figures.compactions)
    return FileContent(figures.number, figures.prompt, "", tuple(events), ())


def _offer(work: Workspace, files: Mapping[str, str], origin: str) -> None:
    """Hold the lines of foreign memory files for the user."""
    if not work.options.enable_memory:
        return
    target = work.options.memory[0]
    lines = [(path, line) for path, text in files.items() for line in text.splitlines() if any(map(str.isalnum, line))]
    for path, found in groupby(lines[:MOST_LINES], key=itemgetter(0)):
        work.backend.offer(target, [line for _, line in found], f"{origin}, {path}")
    if (more := len(lines) - MOST_LINES) > 0:
        work.backend.notices.append(f"{more:,} more lines of memory {origin} are not offered")
