"""The ledger of a run: what each model call was really sent, and what it cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from deepnb.context.counting import Meter
from deepnb.values.budget import Budget
from deepnb.values.request import Request
from deepnb.values.turn import Call, Event, ModelStarted, Path, Price, Purpose, TextDelta, Usage, cost_of, price_of


class Recorder:
    """Takes down the calls of one run; `begun` are the events of its turn so far, after those of `before`.

    Each request shares its pieces with the one before it of the same agent and purpose.
    """

    def __init__(
        self,
        meter: Meter,
        begun: Sequence[Event] = (),
        before: Request | None = None,
        prices: Mapping[str, Price] | None = None,
        label: str = "",
        nested: Mapping[str, tuple[Meter, str]] | None = None,
    ) -> None:
        """`nested` gives, by agent, the counter and the label of a model that is not the main agent's."""
        # calls of a turn that was read
        said = max((event.call for event in begun if isinstance(event, TextDelta)), default=0)
        self.calls = max(said, sum(isinstance(event, ModelStarted) for event in begun))
        self._meter = meter
        self._prices = prices or {}
        self._label = label
        self._nested = nested or {}
        self._last: dict[tuple[Path, Purpose], Request] = {((), "answer"): before} if before else {}
        for event in begun:
            if isinstance(event, ModelStarted) and event.call.request is not None:
                self._last[event.path, event.call.purpose] = event.call.request

    def sent(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any], path: Path, purpose: Purpose, agent: str = ""
    ) -> tuple[Budget, Request]:
        """Return what a request of an agent costs by part, and its pieces."""
        budget, request = self._meter_of(agent).measured(messages, tools, self._last.get((path, purpose)))
        self._last[path, purpose] = request
        return budget, request

    def answered(self, message: BaseMessage, agent: str = "") -> int:
        """Return tokens of an agent's answer, by our own count."""
        return self._meter_of(agent).answer(message)

    def _meter_of(self, agent: str) -> Meter:
        return self._nested[agent][0] if agent in self._nested else self._meter

    def label(self, agent: str) -> str:
        """Return what the model of a subagent is called that has one of its own; empty for any other."""
        return self._nested[agent][1] if agent in self._nested else ""

    def reported(self, usage: Usage, call: Call) -> Usage:
        """Learn from what a provider reported of a call; return it with its cost, if a price was given for the model."""
        if call.request is not None:
            self._meter_of(call.agent).report(call.request, usage.input)
        if not call.model and call.path:
            return usage
        price = price_of(self._prices, call.model, self.label(call.agent) or self._label)
        return usage if price is None else replace(usage, cost=cost_of(usage, price))


def last_request(events: Sequence[Event]) -> Request | None:
    """Return the main agent's last request for an answer."""
    calls = (event.call for event in reversed(events) if isinstance(event, ModelStarted) and not event.path)
    return next((call.request for call in calls if call.purpose == "answer"), None)
