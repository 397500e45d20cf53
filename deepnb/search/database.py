"""One SQLite file of an index, and the tables in it.

Writers wait for each other (`BEGIN IMMEDIATE`), readers see one state (WAL).
"""

import importlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from deepnb.values.errors import BusyError, RefusedError

SECONDS = 60
"""How long a writer waits for another one."""
LOG = 4_194_304
"""Bytes of the log (-wal) that are kept for the next write; SQLite would keep as many as the largest one took."""
_DAMAGED = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB, the low byte of a result code (sqlite.org/rescode.html)."""
_BUSY = (5, 6)


class Damaged(Exception):
    """The file is not an SQLite database, or what is in it cannot be read."""


class Database:
    """An open database; `vectors` says whether sqlite-vec is loaded into it."""

    def __init__(self, path: str) -> None:
        """`path` may be ":memory:"."""
        self.path = path
        self.vectors = False
        with self._user_errors():
            if path != ":memory:":
                with suppress(OSError):  # it is there, and keeps its mode
                    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._db = sqlite3.connect(path, timeout=SECONDS, isolation_level=None, check_same_thread=False)
        with suppress(Exception):  # sqlite-vec is not installed, or this Python's SQLite loads no extensions
            self.vectors = _with_vectors(self._db)

    def share(self) -> None:
        """Let readers read while one writes (WAL, where the file system has it); only for a file of our own.

        Two processes that do so at once may have to try again.
        """
        end = time.monotonic() + SECONDS
        while True:
            try:
                with self._user_errors(busy=False):
                    self._db.execute("PRAGMA journal_mode = WAL").fetchall()
                    self._db.execute("PRAGMA synchronous = NORMAL").fetchall()
                    self._db.execute(f"PRAGMA journal_size_limit = {LOG}").fetchall()
                return
            except sqlite3.Error as error:
                if _code(error) not in _BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def rows(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._user_errors():
            return list(self._db.execute(sql, tuple(args)).fetchall())

    def value(self, sql: str, args: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, None if there are no rows."""
        found = self.rows(sql, args)
        return found[0][0] if found else None

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._user_errors():
            self._db.executemany(sql, rows)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[None]:
        """Yield all or nothing, against one state of the file; a writer keeps others from writing meanwhile."""
        self.rows("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self.rows("ROLLBACK")
            raise
        self.rows("COMMIT")

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()

    @contextmanager
    def _user_errors(self, *, busy: bool = True) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED:
                raise Damaged(str(error)) from None
            if busy and _code(error) in _BUSY:
                name = os.path.basename(self.path)
                raise BusyError(f"another process has been writing {name} for {SECONDS} s", "try again") from None
            raise


def _with_vectors(connection: sqlite3.Connection) -> bool:
    where = importlib.import_module("sqlite_vec").loadable_path()
    connection.enable_load_extension(True)
    try:
        connection.load_extension(where)
    finally:
        connection.enable_load_extension(False)
    return True


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, 0 where the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


# -- The tables of an index; `PRAGMA user_version` says which version made them

VERSION = 8
"""Of the tables, and of how `words` and `chunks` read a text: an index of an older one is made anew."""
APPLICATION = 0x646E6273
"""`PRAGMA application_id` of an index, so that no other SQLite file is taken for one ("dnbs")."""

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0), ('embedded', 0);
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, hash BLOB NOT NULL, document INTEGER NOT NULL,
    changed INTEGER NOT NULL, chunks INTEGER NOT NULL, units INTEGER NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, heading TEXT NOT NULL, a INTEGER NOT NULL, text TEXT NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL, day INTEGER);
CREATE VIRTUAL TABLE words USING
    fts5(body, tokenize = 'porter unicode61', content = '', columnsize = 0, detail = none);
CREATE TABLE names (name TEXT, unit INTEGER, PRIMARY KEY (name, unit)) WITHOUT ROWID;
CREATE TABLE vocabulary (word TEXT PRIMARY KEY, files INTEGER NOT NULL, added INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE spans (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, hash BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS embeddings
    (hash BLOB, model TEXT, vector BLOB NOT NULL, PRIMARY KEY (hash, model)) WITHOUT ROWID;
"""
"""meta: `generation` counts the updates, `embedded` the batches of vectors. files: `changed` is the generation of the
last write, `chunks` and `units` say how many it has, since counting takes longer than a search. words: no second copy
of the texts, and no places in them, which nothing asks for. vocabulary: in how many `files` a word is, and the
generation it was `added` in. spans: what is embedded, in units: a chunk, or an entry of a list. embeddings: float32 of
length 1 by the hash of the text, so that one which comes back costs nothing; they outlive a version.
"""


def version_of(db: Database) -> int:
    """Return which version made the tables, 0 for an empty file.

    Errors: `DeepnbError` where the file is another program's, or a newer deepnb's; it is left as it is.
    """
    version = int(db.value("PRAGMA user_version"))
    ours = db.value("PRAGMA application_id") == APPLICATION
    if not ours and (version or db.value("SELECT count(*) FROM sqlite_master")):
        raise RefusedError(f"{db.path} is another program's database", "give the index its own path")
    if version > VERSION:
        raise RefusedError(f"{db.path} was written by a newer deepnb", "pip install -U deepnb, or delete the file")
    return version


def make_tables(db: Database) -> None:
    """Make the tables, empty, in the place of an older version's; vectors stay."""
    for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if name != "embeddings" and not name.startswith(("words_", "sqlite_")):
            db.rows(f"DROP TABLE {name}")
    for statement in _TABLES.split(";\n")[:-1]:
        db.rows(statement)
    db.rows(f"PRAGMA application_id = {APPLICATION}")
    db.rows(f"PRAGMA user_version = {VERSION}")
