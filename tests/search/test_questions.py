"""Frozen questions and documents: answered at least as well as by plain FTS5; days alone, exactly; nonsense, by nothing."""

import hashlib
import json
from functools import cache, partial
from math import log2

import pytest

from deepnb.memory.searching import MemorySearch
from deepnb.search import Index
from tests import DATA
from tests.bench import documents
from tests.bench import talks as bench
from tests.bench.documents import Ask, Plain, _paths
from tests.data import documents as collection
from tests.data.questions import TODAY, chinese, dates, nonsense
from tests.search import filled
from tests.support.tables import every_row

NOTES, DATED = dates()


@cache
def notes() -> MemorySearch:
    return MemorySearch(lambda: None)


def gain(ask: Ask, questions: list[tuple[str, str]]) -> float:
    found = [(ask(text, 10), path) for text, path in questions]
    return sum(1 / log2(paths.index(path) + 2) for paths, path in found if path in paths) / len(questions)


def test_chinese_questions_are_answered_as_well_as_by_plain_fts5_and_across_the_scripts() -> None:
    files, asked, across = chinese()
    assert (len(files), len(asked), len(across)) == (400, 120, 24)
    index, plain = Index(), Plain(files)
    index.update(dict(files))
    best = max(gain(partial(plain.search, common=common), asked) for common in (True, False))
    assert gain(partial(_paths, index), asked) >= best - 0.005 and gain(partial(_paths, index), across) >= 0.9


@every_row(("question", "paths"), DATED)
def test_a_question_that_is_only_days_gives_their_notes_newest_first(question: str, paths: list[str]) -> None:
    hits = notes().search(NOTES, question, f"{TODAY}T21:00:00+01:00")
    assert [hit.path for hit in hits] == paths and {hit.leg for hit in hits} <= {"day"}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True) and all(hit.text in NOTES[hit.path] for hit in hits)


def test_nonsense_finds_nothing() -> None:
    assert len(nonsense()) == 50
    for files in (NOTES, chinese()[0]):
        index = filled(files)
        assert {query: hits for query in nonsense() if (hits := index.search(query, today=TODAY))} == {}


@every_row(("question", "paths"), [
    ("what did we do yesterday about the lease?", ["/memory/2026-11-18.md"]),
    ("zzzz yesterday", []), ("What did I do on November 8th, 2026?", []), ("昨天的租约", ["/memory/2026-11-18.md"]),
])  # fmt: skip
def test_a_day_beside_another_word_gives_what_has_the_word(question: str, paths: list[str]) -> None:
    hits = notes().search(NOTES, question, f"{TODAY}T21:00:00+01:00", 1)
    assert [hit.path for hit in hits] == paths


def test_a_long_day_is_given_in_its_order_and_nothing_of_another_day_with_it() -> None:
    lines = [f"- 2026-11-{24 - i // 9}: thing {i} of the day, and what came of it" for i in range(18)]
    index = filled({"log.md": "\n".join(lines)})
    hits = index.search("yesterday", today=TODAY, passage=200)
    assert "\n".join(hit.text for hit in hits) == "\n".join(lines[:9])
    assert index.search("yesterday", today=TODAY, within=lambda path: False) == []


def test_a_note_of_a_day_is_given_whole_and_a_week_has_more_than_six() -> None:
    text = "- 9:15 Called the vet\n- 2026-12-04 is the day of the launch\n- 2025-01-20 was too early\n"
    files = {f"/memory/2026-11-{day}.md": text for day in range(10, 26)}
    index = filled(files)
    for question, days in (
        ("yesterday", [24]), ("two weeks ago", [15, 14, 13, 12, 11, 10]), ("last week", range(22, 15, -1)),
    ):  # fmt: skip
        hits = index.search(question, today=TODAY)
        assert [(hit.path, hit.text) for hit in hits] == [(f"/memory/2026-11-{day}.md", text.strip()) for day in days]


TALKS = DATA / "talks.json"


@pytest.mark.nightly
def test_the_fused_search_finds_more_than_plain_passages() -> None:
    samples = json.loads(TALKS.read_text(encoding="utf-8"))
    found = bench.results(bench.talks([samples[0], *samples[4:12], *samples[28:34]]))
    means = {name: [sum(col) / len(col) for col in zip(*by["all"], strict=True)] for name, by in found.items()}
    some6, tokens = bench.COLUMNS.index("some@6"), bench.COLUMNS.index("2000t*")
    assert means["AND query"][some6] < 0.15
    assert means["fused, no model"][some6] > means["BM25, fixed passages"][some6]
    assert means["fused, no model"][tokens] > means["BM25, fixed passages"][tokens] + 0.02


@pytest.mark.slow
def test_documents_are_ranked_as_well_as_by_plain_full_text_search() -> None:
    """On the frozen set, by nDCG@10 and by recall@6."""
    assert [row.what for row in documents.rows() if not row.ok] == []


def test_they_are_as_they_were() -> None:
    kept = repr(sorted(collection.documents().items())) + repr(
        [(q.text, sorted(q.grades.items())) for q in collection.questions()]
    )
    found = {name: (DATA / f"{name}.json").read_bytes() for name in ("talks", "diaries")} | {"documents": kept.encode()}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in found.items()} == {
        "talks": "34fa7a210f3eb859ac2b3ca80f387d370b0266b0a66417b24026dc19fe5df5ac",
        "diaries": "b4e74c3d24a1a652f79ba4f49b63904c0d301d7f9802dd0ef6a2acc3242ed89c",
        "documents": "4d34d6a593cb47fd219518800014e348e73e86d7efd277a3cb4a03260268386a",
    }
