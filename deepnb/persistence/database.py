"""What a session asks of a database, whichever it is: rows, LangGraph's two parts, one writer at a time, claims."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from deepnb.values.errors import BusyError, RefusedError

CHECKPOINT = ("thread_id", "checkpoint_ns", "checkpoint_id")
WRITE = (*CHECKPOINT, "task_id", "idx")
"""Keys of LangGraph's tables."""


@dataclass(frozen=True)
class Blob:
    """A value of a checkpoint."""

    channel: str
    """Empty for a checkpoint as a whole."""
    typed: tuple[str, bytes]
    """What it is, and its bytes."""
    table: str
    column: str
    key: Mapping[str, Any]
    """What names its row."""


class Database(Protocol):
    """A place that sessions are kept in. Several kernels may have it open."""

    where: str
    """How it is called, without a password: a file as it was given, or an address."""
    saver: Any
    """LangGraph's checkpointer: the states of threads."""
    store: Any
    """LangGraph's store: memory, notes, skills and their journal."""

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a statement whose values are written `?`."""

    def transaction(self) -> AbstractContextManager[None]:
        """Return a block whose statements are all there afterwards, or none; one transaction at a time."""

    def lock(self) -> AbstractContextManager[Any]:
        """Return a block with one writer of memory at a time, of all kernels; a thread may enter it again."""

    def hold(self, thread: str) -> Callable[[], None] | None:
        """Return what gives a thread free again; None where another kernel holds it. It ends with its process."""

    def blobs(self) -> Iterator[Blob]:
        """Return all values of checkpoints, as LangGraph's serializer wrote them."""

    def vacuum(self) -> str:
        """Remove what was overwritten from the disk; return one line on where it may be still, empty for nowhere."""

    def close(self) -> None:
        """Nothing is read or written any more."""

    def changes(self) -> object:
        """Return what is equal to what it was before as long as nobody has written to the store."""

    def file_versions(self, namespace: tuple[str, ...], directory: str) -> dict[str, int]:
        """Return path -> the hash of what is stored, of the files below a directory: the store itself would decode each."""
        asked = "SELECT key, CAST(value AS TEXT) FROM store WHERE prefix = ? AND substr(key, 1, ?) = ?"
        return {path: hash(text) for path, text in self.execute(asked, ".".join(namespace), len(directory), directory)}

    plays: bool = False
    """Whether a turn plays in this kernel, whose end leaves all of it whole."""

    @property
    def is_there(self) -> bool:
        """Whether what was opened is still found under its name."""
        return True

    @property
    def files(self) -> str:
        """Which files of the disk are the whole of it, in a line; empty for a server."""
        return ""

    def move(self, name: str) -> None:
        """Go on in another file: the one that was opened, under its new name, or a new one with all that it held."""
        raise TypeError(f"{self.where} is no file")

    def make_whole(self) -> bool:
        """Leave nothing in a side file; return whether nothing is."""
        return True

    def claim(self, thread: str) -> Callable[[], None]:
        """Return what gives a thread free again; an error that names the kernel which plays a turn in it."""
        if (release := self.hold(thread)) is None:
            raise self.busy(thread)
        here = f"process {os.getpid()} on {platform.node() or 'this machine'}, in {os.getcwd()}"
        try:
            since = datetime.now().astimezone().isoformat(timespec="seconds")
            self.upsert("deepnb_claims", thread=thread, holder=here, since=since)
        except BaseException:
            release()
            raise
        return release

    def upsert(self, table: str, *kept: str, **row: Any) -> None:
        """Insert a row; in one of the same key, which is the first column, change all others but those that are `kept`."""
        key, *others = row
        made = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        changes = ", ".join(f"{name} = excluded.{name}" for name in others if name not in kept)
        self.execute(f"{made} ON CONFLICT ({key}) DO UPDATE SET {changes}", *row.values())

    def busy(self, thread: str) -> BusyError:
        """Return the error that says that another kernel plays a turn in a thread: which, and since when."""
        found = self.execute("SELECT holder, since FROM deepnb_claims WHERE thread = ?", thread)
        by = f" ({found[0][0]}, since {found[0][1]})" if found else ""  # (process 4242 on lab, in /home/me, since ...)
        what = f"thread {thread} is busy in another kernel{by}"
        return BusyError(what, "wait, or %agent fork NAME, which goes on from its last turn")

    def newest(self) -> list[tuple[str, str]]:
        """Return (thread, id of its newest checkpoint)."""
        query = "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        return [(str(thread), str(id_)) for thread, id_ in self.execute(query)]

    def drop_after(self, thread: str, id_: str) -> None:
        """Drop the checkpoints of a thread after one."""
        later = "thread_id = ? AND checkpoint_ns = '' AND checkpoint_id > ?"
        self.execute(f"DELETE FROM checkpoints WHERE {later}", thread, id_)

    def replace(self, blob: Blob, typed: tuple[str, bytes]) -> None:
        """Write a value of a checkpoint anew."""
        where = " AND ".join(f"{name} = ?" for name in blob.key)
        made = f"UPDATE {blob.table} SET type = ?, {blob.column} = ? WHERE {where}"
        self.execute(made, *typed, *blob.key.values())

    def _blobs(self, table: str, column: str, channel: str, key: Sequence[str]) -> Iterator[Blob]:
        names = ", ".join(key)
        for of, kind, data, *values in self.execute(f"SELECT {channel}, type, {column}, {names} FROM {table}"):
            if data is not None:
                yield Blob(of, (kind, bytes(data)), table, column, dict(zip(key, values, strict=True)))

    def migrate(self, version: int | None) -> None:
        """Bring the tables up to date, step by step, in one transaction; `version` is the format found, if any."""
        if version == FORMAT:
            return
        with self.transaction():
            self.execute(VERSIONS)
            found = self.execute("SELECT version FROM deepnb_format")
            for step in STEPS[int(found[0][0]) if found else 0 :]:
                for statement in step:
                    self.execute(statement.replace("{serial}", self.serial))
            self.execute("DELETE FROM deepnb_format")
            self.execute("INSERT INTO deepnb_format (version) VALUES (?)", FORMAT)

    serial: str
    """The type of a column that counts rows."""


def checked_format(execute: Callable[[str], Sequence[Sequence[Any]]], where: str) -> int:
    """Return the format of a database that has one; an error for one that a later deepnb wrote, or that is damaged.

    Nothing is written. What `execute` raises where a table is missing is for whoever calls this.
    """
    found = execute("SELECT version FROM deepnb_format")
    if len(found) != 1 or not isinstance(found[0][0], int):
        raise damaged(where, "it does not say which format it has")
    if (version := found[0][0]) > FORMAT:
        what = f"{where} was written by a later deepnb (format {version}; this one reads up to {FORMAT})"
        raise RefusedError(what, "pip install -U deepnb, or choose another file")
    if version == FORMAT:
        kept = execute("SELECT 1 FROM deepnb_turns LIMIT 1")
        for table, columns in (TABLES | (LANGGRAPH if kept else {})).items():
            execute(f"SELECT {columns} FROM {table} LIMIT 0")
    return version


def damaged(where: str, why: str) -> RefusedError:
    """Return the error that says that what was read can't be right."""
    return RefusedError(f"{where} is damaged ({why})", "it was left as it is: restore a copy, or choose another place")


# -- deepnb's own tables beside LangGraph's, made and brought up to date by numbered steps


STEPS: tuple[tuple[str, ...], ...] = (
    (
        # facts of the whole session, by name
        "CREATE TABLE deepnb_session (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # texts that records refer to by their hash: system prompts, memory as it was, summaries
        "CREATE TABLE deepnb_values (id TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # each turn names the one before it: a fork shares its beginning, a rewind moves the head of its thread
        "CREATE TABLE deepnb_turns (id TEXT PRIMARY KEY, parent TEXT, record TEXT NOT NULL)",
        # `begun` is the turn that plays: should its kernel end before it, it is known what was asked
        "CREATE TABLE deepnb_threads"
        " (seq {serial}, name TEXT UNIQUE NOT NULL, head TEXT, facts TEXT NOT NULL, begun TEXT)",
        # transcripts, line by line
        "CREATE TABLE deepnb_lines (seq {serial}, thread TEXT NOT NULL, line TEXT NOT NULL)",
        "CREATE INDEX deepnb_lines_thread ON deepnb_lines (thread, seq)",
        # who plays a turn in a thread, and since when
        "CREATE TABLE deepnb_claims (thread TEXT PRIMARY KEY, holder TEXT NOT NULL, since TEXT NOT NULL)",
    ),
)
"""Step n brings format n to format n + 1; format 0 has LangGraph's tables, or none."""

FORMAT = len(STEPS)

VERSIONS = "CREATE TABLE IF NOT EXISTS deepnb_format (version INTEGER NOT NULL)"

TABLES = {
    "deepnb_session": "name, value",
    "deepnb_values": "id, value",
    "deepnb_turns": "id, parent, record",
    "deepnb_threads": "seq, name, head, facts, begun",
    "deepnb_lines": "seq, thread, line",
    "deepnb_claims": "thread, holder, since",
}
"""Table -> its columns, in this format."""

LANGGRAPH = {"checkpoints": "thread_id, checkpoint_ns, checkpoint_id", "store": "prefix, key, value"}
"""Tables of LangGraph's that are there once a turn is: the table -> some of its columns."""
