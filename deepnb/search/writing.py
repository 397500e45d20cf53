"""A file's way into the index: cut, read, and put in the place of what was there, in one transaction."""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from deepnb.core.errors import LimitError
from deepnb.search.chunks import Cut, Unit, cut
from deepnb.search.database import Database
from deepnb.search.days import day_of, is_date
from deepnb.search.grams import LONGEST
from deepnb.search.keys import FILES, HEAD, chunk_key, chunk_range, file_range, unit_key
from deepnb.search.words import are_plain, indexed, label, labelled, more_than_words, named_tokens, plain, words

READING = 4
"""How texts are cut and read. A change of `words` or `chunks` is a higher number: indexes are then read again."""

PROSE = 0.1
"""The part of a document that is paragraphs of prose, at least; talks and lists of notes have none."""

_BATCH = 4_000_000
"""Characters of text that one transaction writes, about."""


@dataclass(frozen=True)
class Prepared:
    """A file ready to be written: all that takes time and needs no database."""

    path: str
    hash: bytes
    text: str
    cut: Cut
    bodies: tuple[str, ...]
    names: tuple[tuple[int, str], ...]
    """Place of the unit in `cut.units`, and the identifier."""
    words: frozenset[str]
    heads: tuple[str, ...]
    """What FTS5 is given for each chunk: the words of the file's name and of the headings."""
    days: tuple[int | None, ...]
    """The day that each unit is of, as an ordinal."""

    @property
    def is_document(self) -> bool:
        """Whether there are paragraphs of prose in it."""
        return self.cut.prose >= PROSE

    def unit_postings(self, number: int) -> Iterator[tuple[int, str]]:
        """The rows of the full-text index for the units of this file, which has this number there."""
        return zip(self.keys(number), self.bodies, strict=True)

    def head_postings(self, number: int) -> Iterator[tuple[int, str]]:
        """Those for its headings."""
        for chunk, head in zip(self.cut.chunks, self.heads, strict=True):
            yield HEAD | chunk_key(number, chunk.number), head

    def keys(self, number: int) -> list[int]:
        return [unit_key(number, u.ordinal, u.chunk, u.b - u.a) for u in self.cut.units]


@dataclass(frozen=True)
class Written:
    """How many chunks a file has, and whether anything of what was there has gone."""

    chunks: int
    erased: bool


def content_hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def prepared(path: str, text: str, hash_: bytes) -> Prepared:
    found = cut(text)
    pieces = [text[unit.a : unit.b] for unit in found.units]
    tokens = text.split()
    different = set(tokens)
    odd = more_than_words(different)
    return Prepared(
        path=path,
        hash=hash_,
        text=text,
        cut=found,
        bodies=tuple(_bodies(found.units, pieces, text.isascii() and are_plain(odd))),
        names=tuple(_names(text, tokens, found.units, named_tokens(odd))),
        words=_words(different, odd),
        heads=tuple(indexed(f"{_title(path)} {chunk.heading}") for chunk in found.chunks),
        days=tuple(_days(path, found, pieces)),
    )


def batches(
    files: Mapping[str, str | None], known: Mapping[str, bytes], hash_of: Callable[[str, str], bytes]
) -> Iterator[list[tuple[str, Prepared | None]]]:
    """What must be written, some megabytes at a time: a file whose hash is known is left out."""
    batch: list[tuple[str, Prepared | None]] = []
    size = 0
    for path, text in files.items():
        if text is None:
            if path in known:
                batch.append((path, None))
        elif (hash_ := hash_of(path, text)) != known.get(path):
            batch.append((path, prepared(path, plain(text), hash_)))
            size += len(text)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass
class Changes:
    """What a transaction still has to write, which is cheaper done once than file by file."""

    files: dict[int, Prepared] = field(default_factory=dict)
    """By number: those whose words are not in the full-text index yet."""
    counts: Counter[str] = field(default_factory=Counter)
    """In how many files more, or fewer, a word is."""

    def write(self, db: Database) -> None:
        """FTS5 writes out what it has in memory whenever a number is below the one before, so they come in order."""
        sql = "INSERT INTO words (rowid, body) VALUES (?, ?)"
        files = sorted(self.files.items())
        db.many(sql, (row for number, file in files for row in file.unit_postings(number)))
        db.many(sql, (row for number, file in files for row in file.head_postings(number)))
        _count_words(db, self.counts)


def write_file(db: Database, file: Prepared, changes: Changes) -> Written:
    """Put a file into the index, in a transaction of the caller's; `changes` must be written in it, too, and whatever
    is erased is to be followed by `purge`.
    """
    old = None
    number = db.value("SELECT id FROM files WHERE path = ?", (file.path,))
    if number is None:
        number = 1 + (db.value("SELECT max(id) FROM files") or 0)
        if number >= FILES:
            number = _gap(db)
        db.rows("INSERT INTO files (id, path, hash) VALUES (?, ?, ?)", (number, file.path, file.hash))
    else:
        old = _erase(db, number, file.path)
    db.rows("UPDATE files SET hash = ?, document = ? WHERE id = ?", (file.hash, file.is_document, number))
    keys = file.keys(number)
    db.many(
        "INSERT INTO units VALUES (?, ?, ?, ?, ?)",
        ((k, u.start, u.a, u.b, day) for k, u, day in zip(keys, file.cut.units, file.days, strict=True)),
    )
    changes.files[number] = file
    db.many("INSERT OR IGNORE INTO names VALUES (?, ?)", ((name, keys[i]) for i, name in file.names))
    db.many("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", _chunk_rows(file, number, keys))
    changes.counts.update(file.words)
    if old:
        changes.counts.subtract(old.words)
    return Written(len(file.cut.chunks), old is not None and not set(old.bodies) <= set(file.bodies))


def erase_file(db: Database, path: str, changes: Changes) -> bool:
    """Take a file out of the index, in a transaction of the caller's; whether it was in there. `purge` comes next."""
    number = db.value("SELECT id FROM files WHERE path = ?", (path,))
    if number is None:
        return False
    changes.counts.subtract(_erase(db, number, path).words)
    db.rows("DELETE FROM files WHERE id = ?", (number,))
    return True


def read_anew(db: Database) -> None:
    """Index every file again from its chunks where an older version has cut it in another way."""
    if db.value("SELECT value FROM meta WHERE name = 'reading'") == READING:
        return
    with db.transaction(write=True):
        if db.value("SELECT value FROM meta WHERE name = 'reading'") != READING:
            every = list(texts(db))
            clear(db)
            changes = Changes()
            for path, text in every:
                write_file(db, prepared(path, text, content_hash(text)), changes)
            changes.write(db)
            db.rows("UPDATE meta SET value = ? WHERE name = 'reading'", (READING,))
            bump(db)


def _count_words(db: Database, counts: Counter[str]) -> None:
    """Keep the vocabulary to the words that some file has, in a transaction of the caller's."""
    generation = db.value("SELECT value FROM meta WHERE name = 'generation'")
    more = {word: counts[word] for word in sorted(counts) if counts[word] > 0}
    less = [(-n, word) for word, n in counts.items() if n < 0]
    db.rows(
        "INSERT INTO vocabulary SELECT key, value, ? FROM json_each(?) WHERE true"
        " ON CONFLICT (word) DO UPDATE SET files = files + excluded.files",
        (generation, json.dumps(more)),
    )
    db.many("UPDATE vocabulary SET files = files - ? WHERE word = ?", less)
    db.many("DELETE FROM vocabulary WHERE word = ? AND files < 1", ((word,) for _, word in less))


def purge(db: Database) -> None:
    """Take what was erased out of the full-text index for good, in a transaction of the caller's.

    FTS5 keeps a word beside the note that it was deleted until both are merged: 0.1 s for 10 MB.
    """
    db.rows("INSERT INTO words (words) VALUES ('optimize')")
    db.rows("INSERT OR REPLACE INTO meta VALUES ('erased', 1)")


def vacuum(db: Database, *, always: bool = False) -> None:
    """Write the file anew where something was erased since the last time; while others use it, it waits for a later call.

    SQLite overwrites what it deletes, but moves rows between pages, and their old places keep their bytes.
    """
    if db.path == ":memory:" or not (always or db.value("SELECT value FROM meta WHERE name = 'erased'")):
        return
    if db.vacuum():
        db.rows("DELETE FROM meta WHERE name = 'erased'")


def clear(db: Database) -> None:
    """Take out all that is made of the texts, in a transaction of the caller's; the paths stay."""
    db.rows("INSERT INTO words (words) VALUES ('delete-all')")
    for table in ("units", "chunks", "names", "vocabulary"):
        db.rows(f"DELETE FROM {table}")


def texts(db: Database) -> Iterator[tuple[str, str]]:
    """Each file in the index with its text, as far as it was indexed."""
    for number, path in db.rows("SELECT id, path FROM files ORDER BY path"):
        yield path, _text(db, number)


def bump(db: Database) -> None:
    """Say that the index has changed, in a transaction of the caller's."""
    db.rows("UPDATE meta SET value = value + 1 WHERE name = 'generation'")


def _erase(db: Database, number: int, path: str) -> Prepared:
    """Delete what is there of a file; gives that."""
    old = prepared(path, _text(db, number), b"")
    units, chunks = file_range(number), chunk_range(number)
    sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)"
    db.many(sql, old.unit_postings(number))
    db.many(sql, old.head_postings(number))
    keys = old.keys(number)
    db.many("DELETE FROM names WHERE name = ? AND unit = ?", ((name, keys[i]) for i, name in old.names))
    db.rows("DELETE FROM units WHERE id BETWEEN ? AND ?", units)
    db.rows("DELETE FROM chunks WHERE id BETWEEN ? AND ?", chunks)
    return old


def _text(db: Database, number: int) -> str:
    rows = db.rows("SELECT text FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id", chunk_range(number))
    return "".join(part for (part,) in rows)


def _days(path: str, found: Cut, pieces: list[str]) -> Iterator[int | None]:
    """The day of each unit as an ordinal: that with which its line begins, else of its heading, else of the file's name.

    A line that is a date and nothing else is as good as a heading for those below it.
    """
    of_file = day_of(path)
    headings = {chunk.number: chunk.heading for chunk in found.chunks}
    of_heading = {h: next(filter(None, map(day_of, reversed(h.split(" > ")))), of_file) for h in headings.values()}
    section, below = "", None
    for unit, piece in zip(found.units, pieces, strict=True):
        heading = headings[unit.chunk]
        if heading != section:
            section, below = heading, None
        own = day_of(piece[:40], before=10)
        if own and is_date(piece):
            below = own
        day = own or below or of_heading[heading]
        yield day.toordinal() if day else None


def _gap(db: Database) -> int:
    found = db.value("SELECT min(id) + 1 FROM files a WHERE NOT EXISTS (SELECT 1 FROM files b WHERE b.id = a.id + 1)")
    if found >= FILES:
        raise LimitError(f"an index holds at most {FILES - 1:,} files", "create a second Index")
    return int(found)


def _chunk_rows(file: Prepared, number: int, keys: list[int]) -> Iterable[tuple[object, ...]]:
    """Each chunk with the text from its beginning to that of the next, so that together they are the file."""
    chunks = file.cut.chunks
    last: dict[int, int] = {}
    first: dict[int, int] = {}
    for key, unit in zip(keys, file.cut.units, strict=True):
        first.setdefault(unit.chunk, key)
        last[unit.chunk] = key
    for i, chunk in enumerate(chunks):
        a = chunk.a if i else 0
        b = chunks[i + 1].a if i + 1 < len(chunks) else len(file.text)
        meaning = f"{chunk.heading}\n{file.text[chunk.a : chunk.b]}"
        yield (
            chunk_key(number, chunk.number),
            chunk.heading,
            a,
            file.text[a:b],
            first[chunk.number],
            last[chunk.number],
            content_hash(meaning),
        )


def _bodies(units: tuple[Unit, ...], pieces: list[str], plain: bool) -> Iterator[str]:
    """What FTS5 is given for each unit; all the parts of a long line have its label. `plain`: the text as it is."""
    line, of = 0, ""
    for unit, piece in zip(units, pieces, strict=True):
        if unit.start != line:
            line, of = unit.start, labelled(label(piece))
        yield (piece if plain else indexed(piece)) + of


def _words(tokens: set[str], odd: list[str]) -> frozenset[str]:
    """The words in the tokens; those that are not odd are words as they are."""
    simple = " ".join(tokens.difference(odd))
    found = {*(simple.lower().split() if simple.isascii() else words(simple)), *words(" ".join(odd))}
    return frozenset(found if max(map(len, found), default=0) <= LONGEST else (w for w in found if len(w) <= LONGEST))


def _names(
    text: str, tokens: list[str], units: tuple[Unit, ...], of: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[int, str]]:
    """The identifiers of each unit, once each; `of` has those of each token of the text that looks like one."""
    ends = [unit.b for unit in units]
    at, found = 0, set[tuple[int, str]]()
    for token in filter(of.__contains__, tokens):
        at = text.index(token, at)
        unit = bisect_right(ends, at)
        if unit < len(units):
            found.update((unit, name) for name in of[token])
        at += len(token)
    yield from sorted(found)


def _title(path: str) -> str:
    """The words of a file's name: "2026-02-16" of memory/2026-02-16.md."""
    return re.sub(r"\.\w{1,5}$", "", re.split(r"[/\\]", path)[-1])
