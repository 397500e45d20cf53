"""The only place where the graph is wired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deepagents.middleware.filesystem import FilesystemMiddleware, supports_execution
from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from deepagents.middleware.subagents import GENERAL_PURPOSE_SUBAGENT, SubAgentMiddleware
from langchain.agents import create_agent

from deepnb.agent.options import Options
from deepnb.backends.guarded import GuardedBackend
from deepnb.context import history
from deepnb.context.counting import BY_SCRIPT, Counter, Meter
from deepnb.context.encodings import encoding_of
from deepnb.core import tokenizer
from deepnb.core.budget import Rule, rule_for
from deepnb.engine import keys
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
from deepnb.models.resolve import is_teaching, resolve
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.workshop.namespace import namespace_tools

_PRIVATE = frozenset({keys.MEMORY, keys.SKILLS, keys.SKILL_ERRORS, keys.OFFLOAD, keys.OFFLOAD_ID})
"""State that a subagent neither inherits nor returns."""


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


def build(
    options: Options,
    guarded: GuardedBackend,
    checkpointer: Any,
    clock: Callable[[], str],
    scope: Callable[[], Scope] = lambda: MAIN,
    search: Callable[[], MemorySearch] | None = None,
) -> Built:
    """The agent for these options: the seeds' order, memory outermost, so that the trigger counts all that is sent.

    `scope` is that of the thread whose turn is running, `search` gives the index of its memory.
    """
    resolved = resolve(options.model, base_url=options.base_url, namespace=options.namespace)
    model = _with_window(resolved.model, options.max_input_tokens)
    rule = rule_for(_window(model), options.trigger, options.keep)
    meter = _meter(model, rule)
    tools = [*namespace_tools(options.namespace), *options.tools]

    guard = GuardMiddleware(guarded, options.eviction_threshold)
    backend = ScopedBackend(guarded, scope)
    inside = ScopedBackend(guarded, lambda: scope().inside)

    def base(backend: ScopedBackend, rebased: Callable[[Any], Any] | None = None) -> list[Any]:
        """What every agent has, main or nested."""
        files = [FilesystemMiddleware(backend=backend, tool_token_limit_before_evict=options.eviction_threshold)]
        flush = Flusher(backend, model) if options.enable_memory else None
        compaction = SummarizationMiddleware(
            model,
            backend=backend,
            rule=rule,
            measure=meter.budget,
            count=meter.count,
            clock=clock,
            addition=history.addition,
            flush=flush,
            rebased=rebased,
        )
        return [*(files if options.enable_filesystem else ()), compaction, PatchToolCallsMiddleware(), guard]

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
    main = base(backend, rebased)
    if options.enable_subagents:
        at = 1 if options.enable_filesystem else 0
        main.insert(at, _subagents(options, inside, model, tools, lambda: base(inside)))
    stack += [*main, *options.middleware]
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
    return Built(graph, resolved.label, rule, meter, compaction, named, guarded, flush, _exit(graph))


def _subagents(options: Options, backend: Any, model: Any, tools: list[Any], base: Callable[[], list[Any]]) -> Any:
    """Nested agents: the general-purpose one unless one of that name is given, and the user's."""
    given = [dict(spec) for spec in options.subagents]
    if not any(spec["name"] == GENERAL_PURPOSE_SUBAGENT["name"] for spec in given):
        given.insert(0, dict(GENERAL_PURPOSE_SUBAGENT))
    specs = []
    for spec in given:
        if "runnable" not in spec:
            own = [SkillsMiddleware(backend, tuple(spec["skills"]))] if spec.get("skills") else []
            nested = spec.get("model", model)
            spec["model"] = resolve(nested, namespace=options.namespace).model
            spec["tools"] = list(spec.get("tools", tools))
            spec["middleware"] = [*own, *base(), *spec.get("middleware", ())]
            spec.pop("skills", None)
        specs.append(spec)
    return SubAgentMiddleware(backend=backend, subagents=specs, private_state_keys=_PRIVATE, state_schema=KernelState)  # type: ignore[arg-type]


def _meter(model: Any, rule: Rule) -> Meter:
    """Exact for the teaching model; for others by script, until the encoding of an OpenAI model is there."""
    if is_teaching(model):
        return Meter(Counter(tokenizer.count, exact=True, name="teaching"), rule)
    encoding = encoding_of(model)

    def better() -> Counter | None:
        count = encoding()
        return None if count is None else Counter(count, exact=True, name="tiktoken")

    return Meter(BY_SCRIPT, rule, better)


def _window(model: Any) -> int | None:
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, dict) else None
    return window if isinstance(window, int) and not isinstance(window, bool) else None


def _with_window(model: Any, window: int | None) -> Any:
    """The model, declaring another context window than its profile does."""
    if window is None:
        return model
    profile = dict(getattr(model, "profile", None) or {})
    return model.model_copy(update={"profile": {**profile, "max_input_tokens": window}})


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
