"""The five parts together in a deep agent and in a plain one, in a process that has no IPython."""

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

from tests.middleware import story
from tests.support.tables import every_row

UPDATE = "--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+- tabs\n"


def check(told: dict[str, Any], kind: str) -> None:
    *turn, summary, last = told["requests"]
    (first, second, third, fourth, _), history = turn, told["history"]
    # memory
    assert "(nothing yet" in first[0][1] and "/AGENTS.md starts it" in first[0][1]
    assert second[-1][0] == "human" and second[-1][1].endswith(UPDATE), "the edit is in the very next call"
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(turn)), "what was sent stays as it was"
    assert len([text for _, text in last if UPDATE in text]) == 1, "a compaction does not lose it"
    # skills
    assert "- **greeting**: How to greet. -> read_file `/skills/greeting/SKILL.md`" in first[0][1]
    assert "Say hello." not in first[0][1]
    # approvals
    (asked,) = told["asked"]
    assert (asked["type"], asked["name"], asked["args"]) == ("tool_approval", "pay", {"amount": 3})
    assert third[-1] == ["tool", "paid 3"]
    # the guard
    role, answer = fourth[-1]
    assert role == "tool" and answer.startswith("Error: not written to /AGENTS.md: a credential")
    assert told["memory"] == "- tabs\n"
    assert story.KEY not in str(told), f"{kind}: neither in the state nor in what was sent or kept"
    # compaction
    assert history.startswith("## Summarized at ") and "Remember that I like tabs, then pay 3." in history
    assert "[redacted: Anthropic key]" in history and "→ pay" in history
    assert any("What is the colour?" in said for _, said in summary)
    assert "/conversation_history/" in last[1][1] and "(the summary)" in last[1][1]
    talk = [text for _, text in last if not text.startswith("Memory has changed")]  # which comes before the prompt
    assert talk[talk.index("Go on.") - 1] == "the colour is red"


@pytest.mark.slow
@every_row("kind", ["deep", "plain"])
def test_the_parts_in_an_agent(kind: str, tmp_path: Any) -> None:
    command = [sys.executable, str(story.__file__), kind, str(tmp_path / "told")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told) == ["invoke", "ainvoke", "astream"]
    for one in told.values():
        check(one, kind)
