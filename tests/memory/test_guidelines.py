"""What the agent is told about its memory, word for word, what it costs, and that the words are our own."""

from __future__ import annotations

import re
from pathlib import Path

from deepnb.context.estimate import approximate
from deepnb.memory.guarding import memory_block
from deepnb.values import tokenizer
from tests import DATA
from tests.support.tables import every_row

GOLDEN = DATA / "guidelines.txt"
MOST = 600
"""Tokens, the tags round it and the line for an empty memory included."""


def block() -> str:
    return memory_block([], "/AGENTS.md") + "\n"


def test_the_words_are_those_of_the_golden_file():
    assert block() == GOLDEN.read_text()


@every_row("count", [approximate, tokenizer.count], ids=["by class", "teaching"])
def test_they_are_short_by_the_counters_that_are_always_there(count):
    assert 100 < count(block()) < MOST


def test_the_words_are_our_own():
    from deepagents.middleware import memory

    theirs = _runs(str(vars(memory).get("MEMORY_SYSTEM_PROMPT") or Path(memory.__file__).read_text()), 6)
    assert len(theirs) > 100
    assert not _runs(block(), 6) & theirs


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Every run of so many words."""
    words = re.findall(r"[a-z']+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}
