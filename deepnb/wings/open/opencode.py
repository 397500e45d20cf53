"""OpenCode's sessions: those of its SQLite database, from version 1.2 on, and one that `opencode export` wrote.

Both hold the same objects: messages, and the parts of each. All of a session is held in memory, within a bound.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnb.values.errors import LimitError, NotFoundError
from deepnb.values.offload import Cause
from deepnb.values.text import excerpt
from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.file import Head, chosen, object_of, read_database
from deepnb.wings.open.indexing import indexed
from deepnb.wings.open.json_values import array, count, dollars, iso, mapping, text
from deepnb.wings.open.jsonl import changed
from deepnb.wings.open.values import HIDDEN, OTHER_BRANCHES, SessionFile, SessionRow

TABLES = frozenset(("session", "message", "part"))
_MOST_ROWS, _MOST_AGENTS = 1_000, 200
_MOST_BYTES = 256 << 20
"""Bytes of one session with those that it started."""

Object = Mapping[str, Any]
Told = Sequence[tuple[Object, Sequence[Object]]]
"""(message, its parts), in order."""
Rows = Callable[..., Iterator[dict[str, Any]]]
"""Runs a query, and gives its rows."""


@dataclass(frozen=True)
class Stored:
    """A session as it is stored."""

    info: Object
    messages: Told
    bad: int = 0
    """Messages and parts that can't be read."""


class OpenCodeFormat:
    """A database with the tables `session`, `message` and `part`, or one object with `info` and `messages`."""

    name = "opencode"
    kind = "OpenCode"

    def matches(self, head: Head) -> bool:
        if head.is_sqlite:
            return head.tables >= TABLES
        return all(key in head.start for key in (b'"info"', b'"messages"', b'"parts"')) and _exported(head) is not None

    def rows(self, head: Head) -> tuple[SessionRow, ...]:
        if not head.is_sqlite:
            return (_row(head, mapping((_exported(head) or {}).get("info"))),)
        with _database(head.path) as rows:
            return tuple(_row(head, info) for info in _sessions(rows) if info.get("parent_id") is None)

    def open(self, head: Head, session: str | None) -> SessionFile:
        if head.is_sqlite:
            with _database(head.path) as rows:
                stored, nested, notices = _read(rows, str(head.path), session)
        else:
            whole = _exported(head) or {}
            told = [one for one in array(whole.get("messages")) if isinstance(one, dict)]
            messages = [(mapping(one.get("info")), [mapping(part) for part in array(one.get("parts"))]) for one in told]
            stored = Stored(mapping(whole.get("info")), messages, len(array(whole.get("messages"))) - len(told))
            nested, notices = {}, list[str]()
        info = {key: text(stored.info.get(key)) for key in ("id", "title", "directory", "version")}
        id_ = info["id"] or head.path.stem
        if session not in (None, id_):
            raise NotFoundError(f"{head.path} has no session {session}", f"its session is {id_}")
        revert = mapping(stored.info.get("revert")) or _object(stored.info.get("revert"))
        ids, wanted = [one.get("id") for one, _ in stored.messages], text(revert.get("messageID"))
        first = ids.index(wanted) if wanted and wanted in ids else len(ids)
        kept, undone = stored.messages[:first], stored.messages[first:]
        left = sum(entry.has(it.Prompt) for entry in _entries(undone))
        agents = [it.Agent(id_, entries=_entries(one.messages)) for id_, one in nested.items() if one.messages]
        arranged = it.Arrangement(_entries(kept), agents, {OTHER_BRANCHES: left}, notices)
        facts = {"format": self.name, "kind": self.kind, "path": str(head.path), "id": id_, "bytes": head.size}
        facts |= {"title": info["title"], "cwd": info["directory"], "version": info["version"]}
        return indexed(arranged, {**facts, "bad": stored.bad})


def _row(head: Head, info: Object) -> SessionRow:
    at = iso(info.get("time_updated")) or iso(mapping(info.get("time")).get("updated")) or changed(head.path)
    id_, title = text(info.get("id")) or head.path.stem, excerpt(text(info.get("title")), it.HEAD)
    return SessionRow(str(head.path), id_, OPENCODE.kind, at, title, head.size)


def _exported(head: Head) -> Object | None:
    whole = mapping(head.whole)
    first = next(iter(array(whole.get("messages"))), None)
    return whole if isinstance(whole.get("info"), dict) and isinstance(mapping(first).get("parts"), list) else None


@contextmanager
def _database(path: Path) -> Iterator[Rows]:
    with read_database(path) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row
        yield lambda sql, *values: map(dict, connection.execute(sql, values))


def _sessions(rows: Rows) -> list[dict[str, Any]]:
    """Return those that no other one started, then the others, the one that changed last first."""
    return list(rows("SELECT * FROM session ORDER BY parent_id IS NOT NULL, time_updated DESC LIMIT ?", _MOST_ROWS))


def _read(rows: Rows, path: str, session: str | None) -> tuple[Stored, dict[str, Stored], list[str]]:
    """Return a session, those that it started by their ids, and what is to be said; the newest unless one is named."""
    known = {text(one.get("id")): one for one in _sessions(rows)}
    names = [name for name, one in known.items() if one.get("parent_id") is None or name == session]
    id_, notices = chosen(names, session, path, "session")
    found: dict[str, Stored] = {}
    waiting, room = [known[id_]], _MOST_BYTES
    while waiting and len(found) <= _MOST_AGENTS:
        info = waiting.pop(0)
        if (key := text(info.get("id"))) in found:
            continue
        queries = (f"SELECT sum(length(data)) AS n FROM {table} WHERE session_id = ?" for table in ("message", "part"))
        room -= sum(count(row["n"]) for query in queries for row in rows(query, key))
        if room < 0:
            raise LimitError(f"session {id_} has more than {_MOST_BYTES >> 20} MB", "choose another session")
        parts: dict[object, list[Object]] = {}
        bad, messages = 0, list[tuple[Object, Sequence[Object]]]()
        for row in rows("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", key):
            parts.setdefault(row["message_id"], []).append({**(data := _object(row["data"])), "id": row["id"]})
            bad += not data
        for row in rows("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", key):
            messages.append(({**(data := _object(row["data"])), "id": row["id"]}, parts.get(row["id"], ())))
            bad += not data
        found[key] = Stored(info, messages, bad)
        waiting += (one for one in known.values() if one.get("parent_id") == key)
    return found.pop(id_), found, notices


def _object(stored: object) -> Object:
    data = stored.encode() if isinstance(stored, str) else stored
    return (object_of(data) if isinstance(data, bytes) else None) or {}


def _entries(messages: Told) -> list[it.Entry]:
    found: list[it.Entry] = []
    summed = {text(one.get("parentID")) for one, _ in messages if _is_summary(one)}
    context = 0
    for n, (message, parts) in enumerate(messages, 1):
        id_, at = text(message.get("id")) or f"message-{n}", iso(mapping(message.get("time")).get("created"))
        entry = it.Entry([], at, id_, line=n)
        found.append(entry)
        match message.get("role"):
            case "user":
                entry.items = list(_user(parts, context, id_ in summed))
            case "assistant":
                entry.items = list(_assistant(message, parts, id_))
                used = None if message.get("summary") is True else _usage(message)
                context = used.input if used else context
                found += filter(None, map(_result, parts))
    return found


def _is_summary(message: Object) -> bool:
    return message.get("summary") is True and bool(message.get("finish")) and not message.get("error")


def _user(parts: Iterable[Object], context: int, summed: bool) -> Iterator[it.Item]:
    """Yield what a message of the user's says; a compaction that it asks for has the context before, if it was done."""
    said, others = list[str](), list[it.Item]()
    for part in parts:
        match part.get("type"):
            case "text" if part.get("synthetic"):
                others.append(it.Context(words := text(part.get("text")), len(words), "synthetic"))
            case "text":
                said.append(text(part.get("text")))
            case "subtask":
                said.append(text(part.get("prompt")))
            case "file":
                said.append(f"[file: {(text(part.get('filename')) or text(part.get('mime')) or 'data')[:100]}]")
            case "compaction" if not summed:
                others.append(it.Note("a compaction that did not end"))
            case "compaction":
                cause: Cause = "overflow" if part.get("overflow") else "trigger" if part.get("auto") else "by hand"
                others.append(it.Compaction("", 0, context, cause=cause))
    if whole := "\n\n".join(filter(None, said)):
        yield it.Prompt(whole, len(whole))
    yield from others


def _assistant(message: Object, parts: Iterable[Object], key: str) -> Iterator[it.Item]:
    error, summary = mapping(message.get("error")), message.get("summary") is True
    yield it.Reply("", 0, key, text(message.get("modelID")), _usage(message), summary)
    for part in parts:
        words = text(part.get("text"))
        match part.get("type"):
            case "text" if not summary:
                yield it.Text(words, len(words), key)
            case "text":
                if _is_summary(message):
                    yield it.Summary(words, len(words))
            case "reasoning":
                yield it.Thought(words or HIDDEN, 0, key)
            case "tool":
                args = mapping(mapping(part.get("state")).get("input"))
                yield it.Tool.of(_id(part), text(part.get("tool")), args, key)
    if error:
        why = text(mapping(error.get("data")).get("message")) or text(error.get("name")) or "the reply failed"
        yield it.Interruption() if error.get("name") == "MessageAbortedError" else it.Note(why)


def _result(part: Object) -> it.Entry | None:
    """Return what a tool gave, as an entry of its own, since it has a time of its own; None if it has not ended."""
    state = mapping(part.get("state"))
    failed = state.get("status") == "error"
    if part.get("type") != "tool" or not (failed or state.get("status") == "completed"):
        return None
    said, about = text(state.get("error" if failed else "output")), mapping(state.get("metadata"))
    before = mapping(about.get("filediff")).get("before")
    original = text(before) if isinstance(before, str) else None
    agent = text(about.get("sessionId")) or text(about.get("sessionID"))
    result = it.Result(said, len(said), _id(part), text(part.get("tool")), failed, agent, original)
    return it.Entry([result], iso(mapping(state.get("time")).get("end")))


def _id(part: Object) -> str:
    return text(part.get("callID")) or text(part.get("id"))


def _usage(message: Object) -> Usage | None:
    """Return the tokens of a call; None for one that failed, whose figures say nothing of the context."""
    told = mapping(message.get("tokens"))
    cache = mapping(told.get("cache"))
    read = count(cache.get("read"))
    given, out = count(told.get("input")) + read + count(cache.get("write")), count(told.get("output"))
    spent = Usage(given, out, read, dollars(message.get("cost")))
    return spent if (given or out) and not message.get("error") else None


OPENCODE = OpenCodeFormat()
