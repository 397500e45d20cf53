"""What calls of an agent's tools do: by which it is decided whether they need approval."""

from collections.abc import Sequence

from deepnb.core.approvals import Effect
from deepnb.core.subagents import Subagent
from deepnb.wiring.host import Host
from deepnb.wiring.options import Options
from deepnb.workshop.approvals import Effects, marked


def effects(options: Options, agents: Sequence[Subagent], host: Host) -> Effects:
    """What calls of the tools of an agent and its nested ones do."""
    given: dict[str, Effect] = {}
    own = [tool for agent in agents for tool in agent.tools or () if not isinstance(tool, str)]
    layers = [*options.middleware, *(m for agent in agents for m in agent.more.get("middleware", ()))]
    for tool in [*options.tools, *own, *(t for m in layers for t in getattr(m, "tools", ()))]:
        name = str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool"))
        does = marked(tool)
        given[name] = does if given.get(name, does) == does else "outside"
    return Effects(
        host.undoable, given, frozenset(agent.name for agent in agents if "runnable" in agent.more), options.namespace
    )
