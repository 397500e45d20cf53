"""The journal of a backend: entries in order, kept in `.deepnb/` beside the files they speak of."""

from collections.abc import Sequence
from typing import Any

from deepnb.backends.journal import DoesNotFit, Entry, JournalTexts, entries, to_json
from deepnb.gate import redact

FOLDER = ".deepnb"
FULL = 64
"""Entries in one file; then the next is begun, so that adding one never rewrites more than these."""


class JournalFile:
    """Entries under one root of a backend (`/`, or a mount's prefix), read once and written as they come.

    While a run is going on the kernel's own state can't take a write for every entry without
    growing with their square; so entries wait in `unsaved` until `save`, which whoever holds the
    lock calls. What is told is told without credentials: the texts here are redacted ones.
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
        """The id of the next entry: a number, after the mount's name where there is one."""
        name = self._root.strip("/").replace("/", "-")
        number = max([self._last, *map(_number, self.unsaved)]) + 1
        return f"{name}-{number}" if name else str(number)

    def read(self) -> None:
        """See what others added; only files that may have changed are read again, and of them what is new."""
        number = max(self._files, default=1)
        while (text := self._text(number)) is not None:
            held = self._files.get(number, "")
            if not text.startswith(held):
                return self._reread()
            self._files[number] = text
            self._take(entries(text[len(held) :]))
            number += 1
        return self._reread() if number == max(self._files, default=0) else None

    def add(self, entry: Entry) -> None:
        """Add an entry; `save` writes it."""
        self.unsaved.append(entry)

    def save(self) -> str | None:
        """Write what waits; gives the error, and keeps what waits, where that failed."""
        while self.unsaved:
            number = max(self._files, default=1)
            held = self._files.get(number, "")
            if held and not held.endswith("\n"):  # a line that was cut short: the next one must not be joined to it
                held += "\n"
            count = held.count("\n")
            if count >= FULL:
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
        self._files = {}
        self._forget()
        self.unsaved = list(kept)
        self.save()

    def text_of(self, path: str) -> str | None:
        """The text of a file, credentials masked, as the journal tells it; None where it tells of none."""
        name = redact(path)
        texts = self._texts.copy_of(name)
        for one in self.unsaved:
            texts.take(one)
        try:
            return texts.text(name)
        except DoesNotFit:
            return None

    def fits(self, path: str) -> bool:
        """Whether the entries of a file follow from each other."""
        return redact(path) not in self._texts.broken

    def path(self, number: int) -> str:
        """The journal's `number`-th file, counted from 1."""
        return f"{self._root}/{FOLDER}/journal{'' if number == 1 else f'-{number}'}.jsonl"

    def _take(self, more: Sequence[Entry]) -> None:
        for one in more:
            self._saved.append(one)
            self._texts.take(one)
            self._last = max(self._last, _number(one))

    def _reread(self) -> None:
        """Somebody wrote a file of the journal anew: read all of them."""
        self._files = {}
        self._forget()
        number = 1
        while (text := self._text(number)) is not None:
            self._files[number] = text
            self._take(entries(text))
            number += 1

    def _forget(self) -> None:
        self._saved, self._texts, self._last = [], JournalTexts(), 0

    def _text(self, number: int) -> str | None:
        found = self._backend.download_files([self.path(number)])[0]
        return None if found.content is None else found.content.decode("utf-8", "replace")


def is_journal(path: str) -> bool:
    """Whether a path is one of deepnb's own files about files."""
    return f"/{FOLDER}/" in f"{path}/"


def _number(entry: Entry) -> int:
    tail = entry.id.rsplit("-", 1)[-1]
    return int(tail) if tail.isdecimal() else 0
