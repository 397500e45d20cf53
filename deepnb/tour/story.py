"""The first notebook's story, step by step: what is said, and what is looked at after it."""

from dataclasses import dataclass
from typing import Literal

Look = Literal["memory diff", "memory", "skills", "budget", "history", "new thread"]

WINDOW = 5_000
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
    Step("It looks at the data again", "Which planet in planets has the strongest gravity?"),
    Step(
        "Ask it to remember something, and see what it wrote",
        "Remember that I prefer metric units with one decimal place",
        ("memory diff",),
    ),
    Step("The prompt has only the name and description of a skill", None, ("skills",)),
    Step("The agent reads the skill when a request needs it", "Use the planet-report skill on planets"),
    Step("What fills the context, and what is left until the trigger", None, ("budget",)),
    Step(
        "Past the trigger, older messages are summarized and saved in a file",
        "Which planet in planets has the most moons?",
    ),
    Step("Nothing is lost: the offloaded messages, verbatim", None, ("budget", "history")),
    Step("A new thread starts empty, but memory is kept", None, ("new thread", "memory")),
    Step("So it still knows your preferences", "What do you know about my preferences?"),
)
