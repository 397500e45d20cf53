"""LangGraph's checkpoints, read by LangGraph's own savers through a connection that can write nothing."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, EXT_NUMPY_ARRAY, JsonPlusSerializer

from deepnb.engine.keys import MEMORY_THREAD
from deepnb.values.errors import InvalidError, NotInstalledError, RefusedError
from deepnb.values.server_address import without_password
from deepnb.wings.open.chat import is_pair, message
from deepnb.wings.open.file import object_of, read_database
from deepnb.wings.open.json_values import count, mapping, text

_SUMMARIZED = "_summarization_event"
"""The channel to which deepagents writes that it compacted the context."""
_TAKEN = "deepnb_taken"
"""Where deepnb notes in it how many messages it took out of the state: here they stay."""
_OVERWRITE, _REMOVE_ALL = "__overwrite__", "__remove_all__"
_WAIT = 10
"""Seconds in which a server has to answer."""

Messages = dict[Any, dict[str, Any]]
"""Messages in order, by their ids."""


class DataSerializer(JsonPlusSerializer):
    """Gives plain data, of an object its fields: nothing that a file names is imported or called.

    LangGraph's own hook with an empty list of allowed classes makes some fifty classes all the same, and logs the name
    of each other class as a warning, which a notebook shows.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None, __unpack_ext_hook__=_fields)

    def loads_typed(self, data: tuple[str | None, Any]) -> Any:
        kind, stored = data
        if kind is None or stored is None:
            return None
        if "+" in str(kind):
            raise RefusedError(f"this database is encrypted ({kind})", "open it with the program that has the key")
        if kind not in ("null", "bytes", "bytearray", "json", "msgpack"):
            what = f"this database holds values of the kind {kind!r}, which are not read"
            raise RefusedError(what, "choose another file")
        # LangChain's reviver would import what a constructor names, and read keys from the environment.
        return json.loads(stored) if kind == "json" else super().loads_typed((kind, stored))


def _fields(code: int, data: bytes) -> Any:
    value = ormsgpack.unpackb(data, ext_hook=_fields, option=ormsgpack.OPT_NON_STR_KEYS)
    if code == EXT_DELTA_SNAPSHOT:
        return (value,)  # the only tuple: an array is a list
    if code == EXT_NUMPY_ARRAY or not isinstance(value, list) or len(value) < 3:
        return None
    return {_OVERWRITE: mapping(value[2]).get("value")} if value[1] == "Overwrite" else value[2]


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise RefusedError(f"a checkpoint is damaged ({type(error).__name__})", "choose another thread") from None


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of a database: their values as LangGraph's saver gives them, the rest by its tables."""

    saver: Any
    execute: Callable[..., Iterable[dict[str, Any]]]
    """Runs a query, with `?` where a value is, and gives its rows."""
    where: str
    """The database as it may be shown: without a password."""
    written: tuple[str, str]
    """The table of writes, and the column in which it has their values."""

    def threads(self) -> list[tuple[str, str, str]]:
        """Return (thread, its first checkpoint, its newest) of each, the one that changed last first."""
        query = "SELECT thread_id, min(checkpoint_id) AS first, max(checkpoint_id) AS last FROM checkpoints"
        found = self.execute(f"{query} WHERE checkpoint_ns = '' GROUP BY thread_id")
        rows = [(str(row["thread_id"]), str(row["first"]), str(row["last"])) for row in found]
        return sorted((row for row in rows if not row[0].startswith(MEMORY_THREAD)), key=itemgetter(2), reverse=True)

    def namespaces(self, thread: str) -> list[str]:
        """Return where in the nest of graphs a thread has checkpoints, but for its root."""
        query = "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != ''"
        return sorted(str(row["checkpoint_ns"]) for row in self.execute(query, thread))

    def at(self, thread: str, space: str, id_: str) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
        """Return the channels as a checkpoint holds them, and (channel, value) of what the step after it wrote."""
        place = {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": id_}
        with _decoding():
            found = self.saver.get_tuple({"configurable": place})
            held = mapping(found.checkpoint.get("channel_values"))
            values = {str(name): value[0] if isinstance(value, tuple) else value for name, value in held.items()}
            return values, [(str(channel), value) for _, channel, value in found.pending_writes]

    def writes(self, thread: str, space: str, channel: str) -> Mapping[str, list[Any]]:
        """Return for each checkpoint what the step after it wrote to a channel, in the order in which it was applied."""
        table, column = self.written
        query = f"SELECT * FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ?"
        rows = self.execute(query, thread, space, channel)
        written: dict[str, list[Any]] = defaultdict(list)
        with _decoding():
            found = []
            for row in rows:
                value = self.saver.serde.loads_typed((row["type"], row[column]))
                found.append((row.get("task_path", ""), row["task_id"], row["idx"], str(row["checkpoint_id"]), value))
            for *_, id_, value in sorted(found, key=itemgetter(0, 1, 2)):
                written[id_].append(value)
        return written

    def branch(self, thread: str, space: str = "") -> Branch:
        """Return a namespace of a thread, as its newest checkpoint leaves it."""
        query = "SELECT checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints"
        rows = list(self.execute(f"{query} WHERE thread_id = ? AND checkpoint_ns = ?", thread, space))
        parents = {str(row["checkpoint_id"]): row["parent_checkpoint_id"] for row in rows}
        facts = dict[str, Mapping[str, Any]]()
        for row in rows:
            stored = row["metadata"].encode() if isinstance(row["metadata"], str) else row["metadata"]
            facts[str(row["checkpoint_id"])] = mapping(object_of(stored) if isinstance(stored, bytes) else stored)
        chain: dict[str, None] = {}
        at: str | None = max(parents)
        while at in parents and at not in chain:
            chain[at] = None
            at = parents[at]
        ids = list(chain)[::-1]
        inputs = {id_ for id_, one in facts.items() if one.get("source") == "input"}
        values, pending = self.at(thread, space, ids[-1])
        messages, events = self._messages(thread, space, ids, values)
        began = [id_ for id_ in ids if id_ in inputs]
        return Branch(began, len(inputs - chain.keys()), facts[ids[-1]], messages, events, pending)

    def _messages(
        self, thread: str, space: str, ids: list[str], values: Mapping[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the messages, and (how many there were, what was written) for each compaction."""
        writes, summed = self.writes(thread, space, "messages"), self.writes(thread, space, _SUMMARIZED)
        whole, grown, taken, events = values.get("messages"), Messages(), Messages(), []
        for id_ in ids[:-1]:
            found_here = [_from_first(event) for event in summed.get(id_, ()) if event is not None]
            events += [(len(taken) + len(grown), event) for event in found_here]
            before = dict(grown) if any(_TAKEN in mapping(event) for event in found_here) else {}
            for write in writes.get(id_, ()):
                fold(grown, write)
            taken |= {key: one for key, one in before.items() if key not in grown}
        since = len(ids) - 1  # deepagents stores the messages every 50 steps, and in between what was written
        while whole is None and since:
            since -= 1
            whole = self.at(thread, space, ids[since])[0].get("messages")
        found = Messages()
        for write in ([whole] if whole is not None else []) + [w for id_ in ids[since:-1] for w in writes.get(id_, ())]:
            fold(found, write)
        last = _from_first(values.get(_SUMMARIZED))
        if last is not None and not any(event == last for _, event in events):
            events.append((len(found), last))  # what was written to make it is no longer there
        return list((taken | found).values()), events


@contextmanager
def sqlite_checkpoints(path: Path) -> Iterator[Checkpoints]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError:
        raise NotInstalledError("SQLite needs langgraph-checkpoint-sqlite", 'pip install "deepnb[sqlite]"') from None
    with read_database(path) as connection:

        def execute(sql: str, *values: Any) -> Iterable[dict[str, Any]]:
            cursor = connection.cursor()
            cursor.row_factory = sqlite3.Row
            return map(dict, cursor.execute(sql, values))

        yield Checkpoints(SqliteSaver(connection, serde=DataSerializer()), execute, str(path), ("writes", "value"))


@contextmanager
def postgres_checkpoints(url: str) -> Iterator[Checkpoints]:
    """Yield the checkpoints of a PostgreSQL database, as they were when it was opened."""
    try:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg.rows import dict_row
    except ImportError:
        raise NotInstalledError("PostgreSQL needs a package", 'pip install "deepnb[postgres]"') from None

    class Saver(PostgresSaver):  # a database of before 2025 has no such column, and the saver's `setup` would add it
        SELECT_SQL = PostgresSaver.SELECT_SQL.replace("cw.task_path", "coalesce(to_jsonb(cw) ->> 'task_path', '')")

    where = without_password(url)
    try:
        with psycopg.connect(url, prepare_threshold=None, row_factory=dict_row, connect_timeout=_WAIT) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

            def execute(sql: str, *values: Any) -> Iterable[dict[str, Any]]:
                return connection.execute(sql.replace("?", "%s"), values)

            saver = Saver(connection, serde=DataSerializer())
            yield Checkpoints(saver, execute, where, ("checkpoint_writes", "blob"))
    except psycopg.errors.UndefinedTable:
        raise RefusedError(f"{where} holds no checkpoints of LangGraph", "open another database") from None
    except psycopg.Error as error:
        why = str(error).replace(url, where)
        with suppress(ValueError):
            for secret in filter(None, (urlsplit(url).password, unquote(urlsplit(url).password or ""))):
                why = why.replace(secret, "***")
        what = f"{where} can't be read ({' '.join(why.split())[:160]})"
        raise InvalidError(what, "see that the server runs and that the address is right") from None


def _from_first(event: Any) -> Any:
    if not (gone := count(mapping(mapping(event).get(_TAKEN)).get("messages"))):
        return event
    return {**event, **{name: count(event.get(name)) + gone for name in ("cutoff_index", "created_at_index")}}


@dataclass(frozen=True)
class Branch:
    """One namespace of a thread, from its root to its newest checkpoint."""

    inputs: list[str]
    """The checkpoints with which a turn began."""
    left: int
    """How many turns began in other branches."""
    metadata: Mapping[str, Any]
    messages: list[dict[str, Any]]
    events: list[tuple[int, Any]]
    """Compactions: (how many messages there were, what was written)."""
    pending: list[tuple[str, Any]]
    """(channel, value) of steps that were not finished."""


def fold(messages: Messages, write: Any) -> None:
    """Put a write to the channel of messages into it, as LangGraph's reducer does; what is no message is left out."""
    if isinstance(write, dict) and set(write) == {_OVERWRITE}:
        write = write[_OVERWRITE]
        messages.clear()
    given = write if isinstance(write, list | tuple) and not is_pair(write) else [write]
    for one in filter(None, map(message, given)):
        id_ = text(one.get("id"))
        if one["type"] != "remove":
            messages[id_ or object()] = one
        elif id_ == _REMOVE_ALL:
            messages.clear()
        else:
            messages.pop(id_, None)
