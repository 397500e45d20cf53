"""The only place where the graph is wired."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepagents.middleware.filesystem import FilesystemMiddleware, supports_execution
from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain.agents import create_agent

from deepnb.agent.approvals import effects
from deepnb.agent.delegation import delegation, in_force
from deepnb.agent.measured import Measured, main_model
from deepnb.agent.options import Options
from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.writer import writer
from deepnb.context import history
from deepnb.context.counting import Meter
from deepnb.core.approvals import Policy
from deepnb.core.budget import Rule
from deepnb.core.subagents import FILE_TOOLS, Subagent
from deepnb.engine.approvals import ApprovalMiddleware
from deepnb.engine.delegation import DelegationMiddleware
from deepnb.engine.state_backend import KernelState
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.memory.budget import memory_budget
from deepnb.memory.flush import Flusher
from deepnb.memory.guarding import GuardMiddleware
from deepnb.memory.layers import ALWAYS
from deepnb.memory.middleware import memory_middleware
from deepnb.memory.nested import NestedMemoryMiddleware
from deepnb.memory.scope import MAIN, Scope
from deepnb.memory.scoped import ScopedBackend
from deepnb.memory.searching import MemorySearch
from deepnb.memory.tools import MemoryToolsMiddleware
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.workshop.approvals import Effects
from deepnb.workshop.namespace import namespace_tools


@dataclass(frozen=True)
class Built:
    """A graph ready to run, and what the session needs to know of it."""

    graph: Any
    model: str
    """The name the model is shown under."""
    rule: Rule
    meter: Meter
    compaction: SummarizationMiddleware
    """That of the main agent."""
    tools: tuple[tuple[str, str], ...]
    """(name, first line of its description) of each tool."""
    guard: GuardedBackend
    """What its tools write through."""
    flush: Flusher | None
    """The flush of the main agent; None where memory is switched off."""
    exit: str
    """The last node of a turn: state written as from it leaves nothing to run."""
    effects: Effects
    """What calls of its tools do."""
    nested: Mapping[str, Measured]
    """The models of the subagents that have one of their own, by agent."""
    stack: tuple[Any, ...]
    """The middleware of the main agent, the outermost first."""


def build(
    options: Options,
    guarded: GuardedBackend,
    checkpointer: Any,
    clock: Callable[[], str],
    scope: Callable[[], Scope] = lambda: MAIN,
    search: Callable[[], MemorySearch] | None = None,
    agents: Sequence[Subagent] = (),
    policy: Callable[[], Policy] = Policy,
    undoable: Callable[[str], bool] = lambda path: True,
) -> Built:
    """The agent for these options: the seeds' order, memory outermost, so that the trigger counts all that is sent.

    `scope` is that of the thread whose turn is running, `search` gives the index of its memory, `agents` are the
    subagents of its files, `policy` says which calls need the user's word just now, `undoable` of a path whether
    what is done to it can be taken back.
    """
    mine = main_model(options)
    model, rule, meter = mine.model, mine.rule, mine.meter
    tools = [*namespace_tools(options.namespace), *options.tools]

    guard = GuardMiddleware(guarded, options.eviction_threshold)
    does = effects(options, in_force(options, agents), undoable)
    approvals = ApprovalMiddleware(policy, does.of, lambda: writer().agent)
    seal = ApprovalMiddleware(policy, does.of, lambda: writer().agent, seal=True)
    backend = ScopedBackend(guarded, scope)
    inside = ScopedBackend(guarded, lambda: scope().inside)

    def base(
        backend: ScopedBackend,
        own: Measured,
        names: Sequence[str] | None = None,
        task: DelegationMiddleware | None = None,
        rebased: Callable[[Any], Any] | None = None,
    ) -> list[Any]:
        """What every agent has, main or nested: `names` limits the file tools, `task` lets it call others."""
        files = _files(backend, options, names) if options.enable_filesystem else []
        flush = Flusher(backend, own.model) if options.enable_memory else None
        compaction = SummarizationMiddleware(
            own.model,
            backend=backend,
            rule=own.rule,
            measure=own.meter.budget,
            count=own.meter.count,
            clock=clock,
            addition=history.addition,
            flush=flush,
            rebased=rebased,
        )
        return [*files, *([task] if task else ()), compaction, PatchToolCallsMiddleware(), guard, approvals]

    task: DelegationMiddleware | None = None
    nested: dict[str, Measured] = {}
    if options.enable_subagents:
        task, nested = delegation(
            options,
            in_force(options, agents),
            inside,
            mine,
            tools,
            lambda own, names, task: base(inside, own, names, task),
            seal,
        )

    stack: list[Any] = []
    rebased = None
    if options.enable_memory:
        budget = options.memory_budget or memory_budget(rule.window)
        memory = memory_middleware(
            backend, options.memory, options.memory_refresh, budget, meter.count, lambda: clock()[:10]
        )
        rebased = memory.rebased if options.memory_refresh == "delta" else None
        stack += [memory, NestedMemoryMiddleware(backend, (*options.memory, *ALWAYS), budget, meter.count)]
        stack.append(MemoryToolsMiddleware(backend, options.memory, clock, search))
    if options.enable_skills:
        stack.append(SkillsMiddleware(backend, options.skills))
    main = base(backend, mine, task=task, rebased=rebased)
    stack += [*main, *options.middleware, *([seal] if options.middleware else ())]
    graph = create_agent(
        model,
        tools,
        system_prompt=options.system_prompt or None,
        middleware=stack,
        state_schema=KernelState,
        checkpointer=checkpointer,
        store=options.store,
    ).with_config({"recursion_limit": 10_000})
    lines = _tool_lines(stack, tools)
    if not supports_execution(guarded.inner):
        lines.pop("execute", None)
    compaction = next(m for m in main if isinstance(m, SummarizationMiddleware))
    flush = Flusher(backend, model) if options.enable_memory else None
    named = tuple(lines.items())
    return Built(
        graph, mine.label, rule, meter, compaction, named, guarded, flush, _exit(graph), does, nested, tuple(stack)
    )


def _files(backend: Any, options: Options, names: Sequence[str] | None) -> list[Any]:
    """The file tools, or only some: `read_file` comes with any of them."""
    chosen: Any = None if names is None else [name for name in FILE_TOOLS if name in names]
    if chosen == []:
        return []
    tools = None if chosen is None else list(dict.fromkeys(["read_file", *chosen]))
    evict = options.eviction_threshold
    return [FilesystemMiddleware(backend=backend, tool_token_limit_before_evict=evict, tools=tools)]


def _tool_lines(stack: list[Any], tools: list[Any]) -> dict[str, str]:
    """name -> first line of the description, of every tool the graph binds."""
    lines: dict[str, str] = {}
    for tool in [t for m in stack for t in getattr(m, "tools", ())] + tools:
        name = str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool"))
        words = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
        lines[name] = next((line.strip() for line in words.splitlines() if line.strip()), "")
    return lines


def _exit(graph: Any) -> str:
    """The node a turn ends with: after_* hooks run in reverse order, so it is the first of them."""
    for hook in (".after_agent", ".after_model"):
        for node in graph.nodes:
            if node.endswith(hook):
                return str(node)
    return "model"
