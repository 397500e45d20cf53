"""The vector leg: chunks by the cosine of their embeddings, through sqlite-vec or an exact scan in NumPy.

Either gives the same order: the nearest that sqlite-vec finds are measured again in the same way.
"""

import json
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deepnb.search.database import Database
from deepnb.search.keys import LAST, content_hash

BATCH = 256
"""Texts that an embedder is given at once."""

Vectors = NDArray[np.float32]
Embeddings = tuple[NDArray[np.int64], Vectors]
"""Chunks, and the vector of each."""


class Embedder(Protocol):
    """Any LangChain `Embeddings`, or anything with these two."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...


def model_name(embedder: Embedder) -> str:
    """What embeddings are cached under: the class and the model it names, if it does."""
    of = getattr(embedder, "model", None) or getattr(embedder, "model_name", None) or ""
    size = getattr(embedder, "dimensions", None) or getattr(embedder, "size", None) or ""
    return ":".join(str(part) for part in (type(embedder).__name__, of, size) if part)


def unit_vectors(found: Sequence[Sequence[float]]) -> Vectors:
    """Rows of length 1; a row of zeros, or with a number that is none, becomes zeros."""
    rows = np.nan_to_num(np.asarray(found, np.float32), posinf=0, neginf=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def missing(db: Database, model: str) -> list[tuple[bytes, str]]:
    """Hash and text of each chunk that has no embedding by this model yet."""
    if db.value("SELECT EXISTS (SELECT 1 FROM chunks WHERE hash IS NULL)"):
        with db.transaction(write=True):
            hash_chunks(db, 0, LAST)
    found = db.rows(
        "SELECT hash, heading, text FROM chunks WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings e WHERE e.hash = chunks.hash AND e.model = ?) GROUP BY hash",
        (model,),
    )
    return [(hash_, _meaning(heading, text)) for hash_, heading, text in found]


def hash_chunks(db: Database, first: int, last: int) -> None:
    """Give the chunks from first to last the hashes that their embeddings are found by, in a transaction of the caller's.

    An index without embeddings has none: they take a twentieth of the time of building it.
    """
    rows = db.rows("SELECT id, heading, text FROM chunks WHERE hash IS NULL AND id BETWEEN ? AND ?", (first, last))
    hashes = ((content_hash(_meaning(heading, text)), id_) for id_, heading, text in rows)
    db.many("UPDATE chunks SET hash = ? WHERE id = ?", hashes)


def _meaning(heading: str, text: str) -> str:
    """What is embedded of a chunk."""
    return f"{heading}\n{text.strip()}".strip()


def store(db: Database, model: str, hashes: Sequence[bytes], vectors: Vectors) -> None:
    """Keep embeddings, in a transaction of the caller's."""
    rows = ((hash_, model, vector.tobytes()) for hash_, vector in zip(hashes, vectors, strict=True))
    db.many("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", rows)


def nearest(db: Database, model: str, query: Vectors, most: int, every: Embeddings | None) -> list[tuple[int, float]]:
    """The chunks with the highest cosines and these, best first, ties by place; `every` is not needed by sqlite-vec."""
    if every is None:
        found = db.rows(
            "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.hash = c.hash AND e.model = ?"
            " WHERE length(e.vector) = ? ORDER BY vec_distance_cosine(e.vector, ?), c.id LIMIT ?",
            (model, query.nbytes, query.tobytes(), most + 16),
        )
        ids, matrix = _stacked(found, len(query))
    else:
        ids, matrix = every
        if matrix.shape[1] != len(query):
            return []
        if len(ids) > most + 16:
            rough = matrix @ query
            near = np.argpartition(-rough, most + 15)[: most + 16]
            ids, matrix = ids[near], matrix[near]
    if not len(ids):
        return []
    cosines = matrix.astype(np.float64) @ query.astype(np.float64)
    order = np.lexsort((ids, -cosines))[:most]
    return [(int(ids[i]), float(cosines[i])) for i in order]


def embeddings(db: Database, model: str) -> Embeddings:
    """All the embeddings by one model, for the scan in NumPy."""
    found = db.rows(
        "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.hash = c.hash AND e.model = ? ORDER BY c.id",
        (model,),
    )
    size = max((len(row[1]) for row in found), default=0)
    return _stacked([row for row in found if len(row[1]) == size], size // 4)


def _stacked(rows: Sequence[tuple[int, bytes]], width: int) -> Embeddings:
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), np.float32)
    return np.array([id_ for id_, _ in rows], np.int64), matrix.reshape(len(rows), width)


def units_of(db: Database, chunks: Sequence[int]) -> list[tuple[int, int]]:
    """Each chunk with each of its units' keys."""
    return db.rows(
        "SELECT c.id, u.id FROM json_each(?) j JOIN chunks c ON c.id = j.value"
        " JOIN units u ON u.id BETWEEN c.first AND c.last ORDER BY u.id",
        (json.dumps(list(chunks)),),
    )
