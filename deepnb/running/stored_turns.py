"""A thread's turns as records of a database, and back: states are named by their checkpoints, texts by their hashes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from deepnb.context.ledger import last_request
from deepnb.engine.answer import usage
from deepnb.engine.checkpoints import Begin, stored_events
from deepnb.engine.compaction import turn_start
from deepnb.engine.probe import to_message
from deepnb.engine.request import is_request, message_text
from deepnb.persistence.codec import Reader, Writer, dumps
from deepnb.persistence.records import Records
from deepnb.running.current import Current
from deepnb.running.thread import RUNS, Thread
from deepnb.values.lazy import LazyMapping
from deepnb.values.messages import Messages
from deepnb.values.request import Sent
from deepnb.values.turn import Snapshot, Turn, Usage

FilesAt = Callable[[Snapshot], Mapping[str, str]]

_FACTS = (
    *("number", "prompt", "text", "events", "usage", "budget", "model", "seconds", "started", "cell"),
    *("interrupted", "error", "asked"),
)


class KeptTurns:
    """Writes turns, and reads them again; what was read is known and not written anew."""

    def __init__(self, records: Records, current: Current) -> None:
        self._records = records
        self._current = current
        self._ids: dict[str, list[tuple[Turn, str]]] = {}
        """Thread -> its turns as they are kept, and their ids."""
        self._known: dict[int, tuple[Turn, str, str | None]] = {}
        """id() of the state after a turn -> the turn, its id and that of the one before: forks have turns in common."""
        self._states: dict[int, tuple[Snapshot, Mapping[str, Any]]] = {}
        self._values: dict[str, Any] = {}
        self._heads: dict[str, tuple[Sent, ...]] = {}

    def write(self, thread: str, turns: Sequence[Turn]) -> str | None:
        """Keep what is new of a thread's turns; return the id of the last one."""
        kept = self._ids.setdefault(thread, [])
        same = next((n for n, (a, b) in enumerate(zip(kept, turns, strict=False)) if a[0] is not b), None)
        same = min(len(kept), len(turns)) if same is None else same
        del kept[same:]
        for turn in turns[same:]:
            before, parent = kept[-1] if kept else (None, None)
            known = self._known.get(id(turn.after))
            if known is None or known[2] != parent or replace(known[0], thread=turn.thread) != turn:
                writer = Writer(self._records.put, last_request(before.events) if before else None)
                record = {name: writer.plain(getattr(turn, name)) for name in _FACTS}
                record |= {} if turn.structured is None else {"structured": True}  # its text is its JSON
                record |= {"before": self.state(turn.before), "after": self.state(turn.after)}
                known = self._known[id(turn.after)] = turn, self._records.add_turn(parent, record), parent
            kept.append((turn, known[1]))
        return kept[-1][1] if kept else None

    def forget(self) -> None:
        """Know no more what is there: what was written last was taken back, or changed."""
        for known in (self._ids, self._known, self._states, self._values, self._heads):
            known.clear()

    def state(self, state: Snapshot) -> Mapping[str, Any]:
        if (known := self._states.get(id(state))) is not None:
            return known[1]
        put, shared = self._records.put, self._current.is_shared
        writer = Writer(put)
        others = {p: put(text) for p, text in state.files.items() if shared(p)}
        last = state.messages[-1].id if state.messages else None
        plain = {
            "thread": state.thread,
            "checkpoint": state.checkpoint,
            "messages": len(state.messages),
            "last": last,
            "next": list(state.next),
            "memory": put(dumps(writer.plain(dict(state.memory)))),
            "skills": put(dumps(writer.plain(state.skills))),
            "offload": put(dumps(writer.plain(state.offload))) if state.offload else None,
            "others": put(dumps(others)),
        }
        self._states[id(state)] = state, plain
        return plain

    def read(self, thread: str, head: str | None, messages: Messages, files_at: FilesAt) -> list[Turn]:
        """Return the turns of a thread that holds these messages now."""
        kept, before = list[tuple[Turn, str]](), None
        held = {id_: turn for turn, id_ in self._ids.get(thread, ())}
        state = self.states(messages, files_at)
        for row in self._records.turns(head):
            if (turn := held.get(row.id)) is None:
                try:
                    reader = Reader(self._records.get, before, self._heads)
                    facts = {name: reader.value(row.record[name]) for name in _FACTS}
                    facts |= {"structured": json.loads(facts["text"])} if row.record.get("structured") else {}
                    facts |= {name: state(row.record[name]) for name in ("before", "after")}
                    turn = Turn(thread=thread, **facts)
                except (LookupError, TypeError, ValueError) as error:
                    raise self._records.damaged(f"a turn can't be read: {error}") from None
            before = last_request(turn.events)
            kept.append((turn, row.id))
            self._known[id(turn.after)] = turn, row.id, row.parent
        self._ids[thread] = kept
        return [turn for turn, _ in kept]

    def states(self, messages: Messages, files_at: FilesAt) -> Callable[[Mapping[str, Any]], Snapshot]:
        """Return what makes states of what `state` gave, of a thread that holds these messages now."""
        at, shared = {message.id: n for n, message in enumerate(messages, 1)}, self._current.is_shared

        def files(plain: Mapping[str, Any]) -> Mapping[str, str]:
            place = Snapshot(plain["thread"], checkpoint=plain["checkpoint"])
            own = files_at(place) if place.checkpoint else {}
            others = {p: self._records.get(name) for p, name in self._value(plain["others"]).items()}
            return {**{p: text for p, text in own.items() if not shared(p)}, **others}

        def made(plain: Mapping[str, Any]) -> Snapshot:
            state = Snapshot(
                plain["thread"],
                files=LazyMapping(partial(files, plain)),
                memory=LazyMapping(partial(self._value, plain["memory"])),
                skills=self._value(plain["skills"]),
                messages=messages.first(at.get(plain["last"], plain["messages"])),
                offload=self._value(plain["offload"]) if plain["offload"] else None,
                next=tuple(plain["next"]),
                checkpoint=plain["checkpoint"],
            )
            self._states[id(state)] = state, plain
            return state

        return made

    def _value(self, name: str) -> Any:
        if name not in self._values:
            try:
                self._values[name] = Reader(self._records.get).value(json.loads(self._records.get(name)))
            except (LookupError, TypeError, ValueError) as error:
                raise self._records.damaged(f"a state can't be read: {error}") from None
        return self._values[name]


assert {*_FACTS, "structured", "before", "after", "thread"} == {f.name for f in fields(Turn)}


# -- threads that a given checkpointer already holds: read when they are first looked at, their turns numbered on


ENDED = "its kernel ended before the turn did"

FilesSeen = Callable[[Snapshot, str | None], Mapping[str, str]]
"""The text files of a thread in a state, with memory as the checkpoint of this ID saw it."""


def turns_of(
    thread: Thread, messages: Sequence[BaseMessage], begun: Mapping[str, Begin], last: str | None, files_at: FilesSeen
) -> tuple[Turn, ...]:
    """Return the turns of a thread whose snapshot has been read, out of its messages, where each `begun` and the last ended."""
    waiting = {call.id for call in thread.asked}
    if thread.runs:  # its open calls are being run
        waiting |= {call["id"] for m in messages[-1:] for call in getattr(m, "tool_calls", ())}
    requests = [i for i, message in enumerate(messages) if is_request(message)]
    starts = [turn_start(messages, at + 1) for at in requests]
    ends = [*starts[1:], len(messages)]
    log, done, made = Messages(), 0, list[Turn]()
    for at, start, end in zip(requests, starts, ends, strict=False):
        log, done = log.replace_from(len(log), [to_message(m) for m in messages[done:start]]), start
        begin = begun.get(messages[at].id or "")
        places = ((begin.before, begin.first), (begin.ended, begin.ended)) if begin else ((None, None), (None, None))
        before, ended = (
            Snapshot(
                thread.name,
                LazyMapping(partial(files_at, Snapshot(thread.name, checkpoint=place), seen)),
                messages=log,
                checkpoint=place,
            )
            for place, seen in places
        )
        if made:
            made[-1] = replace(made[-1], after=ended)
        facts = {**told(messages[at:end], waiting), "started": begin.at if begin else ""}
        prompt = message_text(messages[at])
        made.append(Turn(len(made) + 1, thread.name, prompt, before=before, after=before, budget=None, **facts))
    if made:
        stopped = thread.unfinished and not thread.asked
        why = (RUNS if thread.runs else ENDED) if stopped else None
        after = thread.snapshot
        files = LazyMapping(partial(files_at, after, last))  # without what was written to memory since
        made[-1] = replace(made[-1], after=replace(after, files=files), asked=thread.asked, interrupted=why)
    return tuple(made)


def told(messages: Sequence[BaseMessage], waiting: set[str]) -> dict[str, Any]:
    """Return what messages tell of the turn that they are of; `waiting` are the ids of calls without a result so far."""
    answers = [m for m in messages if isinstance(m, AIMessage)]
    models = (m.response_metadata.get("model_name") for m in answers)
    return {
        "text": next((text for m in reversed(answers) if (text := message_text(m))), ""),
        "events": tuple(stored_events(messages, waiting)),
        "usage": sum((used for m in answers if (used := usage(m))), Usage()),
        "model": next((str(name) for name in models if name), ""),
    }


def joined(known: Sequence[Turn], stored: Sequence[Turn]) -> list[Turn]:
    """Return the turns of a thread that another session went on with: those we know all of, then the others."""
    there = [turn for turn in known if turn.error is None or len(turn.after.messages) > len(turn.before.messages)]
    kept = list[Turn]()
    for a, b in zip(there, stored, strict=False):
        went_on = bool(a.after.next) and len(b.after.messages) > len(a.after.messages)
        kept.append(b if went_on or a.prompt != b.prompt else replace(a, number=b.number))
    return [*kept, *stored[len(kept) :]]
