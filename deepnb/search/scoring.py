"""Scores of the legs: words by idf, vectors by cosine, and several legs made one.

A unit is scored by BM25 (Robertson and Zaragoza, 2009) with a term counted once, which in one line is the
rule. An answer often shares its words with the question before it, so a unit gets a part of its
neighbours' scores. The coarse score is the same over pairs of chunks, where the words of a passage add up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import methodcaller
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from deepnb.search.database import Database
from deepnb.search.days import IN_FIGURES
from deepnb.search.keys import HEAD, Keys, Scores, among, chunks_of, lengths_of, unique
from deepnb.search.words import CJK, content_hash

K1, B = 1.2, 0.4
BEFORE, AFTER = 0.3, 0.15
"""How much of the score of the unit before, and of that after, a unit gets."""
HEADING = 0.5
"""A word in a heading, as a part of one in the text below it."""
DEEP = 500
"""Units that a leg brings along at most, its best ones."""
ENOUGH, FEW = 2000, 100
"""Units with the rarer words of a query that are scored, where these are not too few: common words then only add
to their scores. In a small index, every unit with a word of the query is scored."""


@dataclass(frozen=True)
class Postings:
    """Where a word is: unit keys in order, and after them the headings'."""

    keys: Keys

    @cached_property
    def units(self) -> Keys:
        return self.keys[: int(np.searchsorted(self.keys, HEAD))]

    @cached_property
    def chunks(self) -> Keys:
        """The chunk of each unit, in order: a chunk stands here as often as it has units with the word."""
        return chunks_of(self.units)

    @cached_property
    def heads(self) -> Keys:
        """The chunks with the word in their heading, in order."""
        return self.keys[len(self.units) :] - HEAD

    @cached_property
    def chunk_count(self) -> int:
        return len(unique(self.chunks))

    @cached_property
    def file_count(self) -> int:
        return len(unique(self.units >> 43))


@dataclass(frozen=True)
class Concept:
    """A word of the query as sets of postings, each with how surely they are of that word (0 to 1), surest first."""

    sets: tuple[tuple[Postings, float], ...]

    def count(self, most: int) -> int:
        return min(sum(len(postings.units) for postings, _ in self.sets), most)

    def chunk_count(self, most: int) -> int:
        return min(sum(postings.chunk_count for postings, _ in self.sets), most)


@dataclass(frozen=True)
class Scored:
    """Units in the order of their keys, with the fine and the coarse score of a leg; none is negative."""

    keys: Keys
    fine: Scores
    coarse: Scores


@dataclass(frozen=True)
class Size:
    """How much there is in the index."""

    units: int
    chunks: int


def scored(concepts: Sequence[Concept], size: Size, documents: Keys) -> Scored:
    """Return the units that have one of the rarer concepts in them; all that have any, where that is few enough.

    The coarse score of the files that are `documents` is left at 0.
    """
    keys = _candidates(concepts, size)
    if not len(keys):
        return Scored(keys, np.empty(0), np.empty(0))
    fine = np.zeros(len(keys))
    for concept in concepts:
        strength = np.zeros(len(keys))
        for postings, sure in reversed(concept.sets):
            strength[among(keys, postings.units)] = sure
        fine += strength * idf(concept.count(size.units), size.units)
    lengths = lengths_of(keys)
    fine *= (K1 + 1) / (1 + K1 * (1 - B + B * lengths / lengths.mean()))
    beside, own = np.diff(keys >> 23) == 1, fine.copy()
    fine[1:] += BEFORE * own[:-1] * beside
    fine[:-1] += AFTER * own[1:] * beside
    best = np.sort(np.argpartition(-fine, DEEP)[:DEEP]) if len(keys) > DEEP else np.arange(len(keys))
    keys, fine = keys[best], fine[best]
    coarse, others = np.zeros(len(keys)), ~among(keys >> 43, documents)
    if others.any():
        coarse[others] = _coarse(concepts, keys[others], size)
    return Scored(keys, fine, coarse)


def idf(found: int, of: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): never negative, as in Lucene."""
    return float(np.log1p((max(of, found) - found + 0.5) / (found + 0.5)))


def _candidates(concepts: Sequence[Concept], size: Size) -> Keys:
    taken: list[Keys] = []
    count = 0
    for concept in sorted(concepts, key=methodcaller("count", size.units)):
        count += concept.count(size.units)
        if count > ENOUGH and sum(map(len, taken)) > FEW:
            break
        taken += [postings.units for postings, _ in concept.sets]
    return unique(*taken)


def _coarse(concepts: Sequence[Concept], keys: Keys, size: Size) -> Scores:
    """For each unit the better of the two pairs of chunks that its own is in."""
    mine = chunks_of(keys)
    pairs = unique(mine, mine - 1)
    total = np.zeros(len(pairs))
    for concept in concepts:
        counts = np.zeros(len(pairs))
        for postings, sure in concept.sets:
            counts += sure * how_often(postings.chunks, pairs)
            if len(postings.heads):
                counts += HEADING * sure * how_often(postings.heads, pairs)
        total += idf(concept.chunk_count(size.chunks), size.chunks) * counts * (K1 + 1) / (counts + K1)
    return np.maximum(total[np.searchsorted(pairs, mine)], total[np.searchsorted(pairs, mine - 1)])


def how_often(chunks: Keys, pairs: Keys) -> Scores:
    """Return how often the first or the second chunk of each pair stands in `chunks`, which is in order."""
    low = np.searchsorted(chunks, pairs, side="left")
    return (np.searchsorted(chunks, pairs + 1, side="right") - low).astype(np.float64)


# -- The vector leg: chunks by the cosine of their embeddings, through sqlite-vec or an exact scan in NumPy
# Either gives the same order: the nearest that sqlite-vec finds are measured again in the same way.

BATCH = 32
"""Chunks whose texts an embedder is given at once: a query that waits for it does not wait for long."""

Vectors = NDArray[np.float32]
Embeddings = tuple[NDArray[np.int64], Vectors]
"""Chunks, and the vector of each."""


class Embedder(Protocol):
    """Any LangChain `Embeddings`, or anything with these two."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...


def model_name(embedder: Embedder) -> str:
    """Return what embeddings are cached under: the class and the model it names, if it does."""
    of = getattr(embedder, "model", None) or getattr(embedder, "model_name", None) or ""
    size = getattr(embedder, "dimensions", None) or getattr(embedder, "size", None) or ""
    return ":".join(str(part) for part in (type(embedder).__name__, of, size) if part)


def unit_vectors(found: Sequence[Sequence[float]]) -> Vectors:
    """Return the rows scaled to length 1; NaN and infinite entries count as 0, and a row of zeros stays zeros."""
    rows = np.nan_to_num(np.asarray(found, np.float32), posinf=0, neginf=0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def missing(db: Database, model: str, most: int) -> list[tuple[bytes, str]]:
    """Return hash and text of what has no embedding by this model yet, of some.

    Only here it is said what of new chunks is to be embedded: it takes a twentieth of the time of building an index.
    """
    new = f"SELECT {_CHUNK} FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM spans s WHERE s.first = c.first)"
    if db.value(f"SELECT EXISTS ({new})"):
        with db.transaction(write=True):
            spans = (span for chunk in db.rows(new) for span in _spans(db, *chunk))
            db.many("INSERT INTO spans VALUES (?, ?, ?)", ((a, b, content_hash(text)) for a, b, text in spans))
    found = db.rows(
        f"SELECT DISTINCT {_CHUNK} FROM spans s JOIN chunks c ON c.id = (s.first >> 43 << 18) | (s.first >> 5 & 262143)"
        " WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.hash = s.hash AND e.model = ?) LIMIT ?",
        (model, most),
    )
    texts = {content_hash(text): text for chunk in found for _, _, text in _spans(db, *chunk)}
    known = "SELECT hash FROM embeddings WHERE model = ? AND hash = ?"
    return [(hash_, text) for hash_, text in texts.items() if not db.rows(known, (model, hash_))]


_CHUNK = "c.heading, c.a, c.text, c.first, c.last"
_ENTRY = re.compile(r"(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\d{1,2}[:.]\d\d\s+)?")  # "- ", "2. ", "- 9:15 ", "9:15 "


def _spans(db: Database, heading: str, at: int, text: str, first: int, last: int) -> list[tuple[int, int, str]]:
    """Return what is embedded of a chunk: its first and last unit and its text, or of a list those of each entry."""
    units = db.rows("SELECT id, a, b FROM units WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))
    lines = [(i, a - at) for i, (_, a, _) in enumerate(units) if text[max(a - at - 1, 0) : a - at] in "\n"]
    begins = [i for i, a in lines if (found := _ENTRY.match(text, a)) and found.end() > a]
    if not begins:
        return [(first, last, f"{heading}\n{text.strip()}".strip())]
    if begins[0] == 1 and text.lstrip().startswith("#"):  # the heading's own line is nothing by itself
        units[1] = units[0][0], *units[1][1:]
        units, begins = units[1:], [i - 1 for i in begins]
    above = "" if IN_FIGURES.search(heading) else heading
    parts = [units[a:b] for a, b in pairwise(sorted({0, *begins, len(units)}))]
    return [
        (part[0][0], part[-1][0], f"{above}\n{_ENTRY.sub('', text[part[0][1] - at : part[-1][2] - at], 1)}".strip())
        for part in parts
    ]


def nearest(db: Database, model: str, query: Vectors, most: int, every: Embeddings | None) -> list[tuple[int, float]]:
    """Return the spans with the highest cosines and these, best first, ties by place; `every` is not needed by sqlite-vec."""
    if every is None:
        found = db.rows(
            f"{_VECTORS} WHERE length(e.vector) = ? ORDER BY vec_distance_cosine(e.vector, ?), s.first LIMIT ?",
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


_VECTORS = "SELECT s.first, e.vector FROM spans s JOIN embeddings e ON e.hash = s.hash AND e.model = ?"


def embeddings(db: Database, model: str, most: int = -1) -> Embeddings:
    """Return all the embeddings by one model, for the scan in NumPy; or `most` of them, by their hashes and so by chance."""
    found = db.rows(f"{_VECTORS} ORDER BY {'s.first' if most < 0 else 'e.hash'} LIMIT ?", (model, most))
    size = max((len(row[1]) for row in found), default=0)
    return _stacked([row for row in found if len(row[1]) == size], size // 4)


def _stacked(rows: Sequence[tuple[int, bytes]], width: int) -> Embeddings:
    matrix = np.frombuffer(b"".join(vector for _, vector in rows), np.float32)
    return np.array([id_ for id_, _ in rows], np.int64), matrix.reshape(len(rows), width)


def units_of(db: Database, parts: Sequence[int], table: Literal["chunks", "spans"]) -> list[tuple[int, int]]:
    """Return each chunk, or each span by its first unit, with each of its units' keys."""
    key = "id" if table == "chunks" else "first"
    return db.rows(
        f"SELECT p.{key}, u.id FROM json_each(?) j JOIN {table} p ON p.{key} = j.value"
        " JOIN units u ON u.id BETWEEN p.first AND p.last ORDER BY u.id",
        (json.dumps(list(parts)),),
    )


SAMPLE = 1000
"""As many vectors say how the cosines of a query spread, at most."""
STRANGE = 1.75
"""Deviations above what chance gives the nearest text, where nobody knows a word of the query: of 50 such queries of
nonsense the nearest of 200 notes were 2.5 to 4.6 above the mean, where chance gives 3.3."""
OUTLIER = 0.9
"""How far the deviations of few texts can go: n of them are at most sqrt(n - 1) above the mean."""
ASKED = 6
"""Rare words that explain a query, however many it has."""
PAIR = 0.7
"""What a pair of Chinese characters that stands nowhere is of a word: it may be the end of one and the head of another."""
EXPLAINED, STEEP, HEAVIEST = 0.38, 6, 20.0
"""Below which part of a query its words explain too little, how fast vectors then count more, and how much at most."""
STANDS = 0.95
"""From which part of what chance gives the nearest text on it stands out a little; all of that, and it does."""


@dataclass(frozen=True)
class Spread:
    """How the cosines of a query to all the texts spread, by some of these."""

    mean: float
    deviation: float
    texts: int

    @property
    def chance(self) -> float:
        """Deviations above the mean that the nearest of so many texts is by chance."""
        return float(np.sqrt(2 * np.log(max(self.texts, 2))))

    @property
    def floor(self) -> float:
        """Return the least cosine of an outlier: of a query of which nobody knows a word, nothing else is near."""
        far = min(self.chance + STRANGE, OUTLIER * np.sqrt(max(self.texts - 1, 0)))
        return self.mean + self.deviation * float(far)

    def weight(self, nearest: float, covered: float) -> float:
        """Return what the vectors count: the more, the less the words explain, if the nearest stands out."""
        above = (nearest - self.mean) / max(self.deviation * self.chance, 1e-9)
        stands = min(max((above - STANDS) / (1 - STANDS), 0.0), 1.0)
        return max(1.0, stands * min(HEAVIEST, (EXPLAINED / max(covered, 0.001)) ** STEEP))


def coverage(words: Mapping[str, Postings], units: int) -> float:
    """Return how much of a query the chunk with most of it explains, each word by how rare it is: 0 to 1."""
    rare = {word: idf(len(found.units), units) for word, found in words.items()}
    chunks = {word: unique(found.chunks) for word, found in words.items() if len(found.units)}
    if not chunks:
        return 0.0
    _, where = np.unique(np.concatenate(list(chunks.values())), return_inverse=True)
    best = np.bincount(where, np.concatenate([np.full(len(of), rare[word]) for word, of in chunks.items()])).max()
    asked = sum(of * (PAIR if word not in chunks and CJK.match(word) else 1) for word, of in rare.items())
    return float(best / min(asked, ASKED * idf(0, units)))


# -- Legs made one: reciprocal ranks, or weighted scores; hits of any leg are joined, none is cut off
# Reciprocal rank fusion: Cormack, Clarke and Buettcher, 2009; their constant 60 is for lists of a thousand
# documents, ours is 10, since the first few are what a prompt has room for.

RANK = 10
FINE, COARSE = 0.2, 1.8
"""The weights of a leg's scores in documents, whose coarse score knows of the unit, too. In talks and notes each is 1."""
EXACT = 8.0
"""The weight of an exact identifier: more than all the others, so that none hides it."""
RARE = 5
"""In how many files an identifier may be to have all of that weight beside other words."""
FACT = 6
"""Words of a query that asks for one fact. In a longer one an identifier is a word beside others."""
DATED = 4.0
"""What a unit of the very day that is asked about gains, as a part of its score."""


@dataclass(frozen=True)
class Leg:
    """What one leg found: units in the order of their keys, scores above 0 for those it found."""

    keys: Keys
    scores: Scores
    weight: float | Scores = 1.0
    """Of the leg, or of each unit in it."""

    def where(self, kept: NDArray[np.bool_]) -> Leg:
        """Return the leg with some of its units."""
        weight = self.weight[kept] if isinstance(self.weight, np.ndarray) else self.weight
        return Leg(self.keys[kept], self.scores[kept], weight)

    def on(self, keys: Keys, values: float | Scores) -> Scores:
        """Return a value of each unit, 0 for the others of `keys`."""
        found = np.zeros(len(keys))
        found[np.searchsorted(keys, self.keys)] = values
        return found


def focus(words: int) -> float:
    """Return how far a query of so many words asks for one fact (1) and how far for a topic (towards 0)."""
    return min(1.0, FACT / max(words, 1)) ** 2


def rarity(files: int) -> float:
    """Return what an identifier in so many files counts: "I/O" and "X11" are words, though they look like one."""
    return min(1.0, RARE / max(files, 1)) ** 3


def by_rank(legs: Mapping[str, Leg]) -> tuple[Keys, Scores]:
    """Return the sum of weight / (RANK + rank), rank 1 being the best, and ties having the same.

    The exact leg counts by its score in place of its rank, so that the file's name alone is less than its path.
    """
    keys = union(legs)
    total = np.zeros(len(keys))
    for name, leg in legs.items():
        scores = leg.on(keys, leg.scores)
        if name == "exact":
            total += leg.on(keys, leg.weight) * _of_best(scores) / (RANK + 1)
            continue
        ordered = np.sort(-scores[scores > 0])
        ranks = np.searchsorted(ordered, -scores, side="left") + 1
        total += np.where(scores > 0, leg.on(keys, leg.weight) / (RANK + ranks), 0.0)
    return keys, total


def by_weight(legs: Mapping[str, Leg], vector_weight: float, text_weight: float) -> tuple[Keys, Scores]:
    """vector_weight x cosine + text_weight x text score + an exact identifier, the text's best being 1."""
    keys = union(legs)
    text, vector, exact = np.zeros(len(keys)), np.zeros(len(keys)), np.zeros(len(keys))
    for name, leg in legs.items():
        scores = leg.on(keys, leg.scores)
        if name == "vector":
            vector = np.clip(scores, 0.0, 1.0)
        elif name == "exact":
            exact = _of_best(scores)
        else:
            text += leg.on(keys, leg.weight) * _of_best(scores)
    return keys, vector_weight * vector + text_weight * _of_best(text) + (vector_weight + text_weight) * exact


def dated(near: Scores, keys: Keys, exact: Leg | None) -> Scores:
    """Return what the score of each unit is multiplied by, given how near it is to the day that is asked about.

    A unit with an identifier of the query stays above all those without: it is raised by as much as they can be.
    """
    raised = 1 + DATED * near
    if exact is not None:
        raised = raised * np.where(exact.on(keys, exact.scores) > 0, 1 + DATED, 1.0)
    return np.asarray(raised, np.float64)


def _of_best(scores: Scores) -> Scores:
    return scores / scores.max() if len(scores) and scores.max() > 0 else scores


def union(legs: Mapping[str, Leg]) -> Keys:
    return unique(*(leg.keys for leg in legs.values()))
