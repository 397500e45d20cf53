"""The story in a terminal, through the same Session, views and teaching model as in a notebook."""

import sys
from dataclasses import dataclass
from typing import Literal, TextIO

from deepnb.session.session import Session
from deepnb.views.budget import budget_view
from deepnb.views.diff import diff_view
from deepnb.views.history import history_view
from deepnb.views.memory import memory_view
from deepnb.views.skills import skills_view
from deepnb.views.turn import footer_view
from deepnb.views.view import View, notice_view
from deepnb.widgets.screen import Terminal
from deepnb.widgets.terminal_turn import TerminalTurn
from deepnb.wings.course.lab import notebooks

Look = Literal["memory diff", "memory", "skills", "budget", "history", "new thread"]

WINDOW = 6_200
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


def run_tour(*, delay: float = 0.0, out: TextIO | None = None) -> Session:
    """Play the whole story; `delay` seconds pass between the words of an answer. Gives the session."""
    stream = out or sys.stdout

    def write(line: str) -> None:
        stream.write(f"{line}\n")
        stream.flush()

    write("deepnb, a tour: offline, with the rule-based teaching model (no LLM). The first turn loads the engine.")
    import pandas as pd

    from deepnb.models.teaching import TeachingModel

    planets = pd.read_csv(notebooks() / "data" / "planets.csv")
    session = Session(TeachingModel(delay=delay), max_input_tokens=WINDOW, namespace={"planets": planets})
    screen = Terminal(write)
    for number, step in enumerate(STORY, 1):
        write(f"\n── {number}. {step.title} " + "─" * max(3, 88 - len(step.title)) + "\n")
        _play(session, screen, step, stream)
    return session


def _play(session: Session, screen: Terminal, step: Step, stream: TextIO) -> None:
    if step.prompt is not None:
        stream.write(f"%%agent\n{step.prompt}\n\n")
        display = TerminalTurn(screen, stream)
        for event in session.stream(step.prompt):
            display.add(event)
        assert session.last is not None
        display.finish(footer_view(session.last))
    for look in step.look:
        typed, view = _look(session, look)
        stream.write(f"\n{typed}\n\n")
        screen.show(view)


def _look(session: Session, look: Look) -> tuple[str, View]:
    """Return (what one would type in a notebook, what it shows)."""
    turns = len(session.turns)
    stamp = f"thread {session.thread}, turn {turns}"
    if look == "memory diff":
        return "%memory diff", diff_view(session.memory.diff(), f"memory in turn {turns}", stamp)
    if look == "memory":
        return "%memory", memory_view(session.snapshot, session.memory.sources, session.count, stamp)
    if look == "skills":
        session.skills.write(SKILL_NAME, SKILL)
        shown = skills_view(session.skills.list_skills(), session.count, stamp)
        return f"%%skills {SKILL_NAME}\n{SKILL}\n%skills", shown
    if look == "budget":
        totals = [c.budget.total for t in session.turns for c in t.calls if c.purpose == "answer"]
        return "%agent budget", budget_view(session.budget(), stamp, totals)
    if look == "history":
        return "%agent history", history_view(session.history(), stamp)
    return "%agent new", notice_view(f"new thread {session.new()}; memory and skills are kept", "ok")
