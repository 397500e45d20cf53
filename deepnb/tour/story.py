"""The first notebook's story, step by step: what is said, and what is looked at after it."""

from dataclasses import dataclass
from typing import Literal

Look = Literal["memory diff", "memory", "skills", "budget", "history", "new thread"]

WINDOW = 6_500
"""Tokens. Small, so that the story reaches the trigger within a few turns."""

SKILL_NAME = "planet-report"
SKILL = """\
---
name: planet-report
description: Write a short report on a table of planets, every figure with its unit.
---

# Planet report

1. Look at the table with inspect_variable.
2. Say how many planets there are; name the largest and the hottest.
3. Give every figure with the unit that its column's name tells.
"""


@dataclass(frozen=True)
class Step:
    """One step: a heading, then a prompt or nothing, then what to look at."""

    title: str
    prompt: str | None = None
    look: tuple[Look, ...] = ()


STORY: tuple[Step, ...] = (
    Step("Ask about a DataFrame", "What is in the DataFrame planets?"),
    Step("It looks again, because it should", "Which planet in planets has the strongest gravity?"),
    Step(
        "Have it remember something, and see what it wrote",
        "Remember that I prefer metric units with one decimal place",
        ("memory diff",),
    ),
    Step("A skill is disclosed by its name and description only", None, ("skills",)),
    Step("It reads the skill when a request is of its kind", "Use the planet-report skill on planets"),
    Step("What fills the context, and how far the trigger is", None, ("budget",)),
    Step(
        "Past the trigger the older part is summarized, and kept in a file",
        "Which planet in planets has the most moons?",
    ),
    Step("Nothing is lost: the offloaded messages, word for word", None, ("budget", "history")),
    Step("A new thread begins empty, but memory stays", None, ("new thread", "memory")),
    Step("So it still knows", "What do you know about my preferences?"),
)
