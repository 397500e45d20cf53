"""How long indexing and searching take, beside plain FTS5 (porter unicode61, one row a line) on the same texts."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TypeVar

from deepnb.search.database import Database
from deepnb.search.index import Index
from deepnb.search.words import read_query
from tests.bench.row import Row, below, held

QUICK = False
SIZES = (0.7, 6.5, 32.0)  # megabytes of text: 1,400, 13,000 and 64,000 chunks, about
TRIES = 15
BUILD, DATABASE, P95_MS = 5, 4, 20
"""Bounds: building as a multiple of plain FTS5 (and 1 s for a MB), the database as one of the text, a search up to 20,000 chunks."""
_SYLLABLES = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no ra re ri ro sa se"
QUERIES = 200
_T = TypeVar("_T")


def markdown(megabytes: float, seed: int = 0) -> dict[str, str]:
    """Made-up Markdown in files of about 50 kB: headings, paragraphs and identifiers; words as frequent as in prose."""
    random = Random(seed)
    syllables = _SYLLABLES.split()
    stock = ["".join(random.choice(syllables) for _ in range(random.randint(1, 4))) for _ in range(30_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(stock))))
    files: dict[str, str] = {}
    size = 0
    while size < megabytes * 1e6:
        parts: list[str] = []
        length = 0
        while length < 50_000:
            part = f"## {' '.join(random.choices(stock, cum_weights=weights, k=3))}\n"
            for _ in range(random.randint(1, 5)):
                said = random.choices(stock, cum_weights=weights, k=random.randint(20, 90))
                said.insert(len(said) // 2, f"ERR-{random.randrange(10_000)}")
                part += f"\n{' '.join(said)}.\n"
            parts.append(part)
            length += len(part)
        files[f"memory/{len(files):04}.md"] = "\n".join(parts)
        size += length
    return files


def questions(files: dict[str, str], seed: int = 1) -> list[str]:
    random = Random(seed)
    texts = list(files.values())
    found = []
    for _ in range(QUERIES):
        said = random.choice(texts).split()
        found.append("what about " + " ".join(random.choices(said, k=random.randint(3, 8))) + "?")
    return found


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in SIZES:
            yield from _at(markdown(megabytes), Path(folder) / f"{megabytes}")


def _at(files: dict[str, str], folder: Path) -> Iterator[Row]:
    folder.mkdir()
    tries = max(3, round(TRIES / len(files) ** 0.5))
    built, plain = [], []
    for i in range(tries):
        index, bare = Index(folder / f"{i}.db"), _fts(f"{folder}/plain_{i}.db")
        took, did = _timed(lambda index=index: index.update(dict(files)))  # type: ignore[misc]
        built.append(took)
        plain.append(_timed(lambda bare=bare: _plain(bare, files))[0])  # type: ignore[misc]
        if i < tries - 1:
            index.close()
            bare.close()
    at = f"{did.chunks:,} chunks"
    size = sum(len(text.encode()) for text in files.values())
    yield held(f"{at}: build", min(built), min(plain), "ms", BUILD)
    yield below(f"{at}: build of {size / 1e6:.1f} MB", min(built) / 1000, None, "s", round(size / 1e6, 1))
    yield below(
        f"{at}: database, as a multiple of the text", _bytes(index.path) / size, _bytes(bare.path) / size, "x", DATABASE
    )
    index.search("hoopoe")  # reads the vocabulary
    yield from _searching(at, index, bare, files, P95_MS if did.chunks < 20_000 else None)
    index.close()
    bare.close()


def _searching(at: str, index: Index, bare: Database, files: dict[str, str], most: float | None) -> Iterator[Row]:
    asked = questions(files)
    ours = sorted(_timed(partial(index.search, query, 6))[0] for query in asked)
    plain = sorted(_timed(partial(_ask, bare, query))[0] for query in asked)
    took, beside = (each[int(len(each) * 0.95)] for each in (ours, plain))
    said = f"{at}: search, p95"
    yield below(said, took, beside, "ms", most) if most else Row(said, took, "ms", beside, took / beside)


def _bytes(path: str) -> int:
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def _fts(path: str) -> Database:
    bare = Database(path)
    bare.rows("CREATE VIRTUAL TABLE lines USING fts5(body, tokenize = 'porter unicode61')")
    return bare


def _plain(db: Database, files: dict[str, str]) -> None:
    with db.transaction(write=True):
        for text in files.values():
            db.many("INSERT INTO lines (body) VALUES (?)", ((line,) for line in text.split("\n") if line.strip()))


def _ask(db: Database, query: str) -> None:
    asked = " OR ".join(f'"{word}"' for word in read_query(query).words)
    db.rows("SELECT body FROM lines WHERE lines MATCH ? ORDER BY rank LIMIT 6", (asked,))


def _timed(act: Callable[[], _T]) -> tuple[float, _T]:
    begin = time.perf_counter()
    found = act()
    return (time.perf_counter() - begin) * 1000, found
