"""What must come of the story, wherever it is told."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.middleware.story import KEY

UPDATE = "--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+- tabs\n"


def check(told: dict[str, Any], kind: str) -> None:
    """Look at all five parts."""
    *turn, summary, last = told["requests"]
    _check_memory(turn, last)
    _check_skills(turn)
    _check_approval(told["asked"], turn)
    _check_guard(told, kind)
    _check_compaction(told["history"], summary, last)


def _check_memory(turn: list[Any], last: list[Any]) -> None:
    first, second = turn[:2]
    assert "/AGENTS.md starts it" in first[0][1] or "(nothing yet" in first[0][1]
    role, update = second[-1]
    assert role == "human" and update.endswith(UPDATE), "the edit is in the very next call"
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(turn)), "what was sent stays as it was"
    assert len([m for m in last if UPDATE in m[1]]) == 1, "a compaction does not lose it"


def _check_skills(turn: list[Any]) -> None:
    system = turn[0][0][1]
    assert "- **greeting**: How to greet. -> read_file `/skills/greeting/SKILL.md`" in system
    assert "Say hello." not in system


def _check_approval(asked: list[Any], turn: list[Any]) -> None:
    (value,) = asked
    assert (value["type"], value["name"], value["args"]) == ("tool_approval", "pay", {"amount": 3})
    assert len(turn) == 5 and turn[2][-1] == ["tool", "paid 3"]


def _check_guard(told: dict[str, Any], kind: str) -> None:
    role, answer = told["requests"][3][-1]
    assert role == "tool" and answer.startswith("Error: not written to /AGENTS.md: a credential")
    assert told["memory"] == "- tabs\n"
    assert KEY not in str(told), f"{kind}: neither in the state nor in what was sent or kept"


def _check_compaction(history: str, summary: list[Any], last: list[Any]) -> None:
    assert history.startswith("## Summarized at ") and "Remember that I like tabs, then pay 3." in history
    assert "[redacted: Anthropic key]" in history and "→ pay" in history
    assert any("What is the colour?" in said for _, said in summary)
    assert "/conversation_history/" in last[1][1] and "(the summary)" in last[1][1]
    said = [text for _, text in last]
    talk = [text for text in said if not text.startswith("Memory has changed")]  # which comes before the prompt
    assert talk[talk.index("Go on.") - 1] == "the colour is red"
