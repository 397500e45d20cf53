"""The story in a terminal, through the same Session, views and teaching model as in a notebook."""

import sys
from typing import TextIO

from deepnb.session.session import Session
from deepnb.tour.places import notebooks
from deepnb.tour.story import SKILL, SKILL_NAME, STORY, WINDOW, Look, Step
from deepnb.views.budget import budget_view
from deepnb.views.diff import diff_view
from deepnb.views.footer import footer_view
from deepnb.views.history import history_view
from deepnb.views.memory import memory_view
from deepnb.views.notice import notice_view
from deepnb.views.skills import skills_view
from deepnb.views.view import View
from deepnb.widgets.screen import Terminal
from deepnb.widgets.terminal_turn import TerminalTurn


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
    """(what one would type in a notebook, what it shows)."""
    turns = len(session.turns)
    stamp = f"thread {session.thread}, turn {turns}"
    if look == "memory diff":
        return "%memory diff", diff_view(session.memory.diff(), f"memory in turn {turns}", stamp)
    if look == "memory":
        return "%memory", memory_view(session.snapshot, session.memory.sources, session.count, stamp)
    if look == "skills":
        session.skills.write(SKILL_NAME, SKILL)
        return f"%%skills {SKILL_NAME}\n{SKILL}\n%skills", skills_view(
            session.skills.list_skills(), session.count, stamp
        )
    if look == "budget":
        totals = [c.budget.total for t in session.turns for c in t.calls if c.purpose == "answer"]
        return "%agent budget", budget_view(session.budget(), stamp, totals)
    if look == "history":
        return "%agent history", history_view(session.history(), stamp)
    return "%agent new", notice_view(f"new thread {session.new()}; memory and skills are kept", "ok")
