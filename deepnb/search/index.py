"""A search index over Markdown and transcripts in one SQLite file; no model needed, and no agent.

    index = Index("notes.db")
    index.update({"memory/2026-02-16.md": text})
    for hit in index.search("who keeps bees?", 6):
        print(hit.path, hit.start, hit.end, hit.text)

The files are the truth: the index can be thrown away and made again from them at any time.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, TypeVar

import numpy as np

from deepnb.core.errors import NotFoundError, NotInstalledError
from deepnb.search import vectors
from deepnb.search.database import Damaged, Database, has_fts5
from deepnb.search.fusion import COARSE, Leg, by_rank, by_weight
from deepnb.search.hits import LEGS, Hit, affordable, fading, hit
from deepnb.search.passages import passages
from deepnb.search.reading import Reader, within
from deepnb.search.schema import migrate
from deepnb.search.scoring import Scored
from deepnb.search.words import plain, read_query
from deepnb.search.writing import READING, Prepared, bump, content_hash, erase_file, prepared, texts, write_file

PASSAGE = 1600
"""Characters a hit has at most, its heading counted."""
SHARE, SHORTEST = 13, 300
"""Into how many passages a budget in tokens is parted, and the fewest characters they then have. Many short ones
find more: on the talks of the tests, 13 of 600 characters beat 5 of 1,600."""
_BATCH = 4_000_000
"""Characters of text that one transaction writes, about."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Updated:
    """What an update did, in files, and in chunks written."""

    changed: int
    unchanged: int
    removed: int
    chunks: int


class Index:
    """An index in the file at `path`, or in memory without one. Many threads and processes may use it at once."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        embedder: vectors.Embedder | None = None,
        source: Callable[[], Mapping[str, str]] | None = None,
        library: Literal["", "sqlite3", "apsw"] = "",
    ) -> None:
        """`embedder` is any LangChain `Embeddings`; `source` gives the files where the index must be made anew.

        Errors: `DeepnbError` where the file is another program's, or SQLite has no full-text search.
        """
        self.path = ":memory:" if path is None else os.fspath(path)
        self.embedder = embedder
        self.source = source
        self.notices: list[str] = []
        """A line for each thing that was repaired or left out; read and clear it as you like."""
        self._library = library
        self._lock = threading.RLock()
        self._db: Database | None = None
        self._reader: Reader | None = None
        self._place: tuple[int, int] | None = None
        with self._open():
            pass

    def close(self) -> None:
        """Let the file go; the next call opens it again (an index in memory is then empty)."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = self._reader = None

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing

    def update(self, files: Mapping[str, str | None]) -> Updated:
        """Add or change files, path to text; None takes one out. Those not named stay, those not changed cost nothing."""
        given = {plain(path): None if text is None else plain(text) for path, text in files.items()}
        return self._mended(lambda: self._update(given))

    def sync(self, files: Mapping[str, str]) -> Updated:
        """Make these all the files there are: an update that takes out every other one."""
        gone = {path: None for path in self.files() if path not in {plain(p) for p in files}}
        return self.update({**gone, **files})

    def files(self) -> list[str]:
        """The paths in the index, in order."""
        return self._mended(lambda: [path for (path,) in self._rows("SELECT path FROM files ORDER BY path")])

    def embed(self) -> int:
        """Embed the chunks that have no vector by this embedder yet; gives how many. `update` does it, too."""
        return self._mended(self._embed)

    def _update(self, files: Mapping[str, str | None]) -> Updated:
        with self._open() as db:
            named = "SELECT path, hash FROM files WHERE path IN (SELECT value FROM json_each(?))"
            known = dict(db.rows(named, (json.dumps(list(files)),)))
            changed = removed = chunks = 0
            for batch in _batches(files, known):
                with db.transaction(write=True):
                    for path, file in batch:
                        if file is None:
                            removed += erase_file(db, path)
                            continue
                        chunks += write_file(db, file)
                        changed += 1
                        if not file.cut.whole:
                            end = file.cut.chunks[-1].end
                            self.notices.append(f"{path} is too long: it is indexed up to line {end}")
                    bump(db)
        self._embed()
        return Updated(changed, len(files) - changed - sum(text is None for text in files.values()), removed, chunks)

    def _embed(self) -> int:
        if self.embedder is None:
            return 0
        model = vectors.model_name(self.embedder)
        with self._open() as db:
            todo = vectors.missing(db, model)
        done = 0
        for i in range(0, len(todo), vectors.BATCH):
            part = todo[i : i + vectors.BATCH]
            try:
                found = vectors.unit_vectors(self.embedder.embed_documents([text for _, text in part]))
                if len(found) != len(part):
                    raise ValueError(f"{len(found)} vectors for {len(part)} texts")
            except Exception as error:
                self.notices.append(f"{len(todo) - done} chunks have no vector: {_line(error)}")
                break
            with self._open() as db, db.transaction(write=True):
                vectors.store(db, model, [hash_ for hash_, _ in part], found)
                bump(db)
            done += len(part)
        return done

    # -- searching

    def search(
        self,
        query: str,
        k: int = 6,
        *,
        legs: Sequence[str] = LEGS,
        fusion: Literal["rank", "weight"] = "rank",
        vector_weight: float = 0.7,
        text_weight: float = 0.3,
        recency: float | None = None,
        today: date | None = None,
        within: Callable[[str], bool] | None = None,
        passage: int = PASSAGE,
        tokens: int | None = None,
    ) -> list[Hit]:
        """The best `k` passages, best first; fewer where fewer fit the query, none where nothing does.

        `fusion` joins the legs by reciprocal ranks, or by `vector_weight` x cosine + `text_weight` x text score.
        `recency` is a half-life in days: with it, a file whose path has a date counts up to half less the older
        it is on the day `today`. `within` says of a path whether it may be found. `passage` is the most characters
        of a hit with its heading. `tokens` is a budget for all of them (4 characters each): passages are then
        shorter, so that SHARE of them fit into it, and the `k` are given only as far as it goes.
        """
        if tokens is not None:
            passage = min(passage, max(tokens * 4 // SHARE, SHORTEST))
        hits = self._mended(
            lambda: self._search(
                str(query),
                max(int(k), 0),
                [leg for leg in LEGS if leg in legs],
                lambda found: by_weight(found, vector_weight, text_weight) if fusion == "weight" else by_rank(found),
                fading(recency, today) if recency else None,
                within,
                passage,
            )
        )
        return hits if tokens is None else list(affordable(hits, tokens * 4))

    def _search(
        self,
        text: str,
        k: int,
        legs: Sequence[str],
        fuse: Callable[[Mapping[str, Leg]], tuple[Any, Any]],
        fade: Callable[[str], float] | None,
        allowed: Callable[[str], bool] | None,
        passage: int,
    ) -> list[Hit]:
        query = read_query(text)
        vector = self._query_vector(text) if "vector" in legs else None
        with self._open() as db, db.transaction():
            reader = self._reader
            assert reader is not None
            reader.refresh()
            found: dict[str, Leg] = {}
            if "exact" in legs and query.names:
                found["exact"] = reader.exact(query)
            for name in ("words", "grams"):
                if name in legs:
                    scored: Scored = getattr(reader, name)(query)
                    found[name] = Leg(scored.keys, scored.fine)
                    found[f"{name} around"] = Leg(scored.keys, scored.coarse, COARSE)
            if vector is not None and self.embedder is not None:
                found["vector"] = reader.vector(vectors.model_name(self.embedder), vector)
            if allowed is not None:
                found = {name: within(leg, reader.paths, allowed) for name, leg in found.items()}
            keys, scores = fuse(found)
            if fade is not None and len(keys):
                faded = {number: fade(path) for number, path in reader.paths.items()}
                scores = scores * np.array([faded[key >> 43] for key in keys.tolist()])
            keys, scores = keys[scores > 0], scores[scores > 0]
            spans = passages(keys, scores, reader.near, lambda key: max(passage - len(reader.heading(key)) - 1, 1), k)
            return [hit(reader, span, found, passage) for span in spans]

    def _query_vector(self, text: str) -> vectors.Vectors | None:
        if self.embedder is None:
            return None
        try:
            found = vectors.unit_vectors([self.embedder.embed_query(plain(text))])[0]
        except Exception as error:
            self.notices.append(f"searched without vectors: {_line(error)}")
            return None
        return found if found.any() else None

    # -- the file

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._open() as db:
            return db.rows(sql)

    @contextmanager
    def _open(self) -> Iterator[Database]:
        """The database, opened anew where its file was replaced or is gone."""
        with self._lock:
            if self._db is not None and self.path != ":memory:" and self._place != _place(self.path):
                self.close()
            if self._db is None:
                self._start()
            assert self._db is not None
            yield self._db

    def _start(self) -> None:
        fresh = self.path == ":memory:" or not os.path.exists(self.path)
        folder = os.path.dirname(os.path.abspath(self.path))
        if not os.path.isdir(folder):
            raise NotFoundError(f"{folder} is not a directory", "create it first, or give another path")
        self._place = _place(self.path)
        try:
            self._connect()
        except Damaged:
            fresh = True
            self._set_aside()
            self._connect()
        if fresh and self.source is not None:
            files = self.source()
            self._update({plain(path): plain(text) for path, text in files.items()})
            self.notices.append(f"the search index was made from {len(files)} files")

    def _connect(self) -> None:
        db = Database(self.path, self._library)
        try:
            migrate(db)
            _read_anew(db)
        except BaseException as error:
            db.close()
            if "fts5" in str(error) and not has_fts5():
                raise NotInstalledError(
                    "this Python's SQLite has no full-text search", "pip install 'deepnb[search]'"
                ) from None
            raise
        self._db, self._reader, self._place = db, Reader(db), _place(self.path)

    def _set_aside(self) -> None:
        """Put the damaged file beside the new one, so that nothing is lost if it was no index."""
        self.close()
        if _place(self.path) != self._place:
            return  # another process was faster
        aside = f"{self.path}.damaged"
        with suppress(FileNotFoundError):
            os.replace(self.path, aside)
        for end in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.remove(self.path + end)
        what = "it is rebuilt from its files" if self.source else "it is empty until its files are added again"
        self.notices.append(f"the search index was damaged and {what}; the old one is {os.path.basename(aside)}")

    def _mended(self, act: Callable[[], _T]) -> _T:
        """Do something, and once more with a new index where the one there turns out to be damaged."""
        with self._lock:
            try:
                return act()
            except Damaged:
                if self.path == ":memory:":
                    raise
                self._set_aside()
                return act()


def _read_anew(db: Database) -> None:
    """Index every file again from its chunks where an older version has cut it in another way."""
    if db.value("SELECT value FROM meta WHERE name = 'reading'") == READING:
        return
    with db.transaction(write=True):
        if db.value("SELECT value FROM meta WHERE name = 'reading'") != READING:
            for path, text in list(texts(db)):
                write_file(db, prepared(path, text, content_hash(text)))
            db.rows("UPDATE meta SET value = ? WHERE name = 'reading'", (READING,))
            bump(db)


def _batches(
    files: Mapping[str, str | None], known: Mapping[str, bytes]
) -> Iterator[list[tuple[str, Prepared | None]]]:
    """What must be written, some megabytes at a time: a file whose hash is known is left out."""
    batch: list[tuple[str, Prepared | None]] = []
    size = 0
    for path, text in files.items():
        if text is None:
            if path in known:
                batch.append((path, None))
        elif (hash_ := content_hash(text)) != known.get(path):
            batch.append((path, prepared(path, text, hash_)))
            size += len(text)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _place(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
