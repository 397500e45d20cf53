"""Threads that a given checkpointer already holds: read when they are first looked at, their turns numbered on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.engine.checkpoints import Begin, StoredTurn, stored_turns
from deepnb.engine.probe import to_message
from deepnb.running.thread import RUNS, Thread
from deepnb.values.lazy_mapping import LazyMapping
from deepnb.values.messages import Messages
from deepnb.values.turn import Snapshot, Turn

ENDED = "its kernel ended before the turn did"

FilesAt = Callable[[Snapshot, str | None], Mapping[str, str]]
"""The text files of a thread in a state, with memory as the checkpoint of this ID saw it."""


def turns(
    thread: Thread, messages: Sequence[BaseMessage], begun: Mapping[str, Begin], files_at: FilesAt
) -> tuple[Turn, ...]:
    """The turns of a thread whose snapshot has been read, out of its messages and where each `begun`."""
    waiting = {call.id for call in thread.asked}
    if thread.runs:  # its open calls are being run
        waiting |= {call["id"] for m in messages[-1:] for call in getattr(m, "tool_calls", ())}
    found = list(stored_turns(messages, waiting))
    log, at, made = Messages(), 0, list[Turn]()
    for one in found:
        log, at = log.replace_from(len(log), [to_message(m) for m in messages[at : one.start]]), one.start
        begin = begun.get(one.request)
        places = ((begin.before, begin.first), (begin.ended, begin.ended)) if begin else ((None, None), (None, None))
        before, ended = (_state(thread.name, place, seen, log, files_at) for place, seen in places)
        if made:
            made[-1] = replace(made[-1], after=ended)
        made.append(_turn(thread.name, one, len(made) + 1, before, begin.at if begin else ""))
    if made:
        stopped = thread.unfinished and not thread.asked
        why = (RUNS if thread.runs else ENDED) if stopped else None
        after = thread.snapshot
        files = LazyMapping(lambda: files_at(after, after.checkpoint))  # without what was written to memory since
        made[-1] = replace(made[-1], after=replace(after, files=files), asked=thread.asked, interrupted=why)
    return tuple(made)


def joined(known: Sequence[Turn], stored: Sequence[Turn]) -> list[Turn]:
    """The turns of a thread that another session went on with: those we know all of, then the others.

    One that failed and was taken out of the thread is none of the checkpointer's.
    """
    there = [turn for turn in known if turn.error is None or len(turn.after.messages) > len(turn.before.messages)]
    pairs = zip(there, stored, strict=False)
    kept = [b if a.prompt != b.prompt or _went_on(a, b) else replace(a, number=b.number) for a, b in pairs]
    return [*kept, *stored[len(kept) :]]


def _went_on(known: Turn, stored: Turn) -> bool:
    """Whether somebody else went on with a turn that was not finished when it was last seen."""
    return bool(known.after.next) and len(stored.after.messages) > len(known.after.messages)


def _state(thread: str, checkpoint: str | None, seen: str | None, messages: Messages, files_at: FilesAt) -> Snapshot:
    place = Snapshot(thread, checkpoint=checkpoint)
    files = LazyMapping(lambda: files_at(place, seen))
    return Snapshot(thread, files=files, messages=messages, checkpoint=checkpoint)


def _turn(thread: str, one: StoredTurn, number: int, before: Snapshot, started: str) -> Turn:
    facts: dict[str, Any] = {"usage": one.usage, "model": one.model, "started": started}
    return Turn(number, thread, one.prompt, one.text, one.events, before, before, budget=None, **facts)
