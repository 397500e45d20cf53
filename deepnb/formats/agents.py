"""Nested agents, and the tool calls that started them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deepnb.formats.items import HEAD, Agent, Entry, Prompt, Result, Tool

_ALIKE = HEAD - 20
"""Characters by which a task is known."""


def link(agents: Sequence[Agent], entries: Iterable[Entry]) -> None:
    """Find the tool call that started each agent: by the id its result names, or by the task's words."""
    items = [(entry, item) for entry in entries for item in entry.items if isinstance(item, Tool | Result)]
    by_result = {item.agent: item.id for _, item in items if isinstance(item, Result) and item.agent}
    tasks = [(entry, item) for entry, item in items if isinstance(item, Tool) and item.task]
    taken = {agent.call for agent in agents if agent.call}
    for agent in agents:
        agent.call = agent.call or by_result.get(agent.id, "")
        taken.add(agent.call)
    for agent in agents:
        if not agent.call and (asked := _first_words(agent)):
            own = set(map(id, agent.entries))
            fitting = (t for e, t in tasks if t.id not in taken and id(e) not in own and _alike(t.task, asked))
            if (task := next(fitting, None)) is not None:
                agent.call = task.id
                taken.add(task.id)
    names = {item.id: item.text for _, item in tasks}
    for agent in agents:
        agent.name = agent.name or names.get(agent.call, "")


def _first_words(agent: Agent) -> str:
    return next((i.text for e in agent.entries for i in e.items if isinstance(i, Prompt)), "")


def _alike(task: str, asked: str) -> bool:
    return bool(task.strip()) and task.strip()[:_ALIKE] == asked.strip()[:_ALIKE]
