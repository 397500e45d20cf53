"""What calls of an agent's tools do: by which it is decided whether they need approval."""

from collections.abc import Callable, Sequence
from typing import Any

from deepnb.values.agent import Subagent
from deepnb.values.approvals import Effect
from deepnb.wiring.options import Options
from deepnb.workshop.approvals import Effects, marked


def effects(options: Options, agents: Sequence[Subagent], undoable: Callable[[str], bool]) -> Effects:
    """What calls of the tools of an agent and its nested ones do; `undoable` says it of a path."""
    given: dict[str, Effect] = {}
    for name, tool in own_tools(options, agents):
        does = marked(tool)
        given[name] = does if given.get(name, does) == does else "outside"
    return Effects(
        undoable, given, frozenset(agent.name for agent in agents if "runnable" in agent.more), options.namespace
    )


def own_tools(options: Options, agents: Sequence[Subagent]) -> list[tuple[str, Any]]:
    """(name, tool) of each of the user's own, those of nested agents and of middleware included."""
    own = [tool for agent in agents for tool in agent.tools or () if not isinstance(tool, str)]
    layers = [*options.middleware, *(m for agent in agents for m in agent.more.get("middleware", ()))]
    found = [*options.tools, *own, *(t for m in layers for t in getattr(m, "tools", ()))]
    return [(str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool")), tool) for tool in found]
