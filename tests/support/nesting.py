"""A chat model that hands tasks on as the tasks themselves say: a plan of nested agents, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import Field

from tests.support.scripted import Scripted


@dataclass(frozen=True)
class Plan:
    """What an agent does: it hands on these tasks at once, each to an agent of that name, then says what came back."""

    name: str
    tasks: tuple[tuple[str, Plan], ...] = ()

    def told(self) -> dict[str, Any]:
        return {"name": self.name, "tasks": [[agent, plan.told()] for agent, plan in self.tasks]}

    def __str__(self) -> str:
        return json.dumps(self.told())

    def within(self, depth: int) -> Iterator[tuple[str, ...]]:
        """The chains of names that may run where agents are nested at most `depth` deep."""
        yield (self.name,)
        if depth:
            for _, plan in self.tasks:
                yield from ((self.name, *chain) for chain in plan.within(depth - 1))

    def refused(self, depth: int) -> int:
        """How many tasks are handed on at the limit."""
        return sum(plan.refused(depth - 1) for _, plan in self.tasks) if depth else len(self.tasks)


class Planned(Scripted):
    """Does what the plan in its last request says; `NAME(answer, answer)` is what it says in the end."""

    answers: list[Any] = Field(default_factory=list)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.requests.append(messages)
        at = max(i for i, m in enumerate(messages) if m.type == "human")
        plan = json.loads(str(messages[at].content))
        results = [str(m.content) for m in messages[at:] if m.type == "tool"]
        if not plan["tasks"] or results:
            return AIMessage(f"{plan['name']}({', '.join(results)})")
        calls = [
            {"name": "task", "args": {"description": json.dumps(inner), "subagent_type": agent}, "id": inner["name"]}
            for agent, inner in plan["tasks"]
        ]
        return AIMessage("", tool_calls=calls)
