"""The line under a turn: what it cost, how long it took, what the reader should know."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.asks import asks_to_write
from deepnb.core.prompt import MORE_TOOLS
from deepnb.core.values import Call, ToolStarted, Turn, Usage
from deepnb.views import html as h
from deepnb.views.numbers import cost, counted, seconds, tokens
from deepnb.views.text import page


@dataclass(frozen=True)
class FooterView:
    """Facts of a turn joined by dots, then a line for each thing out of the ordinary."""

    facts: tuple[str, ...]
    problem: str | None
    """`interrupted: ...` or `error: ...`."""
    lines: tuple[str, ...]

    def text(self) -> str:
        """The facts on one line, the rest below them."""
        problem = [self.problem] if self.problem else []
        return page([*([" · ".join(self.facts)] if self.facts else []), *problem, *self.lines])

    def html(self) -> str:
        """The footer, small and grey; only a problem stands out."""
        look = (
            f"{h.MUTED};font-size:12px;font-variant-numeric:tabular-nums;border-top:1px solid {h.LINE};padding-top:3px"
        )
        edge = f"border-left:3px solid {h.RED.format(0.8)};padding:0 8px;margin:4px 0"
        return h.box(
            h.el("div", " · ".join(self.facts), style=look) if self.facts else None,
            h.el("div", self.problem, style=edge) if self.problem else None,
            *(h.el("div", line, style=f"{h.MUTED};font-size:12px") for line in self.lines),
        )


def model_words(model: str) -> str:
    """A model's name; the teaching model is always said to be none."""
    return f"{model} (no LLM)" if model == "offline" else model


def _nested_tokens(calls: Sequence[Call]) -> str:
    """How much of a turn's tokens is of subagents."""
    spent = sum((call.spent for call in calls), Usage())
    return f", {tokens(spent.input + spent.output, spent.exact)} of these in subagents" if calls else ""


def _ended(turn: Turn) -> bool:
    """Whether a turn reached its end."""
    return bool(turn.error is None and turn.interrupted is None and not turn.asked and turn.calls)


def _is_empty(turn: Turn) -> bool:
    """Whether a turn that reached its end has an answer without text and without calls."""
    last = turn.after.messages[-1] if turn.after.messages else None
    return bool(_ended(turn) and last and last.role == "assistant" and not last.text.strip() and not last.tool_calls)


def footer_view(turn: Turn, *, filled: Sequence[str] = (), notes: Sequence[str] = ()) -> FooterView:
    """The footer of `turn`; `filled` names the placeholders that took a value of the kernel's."""
    usage = turn.usage
    facts = [f"turn {turn.number}", turn.thread]
    facts += [model_words(turn.model)] if turn.model else []
    nested = [call for call in turn.calls if call.path]
    facts.append(counted(len(turn.calls), "call") + (f", {len(nested)} in subagents" if nested else ""))
    sent, answered = tokens(usage.input, usage.exact), tokens(usage.output, usage.exact)
    cached = "" if usage.cached is None else f" / {usage.cached:,} cached"
    facts.append(f"{sent} in{cached} / {answered} out{_nested_tokens(nested)}")
    facts += [cost(usage.cost)] if usage.cost is not None else []
    facts.append(seconds(turn.seconds))
    problem = None
    if turn.error is not None:
        problem = f"error: {turn.error}"
    elif turn.interrupted is not None:
        problem = f"interrupted: {turn.interrupted}"
    if turn.error is not None and turn.after.next:
        notes = (*notes, "the turn can go on from where it stopped: %agent resume")
    elif _is_empty(turn):
        notes = (*notes, "the model gave an empty answer: run the cell again, or ask in other words")
    if _ended(turn) and not any(isinstance(e, ToolStarted) for e in turn.events) and asks_to_write(turn.prompt):
        notes = (*notes, "no tool was called: nothing was remembered or written")
    first = turn.calls[0].request if turn.number == 1 and turn.calls else None
    if first is not None and any(piece.label == MORE_TOOLS for piece in first.head):
        notes = (*notes, "few tools are offered, the others by name: %config DeepNB.tools = 'short' offers all")
    return FooterView(tuple(facts), problem, (*filled_lines(filled), *notes))


def filled_lines(filled: Sequence[str]) -> tuple[str, ...]:
    """The line that names the placeholders of a prompt that took a value; none where there are none."""
    names = ", ".join(name if name.startswith("{") else "{" + name + "}" for name in filled)
    return (f"filled in: {names}",) if names else ()
