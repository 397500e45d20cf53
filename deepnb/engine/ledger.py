"""What takes down the calls of a run, as its listener asks for it."""

from collections.abc import Sequence
from typing import Any, Protocol

from langchain_core.messages import BaseMessage

from deepnb.core import values
from deepnb.core.budget import Budget
from deepnb.core.request import Request


class Ledger(Protocol):
    """Takes down what each call was sent, and prices what it cost."""

    calls: int
    """Calls of the turn before this run."""

    def sent(
        self,
        messages: Sequence[BaseMessage],
        tools: Sequence[Any],
        path: values.Path,
        purpose: values.Purpose,
        agent: str,
    ) -> tuple[Budget, Request]:
        """What a request of an agent costs by part, and its pieces."""

    def answered(self, message: BaseMessage, agent: str) -> int:
        """Tokens of an agent's answer, by our own count."""

    def label(self, agent: str) -> str:
        """What the model of a subagent is called that has one of its own; empty for any other."""

    def with_cost(self, usage: values.Usage, model: str, path: values.Path, agent: str) -> values.Usage:
        """The usage with its cost, where the price is known."""
