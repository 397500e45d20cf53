"""A change of a file as an entry of the journal: who, when, and a unified diff that can be put in and taken back.

The journal is JSON Lines in `.deepnb/` beside the files it is about: 64 entries in `journal.jsonl`, the next 64 in
`journal-2.jsonl`, and so on. A field that has its default is left out.

Law: applying an entry's diff to the text before it gives the text after it, and the other way round.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from deepnb.backends.merge import Conflict
from deepnb.gate import redact
from deepnb.values.errors import DeepnbError
from deepnb.values.files import FileDiff, Hunk, apply, lines_of
from deepnb.values.text import excerpt

Origin = Literal["user", "agent", "tool output", "flush", "external"]
"""Who changed the file; `external` is another process, or anybody outside deepnb."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DoesNotFit(ValueError):
    """The text is not the one that the diff was made from."""


@dataclass(frozen=True)
class Entry:
    """One change of one file."""

    id: str
    at: str
    """ISO timestamp."""
    path: str
    origin: Origin
    diff: str
    """Unified diff with three lines of context; empty where an empty file was made or removed."""
    created: bool = False
    removed: bool = False
    thread: str | None = None
    turn: int | None = None
    cell: str | None = None
    note: str = ""
    """What else there is to say: `revert of 12`, `merged`, `conflict`."""
    conflicts: tuple[Conflict, ...] = ()
    """Where the change and what others wrote disagreed, so that the file has both."""
    settles: str = ""
    """The id of an entry whose conflicts are none any more: both texts stay."""

    def change(self, most: int) -> str:
        """Return the first changed line that has words, a heading where there is no other, without its bullet, and how
        many more there are: `+ a fact (+2)`."""
        lines = self.diff.split("\n")
        start = next((i for i, line in enumerate(lines) if line.startswith("@@")), len(lines))
        changed = [line for line in lines[start:] if line.startswith(("+", "-"))]
        told = (line for line in changed if re.search(r"\w", line))
        first = min(told, key=lambda line: line[1:].lstrip().startswith("#"), default="".join(changed[:1]))
        more = f" (+{len(changed) - 1})" if len(changed) > 1 else ""
        return excerpt(re.sub(r"^([+-])\s*(?:[-*#]+\s+)?", r"\1 ", first), most) + more  # +- a fact | -## a heading

    def after(self, before: str | None) -> str | None:
        """Return the text after the change, given the text before it (None: there was no file)."""
        if (before is None) != self.created:
            raise DoesNotFit(self.path)
        return None if self.removed else apply(before, _hunks(self.diff, lines_of(before), forward=True))

    def before(self, after: str | None) -> str | None:
        if (after is None) != self.removed:
            raise DoesNotFit(self.path)
        return None if self.created else apply(after, _hunks(self.diff, lines_of(after), forward=False))


def entry(one: FileDiff, **facts: Any) -> Entry:
    """Return the entry for a change of a file; `facts` are Entry's other fields."""
    return Entry(path=one.path, diff=one.unified(), created=one.before is None, removed=one.after is None, **facts)


def to_json(one: Entry) -> str:
    """Return the entry as a line of JSON; facts that are not known are left out."""
    known = {k: v for k, v in asdict(one).items() if v not in (None, "", False, ()) or k == "diff"}
    return json.dumps(known, ensure_ascii=False)


def from_json(line: str) -> Entry:
    """Return the entry of a line; fields of a later version are passed over."""
    data: Mapping[str, Any] = json.loads(line)
    names = {f.name for f in fields(Entry)}
    known = {k: v for k, v in data.items() if k in names}
    conflicts = (Conflict(int(c["line"]), str(c["kept"]), str(c["written"])) for c in known.pop("conflicts", ()))
    return Entry(**known, conflicts=tuple(conflicts))


def entries(text: str) -> tuple[Entry, ...]:
    """Return the entries of a journal file; a line that was cut short by a crash is passed over."""
    found = []
    for line in text.split("\n"):
        try:
            found.append(from_json(line))
        except (ValueError, TypeError, KeyError):
            continue
    return tuple(found)


@dataclass(frozen=True)
class OpenConflict:
    """A conflict that nobody has settled yet."""

    id: str
    path: str
    conflict: Conflict


def open_conflicts(log: Sequence[Entry]) -> tuple[OpenConflict, ...]:
    """Return the conflicts of a journal that nobody has settled: since each, neither text was changed or removed."""
    waiting = {e.path: list[OpenConflict]() for e in log if e.conflicts}
    texts = JournalTexts()
    for one in log if waiting else ():
        if (mine := waiting.get(one.path)) is None:
            continue
        texts.take(one)
        mine += [OpenConflict(one.id, one.path, conflict) for conflict in one.conflicts]
        with suppress(DoesNotFit):
            text = texts.text(one.path) or ""
            mine[:] = [c for c in mine if c.id != one.settles and c.conflict.is_in(text)]
    return tuple(c for mine in waiting.values() for c in mine)


class JournalTexts:
    """The texts of files as entries tell them, one after the other; one that makes or removes a file begins its chain anew."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.broken: set[str] = set()
        """Paths whose last entries do not follow from those before them."""

    def take(self, one: Entry) -> None:
        try:
            before = None if one.created else self._texts.get(one.path)
            after = None if one.removed else one.after(before)
        except DoesNotFit:
            self.broken.add(one.path)
            return
        if one.created or one.removed:
            self.broken.discard(one.path)
        if after is None:
            self._texts.pop(one.path, None)
        else:
            self._texts[one.path] = after

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist. Raises DoesNotFit if it can't be rebuilt."""
        if path in self.broken:
            raise DoesNotFit(path)
        return self._texts.get(path)


def replay(path: str, log: Iterable[Entry]) -> str | None:
    """Return the text of a file as its entries tell it, or None if it does not exist; raise DoesNotFit if they do not follow one another."""
    texts = JournalTexts()
    for one in log:
        if one.path == path:
            texts.take(one)
    return texts.text(path)


def text_after(one: Entry, log: Sequence[Entry]) -> str | None:
    """Return the text of its file just after an entry of a journal."""
    try:
        return replay(one.path, log[: log.index(one) + 1])
    except DoesNotFit:
        what = f"the journal of {one.path} can't be replayed to that entry"
        raise DeepnbError(what, "%memory diff compares turns") from None


def _hunks(diff: str, lines: list[str], *, forward: bool) -> tuple[Hunk, ...]:
    found: list[tuple[int, list[tuple[str, str]]]] = []  # of each the first line, and (sign, line) of the others
    for line in lines_of(diff):
        if head := _HUNK.match(line):
            start, length = (head[1], head[2]) if forward else (head[3], head[4])
            # A side without lines is numbered by the line before it (GNU diffutils manual, "Detailed Unified").
            found.append((int(start) if length == "0" else int(start) - 1, []))
        elif line.startswith("\\"):
            sign, text = found[-1][1][-1]
            found[-1][1][-1] = (sign, text.removesuffix("\n"))
        elif found:
            found[-1][1].append((line[0], line[1:]))
    out, (take, put) = list[Hunk](), ("-", "+") if forward else ("+", "-")
    for at, body in found:
        old = [text for sign, text in body if sign in (" ", take)]
        if lines[at : at + len(old)] != old:
            raise DoesNotFit("the diff was made from another text")
        out.append(Hunk(at, at + len(old), tuple(text for sign, text in body if sign in (" ", put))))
    return tuple(out)


# -- the journal of a backend: entries in order, kept in `.deepnb/` beside the files they speak of


FOLDER = ".deepnb"
FULL = 64
"""Entries in one file; then the next is begun, so that adding one never rewrites more than these."""


class JournalFile:
    """Entries under one root of a backend (`/`, or a mount's prefix), read once and written as they come.

    They wait in `unsaved` until `save`, which whoever holds the lock calls: the kernel's own state would grow with their
    square. The texts here are redacted ones.
    """

    def __init__(self, backend: Any, root: str = "/") -> None:
        self._backend = backend
        self._root = root.rstrip("/")
        self._saved: list[Entry] = []
        self._files: dict[int, str] = {}
        self._texts = JournalTexts()
        self._last = 0
        self.unsaved: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, oldest first, as last read or written."""
        return (*self._saved, *self.unsaved)

    def next_id(self) -> str:
        """Return the id of the next entry: a number, after the mount's name where there is one."""
        name = self._root.strip("/").replace("/", "-")
        number = max([self._last, *map(_number, self.unsaved)]) + 1
        return f"{name}-{number}" if name else str(number)

    def read(self) -> None:
        """See what others added; only files that may have changed are read again, and of them what is new."""
        number = max(self._files, default=1)
        while (text := self._text(number)) is not None and text.startswith(held := self._files.get(number, "")):
            self._files[number] = text
            self._take(entries(text[len(held) :]))
            number += 1
        if text is not None or number == max(self._files, default=0):  # somebody wrote one of the files anew
            self._forget()
            self.read()

    def save(self) -> str | None:
        """Write what waits; return the error, and keeps what waits, where that failed."""
        while self.unsaved:
            number = max(self._files, default=1)
            held = self._files.get(number, "")
            if held and not held.endswith("\n"):  # a line that was cut short: the next one must not be joined to it
                held += "\n"
            if (count := held.count("\n")) >= FULL:
                number, held, count = number + 1, "", 0
            batch = self.unsaved[: FULL - count]
            text = held + "".join(f"{to_json(e)}\n" for e in batch)
            result = self._backend.write(self.path(number), text)
            if result.error:
                return str(result.error)
            self._files[number] = text
            self._take(batch)
            del self.unsaved[: len(batch)]
        return None

    def keep(self) -> None:
        """Write again what the backend does not hold (any more) of what was saved: after files were taken back."""
        for number, text in self._files.items():
            if self._text(number) != text:
                self._backend.write(self.path(number), text)

    def rewrite(self, kept: Sequence[Entry]) -> None:
        """Write the whole journal anew: for forgetting, which is the one thing that takes entries back."""
        for number in list(self._files):
            self._backend.delete(self.path(number))
        self._forget()
        self.unsaved = list(kept)
        self.save()

    def text_of(self, path: str) -> str | None:
        """Return the text of a file, credentials masked, as the journal tells it; None where it tells of none."""
        name = redact(path)
        try:
            return replay(name, self.entries) if self.unsaved else self._texts.text(name)
        except DoesNotFit:
            return None

    def path(self, number: int) -> str:
        """Return the journal's `number`-th file, counted from 1."""
        return f"{self._root}/{FOLDER}/journal{'' if number == 1 else f'-{number}'}.jsonl"

    def _take(self, more: Sequence[Entry]) -> None:
        for one in more:
            self._saved.append(one)
            self._texts.take(one)
            self._last = max(self._last, _number(one))

    def _forget(self) -> None:
        self._files, self._saved, self._texts, self._last = {}, [], JournalTexts(), 0

    def _text(self, number: int) -> str | None:
        found = self._backend.download_files([self.path(number)])[0]
        return None if found.content is None else found.content.decode("utf-8", "replace")


def is_journal(path: str) -> bool:
    """Return whether a path is one of deepnb's own files about files."""
    return f"/{FOLDER}/" in f"{path}/"


def _number(entry: Entry) -> int:
    tail = entry.id.rsplit("-", 1)[-1]
    return int(tail) if tail.isdecimal() else 0
