"""From events to the lines of a transcript: what each says that the lines before it did not."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from deepnb.context.transcript import ENVELOPE, safe_id
from deepnb.gate import redact, redact_value
from deepnb.values import turn as values
from deepnb.values.messages import Added, Message
from deepnb.values.offload import Offload

Told = tuple[str, dict[str, Any], values.Path]
"""(type, data, path) of a line to be written."""


class Chain:
    """What the transcript of one thread says so far; gives the lines that say what is new.

    It keeps ids, not texts: what it costs goes with the number of messages.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        """The thread's messages as they stand, as told."""
        self._head: str | None = None
        self._parents: dict[str, str | None] = {}
        self._told: dict[str, int] = {}
        self._nested: dict[values.Path, str] = {}
        self._asked: dict[tuple[values.Path, str], str] = {}
        self._results: dict[tuple[values.Path, str], int] = {}
        """Call of a nested agent -> how many results there were of calls of this id."""
        self._calls: dict[int, values.Call] = {}
        self._facts: dict[str, dict[str, Any]] = {}
        self._pieces: list[str] = []

    @property
    def head(self) -> str | None:
        """The id of the thread's last message, as it is written."""
        return _written(self._head)

    def event(self, event: values.Event | Added) -> Iterator[Told]:
        """The lines of an event. Pieces of an answer make none (the answer does, when it has ended), nor do thoughts."""
        path = event.path
        match event:
            case Added():
                yield from self._added(event)
            case values.TextDelta():
                self._pieces += [] if path else [event.text]
            case values.ThinkingDelta():
                pass
            case values.ModelStarted():
                if not path:
                    self._pieces.clear()
            case values.ModelEnded(call=call) if call.purpose == "answer":
                self._calls[call.number] = call
            case values.ModelEnded(call=call):
                yield "call", {**_call(call), "purpose": call.purpose}, path
            case values.ToolStarted():
                args = {} if (path, event.id) in self._asked else _some(args=_plain(redact_value(dict(event.args))))
                yield "tool_start", {"id": safe_id(event.id), "name": redact(event.name), **args}, path
            case values.ToolEnded():
                if path and event.status != "cut":  # no state of a nested agent is seen: this is its message
                    self._results[path, event.id] = number = self._results.get((path, event.id), 0) + 1
                    yield from self.message(_result(event, number), path)
                ended = {"status": event.status, "seconds": round(event.seconds, 3)}
                yield "tool_end", {"id": safe_id(event.id), "name": redact(event.name), **ended}, path
            case values.Compacted(offload=offload):
                yield "compacted", _offload(offload), path
            case values.Flushed(flush=flush):
                saved = _some(lines=[redact(line) for line in flush.lines])
                yield "flushed", {"file": flush.file, **saved, "how": flush.how}, path
            case values.Decided(decision=word):
                args = _plain(redact_value(dict(word.args or {})))
                said = _some(decision=word.kind, args=args, reason=redact(word.reason))
                yield "approval", {"id": safe_id(word.call.id), "name": redact(word.call.name), **said}, path
            case values.Asked() | values.CodeOutput():
                return  # the messages say what was asked and what code put out, and `approval` what came of it
            case values.Notice(text=text):
                yield "notice", {"text": redact(text)}, path
            case _:
                yield _kind(event), _generic(event), path

    def message(self, message: Message, path: values.Path = ()) -> Iterator[Told]:
        """The line of a message that joined a conversation; none where it is told already, word for word."""
        id_, words = message.id, hash((message.text, message.status, repr(message.tool_calls)))
        known = id_ in self._told
        if known and self._told[id_] == words:
            return
        if not known:
            self._parents[id_] = self._last(path)
            if path:
                self._nested[path] = id_
            else:
                self._ids.append(id_)
                self._head = id_
        self._told[id_] = words
        for call in message.tool_calls:
            self._asked[(path, call.id)] = id_
            if not known:
                self._nested.pop((*path, call.id), None)  # an id may be that of an earlier call
        data = {"id": safe_id(id_), "parent": _written(self._parents[id_]), **_body(message)}
        yield "message", {**data, **self._facts.get(id_, {})}, path
        if known and not path and self._head != id_:
            yield "head", {"head": self.head}, ()

    def follow(self, messages: Sequence[Message], why: str = "head", **facts: str) -> Iterator[Told]:
        """The lines that make the transcript's thread this one: what is missing, what moved, where it stands.

        With a `why` of its own (`rewind`, `undo`) there is a line for it even where nothing changed.
        """
        ids = [m.id for m in messages]
        if why == "head" and ids == self._ids and self._head == (ids[-1] if ids else None):
            return
        before: str | None = None
        stands = self._head
        for id_, message in zip(ids, messages, strict=True):
            if id_ not in self._told:
                self._head = before
                yield from self.message(message)
                stands = id_
            elif self._parents[id_] != before:
                self._parents[id_] = before
                yield "moved", {"id": safe_id(id_), "parent": _written(before)}, ()
            before = id_
        self._ids, self._head = ids, before
        if why != "head" or stands != before:
            yield why, {**facts, "head": self.head}, ()

    def end(self, turn: values.Turn) -> Told:
        """The line of a turn's end."""
        unfinished = "".join(self._pieces) if turn.interrupted or turn.error else ""
        told = _some(
            usage=_usage(turn.usage) if turn.usage != values.Usage() else None,
            interrupted=redact(turn.interrupted or ""),
            error=redact(turn.error or ""),
            text=redact(unfinished),
        )
        self._pieces.clear()
        self._calls.clear()
        self._facts.clear()
        return "end", {"seconds": round(turn.seconds, 3), **told}, ()

    def _added(self, added: Added) -> Iterator[Told]:
        call = self._calls.pop(added.call, None) if added.call is not None else None
        if call is not None:
            self._facts[added.message.id] = _call(call)
            if not added.path:
                self._pieces.clear()
        yield from self.message(added.message, added.path)

    def _last(self, path: values.Path) -> str | None:
        """The message behind which the next one of an agent stands."""
        if not path:
            return self._head
        return self._nested.get(path) or self._asked.get((path[:-1], path[-1]))


def _written(id_: str | None) -> str | None:
    return None if id_ is None else safe_id(id_)


def _body(message: Message) -> dict[str, Any]:
    calls = [
        {"id": safe_id(c.id), "name": redact(c.name), "args": _plain(redact_value(dict(c.args)))}
        for c in message.tool_calls
    ]
    told = _some(
        text=redact(message.text),
        tool_calls=calls,
        name=redact(message.name or ""),
        tool_call_id=safe_id(message.tool_call_id or ""),
        status="error" if message.status == "error" else None,
        source=message.source,
    )
    return {"role": message.role, **told}


def _result(event: values.ToolEnded, number: int) -> Message:
    """The message of a nested agent's tool; `number` counts the results of the calls of that id."""
    return Message(
        "/".join((*event.path, event.id)) + (f"-{number}" if number > 1 else ""),
        "tool",
        event.result,
        name=event.name,
        tool_call_id=event.id,
        status="error" if event.status == "error" else "ok",
    )


def _call(call: values.Call) -> dict[str, Any]:
    told = _some(usage=_usage(call.usage) if call.usage else None)
    return {"call": call.number, "tokens": call.budget.total, **told, "seconds": round(call.seconds, 3)}


def _offload(offload: Offload) -> dict[str, Any]:
    told = _some(
        summary=redact(offload.summary),
        file=offload.path,
        summarized=offload.at,
        anchors=[redact(anchor.text) for anchor in offload.anchors],
        hidden=len(offload.hidden) + offload.more or None,
    )
    figures = {"cutoff": offload.cutoff, "before": offload.before, "after": offload.after}
    return {**figures, "cause": offload.cause, **told}


def _usage(usage: values.Usage) -> dict[str, Any]:
    cost = {} if usage.cost is None else {"cost": usage.cost}
    counted = {} if usage.exact else {"exact": False}
    return {"input": usage.input, "output": usage.output, "cached": usage.cached, **cost, **counted}


def _some(**facts: Any) -> dict[str, Any]:
    return {k: v for k, v in facts.items() if v not in (None, "", [], {})}


def _kind(event: object) -> str:
    """`MemoryFlushed` is `memory_flushed`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(event).__name__).lower()


def _generic(event: Any) -> dict[str, Any]:
    """The fields of an event that this version knows nothing of; one called like a line's own is written `its_NAME`."""
    named = {f.name: getattr(event, f.name) for f in fields(event) if f.name != "path"}
    plain = _plain(redact_value(_plain(named)))
    return {f"its_{k}" if k in (*ENVELOPE, "head") else k: v for k, v in plain.items()}


def _plain(value: Any) -> Any:
    """A value in JSON's own words: what has none is written as its text."""
    match value:
        case str() | bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {str(k): _plain(v) for k, v in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(v) for v in value]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return str(value)
