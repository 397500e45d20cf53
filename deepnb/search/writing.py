"""A file's way into the index: cut, read, and put in the place of what was there, in one transaction."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from deepnb.core.errors import LimitError
from deepnb.search.chunks import Cut, Unit, cut
from deepnb.search.database import Database
from deepnb.search.grams import LONGEST
from deepnb.search.keys import FILES, HEAD, chunk_key, chunk_range, file_range, unit_key
from deepnb.search.words import indexed, label, labelled, names, words

READING = 2
"""How texts are cut and read. A change of `words` or `chunks` is a higher number: indexes are then read again."""


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


def content_hash(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def prepared(path: str, text: str, hash_: bytes) -> Prepared:
    found = cut(text)
    pieces = [text[unit.a : unit.b] for unit in found.units]
    return Prepared(
        path=path,
        hash=hash_,
        text=text,
        cut=found,
        bodies=tuple(_bodies(found.units, pieces)),
        names=tuple((i, name) for i, piece in enumerate(pieces) for name in sorted(names(piece))),
        words=frozenset(word for word in set(words(text)) if len(word) <= LONGEST),
    )


def write_file(db: Database, file: Prepared) -> int:
    """Put a file into the index, in a transaction of the caller's; gives the number of its chunks."""
    number = db.value("SELECT id FROM files WHERE path = ?", (file.path,))
    if number is None:
        number = 1 + (db.value("SELECT max(id) FROM files") or 0)
        if number >= FILES:
            number = _gap(db)
        db.rows("INSERT INTO files VALUES (?, ?, ?)", (number, file.path, file.hash))
    else:
        _erase(db, number)
        db.rows("UPDATE files SET hash = ? WHERE id = ?", (file.hash, number))
    keys = [unit_key(number, u.ordinal, u.chunk, u.b - u.a) for u in file.cut.units]
    db.many(
        "INSERT INTO units VALUES (?, ?, ?, ?)",
        ((key, u.start, u.a, u.b) for key, u in zip(keys, file.cut.units, strict=True)),
    )
    db.many("INSERT INTO words (rowid, body) VALUES (?, ?)", zip(keys, file.bodies, strict=True))
    db.many("INSERT OR IGNORE INTO names VALUES (?, ?)", ((name, keys[i]) for i, name in file.names))
    db.many("INSERT OR IGNORE INTO vocabulary (word) VALUES (?)", ((word,) for word in sorted(file.words)))
    title = _title(file.path)
    heads = [(HEAD | chunk_key(number, c.number), indexed(f"{title} {c.heading}")) for c in file.cut.chunks]
    db.many("INSERT INTO words (rowid, body) VALUES (?, ?)", heads)
    db.many("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?)", _chunk_rows(file, number, keys))
    return len(file.cut.chunks)


def erase_file(db: Database, path: str) -> bool:
    """Take a file out of the index, in a transaction of the caller's; whether it was in there."""
    number = db.value("SELECT id FROM files WHERE path = ?", (path,))
    if number is None:
        return False
    _erase(db, number)
    db.rows("DELETE FROM files WHERE id = ?", (number,))
    return True


def texts(db: Database) -> Iterator[tuple[str, str]]:
    """Each file in the index with its text, as far as it was indexed."""
    for number, path in db.rows("SELECT id, path FROM files ORDER BY path"):
        low, high = chunk_range(number)
        parts = db.rows("SELECT text FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id", (low, high))
        yield path, "".join(part for (part,) in parts)


def bump(db: Database) -> None:
    """Say that the index has changed, in a transaction of the caller's."""
    db.rows("UPDATE meta SET value = value + 1 WHERE name = 'generation'")


def _erase(db: Database, number: int) -> None:
    units, chunks = file_range(number), chunk_range(number)
    db.rows("DELETE FROM words WHERE rowid BETWEEN ? AND ?", units)
    db.rows("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (HEAD | chunks[0], HEAD | chunks[1]))
    db.rows("DELETE FROM names WHERE unit BETWEEN ? AND ?", units)
    db.rows("DELETE FROM units WHERE id BETWEEN ? AND ?", units)
    db.rows("DELETE FROM chunks WHERE id BETWEEN ? AND ?", chunks)


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


def _bodies(units: tuple[Unit, ...], pieces: list[str]) -> Iterator[str]:
    """What FTS5 is given for each unit; all the parts of a long line have its label."""
    line, of = 0, ""
    for unit, piece in zip(units, pieces, strict=True):
        if unit.start != line:
            line, of = unit.start, labelled(label(piece))
        yield indexed(piece) + of


def _title(path: str) -> str:
    """The words of a file's name: "2026-02-16" of memory/2026-02-16.md."""
    return re.sub(r"\.\w{1,5}$", "", re.split(r"[/\\]", path)[-1])
