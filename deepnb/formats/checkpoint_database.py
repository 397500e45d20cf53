"""A database of LangGraph's checkpoints, opened so that it and its folder stay as they were."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from deepnb.core.errors import RefusedError
from deepnb.formats.checkpoint_values import decode, folded, folded_all, whole
from deepnb.formats.json_values import mapping

_TRIES = 3
_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)
_SIDES = ("-wal", "-journal")


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing.

    What a writer has not yet put into the database itself is in a file beside it, which SQLite reads only with a third
    one: then all are copied to a temporary folder first.
    """
    with TemporaryDirectory(prefix="deepnb-") as folder:
        file, mode = path.resolve(), "immutable=1"
        if any(_size(_beside(file, side)) for side in _SIDES):
            file, mode = _copy(file, Path(folder)), "mode=rw"
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True)) as connection:
                connection.execute("PRAGMA query_only=1")
                connection.execute("PRAGMA trusted_schema=0")
                yield connection
        except sqlite3.DatabaseError as error:
            raise RefusedError(f"{path} can't be read as a database ({error})", "choose another file") from None


def _beside(file: Path, side: str) -> Path:
    return file.with_name(file.name + side)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _copy(file: Path, folder: Path) -> Path:
    """The database and what is beside it, copied while neither changed."""
    target = folder / "copy.db"
    files = [file, *(_beside(file, side) for side in _SIDES)]
    for _ in range(_TRIES):
        before = _stamps(files)
        for one, name in zip(files, ("copy.db", *(f"copy.db{side}" for side in _SIDES)), strict=True):
            if one.is_file():
                shutil.copyfile(one, folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        if _stamps(files) == before:
            break
    return target


def _stamps(files: list[Path]) -> list[tuple[int, int] | None]:
    return [(f.stat().st_mtime_ns, f.stat().st_size) if f.is_file() else None for f in files]


def threads(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(thread, id of its newest checkpoint), the one that changed last first."""
    found = connection.execute(
        "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
    )
    return sorted(((str(a), str(b)) for a, b in found), key=lambda one: one[1], reverse=True)


def namespaces(connection: sqlite3.Connection, thread: str) -> list[str]:
    """Where in the nest of graphs a thread has checkpoints, but for its root."""
    found = connection.execute(
        "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != ''", (thread,)
    )
    return sorted(str(one) for (one,) in found)


def time_of(checkpoint: str) -> str:
    """When a checkpoint was made: its id is a UUID of version 6, which holds the time. Empty for any other."""
    try:
        number = UUID(checkpoint)
    except ValueError:
        return ""
    if number.version != 6:
        return ""
    ticks = (number.int >> 80) << 12 | (number.int >> 64 & 0x0FFF)
    return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Branch:
    """One namespace of a thread, from its root to its newest checkpoint."""

    ids: list[str]
    """Of its checkpoints, the oldest first."""
    inputs: list[str] = field(default_factory=list)
    """Those with which a turn began."""
    left: int = 0
    """Turns that began in other branches."""
    values: dict[str, Any] = field(default_factory=dict)
    """Channels of the newest one."""
    metadata: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    events: list[tuple[int, str, Any]] = field(default_factory=list)
    """Compactions: (messages there were, checkpoint, what was written)."""
    pending: list[tuple[str, Any]] = field(default_factory=list)
    """(channel, value) of steps that were not finished."""


def branch(connection: sqlite3.Connection, thread: str, space: str = "") -> Branch | None:
    """A namespace as its newest checkpoint leaves it; None where it has none."""
    import json

    rows = connection.execute(
        "SELECT checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints"
        " WHERE thread_id = ? AND checkpoint_ns = ?",
        (thread, space),
    ).fetchall()
    if not rows:
        return None
    parents, facts = {str(r[0]): r[1] for r in rows}, {}
    for id_, _, metadata in rows:
        try:
            facts[str(id_)] = mapping(json.loads(metadata or b"{}"))
        except (ValueError, RecursionError):
            facts[str(id_)] = {}
    chain: list[str] = []
    at: str | None = max(parents)
    while at is not None and at in parents and at not in chain[-1:]:
        chain.append(at)
        at = parents[at]
        if len(chain) > len(parents):
            break
    chain.reverse()
    inputs = {id_ for id_, one in facts.items() if one.get("source") == "input"}
    on = set(chain)
    made = Branch(chain, [c for c in chain if c in inputs], len(inputs - on), metadata=dict(facts[chain[-1]]))
    _fill(made, connection, (thread, space))
    return made


def _fill(made: Branch, connection: sqlite3.Connection, place: tuple[str, str]) -> None:
    head = made.ids[-1]
    writes = _writes(connection, place, "messages")
    summed = _writes(connection, place, "_summarization_event")
    made.values = _values(connection, place, head)
    grown: list[dict[str, Any]] = []
    for id_ in made.ids:
        made.events += ((len(grown), id_, event) for event in summed.get(id_, ()) if event is not None and id_ != head)
        if id_ != head:
            for write in writes.get(id_, ()):
                grown = folded(grown, write)
    made.messages = _messages(made, connection, place, writes, grown)
    rows = connection.execute(
        "SELECT channel, type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
        (*place, head),
    )
    made.pending = [(str(channel), decode(kind, value)) for channel, kind, value in rows]


def _messages(
    made: Branch, connection: sqlite3.Connection, place: tuple[str, str], writes: dict[str, list[Any]], grown: list[Any]
) -> list[dict[str, Any]]:
    """The messages at the newest checkpoint: as it holds them, or a value before it and what was written since."""
    if "messages" in made.values:
        return folded_all([], made.values["messages"])
    for at in range(len(made.ids) - 2, -1, -1):
        values = _values(connection, place, made.ids[at])
        if values.get("messages") is not None:
            since = (write for id_ in made.ids[at:-1] for write in writes.get(id_, ()))
            return folded_all(since, values["messages"])
    return grown


def _values(connection: sqlite3.Connection, place: tuple[str, str], id_: str) -> dict[str, Any]:
    row = connection.execute(
        "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
        (*place, id_),
    ).fetchone()
    stored = mapping(decode(row[0], row[1])) if row else {}
    return {str(name): whole(value) for name, value in mapping(stored.get("channel_values")).items()}


def _writes(connection: sqlite3.Connection, place: tuple[str, str], channel: str) -> dict[str, list[Any]]:
    """Checkpoint -> what was written to a channel in the step after it, in the order in which it was applied."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(writes)")}
    order = "task_path, task_id, idx" if "task_path" in columns else "task_id, idx"
    rows = connection.execute(
        "SELECT checkpoint_id, type, value FROM writes"
        f" WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ? ORDER BY checkpoint_id, {order}",
        (*place, channel),
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for id_, kind, value in rows:
        found[str(id_)].append(decode(kind, value))
    return found
