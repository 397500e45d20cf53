"""How often a line of the daily notes was found by a search: by which it is known to be worth more than a day."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from deepnb.backends.tree import AppendFile
from deepnb.memory.daily import NoteEntry, entries

FILE = (".deepnb", "recalls.jsonl")


@dataclass(frozen=True)
class Recall:
    """How a line was found: `count` times, by `queries` different questions, the last time at `last` (ISO)."""

    count: int = 0
    queries: int = 0
    last: str = ""


NEVER = Recall()


class Recalls:
    """Recalls as they happen, in this process; kept beside the notes from when these are kept on a disk.

    Neither the line nor the question is written down, but a hash of each: there is nothing in it to forget.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str, str]] = []
        """(note, hash of the line, hash of the question, time)"""
        self._directory = ""
        self._file: AppendFile | None = None

    def keep(self, directory: str) -> None:
        """Keep them in a directory from now on, beside what is there already."""
        if directory == self._directory:
            return
        self._directory, self._file = directory, AppendFile(directory, FILE)
        here, self._rows = self._rows, list(_read(self._file))
        self._add(here)

    def add(self, found: Iterable[NoteEntry], query: str, at: str) -> None:
        """These entries were found by a question."""
        asked = _hash(" ".join(query.casefold().split()))
        self._add([(entry.note, _hash(entry.text), asked, at) for entry in found])

    def of(self, notes: Mapping[str, str]) -> dict[tuple[str, int], Recall]:
        """(note, line) -> how it was found, of the entries of these notes (path -> text) that ever were."""
        if self._file is not None:
            self._rows = list(_read(self._file)) or self._rows
        by: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for note, line, asked, at in self._rows:
            by.setdefault((note, line), []).append((asked, at))
        out = {}
        for path, text in notes.items():
            for entry in entries(path, text):
                if rows := by.get((path, _hash(entry.text))):
                    questions = len({asked for asked, _ in rows})
                    out[path, entry.line] = Recall(len(rows), questions, max(at for _, at in rows))
        return out

    def _add(self, rows: Sequence[tuple[str, str, str, str]]) -> None:
        self._rows += rows
        if self._file is not None and rows:
            try:
                self._file.append("".join(f"{json.dumps(row)}\n" for row in rows).encode())
            except OSError:
                self._file = None  # they stay in this process: nothing that was said is lost by it


def _read(file: AppendFile) -> Iterable[tuple[str, str, str, str]]:
    try:
        data = file.read()
    except OSError:
        return
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # cut short by a crash
            continue
        if isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row):
            yield row[0], row[1], row[2], row[3]


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
