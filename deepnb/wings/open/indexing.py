"""The entries of a session, arranged -> its turns."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from deepnb.views.text import counted
from deepnb.wings.open import items as it
from deepnb.wings.open.content import Builder, Told
from deepnb.wings.open.values import SessionFile, SessionIndex

_ALIKE = it.HEAD - 20
"""Characters by which a task is known."""


def indexed(arrangement: it.Arrangement, facts: Mapping[str, Any]) -> SessionFile:
    """Return a session, told turn by turn; `facts` are fields of its index that the arrangement does not tell."""
    agents = link(arrangement.agents, arrangement.main)
    builder = Builder(arrangement.main, {agent.call: agent for agent in agents}, facts.get("window"))
    turns = tuple(builder.build(number, told) for number, told in enumerate(split_turns(arrangement.main), 1))
    found = {**arrangement.counts, "subagents": len(agents)}
    counts, notices = {name: n for name, n in found.items() if n}, tuple(arrangement.notices)
    if left := len(arrangement.agents) - len(agents):
        notices += (f"{counted(left, 'nested agent')} that no call of a tool names: left out",)
    return SessionFile(SessionIndex(turns=turns, counts=counts, notices=notices, **facts))


def split_turns(entries: Sequence[it.Entry]) -> list[Told]:
    """Return the turns of a thread: each begins with a prompt; what comes before the first is one if a model replied."""
    made: list[Told] = [[]]
    for entry in entries:  # a line may end one turn and begin another
        if not entry.has(it.Prompt):
            made[-1].append((entry, entry.items))
            continue
        starts = {n for n, item in enumerate(entry.items) if isinstance(item, it.Prompt)}
        for start, end in pairwise([0, *sorted(starts - {0}), len(entry.items)]):
            made += [[]] if start in starts else []
            made[-1].append((entry, entry.items[start:end]))
    first, *later = made
    if any(entry.has(it.Reply, it.Tool, it.Result, it.Compaction) for entry, _ in first):
        return made
    for told in later[:1]:
        told[:0] = first
    return later


# -- nested agents, and the tool calls that started them


def link(agents: Sequence[it.Agent], main: Iterable[it.Entry]) -> list[it.Agent]:
    """Return the agents whose calls are found: by the id that the result of the call names, or by the task's words."""
    if not agents:
        return []
    entries = [*main, *(entry for agent in agents for entry in agent.entries)]
    items = [(entry, item) for entry in entries for item in entry.items if isinstance(item, it.Tool | it.Result)]
    by_result = {item.agent: item.id for _, item in items if isinstance(item, it.Result) and item.agent}
    tasks = [(entry, item) for entry, item in items if isinstance(item, it.Tool) and item.task]
    for agent in agents:
        agent.call = agent.call or by_result.get(agent.id, "")
    taken = {agent.call for agent in agents}
    for agent in agents:
        prompts = (item.text.strip() for entry in agent.entries for item in entry.items if isinstance(item, it.Prompt))
        if not agent.call and (asked := next(prompts, "")[:_ALIKE]):
            own = set(map(id, agent.entries))
            others = (t for e, t in tasks if t.id not in taken and id(e) not in own)
            agent.call = next((t.id for t in others if t.task.strip()[:_ALIKE] == asked), "")
            taken.add(agent.call)
    names = {item.id: item.text for _, item in tasks}
    for agent in agents:
        agent.name = agent.name or names.get(agent.call, "")
    return [agent for agent in agents if agent.call]
