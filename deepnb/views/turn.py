"""A turn that is over: what was asked, what was done and said, and below it a line with what it cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepnb.gate.own_words import asks_to_write
from deepnb.values.request import MORE_TOOLS
from deepnb.values.turn import ModelStarted, Notice, ToolEnded, ToolStarted, Turn, Usage
from deepnb.views import html as h
from deepnb.views.text import clean, cost, counted, middle_cut, page, quoted, seconds, tokens
from deepnb.views.tool import call_line
from deepnb.views.turn_segments import turn_segments

_STEPS = 25
"""Calls of the model at the beginning and at the end of a long turn that are shown."""
_RESULTS, _ENDS = 400_000, (1_500, 500)
"""Characters of all results of a turn from which on of each only the ends are shown, and of these ends."""


@dataclass(frozen=True)
class TurnView:
    """The prompt, all that the cell showed below it, and the footer."""

    turn: Turn
    asked: bool = True

    def text(self) -> str:
        asked = [*quoted(clean(self.turn.prompt)), ""] if self.asked else []
        said = turn_segments(self.turn).text()
        return page([*asked, *([said] if said else []), *self._waiting, footer_view(self.turn).text()])

    def html(self) -> str:
        look = f"border-left:3px solid {h.LINE};padding:1px 10px;white-space:pre-wrap;word-wrap:break-word"
        asked = h.box(h.el("div", self.turn.prompt, style=look)) if self.asked else None
        waiting = [h.el("div", line) for line in self._waiting]
        said = h.Html(turn_segments(self.turn).html())
        return h.el("div", asked, said, *waiting, h.Html(footer_view(self.turn).html()))

    @property
    def _waiting(self) -> list[str]:
        lines = [f"needs approval: {call_line(call.name, call.args)}" for call in self.turn.asked]
        return [*lines, "%agent panel approvals shows all of it"] if lines else []


def long_turn_view(turn: Turn) -> TurnView:
    """Return a turn as it was shown; of one with very many steps the first and the last."""
    if sum(len(e.result) for e in turn.events if isinstance(e, ToolEnded)) > _RESULTS:
        cut = (replace(e, result=middle_cut(e.result, *_ENDS)) if isinstance(e, ToolEnded) else e for e in turn.events)
        turn = replace(turn, events=tuple(cut))
    events, steps = turn.events, [n for n, e in enumerate(turn.events) if isinstance(e, ModelStarted) and not e.path]
    if len(steps) <= 2 * _STEPS:
        return TurnView(turn)
    note = Notice(f"{len(steps) - 2 * _STEPS:,} steps are left out here: %agent transcript has them")
    return TurnView(replace(turn, events=(*events[: steps[_STEPS]], note, *events[steps[-_STEPS] :])))


@dataclass(frozen=True)
class FooterView:
    """Facts of a turn joined by dots, then a line for each thing out of the ordinary."""

    facts: tuple[str, ...]
    problem: str | None
    """`interrupted: ...` or `error: ...`."""
    lines: tuple[str, ...]

    def text(self) -> str:
        problem = [self.problem] if self.problem else []
        return page([*([" · ".join(self.facts)] if self.facts else []), *problem, *self.lines])

    def html(self) -> str:
        look = f"{h.MUTED};font-size:12px;font-variant-numeric:tabular-nums"
        look = f"{look};border-top:1px solid {h.LINE};padding-top:3px"
        edge = f"border-left:3px solid {h.RED.format(0.8)};padding:0 8px;margin:4px 0"
        return h.box(
            h.el("div", " · ".join(self.facts), style=look) if self.facts else None,
            h.el("div", self.problem, style=edge) if self.problem else None,
            *map(h.small, self.lines),
        )


def model_words(model: str) -> str:
    """Return a model's name; the teaching model is always said to be none."""
    return f"{model} (no LLM)" if model == "offline" else model


def footer_view(turn: Turn, *, filled: Sequence[str] = (), notes: Sequence[str] = ()) -> FooterView:
    """Return the footer of `turn`; `filled` names the placeholders that took a value of the kernel's."""
    usage = turn.usage
    facts = [f"turn {turn.number}", turn.thread]
    facts += [model_words(turn.model)] if turn.model else []
    nested = [call for call in turn.calls if call.path]
    facts.append(counted(len(turn.calls), "call") + (f", {len(nested)} in subagents" if nested else ""))
    sent, answered = tokens(usage.input, usage.exact), tokens(usage.output, usage.exact)
    cached = "" if usage.cached is None else f" / {usage.cached:,} cached"
    spent = sum((call.spent for call in nested), Usage())
    inside = f", {tokens(spent.input + spent.output, spent.exact)} of these in subagents" if nested else ""
    facts.append(f"{sent} in{cached} / {answered} out{inside}")
    facts += [cost(usage.cost)] if usage.cost is not None else []
    facts.append(seconds(turn.seconds))
    ended = turn.error is None and turn.interrupted is None and not turn.asked and bool(turn.calls)
    last = turn.after.messages[-1] if turn.after.messages else None
    problem = None
    if turn.error is not None:
        problem = f"error: {turn.error}"
    elif turn.interrupted is not None:
        problem = f"interrupted: {turn.interrupted}"
    if turn.error is not None and turn.after.next:
        notes = (*notes, "the turn can go on from where it stopped: %agent resume")
    elif ended and last and last.role == "assistant" and not last.text.strip() and not last.tool_calls:
        notes = (*notes, "the model gave an empty answer: run the cell again, or ask in other words")
    if ended and not any(isinstance(e, ToolStarted) for e in turn.events) and asks_to_write(turn.prompt):
        notes = (*notes, "no tool was called: nothing was remembered or written")
    first = turn.calls[0].request if turn.number == 1 and turn.calls else None
    if first is not None and any(piece.label == MORE_TOOLS for piece in first.head):
        notes = (*notes, "few tools are offered, the others by name: %config DeepNB.tools = 'short' offers all")
    return FooterView(tuple(facts), problem, (*filled_lines(filled), *notes))


def filled_lines(filled: Sequence[str]) -> tuple[str, ...]:
    """Return the line that names the placeholders of a prompt that took a value; none where there are none."""
    names = ", ".join(name if name.startswith("{") else "{" + name + "}" for name in filled)
    return (f"filled in: {names}",) if names else ()
