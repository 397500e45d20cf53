"""How long indexing and searching take, beside plain FTS5 on the same texts in the same run.

python -m deepnb.search.bench --speed
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TypeVar

from deepnb.search.database import Database
from deepnb.search.index import Index
from deepnb.search.words import read_query

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


def report() -> str:
    """All the times as lines of text. Takes about a minute."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["time, and the same work by plain FTS5 (porter unicode61, one row a line) on this machine", ""]
        files = markdown(10)
        index = Index(Path(folder) / "index.db")
        cold, did = _timed(lambda: index.update(dict(files)))
        bare = Database(str(Path(folder) / "plain.db"))
        bare.rows("CREATE VIRTUAL TABLE lines USING fts5(body, tokenize = 'porter unicode61')")
        plain, _ = _timed(lambda: _plain(bare, files))
        lines.append(_line(f"10 MB cold, {did.chunks:,} chunks", cold, plain))
        path = next(iter(files))
        changed = {path: files[path] + "\n\nOne line more, on a hoopoe.\n"}
        again, _ = _timed(lambda: index.update(changed))
        plain_again, _ = _timed(lambda: _plain(bare, changed))
        lines.append(_line("one changed file of 50 kB", again, plain_again))
        same, _ = _timed(lambda: index.update({**files, **changed}))
        lines.append(_line("nothing changed in 10 MB", same, None))
        first, _ = _timed(lambda: index.search("hoopoe"))
        lines.append(_line("first search (reads the vocabulary)", first, None))
        lines += _searching(f"{did.chunks:,} chunks", index, bare, files)
        small = Index(Path(folder) / "small.db")
        part: dict[str, str] = {}
        for path in files:
            part[path] = files[path]
            if len(part) % 10 == 0:
                small.update(part)
                if _chunks(small) >= 10_000:
                    break
        bare_small = Database(str(Path(folder) / "plain_small.db"))
        bare_small.rows("CREATE VIRTUAL TABLE lines USING fts5(body, tokenize = 'porter unicode61')")
        _plain(bare_small, part)
        lines += _searching(f"{_chunks(small):,} chunks", small, bare_small, part)
        index.close()
        small.close()
    return "\n".join(lines)


def _searching(what: str, index: Index, bare: Database, files: dict[str, str]) -> list[str]:
    asked = questions(files)
    index.search(asked[0])
    ours = sorted(_timed(partial(index.search, query, 6))[0] for query in asked)
    plain = sorted(_timed(partial(_ask, bare, query))[0] for query in asked)
    return [
        _line(f"search in {what}, {name}", ours[int(len(ours) * at)], plain[int(len(plain) * at)])
        for name, at in (("median", 0.5), ("p95", 0.95))
    ]


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
    begin = time.perf_counter()
    found = act()
    return time.perf_counter() - begin, found


def _line(what: str, ours: float, plain: float | None) -> str:
    beside = "" if plain is None else f"{plain * 1000:10.1f} ms plain FTS5   {ours / plain:6.1f} x"
    return f"{what:44}{ours * 1000:10.1f} ms{beside}"
