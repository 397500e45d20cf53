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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from math import inf
from typing import Any, Literal, TypeVar

from deepnb.search import scoring
from deepnb.search.database import Damaged, Database
from deepnb.search.days import Span, asked_days, nearness
from deepnb.search.hits import DAY, LEGS, Hit, Request, filled, hit
from deepnb.search.keys import Keys, Scores
from deepnb.search.passages import Row, passages
from deepnb.search.reading import Reader, within
from deepnb.search.scoring import COARSE, FINE, Leg, by_rank, by_weight, dated
from deepnb.search.words import QUERY, Query, plain, read_query
from deepnb.search.writing import Changes, batches, bring_up_to_date, bump, erase_file, write_file
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, NotInstalledError, RefusedError

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
        embedder: scoring.Embedder | None = None,
        source: Callable[[], Mapping[str, str]] | None = None,
        wait: float | None = None,
    ) -> None:
        """Open or create an index.

        path: a file, `str` or `Path`; None keeps the index in memory.
        embedder: any LangChain `Embeddings`, which adds the leg "vector".
        source: a function that returns all files, path to text, where the index must be made anew.
        wait: seconds for which an update embeds, before a thread does the rest; None embeds all of it at once.

        Errors: `InvalidError` for a path that is no file's, `NotFoundError` where its directory is missing,
        `RefusedError` where the file is another program's, `NotInstalledError` where SQLite has no full-text search.
        """
        name = ":memory:" if path is None else os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
        if not isinstance(name, str) or "\0" in name:
            raise InvalidError(f"the path of an index can't be {path!r}", "give a str or a Path, such as index.db")
        self.path = name
        if embedder is not None and not hasattr(embedder, "embed_query"):
            raise InvalidError(f"embedder can't be {embedder!r}", "give a LangChain Embeddings")
        if source is not None and not callable(source):
            raise InvalidError(f"source can't be {source!r}", "give a function that returns paths and texts")
        self.embedder = embedder
        self.source = source
        self.wait = wait
        self.seconds = 0.0
        """Spent on embedding."""
        self.notices: list[str] = []
        """A line for each thing that was repaired or left out; read and clear it as you like."""
        self._lock = threading.RLock()
        self._db: Database | None = None
        self._reader: Reader | None = None
        self._thread: threading.Thread | None = None
        """The one that embeds."""
        self._place: tuple[int, int] | None = None
        with self._open():
            pass

    def close(self) -> None:
        """Let the file go; the next call opens it again (an index in memory is then empty)."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = self._reader = self._thread = None

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self, files: Mapping[str, str | None]) -> Updated:
        """Add or change files, path to text; None takes one out. Those not named stay, those not changed cost nothing."""
        return self._mended(partial(self._update, _checked(files)))

    def files(self) -> list[str]:
        """The paths in the index, in order."""
        return [path for (path,) in self._mended(partial(self._rows, "SELECT path FROM files ORDER BY path"))]

    def state(self) -> object:
        """Return what is equal only as long as nobody has written to the index, nor put another file in its place."""
        found = self._mended(partial(self._rows, "SELECT value FROM meta WHERE name = 'generation'"))
        return found, self._place

    def progress(self) -> tuple[int, int]:
        """Return how many texts have no vector by this embedder yet, and how many there are."""
        if self.embedder is None:
            return 0, 0
        with self._open() as db:
            sql = (
                "SELECT count(DISTINCT s.hash), count(DISTINCT e.hash)"
                " FROM spans s LEFT JOIN embeddings e ON e.hash = s.hash AND e.model = ?"
            )
            every, done = db.rows(sql, (scoring.model_name(self.embedder),))[0]
            return every - done, every

    def _update(self, files: Mapping[str, str | None]) -> Updated:
        with self._open() as db:
            named = "SELECT path, hash FROM files WHERE path IN (SELECT value FROM json_each(?))"
            known = dict(db.rows(named, (json.dumps([path for path in files if "\0" not in path]),)))
            for path in (path for path in files if "\0" in path):  # some SQLite end a JSON string there
                known |= db.rows("SELECT path, hash FROM files WHERE path = ?", (path,))
            changed = removed = chunks = 0
            for batch in batches(files, known):
                changes = Changes()
                with db.transaction(write=True):
                    for path, file in batch:
                        if file is None:
                            removed += erase_file(db, path, changes)
                        else:
                            write_file(db, file, changes)
                            changed += 1
                            chunks += len(file.cut.chunks)
                            if not file.cut.whole:
                                end = file.cut.chunks[-1].end
                                self.notices.append(f"{path} is too long: it is indexed up to line {end}")
                    changes.write(db)
                    bump(db)
        self._embed()
        return Updated(changed, len(files) - changed - sum(text is None for text in files.values()), removed, chunks)

    def _embed(self) -> None:
        """Embed what has no vector; a thread goes on with what is left after `wait` seconds."""
        embedder = self.embedder
        self._thread = None
        end = time.monotonic() + (inf if self.wait is None else self.wait)
        while embedder is not None and self._embed_some(embedder):
            if time.monotonic() > end:
                left, _ = self.progress()
                if left:
                    self.notices.append(f"{left:,} passages are embedded in the background: words find them until then")
                    self._thread = threading.Thread(
                        target=self._go_on, args=(embedder,), name="deepnb-embed", daemon=True
                    )
                    self._thread.start()
                break

    def _go_on(self, embedder: scoring.Embedder) -> None:
        with suppress(Damaged, DeepnbError):  # whoever searches next is told
            while self._embed_some(embedder, threading.current_thread()):
                pass

    def _embed_some(self, embedder: scoring.Embedder, thread: threading.Thread | None = None) -> bool:
        """Embed some texts; return False where all are, and where the thread that does so is to end."""
        model = scoring.model_name(embedder)
        with self._lock:
            if thread is not self._thread:
                return False
            with self._open() as db:
                todo = scoring.missing(db, model, scoring.BATCH)
        if not todo:
            return False
        began = time.monotonic()
        try:
            found = scoring.unit_vectors(embedder.embed_documents([text for _, text in todo]))
            if len(found) != len(todo):
                raise ValueError(f"{len(found)} vectors for {len(todo)} texts")
        except Exception as error:
            self.notices.append(f"{self.progress()[0]} chunks have no vector: {_line(error)}")
            return False
        with self._lock:
            if thread is not self._thread:
                return False
            with self._open() as db, db.transaction(write=True):
                rows = [(hash_, model, vector.tobytes()) for (hash_, _), vector in zip(todo, found, strict=True)]
                db.many("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)
                db.rows("UPDATE meta SET value = value + 1 WHERE name = 'embedded'")
            self.seconds += time.monotonic() - began
        return True

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        legs: Sequence[str] = LEGS,
        fusion: Literal["rank", "weight"] = "rank",
        vector_weight: float | None = None,
        text_weight: float | None = None,
        today: date | None = None,
        within: Callable[[str], bool] | None = None,
        passage: int | None = None,
        tokens: int | None = None,
    ) -> list[Hit]:
        """The best `k` passages, best first; fewer where fewer fit the query, none where nothing does.

        k: 6 without a budget; where the query is nothing but days, as many as there are.
        legs: which ways to search: "exact" (identifiers), "words" (stemmed), "grams" (similar words), "vector".
        fusion: "rank" joins the legs by reciprocal ranks, "weight" by `vector_weight` (0.7) x cosine +
            `text_weight` (0.3) x text score.
        today: what days in the query ("on 14 March", "last week", 三天前) are relative to. A query that is nothing but
            days gives what is of these, the newest first.
        within: a function of a path that says whether it may be found.
        passage: characters of a passage with its heading, 1,600 at most by default.
        tokens: a budget for all passages, 4 characters each; `k` passages share it, and without `k` there are as many
            short ones as it has room for.

        Errors: `InvalidError` for an option that is unknown or of another type.
        """
        request = Request(query, k, legs, fusion, vector_weight, text_weight, today, within, passage, tokens)
        return self._mended(partial(self._search, request))

    def _search(self, request: Request) -> list[Hit]:
        today = request.today or date.today()
        asked = asked_days(request.query[:QUERY], today)
        query = read_query(asked.rest if asked.alone is None else asked.alone)
        vector = None
        if "vector" in request.legs and asked.alone is None and self.embedder is not None:
            try:
                vector = scoring.unit_vectors([self.embedder.embed_query(plain(request.query))])[0]
            except Exception as error:
                self.notices.append(f"searched without vectors: {_line(error)}")
        with self._open() as db, db.transaction():
            reader = self._reader
            assert reader is not None
            reader.refresh()
            may = request.within
            allowed = cache(lambda file: may is None or may(reader.paths[file]))
            if asked.alone is not None and len((days := reader.of_days(asked.spans, allowed)).keys):
                return self._passages(reader, request, {DAY: days}, days.keys, days.scores)
            not_now = (span for span in asked.spans if span != Span(today, today))  # what is so "today" was said before
            found = self._found(reader, query, request.legs, vector, tuple(not_now))
            if may is not None:
                found = {name: within(leg, allowed) for name, leg in found.items()}
            keys, scores = by_weight(found, *request.weights) if request.fusion == "weight" else by_rank(found)
            if asked.spans:
                scores = scores * dated(nearness(asked.spans, reader.days(keys)), keys, found.get("exact"))
            return self._passages(reader, request, found, keys[scores > 0], scores[scores > 0])

    def _passages(
        self, reader: Reader, request: Request, found: dict[str, Leg], keys: Keys, scores: Scores
    ) -> list[Hit]:
        """Return the passages round the best units; those of a day have nothing of another day in them."""
        room, near, documents = request.room, reader.near, reader.documents
        if DAY in found:
            of_day = frozenset(keys.tolist())
            documents = frozenset()

            def near(low: int, high: int) -> list[Row]:
                return [row for row in reader.near(low, high) if row.key in of_day]

        spans = passages(keys, scores, near, lambda key: room.below(reader.heading(key)), documents)
        most = request.k if DAY in found else request.most
        return list(filled((hit(reader, span, found, room.passage) for span in spans), room, most))

    def _found(
        self, reader: Reader, query: Query, legs: Sequence[str], vector: scoring.Vectors | None, spans: tuple[Span, ...]
    ) -> dict[str, Leg]:
        found: dict[str, Leg] = {}
        if "exact" in legs and (query.names or query.runs):
            found["exact"] = reader.exact(query)
        if "words" in legs or "grams" in legs:
            words = reader.words(query)
            documents = reader.windows(query, words)
            known = query.common or len(words.keys) > 0 or "words" not in legs
            for name in ("words", "grams"):
                if name in legs:
                    scored = words if name == "words" else reader.grams(query, known=known)
                    found[name] = reader.leg(scored.keys, scored.fine, FINE)
                    found[f"{name} around"] = reader.around(scored.keys, scored.coarse, documents, COARSE)
        if vector is not None and vector.any() and self.embedder is not None:
            model, others = scoring.model_name(self.embedder), scoring.union(found)
            found["vector"] = reader.vector(model, vector, query, others, spans, alone=set(legs) == {"vector"})
        return found

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._open() as db:
            return db.rows(sql)

    @contextmanager
    def _open(self) -> Iterator[Database]:
        """Yield the database, opened anew where its file was replaced or is gone."""
        with self._lock:
            if self._db is not None and self.path != ":memory:" and self._place != _place(self.path):
                self.close()
            if self._db is None:
                self._start()
            assert self._db is not None
            yield self._db

    def _start(self) -> None:
        folder = os.path.dirname(os.path.abspath(self.path))
        if os.path.isdir(self.path):
            raise InvalidError(f"{self.path} is a directory", "give the path of a file in it, such as index.db")
        if not os.path.isdir(folder):
            raise NotFoundError(f"{folder} is not a directory", "create it first, or give another path")
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:  # empty, or as sqlite.org/fileformat.html says
                if file.read(16) not in (b"", b"SQLite format 3\0"):
                    raise RefusedError(f"{self.path} is no database", "give the index its own path")
        self._place = _place(self.path)
        try:
            fresh = self._connect()
        except Damaged:
            self._set_aside()
            fresh = self._connect()
        if fresh and self.source is not None:
            files = self.source()
            self._update(_checked(files))
            self.notices.append(f"the search index was made from {len(files)} files")

    def _connect(self) -> bool:
        """Open the file; return whether there is nothing in it."""
        db = Database(self.path)
        try:
            fresh = bring_up_to_date(db)
        except BaseException as error:
            db.close()
            if "no such module: fts5" in str(error):
                what = "this Python's SQLite has no full-text search"
                raise NotInstalledError(what, "use a Python from python.org or conda") from None
            raise
        self._db, self._reader, self._place = db, Reader(db), _place(self.path)
        return fresh

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


def _checked(files: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return paths (a `Path` as text) and texts as they were given; raise `InvalidError` for what is neither."""
    if not isinstance(files, Mapping):
        raise InvalidError(f"update takes a mapping of paths to texts, not {type(files).__name__}", '{"a.md": text}')
    found = {plain(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else path: of for path, of in files.items()}
    for path, text in found.items():
        if not isinstance(path, str):
            raise InvalidError(f"a path can't be {type(path).__name__}: {path!r}", "give it as str")
        if isinstance(text, bytes):
            raise InvalidError(f"the text of {path} is bytes", "decode it: data.decode()")
        if text is not None and not isinstance(text, str):
            raise InvalidError(f"the text of {path} is {type(text).__name__}", "give a str, such as path.read_text()")
    return found


def _place(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
