"""The frozen diaries: what their sentences give, how many questions of which kind, and evidence that is there."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date, timedelta

from tests import DATA
from tests.data.diaries import make

DIARIES = json.loads((DATA / "diaries.json").read_text(encoding="utf-8"))


def test_they_are_what_the_sentences_give() -> None:
    assert make.corpus() == DIARIES


def test_half_of_the_questions_are_dated_and_half_are_chinese() -> None:
    kinds = Counter(
        (bool(re.search("[一-鿿]", q["question"])), q["category"]) for sample in DIARIES for q in sample["qa"]
    )
    assert kinds == {(False, 1): 60, (False, 2): 60, (True, 1): 60, (True, 2): 60}


def test_every_evidence_is_a_turn_and_what_is_gathered_has_several() -> None:
    for sample in DIARIES:
        talk = sample["conversation"]
        turns = {t["dia_id"] for k, v in talk.items() if re.fullmatch(r"session_\d+", k) for t in v}
        for question in sample["qa"]:
            assert set(question["evidence"]) <= turns
            assert len(question["evidence"]) >= (2 if question["category"] == 1 else 1)


def test_nothing_is_said_after_the_day_on_which_is_asked() -> None:
    for sample in DIARIES:
        eve = date.fromisoformat(sample["today"]) - timedelta(days=1)
        last = sample["conversation"]["session_36_date_time"]
        assert f"{eve.day} {eve:%B}, {eve.year}" in last or f"{eve.year}年{eve.month}月{eve.day}日" in last
