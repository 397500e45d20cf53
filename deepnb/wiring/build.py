"""Options and the session they run in -> a graph, and what the session needs to know of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents import create_agent

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.writer import writer
from deepnb.context.counting import Meter
from deepnb.engine.approvals import ApprovalMiddleware
from deepnb.engine.graph import Graph, OwnGraph
from deepnb.engine.images import takes_images
from deepnb.engine.request import tool_name
from deepnb.engine.state_backend import KernelState
from deepnb.engine.structured import Form, StructuredMiddleware
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.engine.tools import LeanToolsMiddleware, described
from deepnb.memory.guarding import GuardMiddleware, ScopedBackend
from deepnb.subagents.delegation import DelegationMiddleware
from deepnb.values.agent import Subagent
from deepnb.values.budget import Rule
from deepnb.values.request import MORE_TOOLS, SYSTEM_PROMPT, default_prompt, lean_prompt
from deepnb.values.xray import UNKNOWN, Caching
from deepnb.wiring.delegation import Tools, delegation, in_force
from deepnb.wiring.layers import Common, Host, Layers
from deepnb.wiring.model import Measured, caching_of, main_model
from deepnb.wiring.options import Options, effects, own_tools
from deepnb.wiring.tool_text import LEAN, in_words, tool_text
from deepnb.workshop.approvals import Effects, state_of
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.namespace import namespace_tools

# -- an agent wired of its layers: what a session and a LangGraph server have in common


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
    """Return the agent of these options: all that adds to the prompt outside of compaction, so that the trigger counts it.

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
    """Return the instructions; ours name no tool that is not there."""
    if options.system_prompt != SYSTEM_PROMPT:
        return options.system_prompt
    files = options.enable_filesystem and not {"ls", "read_file"} & {*options.tools_off}
    return lean_prompt(files=files) if tool_text(options, mine) == "lean" else default_prompt(files=files)


def _lean(options: Options, mine: Measured, whole: Callable[[Any], Any], bound: Sequence[Any]) -> tuple[Any, ...]:
    """Return what leaves all but a few tools, and the user's own, out of the requests of a lean profile."""
    if tool_text(options, mine) != "lean":
        return ()
    kept = {*LEAN, *(name for name, _ in own_tools(options, ()))}
    others = {tool.name: tool for tool in bound if getattr(tool, "name", None) not in (None, *kept)}
    return (LeanToolsMiddleware(others, whole, offered=MORE_TOOLS not in options.tools_off),) if others else ()


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
    """Return the agent for these options; `agents` are the subagents of its files."""
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
    """Return what asks about calls, and the seal inside the user's own middleware."""
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
    """Return the node a turn ends with: after_* hooks run in reverse order, so it is the first of them."""
    for hook in (".after_agent", ".after_model"):
        for node in graph.nodes:
            if node.endswith(hook):
                return str(node)
    return "model"
