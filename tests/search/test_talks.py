"""The corpus of talks: frozen, woven from its stories, and mostly asked about in other words."""

from __future__ import annotations

import json
import re

from tests import DATA
from tests.data.talks import make

TALKS = json.loads((DATA / "talks.json").read_text(encoding="utf-8"))
COMMON = (
    "a an and are at been by did do does for from had has have her his how in is it its of on that the their "
    "they this to was were what when where which who whom why with"
)
STOP = set(COMMON.split())


def stems(text: str) -> set[str]:
    words = re.findall(r"[a-z]+|[一-鿿]{2}", text.lower().replace("'s", ""))
    return {word[:5] for word in words if word not in STOP}


def test_it_is_what_the_stories_give() -> None:
    assert make.corpus() == TALKS


def test_it_is_large_and_in_two_languages() -> None:
    chinese = [s for s in TALKS if re.search("[一-鿿]", s["conversation"]["speaker_a"])]
    assert len(TALKS) >= 40 and len(chinese) >= 10
    assert sum(len(s["qa"]) for s in TALKS) >= 400
    long = [s for s in TALKS if "session_20" in s["conversation"]]
    assert len(long) >= 4
    for sample in long:
        assert sum(len(v) for k, v in sample["conversation"].items() if re.fullmatch(r"session_\d+", k)) > 500


def test_every_evidence_is_a_turn() -> None:
    for sample in TALKS:
        talk = sample["conversation"]
        turns = {t["dia_id"] for k, v in talk.items() if re.fullmatch(r"session_\d+", k) for t in v}
        for question in sample["qa"]:
            assert question["evidence"] and set(question["evidence"]) <= turns
            assert question["category"] in (1, 2, 3, 4, 5)


def test_most_questions_share_at_most_one_word_with_their_evidence() -> None:
    few = asked = 0
    for sample in TALKS:
        talk = sample["conversation"]
        said = {t["dia_id"]: t["text"] for k, v in talk.items() if re.fullmatch(r"session_\d+", k) for t in v}
        names = stems(f"{talk['speaker_a']} {talk['speaker_b']}")
        for question in sample["qa"]:
            if question["category"] == 5:
                continue
            evidence = set().union(*(stems(said[key]) for key in question["evidence"]))
            asked += 1
            few += len(stems(question["question"]) & evidence - names) <= 1
    assert few / asked > 0.6
