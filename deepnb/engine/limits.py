"""What ends a turn before its model does: the user, too many steps, tokens or dollars, and calls that turn in a circle."""

from collections import Counter
from typing import Any

from deepnb.values.turn import Event, ModelEnded, Path, ToolEnded, ToolStarted

MOST = 3
"""Answers that may make the same calls and get the same results; the next one is not asked for."""


class Cancelled(KeyboardInterrupt):
    """Raised inside a run that was interrupted, wherever it next calls back."""


class LimitReached(Cancelled):
    """Raised before a model call that would pass one of the turn's limits; `str()` says which."""


class Limits:
    """Says when the next call is not to be made: steps are those of one agent, tokens and cost those of all."""

    def __init__(
        self, max_steps: int | None = None, max_tokens: int | None = None, max_cost: float | None = None
    ) -> None:
        self._max_steps = max_steps
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._steps: Counter[Path] = Counter()
        self._spent = 0
        self._paid = 0.0
        self._begun: dict[tuple[Path, str], ToolStarted] = {}
        self._made: dict[Path, list[tuple[str, Any, str]]] = {}
        """Agent -> (name, arguments, result) of the calls of its last answer."""
        self._before: dict[Path, tuple[list[tuple[str, Any, str]], int]] = {}
        """Agent -> the calls of the answer before it, and how many answers running made these."""

    def add(self, event: Event) -> None:
        match event:
            case ToolStarted():
                self._begun[event.path, event.id] = event
            case ToolEnded() if begun := self._begun.pop((event.path, event.id), None):
                self._made.setdefault(event.path, []).append((event.name, begun.args, event.result))
            case ModelEnded(call=call):
                self._spent += call.spent.input + call.spent.output
                self._paid += (call.usage and call.usage.cost) or 0.0

    def count(self, path: Path, agent: str) -> None:
        """Count a step that an agent is about to make; raise LimitReached if it is one too many."""
        if self._max_cost is not None and self._paid >= self._max_cost:
            raise LimitReached(f"reached the limit of ${self._max_cost:g}")
        if self._max_tokens is not None and self._spent >= self._max_tokens:
            plural = "s" if self._max_tokens != 1 else ""
            raise LimitReached(f"reached the limit of {self._max_tokens:,} token{plural}")
        if self._max_steps is not None and self._steps[path] >= self._max_steps:
            plural, where = "s" if self._max_steps != 1 else "", f" in the subagent {agent}" if path else ""
            raise LimitReached(f"reached the limit of {self._max_steps} step{plural}{where}")
        made = sorted(self._made.pop(path, []), key=repr)
        before, times = self._before.get(path, ([], 0))
        times = times + 1 if made == before else 1
        self._before[path] = made, times
        if made and times >= MOST:
            name = made[0][0]
            raise LimitReached(f"{name} was called {MOST} times running with the same arguments and the same result")
        self._steps[path] += 1
