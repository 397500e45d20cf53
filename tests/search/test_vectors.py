"""The vector leg: the same order through sqlite-vec and NumPy, embeddings kept by content."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from deepnb.search import Index
from deepnb.search import database as databases

SIZE = 24


class Hashed:
    def __init__(self, model: str = "one") -> None:
        self.model = model
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        total = np.zeros(SIZE)
        for word in text.lower().split():
            seed = int.from_bytes(hashlib.sha256((self.model + word).encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).normal(size=SIZE)
        return [float(x) for x in total]


def notes(count: int) -> dict[str, str]:
    stock = ["rain", "tea", "bees", "piano", "clay", "boat", "stairs"]
    stock += ["letter", "honey", "frost", "kiln", "harbour", "ladder", "parcel"]
    random = np.random.default_rng(5)
    return {f"{n:03}.md": " ".join(random.choice(stock, 8)) + f" note {n}" for n in range(count)}


@pytest.mark.skipif(not databases.Database(":memory:").vectors, reason="sqlite-vec does not load here")
def test_sqlite_vec_and_numpy_give_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    files = notes(300)
    loaded = Index(embedder=Hashed())
    with monkeypatch.context() as patch:
        patch.setattr(databases, "_with_vectors", lambda connection: False)
        scanned = Index(embedder=Hashed())
    assert loaded._db is not None and scanned._db is not None
    assert loaded._db.vectors and not scanned._db.vectors
    for index in (loaded, scanned):
        index.update(dict(files))
    for query in ("bees and honey", "a boat in the harbour", "letter", "frost frost kiln", "rain"):
        for legs in (["vector"], ["exact", "words", "grams", "vector"]):
            one, two = (index.search(query, 25, legs=legs) for index in (loaded, scanned))
            assert [(hit.path, hit.start) for hit in one] == [(hit.path, hit.start) for hit in two]
            assert len(one) == 25


def test_equal_texts_and_texts_seen_before_are_not_embedded_again(tmp_path: Path) -> None:
    embedder = Hashed()
    index = Index(tmp_path / "i.db", embedder=embedder)
    index.update({"a.md": "the bees", "b.md": "the bees", "c.md": "the boat"})
    assert len(embedder.texts) == 2
    index.update({"a.md": "the bees", "b.md": "the tea", "c.md": "the boat"})
    assert len(embedder.texts) == 3
    index.update({"b.md": "the bees"})
    index.close()
    other = Hashed()
    Index(tmp_path / "i.db", embedder=other).update({"c.md": "the boat"})
    assert len(embedder.texts) == 3 and other.texts == []


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    Index(tmp_path / "i.db", embedder=Hashed("one")).update({"a.md": "the bees"})
    second = Hashed("two")
    index = Index(tmp_path / "i.db", embedder=second)
    index.update({})
    assert second.texts == ["the bees"] and index.search("bees", legs=["vector"])[0].leg == "vector"


def test_an_embedder_that_fails_or_gives_odd_vectors_costs_only_the_vectors() -> None:
    class Broken:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise TimeoutError("no answer\nfrom there")

        def embed_query(self, text: str) -> list[float]:
            raise TimeoutError("no answer")

    index = Index(embedder=Broken())
    index.update({"a.md": "the bees"})
    assert index.search("bees")[0].path == "a.md"
    assert index.notices == [
        "1 chunks have no vector: TimeoutError: no answer from there",
        "searched without vectors: TimeoutError: no answer",
    ]

    class Odd(Hashed):
        size = 3

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float("nan")] * self.size for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [0.0, 1.0]

    index = Index(embedder=Odd())
    index.update({"a.md": "the bees"})
    assert index.search("bees")[0].leg == "words+grams"


def test_the_seeds_weights_can_be_chosen() -> None:
    index = Index(embedder=Hashed())
    index.update(notes(60))
    by_text = index.search("bees piano", 5, fusion="weight", vector_weight=0.0, text_weight=1.0)
    by_vector = index.search("bees piano", 5, fusion="weight", vector_weight=1.0, text_weight=0.0)
    assert [hit.path for hit in by_vector] == [hit.path for hit in index.search("bees piano", 5, legs=["vector"])]
    assert [hit.path for hit in by_text] != [hit.path for hit in by_vector]
    mixed = index.search("bees piano", 60, fusion="weight")
    assert {hit.path for hit in by_text} | {hit.path for hit in by_vector} <= {hit.path for hit in mixed}
