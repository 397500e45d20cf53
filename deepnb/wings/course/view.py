"""The pictures of the course: an exercise with what is there of it, and a thread with what became of its context."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap

from deepnb.values.text import short_repr
from deepnb.views import html as h
from deepnb.views.bar import MARK, plot_html, sparkline
from deepnb.views.text import counted, indent, page, percent, short, title_line
from deepnb.views.view import table_html


@dataclass(frozen=True)
class CheckPart:
    """One thing that the exercise asks for."""

    what: str
    missing: str = ""
    """What is not there yet; empty where all of it is."""

    @property
    def done(self) -> bool:
        """Whether it is there."""
        return not self.missing

    @property
    def word(self) -> str:
        """`done` or `missing`."""
        return "missing" if self.missing else "done"


@dataclass(frozen=True, repr=False)
class CheckView:
    """An exercise, checked once: it never changes later."""

    number: str
    title: str
    parts: tuple[CheckPart, ...]
    stamp: str = ""

    def __repr__(self) -> str:
        return short_repr(self, f"{self.number}: {self.score}")

    @property
    def done(self) -> bool:
        """Whether all parts are there."""
        return all(part.done for part in self.parts)

    @property
    def score(self) -> str:
        """`2 of 3 parts done`."""
        return f"{sum(part.done for part in self.parts)} of {len(self.parts)} parts done"

    def json(self) -> str:
        """Return the result for a grader, on one line."""
        parts = [{**asdict(part), "done": part.done} for part in self.parts]
        return json.dumps({"exercise": self.number, "title": self.title, "done": self.done, "parts": parts})

    def text(self) -> str:
        lines = [title_line(f"exercise {self.number} · {self.title} · {self.score}", self.stamp)]
        for part in self.parts:
            lines.append(f"  {part.word:<7}  {part.what}")
            lines += [indent(part.missing, " " * 11)] if part.missing else []
        return page(lines)

    def html(self) -> str:
        rows = []
        for part in self.parts:
            missing = h.el("div", h.muted(part.missing)) if part.missing else None
            colour = h.GREEN.format(0.25) if part.done else h.ORANGE.format(0.3)
            rows.append((h.swatch(part.word, colour), h.join(part.what, missing)))
        head = h.heading(f"exercise {self.number}", self.title, self.score, stamp=self.stamp)
        return h.box(head, table_html(("", ""), rows))


def check_view(number: str, title: str, parts: tuple[CheckPart, ...], stamp: str = "") -> CheckView:
    """Return what there is of an exercise."""
    return CheckView(number, title, parts, stamp)


# -- a thread in one picture


_COLOURS = {
    "remembers": "rgba(66,133,210,0.3)",
    "compacts": h.RED.format(0.25),
    "brings back": h.GREEN.format(0.3),
}
_MOST = 190
"""Characters of a prompt, an answer, a detail."""
_LINE = 84


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
        """Return how full the window was."""
        return percent(step.tokens, self.window) if self.window else ""


def story_view(
    thread: str,
    steps: Sequence[StoryStep],
    figures: Sequence[int] = (),
    compactions: Sequence[int] = (),
    window: int | None = None,
    trigger: int | None = None,
) -> StoryView:
    """Return the picture of a thread."""
    return StoryView(thread, tuple(steps), tuple(figures), tuple(compactions), window, trigger)
