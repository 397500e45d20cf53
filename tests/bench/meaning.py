"""What an embedder adds to search: questions in other words, long abstracts, nonsense; each beside the vectors alone or FTS5.

`DEEPNB_EMBEDDER=module:name` asks another than that of the extra `embed`; an empty one, what is found by words alone.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from deepnb.search.hits import LEGS
from deepnb.search.index import Index
from tests.bench.documents import Plain, measure
from tests.bench.row import Row
from tests.bench.talks import load
from tests.data import abstracts, paraphrases

QUICK = False
TOP = 6


def rows() -> Iterator[Row]:
    name = os.environ.get("DEEPNB_EMBEDDER", "deepnb.search.embedders:UniversalSentenceEncoder")
    embedder = Kept(load(name)) if name else None
    for what, files in (("own notes", paraphrases.files()), ("daily notes", paraphrases.daily())):
        yield from _paraphrases(what, files, embedder)
    for form in abstracts.FORMS:
        yield _abstracts(form, embedder)


def _paraphrases(what: str, files: Mapping[str, str], embedder: Any) -> Iterator[Row]:
    index = Index(embedder=embedder)
    index.update(dict(files))
    asked = paraphrases.questions()
    for kind in ("en", "zh", "across", "all"):
        of = [(q, note) for q, note in asked if kind in ("all", paraphrases.kind(q, note))]
        ours, alone = (share(index, of, legs) for legs in (LEGS, ["vector"]))
        ratio = ours / alone if alone else None
        bound = ("0.9 x", ours >= 0.9 * alone) if kind == "all" and embedder else ("", None)
        yield Row(f"{what}: {kind}, {len(of)} questions, top {TOP}", ours, "of 1", alone, ratio, *bound)
    given = [query for query in paraphrases.nonsense() if index.search(query)]
    yield Row(f"{what}: nonsense that finds something", len(given), "of 50", None, None, "0 of 50", not given)


def share(index: Index, asked: list[tuple[str, str]], legs: Any) -> float:
    hits = (index.search(question, TOP, legs=legs, passage=100) for question, _ in asked)
    found = (any(note in hit.text for hit in some) for some, (_, note) in zip(hits, asked, strict=True))
    return sum(found) / len(asked)


def _abstracts(form: str, embedder: Any) -> Row:
    files, questions = abstracts.documents(form), abstracts.questions()
    index, plain = Index(embedder=embedder), Plain(files)
    index.update(dict(files))
    ours, _ = measure(lambda query, k: list(dict.fromkeys(h.path for h in index.search(query, k))), questions)
    beside = max(measure(partial(plain.search, common=common), questions)[0] for common in (True, False))
    return Row(f"300 abstracts, {form}: nDCG@10", ours, "of 1", beside, ours / beside, "-0.005", ours >= beside - 0.005)


class Kept:
    def __init__(self, embedder: Any) -> None:
        self._embedder, self._known = embedder, dict[str, list[float]]()
        self.model = type(embedder).__name__

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.embed_documents(new), strict=True))
        return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]
