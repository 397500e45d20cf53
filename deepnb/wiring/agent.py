"""An agent wired of its layers: what a session and a LangGraph server have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent

from deepnb.engine.delegation import DelegationMiddleware
from deepnb.engine.state_backend import KernelState
from deepnb.engine.structured import Form, StructuredMiddleware
from deepnb.engine.tools import LeanToolsMiddleware
from deepnb.values.prompt import MORE_TOOLS, SYSTEM_PROMPT, default_prompt, lean_prompt
from deepnb.values.subagents import Subagent
from deepnb.wiring.delegation import Tools, delegation
from deepnb.wiring.effects import own_tools
from deepnb.wiring.layers import Common, Layers
from deepnb.wiring.model import Measured
from deepnb.wiring.options import Options
from deepnb.wiring.tool_text import LEAN, tool_text


@dataclass(frozen=True)
class Files:
    """The files of an agent, as it sees them itself, and as those nested in it do."""

    main: Any
    nested: Any


@dataclass(frozen=True)
class Agent:
    """A compiled graph, and what it was made of."""

    graph: Any
    stack: tuple[Any, ...]
    """The middleware of the main agent, the outermost first."""
    tools: Sequence[Any]
    """The tools of the agent, without those of the middleware."""
    common: Common
    nested: Mapping[str, Measured]
    """The models of the subagents that have one of their own, by agent."""


def agent(
    options: Options,
    layers: Layers,
    agents: Sequence[Subagent],
    mine: Measured,
    offered: Tools,
    files: Files,
    *,
    first: Sequence[Any] = (),
    checkpointer: Any = None,
    store: Any = None,
) -> Agent:
    """The agent of these options: all that adds to the prompt outside of compaction, so that the trigger counts it.

    `agents` are the subagents in force, `first` is middleware outside of all other.
    """

    def base(own: Measured, names: Sequence[str] | None, task: DelegationMiddleware | None) -> list[Any]:
        return list(layers.common(files.nested, own, names=names, task=task).middleware)

    tools = offered(mine)
    task, nested = delegation(options, agents, files.nested, mine, offered, base, layers.own)
    memory = layers.memory(files.main, mine)
    common = layers.common(files.main, mine, task=task, memory=memory)
    own = layers.own(options.middleware, mine)
    form = None if options.response_format is None else Form(options.response_format)
    structured = () if form is None else (StructuredMiddleware(form),)
    stack = (*memory.middleware, *layers.skills(files.main), *structured, *common.middleware, *own)
    stack = (
        *first,
        *_lean(options, mine, layers.guard.whole, [*(t for m in stack for t in getattr(m, "tools", ())), *tools]),
        *stack,
    )
    graph = create_agent(
        mine.model,
        tools,
        system_prompt=prompt_of(options, mine) or None,
        middleware=stack,
        response_format=None if form is None else form.strategy(),
        state_schema=KernelState,
        checkpointer=checkpointer,
        store=store,
    ).with_config({"recursion_limit": 10_000})
    return Agent(graph, stack, tools, common, nested)


def prompt_of(options: Options, mine: Measured) -> str:
    """The instructions; ours name no tool that is not there."""
    if options.system_prompt != SYSTEM_PROMPT:
        return options.system_prompt
    files = options.enable_filesystem and not {"ls", "read_file"} & {*options.tools_off}
    return lean_prompt(files=files) if tool_text(options, mine) == "lean" else default_prompt(files=files)


def _lean(options: Options, mine: Measured, whole: Callable[[Any], Any], bound: Sequence[Any]) -> tuple[Any, ...]:
    """What leaves all but a few tools, and the user's own, out of the requests of a lean profile."""
    if tool_text(options, mine) != "lean":
        return ()
    kept = {*LEAN, *(name for name, _ in own_tools(options, ()))}
    others = {tool.name: tool for tool in bound if getattr(tool, "name", None) not in (None, *kept)}
    return (LeanToolsMiddleware(others, whole, offered=MORE_TOOLS not in options.tools_off),) if others else ()
