"""What only deepnb knows of a session, as rows: threads, turns, transcripts, and facts of the session."""

import hmac
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from deepnb.persistence.codec import dumps
from deepnb.persistence.database import Database, damaged
from deepnb.values.errors import RefusedError


@dataclass(frozen=True)
class ThreadRow:
    """A thread as it is kept."""

    name: str
    head: str | None
    """The id of its last turn."""
    facts: Mapping[str, Any]
    begun: Mapping[str, Any] | None = None
    """The turn that plays in it, or played when its kernel ended."""


@dataclass(frozen=True)
class TurnRow:
    """A turn as it is kept."""

    id: str
    parent: str | None
    record: Mapping[str, Any]


class Records:
    """Reads and writes deepnb's own tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._put: set[str] = set()
        """Names of texts that are known to be there."""
        self._texts: dict[str, str] = {}

    def forget(self) -> None:
        """Know no more which texts are there, and what they say."""
        self._put.clear()
        self._texts.clear()

    @property
    def id(self) -> str:
        """What tells this database from others; made with it."""
        made = ("INSERT INTO deepnb_session (name, value) VALUES ('id', ?) ON CONFLICT (name) DO NOTHING", uuid4().hex)
        self._database.execute(*made)
        return str(self.fact("id"))

    def fact(self, name: str) -> str | None:
        """Return a fact of the session."""
        found = self._database.execute("SELECT value FROM deepnb_session WHERE name = ?", name)
        return str(found[0][0]) if found else None

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact of the session in the place of the one before."""
        self._database.upsert("deepnb_session", name=name, value=value)

    def put(self, text: str) -> str:
        """Keep a text once; return its name."""
        if (name := sha256(text.encode()).hexdigest()[:32]) not in self._put:
            made = "INSERT INTO deepnb_values (id, value) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
            self._database.execute(made, name, text)
            self._put.add(name)
        return name

    def get(self, name: str) -> str:
        """Return the text of a name."""
        if name not in self._texts:
            found = self._database.execute("SELECT value FROM deepnb_values WHERE id = ?", name)
            if not found:
                raise self.damaged("a text that a turn names is missing")
            self._texts[name] = str(found[0][0])
        return self._texts[name]

    def threads(self) -> dict[str, ThreadRow]:
        """Return all threads, in the order they were made."""
        rows = self._database.execute("SELECT name, head, facts, begun FROM deepnb_threads ORDER BY seq")
        return {row[0]: self._row(row) for row in rows}

    def thread(self, name: str) -> ThreadRow | None:
        """Return a thread, if it is there."""
        rows = self._database.execute("SELECT name, head, facts, begun FROM deepnb_threads WHERE name = ?", name)
        return self._row(rows[0]) if rows else None

    def unfinished(self) -> list[str]:
        """Return the threads in which a turn plays, or whose last one waits for the user."""
        rows = self._database.execute(
            "SELECT t.name, t.begun, u.record FROM deepnb_threads t LEFT JOIN deepnb_turns u ON u.id = t.head"
            " ORDER BY t.seq"
        )
        return [name for name, begun, last in rows if begun or (last and self._json(last)["asked"])]

    def _row(self, row: Sequence[Any]) -> ThreadRow:
        name, head, facts, begun = row
        return ThreadRow(name, head, self._json(facts), self._json(begun) if begun else None)

    def set_facts(self, name: str, facts: Mapping[str, Any]) -> None:
        """Keep facts of a thread, which is made where it is new."""
        self._database.upsert("deepnb_threads", name=name, facts=dumps(facts))

    def set_head(self, name: str, head: str | None, before: str | None) -> bool:
        """Let a thread end with another turn, if it ends with `before` now; whether it does."""
        moved = "UPDATE deepnb_threads SET head = ? WHERE name = ? AND COALESCE(head, '') = ? RETURNING name"
        return bool(self._database.execute(moved, head, name, before or ""))

    def set_begun(self, name: str, begun: Mapping[str, Any] | None) -> None:
        """Keep which turn plays in a thread; None where none does."""
        text = None if begun is None else dumps(begun)
        self._database.upsert("deepnb_threads", "facts", name=name, facts="{}", begun=text)

    def remove_thread(self, name: str) -> None:
        """Forget a thread; turns that forks of it share stay."""
        self._database.execute("DELETE FROM deepnb_threads WHERE name = ?", name)

    def add_turn(self, parent: str | None, record: Mapping[str, Any]) -> str:
        """Keep a turn behind another; return its id."""
        id_ = uuid4().hex
        made = "INSERT INTO deepnb_turns (id, parent, record) VALUES (?, ?, ?)"
        self._database.execute(made, id_, parent, dumps(record))
        return id_

    def turns(self, head: str | None) -> list[TurnRow]:
        """Return the turns up to this one, oldest first."""
        if head is None:
            return []
        rows = self._database.execute(
            "WITH RECURSIVE line (id, parent, record, n) AS ("
            " SELECT id, parent, record, 0 FROM deepnb_turns WHERE id = ?"
            " UNION ALL SELECT t.id, t.parent, t.record, line.n + 1 FROM deepnb_turns t JOIN line ON t.id = line.parent"
            ") SELECT id, parent, record FROM line ORDER BY n DESC",
            head,
        )
        if not rows:
            raise self.damaged("a turn that a thread names is missing")
        if rows[0][1] is not None:
            raise self.damaged("a turn that a turn names is missing")
        return [TurnRow(id_, parent, self._json(record)) for id_, parent, record in rows]

    def damaged(self, why: str) -> RefusedError:
        """Return the error that says that what was read can't be right."""
        return damaged(self._database.where, why)

    def _json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self.damaged("a record is no JSON") from None


class TranscriptLines:
    """The transcript of one thread, as `AppendFile` is one on a disk."""

    def __init__(self, database: Database, thread: str) -> None:
        self._database = database
        self._thread = thread
        self.name = database.where
        """As it is shown."""

    def append(self, lines: bytes) -> bool:
        """Add whole lines; none is ever cut short."""
        with self._database.transaction():
            for line in filter(bytes.strip, lines.split(b"\n")):
                row = (self._thread, line.decode("utf-8", "replace"))
                self._database.execute("INSERT INTO deepnb_lines (thread, line) VALUES (?, ?)", *row)
        return False

    def read(self) -> bytes:
        """Return all of it, each line with its end."""
        sql = "SELECT line FROM deepnb_lines WHERE thread = ? ORDER BY seq"
        return b"".join(f"{line}\n".encode() for (line,) in self._database.execute(sql, self._thread))

    def replace(self, data: bytes) -> None:
        """Make `data` the whole content."""
        with self._database.transaction():
            self._database.execute("DELETE FROM deepnb_lines WHERE thread = ?", self._thread)
            self.append(data)


# -- what only this user's kernels can sign: approvals in a database count for something where they did


Sign = Callable[[Any], str]
"""The signature of a value in JSON's words; empty where nothing is signed."""

_BYTES = 32


def signer(about: str) -> Sign:
    """Sign with the user's own key, which is made when it is first needed: `~/.deepnb/key`."""
    path = Path.home() / ".deepnb" / "key"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        made = path.with_name(f"key-{os.getpid()}-{secrets.token_hex(4)}")
        if not path.exists():
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_BYTES))
            try:
                with suppress(FileExistsError):  # of two kernels that begin at once one is first; both read its key
                    os.link(made, path)
            finally:
                made.unlink()
        key = path.read_bytes()
    except OSError as error:
        what = f"the key that approvals are signed with can't be made in {path.parent} ({error.strerror})"
        raise RefusedError(what, "see that you can write there") from None
    if len(key) != _BYTES:
        raise RefusedError(f"{path} is no key of deepnb's", "remove it: calls that wait are then asked about again")
    own = hmac.digest(key, about.encode(), "sha256")

    def sign(value: Any) -> str:
        text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=repr)
        return hmac.new(own, text.encode(), "sha256").hexdigest()

    return sign
