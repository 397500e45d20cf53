"""What 100 skills cost a turn: printed, never asserted (`pytest -m slow -s`)."""

from __future__ import annotations

import statistics
import time

import pytest
from scripted import Scripted

from deepnb import Session

TURNS = 40


def made(skills: int) -> Session:
    """A session that has run a few turns with so many skills of about 1 kB."""
    s = Session(model=Scripted(answers=["ok"], profile={"max_input_tokens": 1_000_000}))
    for i in range(skills):
        head = f"---\nname: skill-{i}\ndescription: Reports on table {i}; use it when the user asks for it.\n---\n\n"
        s.files[f"/skills/skill-{i}/SKILL.md"] = head + "Do this and that.\n" * 60
    for _ in range(3):
        s.run("warm")
    return s


@pytest.mark.slow
def test_turns_with_and_without_100_skills_that_do_not_change():
    """Turns of both sessions in alternation, so that both see the same machine; CPU time of the whole process."""
    sessions = {n: made(n) for n in (0, 100)}
    spent: dict[int, list[float]] = {n: [] for n in sessions}
    for _ in range(TURNS):
        for n, s in sessions.items():
            start = time.process_time()
            s.run("go")
            spent[n].append(time.process_time() - start)
    none, hundred = (statistics.median(spent[n]) * 1000 for n in (0, 100))
    least = min(spent[100]) / min(spent[0])
    print(
        f"\nno skills {none:.1f} ms, 100 skills {hundred:.1f} ms: x {hundred / none:.3f} (least of each: x {least:.3f})"
    )
    assert [len(s.turns) for s in sessions.values()] == [TURNS + 3] * 2
    assert "**skill-99**" in str(sessions[100].options.model.requests[-1][0].content)
