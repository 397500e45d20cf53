"""A database of LangGraph's checkpoints, opened so that it and its folder stay as they were."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deepnb.core.errors import RefusedError
from deepnb.formats.checkpoint_branch import Place
from deepnb.formats.checkpoint_values import decode, whole
from deepnb.formats.json_values import mapping

_TRIES = 3
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


class CheckpointTables:
    """What SQLite and PostgreSQL are asked alike over LangGraph's tables; `mark` stands for a value in a query."""

    mark = "?"

    def __init__(self, connection: Any, where: str) -> None:
        self.where = where
        self._execute = connection.execute

    def threads(self) -> list[tuple[str, str]]:
        """(thread, id of its newest checkpoint), the one that changed last first."""
        found = self._execute(
            "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        )
        return sorted(((str(a), str(b)) for a, b in found), key=lambda one: one[1], reverse=True)

    def namespaces(self, thread: str) -> list[str]:
        """Where in the nest of graphs a thread has checkpoints, but for its root."""
        found = self._execute(
            f"SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE thread_id = {self.mark} AND checkpoint_ns != ''",
            (thread,),
        )
        return sorted(str(one) for (one,) in found)

    def steps(self, place: Place) -> list[tuple[str, str | None, Mapping[str, Any]]]:
        """(checkpoint, its parent, its metadata)."""
        rows = self._execute(
            "SELECT checkpoint_id, parent_checkpoint_id, metadata FROM checkpoints"
            f" WHERE thread_id = {self.mark} AND checkpoint_ns = {self.mark}",
            place,
        )
        return [(str(id_), parent, self._metadata(metadata)) for id_, parent, metadata in rows]

    def _metadata(self, stored: Any) -> Mapping[str, Any]:
        raise NotImplementedError


class SqliteCheckpoints(CheckpointTables):
    """Reads checkpoints through a connection to LangGraph's tables."""

    def _metadata(self, stored: Any) -> Mapping[str, Any]:
        try:
            return mapping(json.loads(stored or b"{}"))
        except (TypeError, ValueError, RecursionError):
            return {}

    def values(self, place: Place, checkpoint: str) -> dict[str, Any]:
        """Channels as a checkpoint holds them."""
        row = self._execute(
            "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
            (*place, checkpoint),
        ).fetchone()
        return _channels(row)

    def writes(self, place: Place, channel: str) -> Mapping[str, list[Any]]:
        """Checkpoint -> what was written to a channel in the step after it, in the order in which it was applied."""
        columns = {row[1] for row in self._execute("PRAGMA table_info(writes)")}
        order = "task_path, task_id, idx" if "task_path" in columns else "task_id, idx"
        rows = self._execute(
            "SELECT checkpoint_id, type, value FROM writes"
            f" WHERE thread_id = ? AND checkpoint_ns = ? AND channel = ? ORDER BY checkpoint_id, {order}",
            (*place, channel),
        )
        found: dict[str, list[Any]] = defaultdict(list)
        for id_, kind, value in rows:
            found[str(id_)].append(decode(kind, value))
        return found

    def pending(self, place: Place, checkpoint: str) -> list[tuple[str, Any]]:
        """(channel, value) of what the step after a checkpoint wrote."""
        rows = self._execute(
            "SELECT channel, type, value FROM writes WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
            (*place, checkpoint),
        )
        return [(str(channel), decode(kind, value)) for channel, kind, value in rows]

    def first(self, thread: str) -> dict[str, Any]:
        """Channels of the root's first checkpoint."""
        row = self._execute(
            "SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
            " ORDER BY checkpoint_id LIMIT 1",
            (thread,),
        ).fetchone()
        return _channels(row)

    def size(self, thread: str) -> int:
        """Bytes of a thread's values."""
        total = 0
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            query = f"SELECT coalesce(sum(length({column})), 0) FROM {table} WHERE thread_id = ?"
            total += int(self._execute(query, (thread,)).fetchone()[0])
        return total


def _channels(row: Any) -> dict[str, Any]:
    stored = mapping(decode(row[0], row[1])) if row else {}
    return {str(name): whole(value) for name, value in mapping(stored.get("channel_values")).items()}
