"""The benchmark: LoCoMo's format as it comes, the protocol, and what the search reaches on the talks."""

from __future__ import annotations

import json
from datetime import date

import pytest

from deepnb.search import Index
from deepnb.search.hits import Hit
from tests import DATA
from tests.bench import documents
from tests.bench import talks as bench
from tests.data.documents import Question

TALKS = DATA / "talks.json"
TALK = {
    "speaker_a": "Ann",
    "speaker_b": "Bo",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "Hello there,\nBo!"},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "I keep bees.", "blip_caption": "a hive by a shed", "img_url": []},
    ],
    "session_10_date_time": "9:00 am on 1 June, 2023",
    "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "We sail on Sunday."}],
    "session_11_date_time": "9:00 am on 2 June, 2023",
}
ASKED = [
    {"question": "What does Bo keep?", "answer": "bees", "evidence": ["D1:2"], "category": 4},
    {"question": "And both?", "answer": 2, "evidence": ["D1:2; D10:01"], "category": 1},
    {"question": "When?", "answer": "Sunday", "evidence": ["D:10:1", "D"], "category": 2},
    {"question": "Gone?", "answer": "x", "evidence": ["D99:1"], "category": 3},
    {"question": "None?", "answer": "x", "evidence": [], "category": 3},
    {"question": "Wrong?", "adversarial_answer": "x", "evidence": ["D1:1"], "category": 5},
]
SAMPLE = {"sample_id": "x", "conversation": TALK, "event_summary": {}, "qa": ASKED}


def test_a_session_is_a_file_headed_by_its_date_and_a_turn_a_line() -> None:
    (talk,) = bench.talks([SAMPLE])
    assert talk.files == {
        "session_1.md": "# 1:56 pm on 8 May, 2023\n\nAnn: Hello there, Bo!\nBo: I keep bees. [a hive by a shed]\n",
        "session_10.md": "# 9:00 am on 1 June, 2023\n\nAnn: We sail on Sunday.\n",
    }


def test_evidence_is_read_however_it_is_spelled_and_category_5_is_left_out() -> None:
    (talk,) = bench.talks([SAMPLE])
    bees, sail = ("session_1.md", 4), ("session_10.md", 3)
    assert [(q.category, q.evidence) for q in talk.questions] == [(4, {bees}), (1, {bees, sail}), (2, {sail})]


def test_what_is_measured() -> None:
    question = bench.Question("?", 1, frozenset({("a", 5), ("a", 9), ("b", 1)}))
    places = [
        ("c", 1, 9, 3000),
        ("a", 4, 6, 4000),
        ("a", 9, 9, 2000),
        *(("z", n, n, 0) for n in range(5)),
        ("b", 1, 2, 0),
    ]
    hits = [Hit(path, start, end, "x" * size, 1.0, "") for path, start, end, size in places]
    assert bench.measure(question, lambda query, k, tokens: hits) == (0.0, 1.0, 1.0, 0.0, 1 / 3, 1 / 3, 1750.5)


def test_the_answer_of_the_tool_is_read_as_passages() -> None:
    (talk,) = bench.talks([SAMPLE])
    assert talk.today == date(2023, 6, 1)
    (first, *_) = bench.tool(talk)("who keeps bees?", 6, None)
    assert (first.path, first.start, first.end) == ("session_1.md", 1, 4)
    assert first.text.endswith("Bo: I keep bees. [a hive by a shed]")


def test_no_passage_is_longer_than_the_protocol_allows() -> None:
    samples = json.loads(TALKS.read_text(encoding="utf-8"))[:1]
    (talk,) = bench.talks(samples)
    index = Index()
    index.update(dict(talk.files))
    plain = bench.Passages(talk.files)
    covered: set[tuple[str, int]] = set()
    for hit in plain.hits:
        assert len(hit.text) + len(hit.heading) + 1 <= bench.PASSAGE
        covered |= {(hit.path, n) for n in range(hit.start, hit.end + 1)}
    assert covered == {(path, n) for path, text in talk.files.items() for n in range(3, text.count("\n") + 1)}
    for question in talk.questions:
        for hit in index.search(question.text, 10):
            assert len(hit.text) + len(hit.heading) + 1 <= bench.PASSAGE
            assert "\n".join(talk.files[hit.path].split("\n")[hit.start - 1 : hit.end]) == hit.text


@pytest.mark.nightly
def test_the_fused_search_finds_more_than_plain_passages() -> None:
    samples = json.loads(TALKS.read_text(encoding="utf-8"))
    found = bench.results(bench.talks([samples[0], *samples[4:12], *samples[28:34]]))
    means = {name: [sum(col) / len(col) for col in zip(*by["all"], strict=True)] for name, by in found.items()}
    some6, tokens = bench.COLUMNS.index("some@6"), bench.COLUMNS.index("2000t*")
    assert means["AND query"][some6] < 0.15
    assert means["fused, no model"][some6] > means["BM25, fixed passages"][some6]
    assert means["fused, no model"][tokens] > means["BM25, fixed passages"][tokens] + 0.02


def test_documents_are_ranked_as_well_as_by_plain_full_text_search() -> None:
    """On the frozen set, by nDCG@10 and by recall@6."""
    assert [row.what for row in documents.rows() if not row.ok] == []


def test_gains_are_discounted_by_rank_and_recall_is_of_the_first_six() -> None:
    asked = [Question("x", {"a": 2, "b": 1})]
    best = documents.measure(lambda query, k: ["a", "b", "c"][:k], asked)
    worse = documents.measure(lambda query, k: ["c", "b", "a"][:k], asked)
    late = documents.measure(lambda query, k: ["c", "d", "e", "f", "g", "h", "a", "b"][:k], asked)
    assert best == (1.0, 1.0) and 0 < worse[0] < 1 and worse[1] == 1.0 and 0 < late[0] < worse[0] and late[1] == 0.0
