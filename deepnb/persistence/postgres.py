"""A session in a PostgreSQL database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from typing import Any

from deepnb.persistence.database import WRITE, Blob, Database, checked_format, damaged
from deepnb.values.errors import BusyError, InvalidError, NotInstalledError
from deepnb.values.server_address import without_password

INSTALL = 'pip install "deepnb[postgres]"'

_WAIT = 30
"""Seconds that a lock is waited for."""

_MIGRATE, _WRITE, _THREAD = 1, 2, 3
"""First numbers of the advisory locks: of those who migrate, of those who write memory, of threads by their hash."""

_PATIENCE = 5
"""Seconds that a table is waited for where it is to be written anew."""

_ERASED = ("deepnb_values", "deepnb_turns", "deepnb_lines", "checkpoint_blobs", "checkpoint_writes", "store")
"""Tables that can hold memory."""

_CHANGES = (
    # a row for each write, as one that all add to would be locked until each of their transactions ends
    "CREATE TABLE IF NOT EXISTS deepnb_changes (n BIGSERIAL PRIMARY KEY)",
    "DELETE FROM deepnb_changes WHERE n < (SELECT max(n) - 1000 FROM deepnb_changes)",
    "CREATE OR REPLACE FUNCTION deepnb_changed() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN INSERT INTO deepnb_changes DEFAULT VALUES; RETURN NULL; END'",
    "DO $$BEGIN IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'deepnb_changed' AND tgrelid = 'store'::regclass)"
    " THEN CREATE TRIGGER deepnb_changed AFTER INSERT OR UPDATE OR DELETE ON store FOR EACH ROW"
    " EXECUTE FUNCTION deepnb_changed(); END IF; END$$",
)
"""What counts the writes to the store; who opens it removes old rows, but for some, so that nothing changes by a look."""

_FAMILY = 0x64656570
"""Set into the locks' first number, so that another program's are others."""


class PostgresDatabase(Database):
    """Connections of one kernel: for LangGraph's checkpointer, its store, our rows, the lock of memory, and claims.

    Advisory locks belong to their connection: the server lets them go when the kernel has ended.
    """

    serial = "BIGSERIAL PRIMARY KEY"

    def __init__(self, url: str) -> None:
        psycopg, saver_class, store_class = _classes()
        self._errors = psycopg
        self._url = url
        self.where = without_password(url)
        self._local = threading.RLock()
        self._holding = threading.RLock()
        self._claiming = threading.Lock()
        self._open: list[Any] = []
        self._rows = self._connection()
        self._locks, self._claims = self._connection(), self._connection()
        try:
            with self._exclusive(_MIGRATE):
                there = (
                    "SELECT 1 FROM information_schema.tables WHERE table_name = ? AND table_schema = current_schema()"
                )
                ours = self.execute(there, "deepnb_format")
                try:
                    version = checked_format(self.execute, self.where) if ours else None
                except psycopg.ProgrammingError as error:  # a table or a column that is not there
                    raise damaged(self.where, str(error).split("\n")[0]) from None
                self.migrate(version)
                self.saver = saver_class(self._connection())
                self.saver.setup()
                self.store = store_class(self._connection())
                self.store.setup()
                for statement in _CHANGES:
                    self.execute(statement)
        except BaseException:
            self.close()
            raise

    def _connection(self) -> Any:
        from psycopg.rows import tuple_row

        try:
            made = self._errors.connect(self._url, autocommit=True, prepare_threshold=0, row_factory=tuple_row)
        except self._errors.Error as error:
            for one in self._open:
                one.close()
            why = " ".join(str(error).split())[:160]
            do = "see that the server runs and that the address is right"
            raise InvalidError(f"{self.where} can't be opened ({why})", do) from None
        self._open.append(made)
        return made

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._local, self._rows.cursor() as cursor:
            given = [v.replace("\x00", "\ufffd") if isinstance(v, str) else v for v in values]  # its texts have no NUL
            cursor.execute(sql.replace("?", "%s"), given or None)
            return list(cursor.fetchall()) if cursor.description else []

    def changes(self) -> object:
        """Return which writes there were; a write of another kernel that is not done yet is not among them."""
        return self.execute("SELECT count(*), sum(n) FROM deepnb_changes")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._local, self._rows.transaction():
            yield

    def lock(self) -> AbstractContextManager[None]:
        return self._exclusive(_WRITE)

    @contextmanager
    def _exclusive(self, what: int) -> Iterator[None]:
        """Hold an advisory lock; the server counts how often this connection took it, and another thread waits here."""
        with self._holding:
            numbers = _FAMILY + what, 0
            try:
                self._locks.execute(f"SET lock_timeout = '{_WAIT}s'")
                self._locks.execute("SELECT pg_advisory_lock(%s, %s)", numbers)
            except self._errors.errors.LockNotAvailable:
                do = "try again, or stop that kernel"
                raise BusyError(f"{self.where} has been locked by another kernel for {_WAIT} s", do) from None
            try:
                yield
            finally:
                self._locks.execute("SELECT pg_advisory_unlock(%s, %s)", numbers)

    def hold(self, thread: str) -> Callable[[], None] | None:
        numbers = _FAMILY + _THREAD, int.from_bytes(sha256(thread.encode()).digest()[:4], "big", signed=True)
        with self._claiming:
            (free,) = self._claims.execute("SELECT pg_try_advisory_lock(%s, %s)", numbers).fetchone()

        def release() -> None:
            with self._claiming, suppress(self._errors.Error):  # where the connection is gone, so is the lock
                self._claims.execute("SELECT pg_advisory_unlock(%s, %s)", numbers)

        return release if free else None

    def blobs(self) -> Iterator[Blob]:
        key = ("thread_id", "checkpoint_ns", "channel", "version")
        yield from self._blobs("checkpoint_blobs", "blob", "channel", key)
        yield from self._blobs("checkpoint_writes", "blob", "channel", WRITE)

    def vacuum(self) -> str:
        log = f"the server of {self.where} may hold the words in its log and its backups until it recycles them"
        try:
            self.execute(f"SET lock_timeout = '{_PATIENCE}s'")
            for table in _ERASED:
                self.execute(f"VACUUM (FULL) {table}")
        except self._errors.Error as error:
            return f"{self.where} can't be vacuumed ({str(error).splitlines()[0]}), and {log}"
        finally:
            self.execute("SET lock_timeout = DEFAULT")
        return log

    def close(self) -> None:
        for one in self._open:
            with suppress(self._errors.Error):
                one.close()


def _classes() -> tuple[Any, Any, Any]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.store.postgres import PostgresStore
    except ImportError:
        raise NotInstalledError("PostgreSQL needs langgraph-checkpoint-postgres and psycopg", INSTALL) from None
    from psycopg.rows import dict_row

    from deepnb.persistence.savers import PlainSerializer, RedactedSaver

    class Saver(RedactedSaver, PostgresSaver):
        def __init__(self, connection: Any) -> None:
            connection.row_factory = dict_row
            super().__init__(connection, serde=PlainSerializer())

    def store(connection: Any) -> Any:
        connection.row_factory = dict_row
        return PostgresStore(connection)

    return psycopg, Saver, store
