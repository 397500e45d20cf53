"""A thread in one picture: how full its context was at each call, and what became of it in each turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from deepnb.core.short_repr import short_repr
from deepnb.views import html as h
from deepnb.views.bar import MARK, plot_html, sparkline
from deepnb.views.numbers import counted, percent
from deepnb.views.table import table_html
from deepnb.views.text import indent, page, short, title_line

_COLOURS = {
    "remembers": "rgba(66,133,210,0.3)",
    "compacts": h.RED.format(0.25),
    "brings back": h.GREEN.format(0.3),
}
_MOST = 190
"""Characters of a prompt, an answer, a detail."""
_LINE = 84
_PLAIN = "rgba(128,128,128,0.2)"


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
        """A sparkline, then each turn."""
        lines = [title_line(" · ".join([f"thread {self.thread} in one picture", *self.facts])), ""]
        if self.figures:
            lines += [
                f"tokens per request  {sparkline(self.figures, self.compactions)}   ({MARK} compacted instead of sent)",
                "",
            ]
        for step in self.steps:
            said = [step.prompt, f"→ {step.answer}", *(f"{word}: {what}" for word, what in step.marks)]
            first, *rest = (line for one in said for line in wrap(short(one, _MOST), _LINE) or [""])
            lines.append(f"{step.turn:>3}  {self._full(step):>5}  {first}")
            lines += [indent(line, " " * 12) for line in rest]
        return page(lines)

    def html(self) -> str:
        """A plot with the trigger as a line, then each turn as a row of a table."""
        title, *facts = (f"thread {self.thread} in one picture", *self.facts)
        plot = plot_html(self.figures, self.compactions, self.trigger) if self.figures else None
        label = (
            h.label("tokens per request (red line: trigger; dashed: compacted instead of sent)")
            if self.figures
            else None
        )
        rows = [
            (str(step.turn), self._full(step), h.join(h.el("b", short(step.prompt, _MOST)), *_below(step)))
            for step in self.steps
        ]
        return h.box(h.heading(title, *facts), label, plot, table_html(("turn", "window", ""), rows, right=(0, 1)))

    def _full(self, step: StoryStep) -> str:
        """How full the window was."""
        return percent(step.tokens, self.window) if self.window else ""


def story_view(
    thread: str,
    steps: Sequence[StoryStep],
    figures: Sequence[int] = (),
    compactions: Sequence[int] = (),
    window: int | None = None,
    trigger: int | None = None,
) -> StoryView:
    """The picture of a thread."""
    return StoryView(thread, tuple(steps), tuple(figures), tuple(compactions), window, trigger)


def _below(step: StoryStep) -> list[h.Html]:
    """The answer, and each thing that happened with its word on a colour."""
    answer = h.el("div", short(step.answer, _MOST))
    marks = [
        h.el("div", h.swatch(word, _COLOURS.get(word, _PLAIN)), " ", short(what, _MOST)) for word, what in step.marks
    ]
    return [answer, *marks]
