"""A thread in one picture: what was said, how full its context was, what was remembered, removed and brought back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from deepnb.running.thread import ADDED
from deepnb.session.session import Session
from deepnb.values.text import short_repr
from deepnb.values.turn import Compacted, ModelEnded, Notice, Turn
from deepnb.views import html as h
from deepnb.views.bar import MARK, plot_html, sparkline
from deepnb.views.text import counted, indent, page, percent, short, title_line
from deepnb.views.values import brief
from deepnb.views.view import View, table_html

_TURNS = 8
"""Turns shown, the last ones."""
_HEAD = re.compile(r"^\|.*\n\|[-:| ]+\n", re.MULTILINE)
"""The head of a table of Markdown, and the line below it."""
_COLOURS = {"remembers": "rgba(66,133,210,0.3)", "compacts": h.RED.format(0.25), "brings back": h.GREEN.format(0.3)}
_MOST = 190
"""Characters of a prompt, an answer, a detail."""
_LINE = 84


def story() -> StoryView:
    """The current thread in one picture: its turns, how full its context was, what was remembered, removed, brought back."""
    from deepnb import current

    return story_of(current())


def story_of(session: Session) -> StoryView:
    budget, turns = session.budget(), session.turns[-_TURNS:]
    rule = budget.rule if budget is not None else session.rule
    figures, compactions = _requests(turns)
    steps = []
    for turn in turns:
        marks = list[tuple[str, str]]()
        for change in session.memory.between(turn.before, turn.after):
            added = [line for hunk in change.hunks for line in hunk.lines if line.strip()]
            marks += (("remembers", f"{_words(line)} ({change.path})") for line in added)
        for offload in (e.offload for e in turn.events if isinstance(e, Compacted) and not e.path):
            went = counted(offload.messages, "message")
            kept = f", saved verbatim in {offload.path}" if offload.path else ""
            marks.append(("compacts", f"{offload.before:,} tokens pass the trigger: {went} → summary{kept}"))
        notes = (event.text for event in turn.events if isinstance(event, Notice) and event.text.startswith(ADDED))
        marks += (("brings back", f"{note.removeprefix(ADDED)}, out of the offloaded history") for note in notes)
        tokens = max(_requests([turn])[0], default=0)
        steps.append(StoryStep(turn.number, turn.prompt, _first(turn.text), tokens, tuple(marks)))
    return StoryView(session.thread, tuple(steps), tuple(figures), tuple(compactions), rule.window, rule.trigger_tokens)


def _requests(turns: Sequence[Turn]) -> tuple[list[int], list[int]]:
    """Return tokens of each request, those too full to be sent included, and the indices of those that came after one."""
    figures: list[int] = []
    compactions: list[int] = []
    for event in (event for turn in turns for event in turn.events if not event.path):
        if isinstance(event, Compacted):
            figures.append(event.offload.before)
            compactions.append(len(figures))
        elif isinstance(event, ModelEnded) and event.call.purpose == "answer":
            figures.append(event.call.budget.total)
    return figures, [at for at in compactions if at < len(figures)]


def _first(answer: str) -> str:
    """Return the first line of an answer, with the one below it if it ends in a colon; of a table its first row."""
    kept: list[str] = []
    for line in filter(None, map(_words, _HEAD.sub("", answer).split("\n"))):
        kept.append(line)
        if not line.endswith(":"):
            break
    return " ".join(kept)


def _words(line: str) -> str:
    line = line.strip().removeprefix("- ")
    return ": ".join(filter(None, map(str.strip, line.split("|")))) if line.startswith("|") else line


@dataclass(frozen=True)
class StoryStep:
    """One turn: what was said, and what happened to memory and context."""

    turn: int
    prompt: str
    answer: str
    tokens: int
    """Of its fullest request, the one that was too full included."""
    marks: tuple[tuple[str, str], ...] = ()
    """(`remembers`, `compacts` or `brings back`, what exactly)."""


@dataclass(frozen=True, repr=False)
class StoryView:
    """The turns of a thread, and the tokens of its calls against the window and the trigger."""

    thread: str
    steps: tuple[StoryStep, ...]
    figures: tuple[int, ...] = ()
    """Tokens of each request, in order; those too full to be sent included."""
    compactions: tuple[int, ...] = ()
    """Indices in `figures` of the requests that a compaction came before."""
    window: int | None = None
    trigger: int | None = None

    def __repr__(self) -> str:
        return short_repr(self, f"of {self.thread}: turns={len(self.steps)}")

    @property
    def facts(self) -> tuple[str, ...]:
        """`6 turns`, the window and the trigger."""
        window = [f"window {self.window:,} tokens"] if self.window else []
        trigger = [f"trigger {self.trigger:,}"] if self.trigger else []
        return (counted(len(self.steps), "turn"), *window, *trigger)

    def text(self) -> str:
        lines = [title_line(" · ".join([f"thread {self.thread} in one picture", *self.facts])), ""]
        if self.figures:
            line = sparkline(self.figures, self.compactions)
            lines += [f"tokens per request  {line}   ({MARK} compacted instead of sent)", ""]
        for step in self.steps:
            said = [step.prompt, f"→ {step.answer}", *(f"{word}: {what}" for word, what in step.marks)]
            first, *rest = (line for one in said for line in wrap(short(one, _MOST), _LINE) or [""])
            lines.append(f"{step.turn:>3}  {self._full(step):>5}  {first}")
            lines += [indent(line, " " * 12) for line in rest]
        return page(lines)

    def html(self) -> str:
        plot: list[h.Child] = []
        if self.figures:
            words = "tokens per request (red line: trigger; dashed: compacted instead of sent)"
            plot = [h.label(words), plot_html(self.figures, self.compactions, self.trigger)]
        rows = []
        for step in self.steps:
            marks = (
                h.el("div", h.swatch(word, _COLOURS.get(word, h.GREY.format(0.2))), " ", short(what, _MOST))
                for word, what in step.marks
            )
            said = (h.el("b", short(step.prompt, _MOST)), h.el("div", short(step.answer, _MOST)))
            rows.append((str(step.turn), self._full(step), h.join(*said, *marks)))
        head = h.heading(f"thread {self.thread} in one picture", *self.facts)
        return h.box(head, *plot, table_html(("turn", "window", ""), rows, right=(0, 1)))

    def _full(self, step: StoryStep) -> str:
        return percent(step.tokens, self.window) if self.window else ""


def story_picture(found: StoryView) -> View:
    """Return what a thread in one picture shows of itself in a cell: the last turns if all are too long."""
    return brief(found, [lambda: replace(found, steps=found.steps[-3:])])
