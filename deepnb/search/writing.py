"""A file's way into the index: cut, read, and put in the place of what was there, in one transaction."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from deepnb.search.chunks import Cut, Unit, cut
from deepnb.search.database import VERSION, Database, make_tables, version_of
from deepnb.search.days import IN_FIGURES, day_of, is_date
from deepnb.search.keys import FILES, HEAD, chunk_key, chunk_range, file_range, unit_key
from deepnb.search.words import LONGEST, MARK, content_hash, indexed, is_plain, label, names_in, plain, terms, words_in
from deepnb.values.errors import LimitError

PROSE = 0.1
"""The part of a document that is paragraphs of prose, at least; talks and lists of notes have none."""

_SINGLE = 200_000
"""Tokens of one word that are known again in the next file, some 15 MB."""
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
    words: set[str]
    heads: tuple[str, ...]
    """What FTS5 is given for each chunk: the words of the file's name and of the headings."""
    days: tuple[int | None, ...]
    """The day that each unit is of, as an ordinal."""

    def keys(self, number: int) -> list[int]:
        """Return the keys of its units, as the file of this number in the index."""
        return [unit_key(number, u.ordinal, u.chunk, u.b - u.a) for u in self.cut.units]

    def head_postings(self, number: int) -> Iterator[tuple[int, str]]:
        """Yield the rows of the full-text index for its headings."""
        for chunk, head in zip(self.cut.chunks, self.heads, strict=True):
            yield HEAD | chunk_key(number, chunk.number), head


def prepared(path: str, text: str, hash_: bytes, known: set[str]) -> Prepared:
    """Return what is to be written of a file; `known` are tokens that are one word in lower case, this one's are added."""
    found = cut(text)
    pieces = [text[unit.a : unit.b] for unit in found.units]
    tokens = text.split()
    different = set(tokens)
    new = different - known
    known |= {t for t in new if t.isalpha() and t.islower() and t.isascii() and len(t) <= LONGEST}
    others = new - known
    as_is = text.isascii() and all(map(is_plain, others))
    title = re.sub(r"\.\w{1,5}$", "", re.split(r"[/\\]", path)[-1])
    heads = [f"{title} {chunk.heading}" for chunk in found.chunks]
    return Prepared(
        path=path,
        hash=hash_,
        text=text,
        cut=found,
        bodies=tuple(_bodies(found.units, pieces, as_is)),
        names=tuple(_names(text, filter(set(filter(names_in, others)).__contains__, tokens), found.units)),
        words=(different - others).union(*map(words_in, others)),
        heads=tuple(heads if as_is and indexed(title) == title else map(indexed, heads)),
        days=tuple(_days(path, found, pieces)),
    )


def batches(files: Mapping[str, str | None], known: Mapping[str, bytes]) -> Iterator[list[tuple[str, Prepared | None]]]:
    """Yield what must be written, some megabytes at a time: a file whose hash is known is left out."""
    batch: list[tuple[str, Prepared | None]] = []
    size, single = 0, set[str]()
    for path, text in files.items():
        if text is None:
            if path in known:
                batch.append((path, None))
        elif (hash_ := content_hash(text := plain(text))) != known.get(path):
            if len(single) > _SINGLE:
                single.clear()
            batch.append((path, prepared(path, text, hash_, single)))
            size += len(text)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
    for read in (words_in, names_in):  # another update has other texts
        read.cache_clear()


@dataclass
class Changes:
    """What a transaction still has to write, which is cheaper done once than file by file."""

    files: dict[int, tuple[list[int], Prepared]] = field(default_factory=dict)
    """By number: those that are not in the index yet, with the keys of their units."""
    counts: Counter[str] = field(default_factory=Counter)
    """In how many files more, or fewer, a word is."""
    _last: int = 0

    def number(self, db: Database) -> int:
        """Return one that no file has."""
        self._last = max(self._last, db.value("SELECT max(id) FROM files") or 0) + 1
        if self._last < FILES:
            return self._last
        used = {number for (number,) in db.rows("SELECT id FROM files")} | self.files.keys()
        found = next((n for n in range(1, FILES) if n not in used), None)
        if found is None:
            raise LimitError(f"an index holds at most {FILES - 1:,} files", "create a second Index")
        return found

    def write(self, db: Database) -> None:
        """Rows go in by their keys, which fills a B-tree fastest; FTS5 even writes out what it has in memory whenever a
        number is below the one before.
        """
        files = sorted(self.files.items())
        changed = 1 + db.value("SELECT value FROM meta WHERE name = 'generation'")
        db.many(
            "INSERT INTO files (id, path, hash, document, chunks, units, changed) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, document = excluded.document,"
            " chunks = excluded.chunks, units = excluded.units, changed = excluded.changed",
            (
                (number, f.path, f.hash, f.cut.prose >= PROSE, len(f.cut.chunks), len(f.cut.units), changed)
                for number, (_, f) in files
            ),
        )
        db.many(
            "INSERT INTO units VALUES (?, ?, ?, ?, ?)",
            (
                (key, unit.start, unit.a, unit.b, day)
                for _, (keys, f) in files
                for key, unit, day in zip(keys, f.cut.units, f.days, strict=True)
            ),
        )
        names = sorted([(name, keys[i]) for keys, file in self.files.values() for i, name in file.names])
        db.many("INSERT OR IGNORE INTO names VALUES (?, ?)", names)
        db.many(
            "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
            (row for number, (keys, file) in files for row in _chunk_rows(file, number, keys)),
        )
        sql = "INSERT INTO words (rowid, body) VALUES (?, ?)"
        db.many(sql, (row for _, (keys, file) in files for row in zip(keys, file.bodies, strict=True)))
        db.many(sql, (row for number, (_, file) in files for row in file.head_postings(number)))
        _count_words(db, self.counts)


def write_file(db: Database, file: Prepared, changes: Changes) -> None:
    """Put a file into the index, in a transaction of the caller's, in which `changes` must be written, too."""
    if (number := db.value("SELECT id FROM files WHERE path = ?", (file.path,))) is None:
        number = changes.number(db)
    else:
        changes.counts.subtract(_erase(db, number, file.path).words)
    changes.files[number] = file.keys(number), file
    changes.counts.update(file.words)


def erase_file(db: Database, path: str, changes: Changes) -> bool:
    """Take a file out of the index, in a transaction of the caller's; whether it was in there."""
    if (number := db.value("SELECT id FROM files WHERE path = ?", (path,))) is None:
        return False
    changes.counts.subtract(_erase(db, number, path).words)
    db.rows("DELETE FROM files WHERE id = ?", (number,))
    return True


def bring_up_to_date(db: Database) -> bool:
    """Make the tables of an empty file, or those of an older version anew; return whether that was done."""
    with db.transaction():  # one state of the file: another process may be making the tables just now
        version_of(db)
    db.share()
    with db.transaction(write=True):
        if version_of(db) == VERSION:
            return False
        make_tables(db)
        bump(db)
        return True


def _count_words(db: Database, counts: Counter[str]) -> None:
    """Keep the vocabulary to the words that some file has, in a transaction of the caller's."""
    generation = db.value("SELECT value FROM meta WHERE name = 'generation'")
    more = sorted([word for word, n in counts.items() if n > 0])  # a B-tree is quickest filled in order
    less = [(-n, word) for word, n in counts.items() if n < 0]
    db.rows(
        "INSERT INTO vocabulary SELECT key, value, ? FROM json_each(?) WHERE true"
        " ON CONFLICT (word) DO UPDATE SET files = files + excluded.files",
        (generation, "{" + ",".join([f'"{word}":{counts[word]}' for word in more]) + "}"),
    )
    db.many("UPDATE vocabulary SET files = files - ? WHERE word = ?", less)
    db.many("DELETE FROM vocabulary WHERE word = ? AND files < 1", ((word,) for _, word in less))


def bump(db: Database) -> None:
    """Say that the index has changed, in a transaction of the caller's."""
    db.rows("UPDATE meta SET value = value + 1 WHERE name = 'generation'")


def _erase(db: Database, number: int, path: str) -> Prepared:
    old = prepared(path, _text(db, number), b"", set())
    units, chunks = file_range(number), chunk_range(number)
    sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)"
    keys = old.keys(number)
    db.many(sql, zip(keys, old.bodies, strict=True))
    db.many(sql, old.head_postings(number))
    db.many("DELETE FROM names WHERE name = ? AND unit = ?", ((name, keys[i]) for i, name in old.names))
    db.rows("DELETE FROM units WHERE id BETWEEN ? AND ?", units)
    db.rows("DELETE FROM spans WHERE first BETWEEN ? AND ?", units)
    db.rows("DELETE FROM chunks WHERE id BETWEEN ? AND ?", chunks)
    return old


def _text(db: Database, number: int) -> str:
    rows = db.rows("SELECT text FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id", chunk_range(number))
    return "".join(part for (part,) in rows)


def _days(path: str, found: Cut, pieces: list[str]) -> Iterator[int | None]:
    """Yield the day of each unit as an ordinal: that with which its line begins, else of its heading, else of the
    file's name. A line that is a date and nothing else is as good as a heading for those below it."""
    of_file = day_of(path)
    chunks = iter(found.chunks)
    section = below = of_heading = None
    number = -1
    for unit, piece in zip(found.units, pieces, strict=True):
        if unit.chunk != number:
            number, heading, *_ = next(chunks)
            if heading != section:
                section, below = heading, None
                of_heading = next(filter(None, map(day_of, reversed(heading.split(" > ")))), of_file)
        own = day_of(piece[:40], before=10) if IN_FIGURES.search(piece, 0, 40) else None
        if own and is_date(piece):
            below = own
        day = own or below or of_heading
        yield day.toordinal() if day else None


def _chunk_rows(file: Prepared, number: int, keys: list[int]) -> Iterable[tuple[object, ...]]:
    """Yield each chunk with the text from its beginning to that of the next, so that together they are the file."""
    chunks = file.cut.chunks
    last: dict[int, int] = {}
    first: dict[int, int] = {}
    for key, unit in zip(keys, file.cut.units, strict=True):
        first.setdefault(unit.chunk, key)
        last[unit.chunk] = key
    for i, chunk in enumerate(chunks):
        a = chunk.a if i else 0
        b = chunks[i + 1].a if i + 1 < len(chunks) else len(file.text)
        key = chunk_key(number, chunk.number)
        yield key, chunk.heading, a, file.text[a:b], first[chunk.number], last[chunk.number]


def _bodies(units: tuple[Unit, ...], pieces: list[str], plain: bool) -> Iterator[str]:
    """Yield what FTS5 is given for each unit; all the parts of a long line have its label. `plain`: the text as it is."""
    line, of = 0, ""
    for unit, piece in zip(units, pieces, strict=True):
        if unit.start != line:
            line, own = unit.start, label(piece)
            of = "".join(f" {MARK}{word}" for word in terms(own)) if own else ""
        yield (piece if plain else indexed(piece)) + of


def _names(text: str, tokens: Iterable[str], units: tuple[Unit, ...]) -> Iterable[tuple[int, str]]:
    """Return the identifiers of each unit, once each; `tokens` are those of the text that hold one, in order."""
    ends = [unit.b for unit in units]
    at, found = 0, dict[tuple[int, str], None]()
    for token in tokens:
        at = text.index(token, at)
        if (unit := bisect_right(ends, at)) < len(units):
            for name in names_in(token):
                found[unit, name] = None
        at += len(token)
    return found
