"""How long indexing and searching take, beside plain FTS5 (porter unicode61, one row a line) on the same texts."""

from __future__ import annotations

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
from tests.bench.row import Row, below

QUICK = False
COLD_MS, P95_MS = 10_000, 20
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
    """Queries of three to eight words that stand somewhere in the files, common and rare ones."""
    random = Random(seed)
    texts = list(files.values())
    found = []
    for _ in range(QUERIES):
        said = random.choice(texts).split()
        found.append("what about " + " ".join(random.choices(said, k=random.randint(3, 8))) + "?")
    return found


def rows() -> Iterator[Row]:
    """Times in ms; the bounds are those of a cold index of 10 MB, and of a search in 10,000 chunks."""
    with tempfile.TemporaryDirectory() as folder:
        files = markdown(10)
        index, bare = Index(Path(folder) / "index.db"), _fts(f"{folder}/plain.db")
        cold, did = _timed(lambda: index.update(dict(files)))
        plain, _ = _timed(lambda: _plain(bare, files))
        yield below(f"10 MB cold, {did.chunks:,} chunks", cold, plain, "ms", COLD_MS)
        path = next(iter(files))
        changed = {path: files[path] + "\n\nOne line more, on a hoopoe.\n"}
        again, _ = _timed(lambda: index.update(changed))
        plain, _ = _timed(lambda: _plain(bare, changed))
        yield Row("one changed file of 50 kB", again, "ms", plain, again / plain)
        same, _ = _timed(lambda: index.update({**files, **changed}))
        yield Row("nothing changed in 10 MB", same, "ms")
        first, _ = _timed(lambda: index.search("hoopoe"))
        yield Row("first search (reads the vocabulary)", first, "ms")
        yield from _searching(f"{did.chunks:,} chunks", index, bare, files)
        index.close()
        small, bare = Index(Path(folder) / "small.db"), _fts(f"{folder}/plain_small.db")
        part: dict[str, str] = {}
        for path in files:
            part[path] = files[path]
            if len(part) % 10 == 0:
                small.update(part)
                if _chunks(small) >= 10_000:
                    break
        _plain(bare, part)
        yield from _searching(f"{_chunks(small):,} chunks", small, bare, part, P95_MS)
        small.close()


def _searching(
    what: str, index: Index, bare: Database, files: dict[str, str], p95: float | None = None
) -> Iterator[Row]:
    asked = questions(files)
    index.search(asked[0])
    ours = sorted(_timed(partial(index.search, query, 6))[0] for query in asked)
    plain = sorted(_timed(partial(_ask, bare, query))[0] for query in asked)
    for name, at, most in (("median", 0.5, None), ("p95", 0.95, p95)):
        took, beside = ours[int(len(ours) * at)], plain[int(len(plain) * at)]
        said = f"search in {what}, {name}"
        yield below(said, took, beside, "ms", most) if most else Row(said, took, "ms", beside, took / beside)


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


def _chunks(index: Index) -> int:
    return int(index._rows("SELECT count(*) FROM chunks")[0][0])


def _timed(act: Callable[[], _T]) -> tuple[float, _T]:
    """Milliseconds, and what it gave."""
    begin = time.perf_counter()
    found = act()
    return (time.perf_counter() - begin) * 1000, found
