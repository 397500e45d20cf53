"""A turn that is over: what was asked, what was done and said, what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepnb.core.values import ModelStarted, Notice, ToolEnded, Turn
from deepnb.views import html as h
from deepnb.views.data_images import without_data
from deepnb.views.footer import footer_view
from deepnb.views.numbers import counted
from deepnb.views.text import clean, middle_cut, page, quoted, short
from deepnb.views.tool import call_line
from deepnb.views.turn_segments import ToolSegment, turn_segments

_CALLS = 6
"""Tool calls that a turn in short lists, its last ones."""
_PROMPT = 160
_STEPS = 25
"""Calls of the model at the beginning and at the end of a long turn that are shown."""
_RESULTS, _ENDS = 400_000, (1_500, 500)
"""Characters of all results of a turn from which on of each only the ends are shown, and of these ends."""


@dataclass(frozen=True)
class TurnView:
    """The prompt, all that the cell showed of it, and the footer."""

    turn: Turn

    def text(self) -> str:
        """The prompt beside a stroke, the rest as the cell showed it."""
        return _text(self.turn, self.turn.prompt, [turn_segments(self.turn).text()])

    def html(self) -> str:
        """The turn with its tool cards."""
        return _html(self.turn, self.turn.prompt, h.Html(turn_segments(self.turn).html()))


@dataclass(frozen=True)
class OutcomeView:
    """What the cell shows below a prompt, and the footer."""

    turn: Turn

    def text(self) -> str:
        """As the cell showed it."""
        return _text(self.turn, None, [turn_segments(self.turn).text()])

    def html(self) -> str:
        """The turn with its tool cards."""
        return _html(self.turn, None, h.Html(turn_segments(self.turn).html()))


@dataclass(frozen=True)
class ShortTurnView:
    """The beginnings of prompt and answer, a line for each tool call, and the footer."""

    turn: Turn
    room: int
    """Characters of the answer."""

    @property
    def calls(self) -> Sequence[str]:
        """The last tool calls of the main agent; those before them are counted."""
        segments = turn_segments(self.turn).segments
        calls = [f"→ {call_line(s.name, s.args)}" for s in segments if isinstance(s, ToolSegment)]
        earlier = len(calls) - _CALLS
        return [*([f"{counted(earlier, 'earlier tool call')}"] if earlier > 0 else []), *calls[-_CALLS:]]

    @property
    def prompt(self) -> str:
        """Its first words."""
        return short(self.turn.prompt, _PROMPT)

    @property
    def answer(self) -> str:
        """Its beginning, and how much more there is."""
        return middle_cut(without_data(self.turn.text).strip(), self.room, 0).strip()

    def text(self) -> str:
        """Prompt, calls, answer and footer below each other."""
        return _text(self.turn, self.prompt, [*self.calls, *([""] if self.calls else []), self.answer])

    def html(self) -> str:
        """The turn, its answer as Markdown."""
        from deepnb.views.markdown import markdown_html

        calls = [h.el("div", h.code(line)) for line in self.calls]
        return _html(self.turn, self.prompt, h.box(*calls, markdown_html(self.answer)))


def long_turn_view(turn: Turn) -> TurnView:
    """A turn as it was shown; of one with very many steps the first and the last."""
    turn = _lighter(turn)
    events, steps = turn.events, [n for n, e in enumerate(turn.events) if isinstance(e, ModelStarted) and not e.path]
    if len(steps) <= 2 * _STEPS:
        return TurnView(turn)
    left = len(steps) - 2 * _STEPS
    note = Notice(f"{left:,} steps are left out here: %agent transcript has them")
    return TurnView(replace(turn, events=(*events[: steps[_STEPS]], note, *events[steps[-_STEPS] :])))


def _lighter(turn: Turn) -> Turn:
    """The turn; where its results are very long together, with the ends of each alone."""
    if sum(len(e.result) for e in turn.events if isinstance(e, ToolEnded)) <= _RESULTS:
        return turn
    cut = (replace(e, result=middle_cut(e.result, *_ENDS)) if isinstance(e, ToolEnded) else e for e in turn.events)
    return replace(turn, events=tuple(cut))


def _text(turn: Turn, prompt: str | None, body: Sequence[str]) -> str:
    asked = [*quoted(clean(prompt)), ""] if prompt is not None else []
    said = body if any(body) else []
    return page([*asked, *said, *_waiting(turn), footer_view(turn).text()])


def _html(turn: Turn, prompt: str | None, body: h.Html) -> h.Html:
    look = f"border-left:3px solid {h.LINE};padding:1px 10px;white-space:pre-wrap;word-wrap:break-word"
    asked = h.box(h.el("div", prompt, style=look)) if prompt is not None else None
    waiting = [h.el("div", line) for line in _waiting(turn)]
    return h.el("div", asked, body, *waiting, h.Html(footer_view(turn).html()))


def _waiting(turn: Turn) -> list[str]:
    """The calls that the turn stopped at, a line each."""
    lines = [f"needs approval: {call_line(call.name, call.args)}" for call in turn.asked]
    return [*lines, "%agent panel approvals shows all of it"] if lines else []
