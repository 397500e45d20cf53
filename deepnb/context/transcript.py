"""A thread's transcript: JSON Lines, one record of what happened a line, appended as it happens.

Version 1. Every line has `type`, `at` (ISO time), `session` (the kernel session that wrote it) and `n`
(counted from 1 in that session and thread; the same `session` and `n` twice is the same line written
twice); `turn` (from 1; left out where it is none) and `path` (ids of the enclosing `task` calls of a
nested agent, outermost first; left out for the main agent). Then, by `type`, left out where empty:

| type | fields |
| --- | --- |
| `session` | a session began to write: `v`, `thread`, `forked` (`NAME@TURN`), `head` |
| `turn` | a turn began, or went on: `model`, `cell`, `resumed` |
| `message` | `id`, `parent` (id of the message before it; of a nested agent's first, of the one that called it), |
| | `role`, `text`, `tool_calls` (each `id`, `name`, `args`), `name`, `tool_call_id`, `status` (`error`), |
| | `source`; of an answer `call`, `tokens` (sent, as counted), `usage` (as reported: `input`, `output`, |
| | `cached`, `cost`), `seconds`. A later line with the same `id` replaces it |
| `moved` | a message follows another one now: `id`, `parent` |
| `call` | a model call that was no answer: `call`, `purpose` (`summary`, `flush`), `tokens`, `usage`, `seconds` |
| `tool_start` | `id`, `name`; `args` where no message asked for it |
| `tool_end` | `id`, `name`, `status` (`ok`, `error`, `cut`), `seconds`; the result is the message of that call |
| `approval` | what was decided of a call: `id`, `name`, `decision` (`approve`, `edit`, `reject`), `args`, `reason` |
| `flushed` | before a compaction: `file` (the daily note), `lines` (what was put down in it), `how` |
| `compacted` | `cutoff` (messages no longer sent), `summary`, `file` (where they are), `summarized` (ISO time), |
| | `cause`, `before` and `after` (tokens), `anchors` (key facts: what the summary lost), `hidden` |
| | (how many more there was no room for) |
| `notice` | `text` |
| `end` | a turn ended: `seconds`, `usage` (with `exact` false where part of it is our own count), `interrupted`, |
| | `error`, `text` (what an unfinished answer said) |
| `rewind`, `fork`, `undo` | a thread was taken back or left: `what`, `head` |
| `head` | the head of the thread moved for another reason: `head` |

`head` is the id of the last message of the thread (null: none), which is where the next
message goes on; after a `message` of the main agent that message is the head. So parents make a tree of
all that was said, and the way from the head to its root is the thread. Other types are events in their
own words. Texts are written without credentials.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from deepnb.gate import redact, redact_value
from deepnb.gate.credentials import OWN
from deepnb.values import turn as values
from deepnb.values.agent import TASK
from deepnb.values.messages import MEMORY_UPDATE, Added, Message
from deepnb.values.text import json_text
from deepnb.values.turn import Path

VERSION = 1

COST = ("call", "tokens", "usage", "seconds")
"""What an answer's line says of its model call."""

ENVELOPE = ("type", "at", "session", "n", "turn", "path")
"""What stands beside the fields of its type in every line."""
_DRAWN = re.compile(r"(?:lc_)?(?:run-)?-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id of a message as LangChain draws it, `lc_run--01a215e1-3fca-74b7-b507-256089b30046` of an answer: no credential."""


@dataclass(frozen=True)
class Line:
    """One line of a transcript; `data` are the fields of its type."""

    type: str
    at: str
    session: str
    n: int
    data: Mapping[str, Any] = field(default_factory=dict)
    turn: int | None = None
    path: Path = ()


def to_json(line: Line) -> bytes:
    """Return the line as it is written, its end included."""
    head: dict[str, Any] = {"type": line.type, "at": line.at, "session": line.session, "n": line.n}
    head |= {"turn": line.turn} if line.turn is not None else {}
    head |= {"path": list(map(safe_id, line.path))} if line.path else {}
    return json_text({**head, **line.data}, allow_nan=False).encode() + b"\n"


def from_json(text: str | bytes) -> Line:
    """Return the line of a JSON object; ValueError if it is not one."""
    value = json.loads(text)
    kinds = {"type": str, "at": str, "session": str, "n": int}
    if not isinstance(value, dict) or not all(isinstance(value.get(k), kind) for k, kind in kinds.items()):
        raise ValueError("not a line of a transcript")
    data = {k: v for k, v in value.items() if k not in ENVELOPE}
    path = tuple(value.get("path") or ())
    return Line(value["type"], value["at"], value["session"], value["n"], data, value.get("turn"), path)


def read(text: bytes) -> tuple[tuple[Line, ...], int]:
    """Return (the lines of a transcript, how many were cut short and are left out)."""
    lines: dict[tuple[str, int], Line] = {}
    cut = 0
    for piece in filter(bytes.strip, text.split(b"\n")):
        try:
            line = from_json(piece)
            lines.setdefault((line.session, line.n), line)
        except ValueError:
            cut += 1
    return tuple(lines.values()), cut


def live_messages(lines: Iterable[Line], session: str | None = None) -> tuple[Line, ...]:
    """Return the messages of the thread as it stands, in order: as `session` left it, or whoever wrote the last line."""
    told = list(lines)
    session = session or (told[-1].session if told else None)
    messages: dict[str, Line] = {}
    parents: dict[str, str | None] = {}
    head: str | None = None
    for line in told:
        data = line.data
        if line.type == "message":
            messages[data["id"]] = line
            parents[data["id"]] = data.get("parent")
        elif line.type == "moved":
            parents[data["id"]] = data.get("parent")
        if line.session == session and not line.path:
            if line.type == "message":
                head = data["id"]
            elif "head" in data:
                head = data["head"]
    out: list[Line] = []
    seen: set[str] = set()
    while head is not None and head in messages and head not in seen:
        seen.add(head)
        out.append(messages[head])
        head = parents[head]
    return tuple(reversed(out))


def agents(lines: Iterable[Line]) -> dict[Path, str]:
    """Return Path of a nested agent -> its name, as the `task` call says that it works for."""
    named: dict[Path, str] = {}
    for line in lines:
        asked = [line.data] if line.type == "tool_start" else line.data.get("tool_calls") or ()
        for call in asked:
            name = (call.get("args") or {}).get("subagent_type") if call.get("name") == TASK else None
            if isinstance(name, str):
                named[(*line.path, call["id"])] = name
    return named


def said(line: Line) -> str:
    """Return what a line says, for reading: the words of a message or a notice, a summary, how a turn ended."""
    data = line.data
    for key in ("text", "summary", "interrupted", "error", "what", "status", "model", "forked"):
        if isinstance(found := data.get(key), str) and (key != "status" or line.type == "tool_end"):
            return found
    return ""


@lru_cache(4096)
def safe_id(id_: str) -> str:
    """Return the id as it is written: itself, but for one that holds a credential."""
    if _DRAWN.fullmatch(id_) and id_[-36:] not in OWN:
        return id_
    return id_ if redact(id_) == id_ else f"redacted-{sha256(id_.encode()).hexdigest()[:16]}"


def spoken(lines: Sequence[Line]) -> str:
    """Return a transcript in which each message is a line, at the number it has in the file; memory's updates are none."""
    kept = (line.type == "message" and line.data.get("source") != MEMORY_UPDATE for line in lines)
    return "\n".join(" ".join(said(line).split()) if is_ else "" for line, is_ in zip(lines, kept, strict=True))


# -- From events to the lines of a transcript: what each says that the lines before it did not

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
        """Yield the lines of an event. Pieces of an answer make none (the answer does, when it has ended), nor do thoughts."""
        path = event.path
        match event:
            case Added():
                call = self._calls.pop(event.call, None) if event.call is not None else None
                if call is not None:
                    self._facts[event.message.id] = _call(call)
                    if not path:
                        self._pieces.clear()
                yield from self.message(event.message, path)
            case values.TextDelta():
                self._pieces += [] if path else [event.text]
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
                    id_ = "/".join((*path, event.id)) + (f"-{number}" if number > 1 else "")
                    status: Any = "error" if event.status == "error" else "ok"
                    result = Message(id_, "tool", event.result, name=event.name, tool_call_id=event.id, status=status)
                    yield from self.message(result, path)
                ended = {"status": event.status, "seconds": round(event.seconds, 3)}
                yield "tool_end", {"id": safe_id(event.id), "name": redact(event.name), **ended}, path
            case values.Compacted(offload=offload):
                figures = {"cutoff": offload.cutoff, "before": offload.before, "after": offload.after}
                told = _some(summary=redact(offload.summary), file=offload.path, summarized=offload.at)
                anchors = [redact(anchor.text) for anchor in offload.anchors]
                told |= _some(anchors=anchors, hidden=len(offload.hidden) + offload.more or None)
                yield "compacted", {**figures, "cause": offload.cause, **told}, path
            case values.Flushed(flush=flush):
                saved = _some(lines=[redact(line) for line in flush.lines])
                yield "flushed", {"file": flush.file, **saved, "how": flush.how}, path
            case values.Decided(decision=word):
                args = _plain(redact_value(dict(word.args or {})))
                said = _some(decision=word.kind, args=args, reason=redact(word.reason))
                yield "approval", {"id": safe_id(word.call.id), "name": redact(word.call.name), **said}, path
            case values.ThinkingDelta() | values.Asked() | values.CodeOutput():
                return  # the messages say what was asked and what code put out, and `approval` what came of it
            case values.Notice(text=text):
                yield "notice", {"text": redact(text)}, path
            case _:
                # An event that this version knows nothing of; a field called like a line's own is written `its_NAME`.
                kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(event).__name__).lower()
                named = {f.name: getattr(event, f.name) for f in fields(event) if f.name != "path"}
                plain = _plain(redact_value(_plain(named)))
                yield kind, {f"its_{k}" if k in (*ENVELOPE, "head") else k: v for k, v in plain.items()}, path

    def message(self, message: Message, path: values.Path = ()) -> Iterator[Told]:
        """Yield the line of a message that joined a conversation; none where it is told already, word for word."""
        id_, words = message.id, hash((message.text, message.status, repr(message.tool_calls)))
        known = id_ in self._told
        if known and self._told[id_] == words:
            return
        if not known:
            caller = self._asked.get((path[:-1], path[-1])) if path else None
            self._parents[id_] = self._nested.get(path) or caller if path else self._head
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
        """Yield the lines that make the transcript's thread this one: what is missing, what moved, where it stands.

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
        """Return the line of a turn's end."""
        said = "".join(self._pieces) if turn.interrupted or turn.error else ""
        told = _some(usage=_usage(turn.usage) if turn.usage != values.Usage() else None)
        told |= _some(interrupted=redact(turn.interrupted or ""), error=redact(turn.error or ""), text=redact(said))
        self._pieces.clear()
        self._calls.clear()
        self._facts.clear()
        return "end", {"seconds": round(turn.seconds, 3), **told}, ()


def _written(id_: str | None) -> str | None:
    return None if id_ is None else safe_id(id_)


def _body(message: Message) -> dict[str, Any]:
    calls = [
        {"id": safe_id(c.id), "name": redact(c.name), "args": _plain(redact_value(dict(c.args)))}
        for c in message.tool_calls
    ]
    told = _some(text=redact(message.text), tool_calls=calls, name=redact(message.name or ""))
    status = "error" if message.status == "error" else None
    told |= _some(tool_call_id=safe_id(message.tool_call_id or ""), status=status, source=message.source)
    return {"role": message.role, **told}


def _call(call: values.Call) -> dict[str, Any]:
    told = _some(usage=_usage(call.usage) if call.usage else None)
    return {"call": call.number, "tokens": call.budget.total, **told, "seconds": round(call.seconds, 3)}


def _usage(usage: values.Usage) -> dict[str, Any]:
    cost = {} if usage.cost is None else {"cost": usage.cost}
    counted = {} if usage.exact else {"exact": False}
    return {"input": usage.input, "output": usage.output, "cached": usage.cached, **cost, **counted}


def _some(**facts: Any) -> dict[str, Any]:
    return {k: v for k, v in facts.items() if v not in (None, "", [], {})}


def _plain(value: Any) -> Any:
    """Return a value in JSON's own words: what has none is written as its text."""
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
