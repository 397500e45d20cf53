"""How well search ranks hard-wrapped documents, beside plain FTS5 (porter, OR, BM25; a document a row) on the same texts.

nDCG@10 with gains 2^grade - 1 (Järvelin and Kekäläinen, 2002), and recall@6: the share of the judged documents in the
first six hits. A hit counts for its document, once. FTS5 is asked with and without the common words of the question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import log2

from deepnb.search.database import Database
from deepnb.search.index import Index
from deepnb.search.words import indexed, read_query, terms
from tests.bench.row import Row
from tests.data import documents as collection

QUICK = False
Ask = Callable[[str, int], Sequence[str]]


def rows() -> Iterator[Row]:
    files, questions = collection.documents(), collection.questions()
    index, plain = Index(), Plain(files)
    index.update(dict(files))
    ours = measure(partial(_paths, index), questions)
    asked = [measure(partial(plain.search, common=common), questions) for common in (True, False)]
    for i, what in enumerate(("nDCG@10", "recall@6")):
        baseline = max(one[i] for one in asked)
        said, ratio = f"{len(files)} documents, {len(questions)} questions: {what}", ours[i] / baseline
        yield Row(said, ours[i], "of 1", baseline, ratio, ">= 1 x", ratio >= 1)


def measure(ask: Ask, questions: Sequence[collection.Question]) -> tuple[float, float]:
    gains = recalled = 0.0
    for question in questions:
        found = [question.grades.get(path, 0) for path in ask(question.text, 10)]
        gains += _dcg(found) / _dcg(sorted(question.grades.values(), reverse=True)[:10])
        recalled += len(set(ask(question.text, 6)) & set(question.grades)) / len(question.grades)
    return gains / len(questions), recalled / len(questions)


def _dcg(grades: Sequence[int]) -> float:
    return sum((float(2**grade) - 1) / log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _paths(index: Index, query: str, k: int) -> list[str]:
    return list(dict.fromkeys(hit.path for hit in index.search(query, k)))


class Plain:
    def __init__(self, files: Mapping[str, str]) -> None:
        self.paths = list(files)
        self.db = Database(":memory:")
        self.db.rows("CREATE VIRTUAL TABLE documents USING fts5(body, tokenize = 'porter unicode61')")
        self.db.many("INSERT INTO documents (rowid, body) VALUES (?, ?)", enumerate(map(indexed, files.values())))

    def search(self, query: str, k: int, *, common: bool) -> list[str]:
        words = terms(query) if common else read_query(query).words
        sql = "SELECT rowid FROM documents WHERE documents MATCH ? ORDER BY rank LIMIT ?"
        return [self.paths[row] for (row,) in self.db.rows(sql, (" OR ".join(f'"{w}"' for w in words), k))]
