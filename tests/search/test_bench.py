"""What the search reaches on the talks and the documents, beside plain full-text search."""

from __future__ import annotations

import json

import pytest

from deepnb.search import Index
from tests import DATA
from tests.bench import documents
from tests.bench import talks as bench

TALKS = DATA / "talks.json"


def test_no_passage_is_longer_than_the_protocol_allows() -> None:
    (talk,) = bench.talks(json.loads(TALKS.read_text(encoding="utf-8"))[:1])
    index = Index()
    index.update(dict(talk.files))
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
