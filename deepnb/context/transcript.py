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
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from deepnb.gate import redact
from deepnb.gate.own import OWN
from deepnb.values.messages import MEMORY_UPDATE
from deepnb.values.subagents import TASK
from deepnb.values.turn import Path

VERSION = 1

COST = ("call", "tokens", "usage", "seconds")
"""What an answer's line says of its model call."""

ENVELOPE = ("type", "at", "session", "n", "turn", "path")
"""What stands beside the fields of its type in every line."""


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
    """The line as it is written, its end included."""
    head: dict[str, Any] = {"type": line.type, "at": line.at, "session": line.session, "n": line.n}
    head |= {"turn": line.turn} if line.turn is not None else {}
    head |= {"path": list(map(safe_id, line.path))} if line.path else {}
    value = {**head, **line.data}
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value, allow_nan=False).encode() + b"\n"


def from_json(text: str | bytes) -> Line:
    """The line of a JSON object; ValueError if it is not one."""
    value = json.loads(text)
    kinds = {"type": str, "at": str, "session": str, "n": int}
    if not isinstance(value, dict) or not all(isinstance(value.get(k), kind) for k, kind in kinds.items()):
        raise ValueError("not a line of a transcript")
    data = {k: v for k, v in value.items() if k not in ENVELOPE}
    path = tuple(value.get("path") or ())
    return Line(value["type"], value["at"], value["session"], value["n"], data, value.get("turn"), path)


def read(text: bytes) -> tuple[tuple[Line, ...], int]:
    """(the lines of a transcript, how many were cut short and are left out)."""
    lines: dict[tuple[str, int], Line] = {}
    cut = 0
    for piece in text.split(b"\n"):
        if not piece.strip():
            continue
        try:
            line = from_json(piece)
        except ValueError:
            cut += 1
            continue
        lines.setdefault((line.session, line.n), line)
    return tuple(lines.values()), cut


def live_messages(lines: Iterable[Line], session: str | None = None) -> tuple[Line, ...]:
    """The messages of the thread as it stands, in order: as `session` left it, or whoever wrote the last line."""
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
    """Path of a nested agent -> its name, as the `task` call says that it works for."""
    named: dict[Path, str] = {}
    for line in lines:
        asked = [line.data] if line.type == "tool_start" else line.data.get("tool_calls") or ()
        for call in asked:
            name = (call.get("args") or {}).get("subagent_type") if call.get("name") == TASK else None
            if isinstance(name, str):
                named[(*line.path, call["id"])] = name
    return named


def said(line: Line) -> str:
    """What a line says, for reading: the words of a message or a notice, a summary, how a turn ended."""
    data = line.data
    for key in ("text", "summary", "interrupted", "error", "what", "status", "model", "forked"):
        if isinstance(found := data.get(key), str) and (key != "status" or line.type == "tool_end"):
            return found
    return ""


_DRAWN = re.compile(r"(?:lc_)?(?:run-)?-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The id of a message as LangChain draws it, `lc_run--01a215e1-3fca-74b7-b507-256089b30046` of an answer: no credential."""


@lru_cache(4096)
def safe_id(id_: str) -> str:
    """The id as it is written: itself, but for one that holds a credential."""
    if _DRAWN.fullmatch(id_) and id_[-36:] not in OWN:
        return id_
    return id_ if redact(id_) == id_ else f"redacted-{sha256(id_.encode()).hexdigest()[:16]}"


def spoken(lines: Sequence[Line]) -> str:
    """A transcript in which each message is a line, at the number it has in the file; memory's updates are none."""
    kept = (line.type == "message" and line.data.get("source") != MEMORY_UPDATE for line in lines)
    return "\n".join(" ".join(said(line).split()) if is_ else "" for line, is_ in zip(lines, kept, strict=True))
