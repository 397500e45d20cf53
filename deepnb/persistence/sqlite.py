"""A session in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from deepnb.backends.locks import file_lock, hold_file
from deepnb.core.errors import InvalidError, NotInstalledError, RefusedError
from deepnb.persistence.database import CHECKPOINT, WRITE, Blob, Database, checked_format

_WAIT = 30.0
"""Seconds that a write waits for another kernel's."""

_PATIENCE = 500
"""Milliseconds that the file is waited for where it is to be written anew."""

INSTALL = 'pip install "deepnb[sqlite]"'


class SqliteDatabase(Database):
    """Three connections to one file: LangGraph's checkpointer and store have rules of their own for theirs."""

    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, name: str | Path) -> None:
        """Open a file, or make it. A file that is damaged, or is not a session's, is refused and not changed."""
        saver_class, store_class = _classes()
        self.where = str(name)
        self.path = path = real_path(name)
        version = _checked(path)
        self._lock_file = path.with_name(f"{path.name}.lock")
        for file in (path, self._lock_file):
            _make_private(file)
        self._lock = threading.RLock()
        self._rows = self._connection(autocommit=True)
        self._rows.execute("PRAGMA journal_mode=WAL")
        self.migrate(version)
        self.saver = saver_class(self._connection(autocommit=False))
        self.saver.setup()
        self.store = store_class(self._connection(autocommit=True))
        self.store.setup()

    def _connection(self, *, autocommit: bool) -> sqlite3.Connection:
        mode: dict[str, Any] = {"isolation_level": None} if autocommit else {}
        made: sqlite3.Connection = sqlite3.connect(self.path, check_same_thread=False, timeout=_WAIT, **mode)
        made.execute("PRAGMA synchronous=NORMAL")  # with a log of writes ahead, all but the last survive a power cut
        made.execute("PRAGMA secure_delete=ON")
        return made

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, closing(self._rows.execute(sql, values)) as cursor:
            return list(cursor.fetchall())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            if self._rows.in_transaction:
                yield
                return
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._rows.execute("ROLLBACK")
                raise
            self._rows.execute("COMMIT")

    def lock(self) -> Any:
        return file_lock(self._lock_file, self.path.name)

    def hold(self, thread: str) -> Callable[[], None] | None:
        return hold_file(self.path.with_name(f"{self.path.name}-{thread}.lock"))

    def newest(self) -> list[tuple[str, str]]:
        query = "SELECT thread_id, max(checkpoint_id) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id"
        return [(str(thread), str(id_)) for thread, id_ in self.execute(query)]

    def blobs(self) -> Iterator[Blob]:
        yield from self._blobs("checkpoints", "checkpoint", "''", CHECKPOINT)
        yield from self._blobs("writes", "value", "channel", WRITE)

    def vacuum(self) -> str:
        self.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        try:
            with suppress(sqlite3.OperationalError):  # another kernel uses the file
                self.execute("VACUUM")
                if not self.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
                    return ""
        finally:
            self.execute(f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")
        return f"another kernel uses {self.where}: old bytes of it are overwritten when you forget once more without it"

    def close(self) -> None:
        for connection in (self.saver.conn, self.store.conn, self._rows):
            connection.close()


def real_path(name: str | Path) -> Path:
    """The file that is meant by a name, wherever the kernel goes later."""
    return Path(name).expanduser().resolve()


def _classes() -> tuple[Any, Any]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.store.sqlite import SqliteStore
    except ImportError:
        raise NotInstalledError("SQLite needs langgraph-checkpoint-sqlite", INSTALL) from None
    from deepnb.persistence.savers import PlainSerializer, RedactedSaver

    class Saver(RedactedSaver, SqliteSaver):
        def __init__(self, connection: sqlite3.Connection) -> None:
            super().__init__(connection, serde=PlainSerializer())

    return Saver, SqliteStore


def _checked(path: Path) -> int | None:
    """The format of a file, before it is opened for writing; None for a new file."""
    if path.is_dir():
        raise InvalidError(f"{path} is a directory", "type the name of a file")
    if not path.parent.is_dir():
        raise InvalidError(f"there is no directory {path.parent}", "make it first, or choose another file")
    try:
        if not path.exists() or path.stat().st_size == 0:
            return None
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT)) as db:
            problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "deepnb_format" not in tables:
                if tables - {"checkpoints", "writes", "store", "store_migrations", "sqlite_sequence"}:
                    raise RefusedError(f"{path} is another program's database", "choose another file")
                return 0
            return checked_format(lambda sql: db.execute(sql).fetchall(), str(path))
    except sqlite3.DatabaseError as error:
        what = f"{path} is damaged, or no SQLite file ({' '.join(str(error).split())[:80]})"
        raise RefusedError(what, "it was left as it is: restore a copy, or choose another file") from None
    except OSError as error:
        raise InvalidError(f"{path} can't be opened ({error.strerror})", "choose another file") from None


def _make_private(path: Path) -> None:
    """See that the file is there and is its owner's alone; what SQLite writes beside it then is, too."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with suppress(OSError):  # somebody else's file that we may write to
            os.chmod(path, 0o600)
    except OSError as error:
        raise InvalidError(f"{path} can't be written ({error.strerror})", "choose another file") from None
