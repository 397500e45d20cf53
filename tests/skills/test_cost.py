"""What 100 skills that do not change cost a turn: printed, never asserted (`pytest tests/skills/test_cost.py -m slow -s`)."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from deepnb import Session
from deepnb.backends.disk import GRANULE
from tests.support.scripted import Scripted

TURNS = 60


def text(i: int) -> str:
    """A skill of about 1 kB."""
    head = f"---\nname: skill-{i}\ndescription: Reports on table {i}; use it when the user asks for it.\n---\n\n"
    return head + "Do this and that.\n" * 60


def made(skills: int, disk: Path | None = None) -> Session:
    """A session that has run a few turns with so many skills, in the kernel or in a directory that is mounted."""
    s = Session(model=Scripted(answers=["ok"], profile={"max_input_tokens": 1_000_000}))
    if disk is not None:
        s.mount("/skills", f"disk:{disk}")
    for i in range(skills):
        if disk is None:
            s.files[f"/skills/skill-{i}/SKILL.md"] = text(i)
        else:
            (disk / f"skill-{i}").mkdir()
            (disk / f"skill-{i}" / "SKILL.md").write_text(text(i))
    time.sleep(GRANULE / 1e9 if disk else 0)
    for _ in range(3):
        s.run("warm")
    return s


@pytest.mark.slow
@pytest.mark.parametrize("where", ["kernel", "disk"])
def test_turns_with_and_without_100_skills_that_do_not_change(where: str, tmp_path: Path):
    """Turns of both sessions in alternation, so that both see the same machine; CPU time of the whole process."""
    folders = {n: tmp_path / str(n) if where == "disk" else None for n in (0, 100)}
    for folder in filter(None, folders.values()):
        folder.mkdir()
    sessions = {n: made(n, folder) for n, folder in folders.items()}
    spent: dict[int, list[float]] = {n: [] for n in sessions}
    for turn in range(TURNS):
        for n in (0, 100) if turn % 2 else (100, 0):
            start = time.process_time()
            sessions[n].run("go")
            spent[n].append(time.process_time() - start)
    none, hundred = (statistics.median(spent[n]) * 1000 for n in (0, 100))
    least = min(spent[100]) / min(spent[0])
    pairs = statistics.median(b / a for a, b in zip(spent[0], spent[100], strict=True))
    print(f"\n{where}, {TURNS} turns each: no skills {none:.1f} ms, 100 skills {hundred:.1f} ms (median)")
    print(f"  median x {hundred / none:.3f}, least x {least:.3f}, median of the pairs x {pairs:.3f}")
    assert [len(s.turns) for s in sessions.values()] == [TURNS + 3] * 2
    assert "**skill-99**" in str(sessions[100].options.model.requests[-1][0].content)
