"""A session in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from deepnb.backends.locks import file_lock, hold_file
from deepnb.persistence.database import CHECKPOINT, WRITE, Blob, Database, checked_format, damaged
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, NotInstalledError, RefusedError
from deepnb.values.files import disk_path

_WAIT = 5.0
"""Seconds that a write waits for another program's."""

_PATIENCE = 500
"""Milliseconds that the file is waited for where it is to be written anew, or its log is to be emptied into it."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNWRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""Primary result codes (sqlite.org/rescode.html)."""

INSTALL = 'pip install "deepnb[sqlite]"'


class SqliteDatabase(Database):
    """Three connections to one file: LangGraph's checkpointer and store have rules of their own for theirs."""

    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, name: str | Path) -> None:
        """Open a file, or make it. A file that is damaged, or is not a session's, is refused and not changed."""
        self._lock = threading.RLock()
        self._open(str(name))

    def _open(self, name: str) -> None:
        saver_class, store_class = _classes()
        path = real_path(name)
        version = _checked(path)
        self.where, self.path = name, path
        self._lock_file = path.with_name(f"{path.name}.lock")
        for file in (path, self._lock_file):
            _make_private(file)
        with _user_errors(self.where):
            self._rows = self._connection(autocommit=True)
            self._rows.execute("PRAGMA journal_mode=WAL")
            self._file = os.stat(path)
            self.migrate(version)
            self.saver = saver_class(self._connection(autocommit=False))
            self.store = store_class(self._connection(autocommit=True))
            self.saver.where = self.store.where = name
            self.saver.setup()
            self.store.setup()
        with self.transaction():  # a lock of another program is met before anything is changed
            self.execute("CREATE TABLE IF NOT EXISTS deepnb_changes AS SELECT 0 AS count")
            for what in ("INSERT", "UPDATE", "DELETE"):
                count = f"AFTER {what} ON store BEGIN UPDATE deepnb_changes SET count = count + 1; END"
                self.execute(f"CREATE TRIGGER IF NOT EXISTS deepnb_{what} {count}")
        self._at_exit = weakref.finalize(self, _empty_log, self._rows, os.getpid())

    @property
    def _connections(self) -> tuple[_Connection, ...]:
        return self.saver.conn, self.store.conn, self._rows

    def _connection(self, *, autocommit: bool) -> _Connection:
        mode: dict[str, Any] = {"isolation_level": None} if autocommit else {}
        made = sqlite3.connect(self.path, check_same_thread=False, timeout=_WAIT, factory=_Connection, **mode)
        made.execute("PRAGMA synchronous=NORMAL")  # with a log of writes ahead, all but the last survive a power cut
        made.execute("PRAGMA secure_delete=ON")
        return made

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, _user_errors(self.where), closing(self._rows.execute(sql, values)) as cursor:
            return list(cursor.fetchall())

    def changes(self) -> object:
        return self.execute("SELECT count FROM deepnb_changes")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock, _user_errors(self.where):
            if self._rows.in_transaction:
                yield
                return
            self._see_file()
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._rows.execute("COMMIT")
            except BaseException:
                self._rows.rollback()
                raise

    @contextmanager
    def lock(self) -> Iterator[None]:
        self._see_file()
        with file_lock(self._lock_file, self.path.name):
            yield
        if not self.plays:
            self.make_whole()

    def hold(self, thread: str) -> Callable[[], None] | None:
        self._see_file()
        return hold_file(self.path.with_name(f"{self.path.name}-{thread}.lock"))

    @property
    def is_there(self) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), self._file)
        except OSError:
            return False

    def _see_file(self) -> None:
        """Raise an error where what is written would go into a file that nobody finds again."""
        if not self.is_there:
            what = f"{self.where} was moved, replaced or deleted while this session used it"
            raise RefusedError(what, "%agent persist FILE, which names where it is now, or a new file to write it to")

    def move(self, name: str) -> None:
        path = real_path(name)
        self.make_whole()
        if not (path.exists() and os.path.samestat(os.stat(path), self._file)):
            if path.exists():
                raise RefusedError(f"{name} exists already", "choose a new file")
            _make_private(path)
            self.execute("VACUUM INTO ?", str(path))
        self.close()
        used = self.saver, self.store  # others hold these
        self._open(name)
        for old, new in zip(used, (self.saver, self.store), strict=True):
            vars(old).update(vars(new))
        self.saver, self.store = used

    def make_whole(self) -> bool:
        with self._lock:
            return _empty_log(self._rows, os.getpid())

    @property
    def files(self) -> str:
        name = self.path.name
        return f"{name} alone is the whole of it between turns; {name}-wal, {name}-shm and {name}.lock need no copy"

    def blobs(self) -> Iterator[Blob]:
        yield from self._blobs("checkpoints", "checkpoint", "''", CHECKPOINT)
        yield from self._blobs("writes", "value", "channel", WRITE)

    def vacuum(self) -> str:
        with suppress(BusyError), _patience(self._rows):  # another kernel uses the file
            self.execute("VACUUM")
        if self.make_whole():
            return ""
        return f"another kernel uses {self.where}: old bytes of it are overwritten when you forget once more without it"

    def close(self) -> None:
        self.make_whole()
        self._at_exit.detach()
        for connection in self._connections:
            connection.close()


class _Connection(sqlite3.Connection):
    """A connection of ours, or LangGraph's: a transaction whose end fails is undone, and does not block those after it."""

    def execute(self, *given: Any) -> Any:
        try:
            return super().execute(*given)
        except BaseException:
            if given[0] == "COMMIT":
                self.rollback()
            raise

    def commit(self) -> None:
        try:
            super().commit()
        except BaseException:
            self.rollback()
            raise


@contextmanager
def _user_errors(where: str) -> Iterator[None]:
    """Within the block an error of SQLite's is a line for the user."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a closed session
    except (sqlite3.DatabaseError, ValueError) as error:  # of which LangGraph's store makes a ValueError
        cause = error if isinstance(error, sqlite3.DatabaseError) else error.__cause__
        if not isinstance(cause, sqlite3.DatabaseError) or isinstance(cause, sqlite3.ProgrammingError):
            raise
        raise _line(cause, where) from None


def _line(error: sqlite3.DatabaseError, where: str) -> DeepnbError:
    """Return what is said of an error: `k.db is full`, in place of a traceback."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    words = " ".join(str(error).partition(" with text ")[0].split())[:80]
    if code in _BUSY:
        return BusyError(f"{where} has been locked by another program for {_WAIT:g} s", "do it again when that is done")
    if code in _UNWRITTEN:
        do = "make room or see that it may be written, then do it again"
        return RefusedError(f"{where} can't be written ({words})", do)
    return damaged(where, words)


def _empty_log(rows: sqlite3.Connection, process: int) -> bool:
    """Return whether all that was written is in the file itself now; not where another program holds it back."""
    if os.getpid() != process:  # a fork of the kernel that ends
        return False
    with suppress(sqlite3.Error, DeepnbError):
        if not rows.in_transaction:
            with _patience(rows):
                return not rows.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return False


@contextmanager
def _patience(rows: sqlite3.Connection) -> Iterator[None]:
    rows.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
    try:
        yield
    finally:
        rows.execute(f"PRAGMA busy_timeout = {int(_WAIT * 1000)}")


def real_path(name: str | Path) -> Path:
    """Return the file that is meant by a name, wherever the kernel goes later."""
    return disk_path(name).resolve()


def _classes() -> tuple[Any, Any]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.store.sqlite import SqliteStore
    except ImportError:
        raise NotInstalledError("SQLite needs langgraph-checkpoint-sqlite", INSTALL) from None
    from deepnb.persistence.savers import PlainSerializer, RedactedSaver, readable

    class Saver(RedactedSaver, SqliteSaver):
        where: str

        def __init__(self, connection: sqlite3.Connection) -> None:
            super().__init__(connection, serde=PlainSerializer())

        @contextmanager
        def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
            with _user_errors(self.where), super().cursor(transaction) as cursor:
                yield cursor

    class Store(SqliteStore):
        where: str

        @contextmanager
        def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
            with _user_errors(self.where), super()._cursor(transaction=transaction) as cursor:
                yield cursor

        def batch(self, ops: Any) -> Any:
            with readable("memory of this session"):
                return super().batch(ops)

    return Saver, Store


def _checked(path: Path) -> int | None:
    """Return the format of a file, before it is opened for writing; None for a new file."""
    left = "it was left as it is: restore a copy, or choose another file"
    if path.is_dir():
        raise InvalidError(f"{path} is a directory", "type the name of a file")
    if not path.parent.is_dir():
        raise InvalidError(f"there is no directory {path.parent}", "make it first, or choose another file")
    try:
        if not path.exists() or path.stat().st_size == 0:
            return None
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_WAIT)) as db:
            if (problem := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise sqlite3.DatabaseError(problem)
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "deepnb_format" not in tables:
                if tables - {"checkpoints", "writes", "store", "store_migrations", "sqlite_sequence"}:
                    raise RefusedError(f"{path} is another program's database", "choose another file")
                return 0
            return checked_format(lambda sql: db.execute(sql).fetchall(), str(path))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())[:80]
        if isinstance(error, sqlite3.DatabaseError) and isinstance(line := _line(error, str(path)), BusyError):
            raise line from None
        raise RefusedError(f"{path} is damaged, or no SQLite file ({words})", left) from None
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
