"""Options and the session they run in -> a graph, and what the session needs to know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.writer import writer
from deepnb.context.counting import Meter
from deepnb.engine.approvals import ApprovalMiddleware
from deepnb.engine.graph import Graph, OwnGraph
from deepnb.engine.images import takes_images
from deepnb.engine.request import tool_name
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.engine.tools import described
from deepnb.memory.flush import Flusher
from deepnb.memory.guarding import GuardMiddleware
from deepnb.memory.scoped import ScopedBackend
from deepnb.values.budget import Rule
from deepnb.values.cached import UNKNOWN, Caching
from deepnb.values.subagents import Subagent
from deepnb.wiring.agent import Files, agent, prompt_of
from deepnb.wiring.delegation import in_force
from deepnb.wiring.effects import effects
from deepnb.wiring.host import Host
from deepnb.wiring.layers import Layers
from deepnb.wiring.model import Measured, caching_of, main_model
from deepnb.wiring.options import Options
from deepnb.wiring.tool_text import in_words
from deepnb.workshop.approvals import Effects, state_of
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.namespace import namespace_tools


@dataclass(frozen=True)
class Built:
    """A graph ready to run, and what the session needs to know of it."""

    graph: Graph
    model: str
    """The name the model is shown under."""
    rule: Rule
    meter: Meter
    compaction: SummarizationMiddleware | None
    """That of the main agent; None where it is not deepnb's."""
    tools: tuple[tuple[str, str], ...]
    """(name, first line of its description) of each tool."""
    guard: GuardedBackend
    """What its tools write through."""
    flush: Flusher | None
    """The flush of the main agent; None where memory is switched off."""
    effects: Effects
    """What calls of its tools do."""
    nested: Mapping[str, Measured]
    """The models of the subagents that have one of their own, by agent."""
    stack: tuple[Any, ...]
    """The middleware of the main agent, the outermost first."""
    sees: bool
    """Whether its model sees images."""
    caching: Caching = UNKNOWN
    """How the provider of its model caches prompts."""
    prompt: str = ""
    """Its own instructions, before what the middleware adds."""
    form: Any = None
    """What its answers are to be; None for text."""
    bound: tuple[Any, ...] = ()
    """Its tools, those of the middleware included."""


def build(options: Options, host: Host, agents: Sequence[Subagent] = ()) -> Built:
    """The agent for these options; `agents` are the subagents of its files."""
    mine, guarded = main_model(options, host.recording), host.backend
    over_notebook = described([*namespace_tools(options.namespace), *code_tools(host, sees=takes_images(mine.model))])
    given = described(options.tools)

    def offered(own: Measured) -> list[Any]:
        kept = [tool for tool in given if tool_name(tool) not in options.tools_off]
        return [*in_words(over_notebook, options, own), *kept]

    there = in_force(options, agents)
    does = effects(options, there, host.undoable)
    layers = Layers(
        options,
        host,
        GuardMiddleware(guarded, options.eviction_threshold, host.taken.whole),
        *_approvals(host, does, guarded),
        host.takes,
    )
    files = Files(ScopedBackend(guarded, host.scope), ScopedBackend(guarded, lambda: host.scope().inside))
    made = agent(options, layers, there, mine, offered, files, checkpointer=host.checkpointer, store=options.store)
    return Built(
        graph=OwnGraph(made.graph, _end(made.graph), host.taken, host.sign, takes=host.takes),
        model=mine.label,
        rule=mine.rule,
        meter=mine.meter,
        compaction=made.common.compaction,
        tools=tuple(tool_lines(made.stack, made.tools).items()),
        guard=guarded,
        flush=made.common.flush,
        effects=does,
        nested=made.nested,
        stack=made.stack,
        sees=takes_images(mine.model),
        caching=caching_of(mine.model),
        prompt=prompt_of(options, mine),
        form=options.response_format,
        bound=(*(tool for one in made.stack for tool in getattr(one, "tools", ())), *made.tools),
    )


def _approvals(host: Host, does: Effects, backend: GuardedBackend) -> tuple[ApprovalMiddleware, ApprovalMiddleware]:
    """What asks about calls, and the seal inside the user's own middleware."""
    offered: set[str] = set()

    def made(*, seal: bool) -> ApprovalMiddleware:
        return ApprovalMiddleware(
            host.policy,
            does.of,
            lambda: writer().agent,
            seal=seal,
            offered=offered,
            problem=does.problem,
            sign=host.sign,
            before=lambda name, args: state_of(backend, does.target(name, args)),
        )

    return made(seal=False), made(seal=True)


def tool_lines(stack: Sequence[Any], tools: Sequence[Any]) -> dict[str, str]:
    """name -> first line of the description, of every tool the graph binds."""
    lines: dict[str, str] = {}
    for tool in [t for m in stack for t in getattr(m, "tools", ())] + list(tools):
        name = str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool"))
        words = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
        lines[name] = next((line.strip() for line in words.splitlines() if line.strip()), "")
    return lines


def _end(graph: Any) -> str:
    """The node a turn ends with: after_* hooks run in reverse order, so it is the first of them."""
    for hook in (".after_agent", ".after_model"):
        for node in graph.nodes:
            if node.endswith(hook):
                return str(node)
    return "model"
