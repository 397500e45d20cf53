"""LangGraph's checkpoints in a PostgreSQL database, read in a transaction that can write nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from deepnb.core.errors import InvalidError, NotInstalledError, RefusedError
from deepnb.formats.checkpoint_branch import Place
from deepnb.formats.checkpoint_database import CheckpointTables
from deepnb.formats.checkpoint_values import decode, whole
from deepnb.formats.json_values import mapping

SCHEMES = ("postgresql://", "postgres://")
_WAIT = 10
"""Seconds in which a server has to answer."""


@contextmanager
def connected(url: str) -> Iterator[PostgresCheckpoints]:
    """The checkpoints of a database, as they were when it was opened."""
    try:
        import psycopg
        from psycopg.rows import tuple_row
    except ImportError:
        raise NotInstalledError("PostgreSQL needs a package", 'pip install "deepnb[postgres]"') from None
    where = without_password(url)
    try:
        with psycopg.connect(url, prepare_threshold=None, row_factory=tuple_row, connect_timeout=_WAIT) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            try:
                yield PostgresCheckpoints(connection, where)
            finally:
                connection.rollback()
    except psycopg.errors.UndefinedTable:
        raise RefusedError(f"{where} holds no checkpoints of LangGraph", "open another database") from None
    except psycopg.Error as error:
        why = " ".join(_without(url, str(error)).split())[:160]
        raise InvalidError(
            f"{where} can't be read ({why})", "see that the server runs and that the address is right"
        ) from None


def without_password(url: str) -> str:
    """The address as it may be shown: neither its password nor its parameters."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the database"
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"


def _without(url: str, text: str) -> str:
    """A text without the password of an address, however it stands there."""
    text = text.replace(url, without_password(url))
    with suppress(ValueError):
        for secret in filter(None, (urlsplit(url).password, unquote(urlsplit(url).password or ""))):
            text = text.replace(secret, "***")
    return text


class PostgresCheckpoints(CheckpointTables):
    """Reads checkpoints through a connection to LangGraph's tables."""

    mark = "%s"

    def _metadata(self, stored: Any) -> Mapping[str, Any]:
        return mapping(stored)

    def values(self, place: Place, checkpoint: str) -> dict[str, Any]:
        """Channels as a checkpoint holds them: small ones in it, others in a table of their own."""
        row = self._execute(
            "SELECT checkpoint FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s",
            (*place, checkpoint),
        ).fetchone()
        return self._channels(place, mapping(row[0])) if row else {}

    def _channels(self, place: Place, stored: Mapping[str, Any]) -> dict[str, Any]:
        versions = {str(k): str(v) for k, v in mapping(stored.get("channel_versions")).items()}
        rows = self._execute(
            "SELECT channel, type, blob FROM checkpoint_blobs b"
            " JOIN unnest(%s::text[], %s::text[]) AS wanted(name, number)"
            " ON b.channel = wanted.name AND b.version = wanted.number WHERE thread_id = %s AND checkpoint_ns = %s",
            (list(versions), list(versions.values()), *place),
        )
        inline = dict(mapping(stored.get("channel_values")))
        kept = {str(name): whole(decode(kind, blob)) for name, kind, blob in rows if kind != "empty"}
        return {**inline, **kept}

    def writes(self, place: Place, channel: str) -> Mapping[str, list[Any]]:
        """Checkpoint -> what was written to a channel in the step after it, in the order in which it was applied."""
        rows = self._execute(
            "SELECT checkpoint_id, type, blob, to_jsonb(w) ->> 'task_path' FROM checkpoint_writes w"
            " WHERE thread_id = %s AND checkpoint_ns = %s AND channel = %s"
            ' ORDER BY checkpoint_id, to_jsonb(w) ->> \'task_path\' COLLATE "C", task_id COLLATE "C", idx',
            (*place, channel),
        )
        found: dict[str, list[Any]] = defaultdict(list)
        for id_, kind, value, _ in rows:
            found[str(id_)].append(decode(kind, value))
        return found

    def pending(self, place: Place, checkpoint: str) -> list[tuple[str, Any]]:
        """(channel, value) of what the step after a checkpoint wrote."""
        rows = self._execute(
            "SELECT channel, type, blob FROM checkpoint_writes"
            " WHERE thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s",
            (*place, checkpoint),
        )
        return [(str(channel), decode(kind, value)) for channel, kind, value in rows]

    def first(self, thread: str) -> dict[str, Any]:
        """Channels of the root's first checkpoint."""
        row = self._execute(
            "SELECT checkpoint FROM checkpoints WHERE thread_id = %s AND checkpoint_ns = ''"
            " ORDER BY checkpoint_id LIMIT 1",
            (thread,),
        ).fetchone()
        return self._channels((thread, ""), mapping(row[0])) if row else {}

    def size(self, thread: str) -> int:
        """Bytes of a thread's values."""
        queries = (
            "SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_blobs WHERE thread_id = %s",
            "SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_writes WHERE thread_id = %s",
        )
        return sum(int(self._execute(query, (thread,)).fetchone()[0]) for query in queries)
