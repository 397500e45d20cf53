"""Options and the session they run in -> a graph, and what the session needs to know of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from langchain.agents import create_agent

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.wrapper import no_files
from deepnb.backends.writer import writer
from deepnb.context.counting import Meter
from deepnb.engine import keys
from deepnb.engine.approvals import ApprovalMiddleware
from deepnb.engine.attached_graph import AttachedGraph
from deepnb.engine.compaction import CompactionSteps
from deepnb.engine.graph import Graph, OwnGraph
from deepnb.engine.images import takes_images
from deepnb.engine.request import reserve_of, tool_name
from deepnb.engine.state_backend import KernelState
from deepnb.engine.structured import Form, StructuredMiddleware
from deepnb.engine.summarization import SummarizationMiddleware
from deepnb.engine.tools import LeanToolsMiddleware, described, know_signatures
from deepnb.memory.guarding import GuardMiddleware, ScopedBackend
from deepnb.models.keys import window_of
from deepnb.models.resolve import label_of
from deepnb.skills.catalog import Found
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.subagents.delegation import DelegationMiddleware, Nested, nested_graph
from deepnb.values.agent import FILE_TOOLS, GENERAL_PURPOSE, TASK, WITHOUT_MEMORY, Subagent, normal
from deepnb.values.budget import Rule, Size, headroom, rule_for
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, RefusedError
from deepnb.values.request import MORE_TOOLS, SYSTEM_PROMPT, default_prompt, lean_prompt
from deepnb.values.text import whole
from deepnb.values.xray import UNKNOWN, Caching
from deepnb.wiring.attachment import attachment, has_checkpointer, skill_sources
from deepnb.wiring.layers import Host, Layers
from deepnb.wiring.model import Measured, caching_of, main_model, meter_of, own_model
from deepnb.wiring.options import OF_THE_GRAPH, Options, changed, effects, own_tools
from deepnb.wiring.tool_text import FULL, LEAN, SHORT_GENERAL, SHORT_TASK, in_words, tool_text
from deepnb.workshop.approvals import Effects
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.namespace import namespace_tools

Tools = Callable[[Measured], Sequence[Any]]
"""A model -> the tools over the notebook, described for it, and the user's own."""

# -- an agent wired of its layers: what a session and a LangGraph server have in common


def agent(
    layers: Layers,
    agents: Sequence[Subagent],
    mine: Measured,
    offered: Tools,
    files: Any,
    nested_files: Any,
    *,
    first: Sequence[Any] = (),
    checkpointer: Any = None,
    store: Any = None,
) -> tuple[Any, tuple[Any, ...], Sequence[Any], Mapping[str, Measured]]:
    """Return (the agent of these layers, its middleware, its own tools, subagent -> its own model).

    All that adds to the prompt is outside of compaction, so that the trigger counts it. `agents` are the subagents in force, which see `nested_files`; `first` is middleware outside of all other.
    """
    options, tools = layers.options, offered(mine)
    task, nested = _delegation(layers, agents, nested_files, mine, offered)
    memory = layers.memory(files, mine)
    common = layers.common(files, mine, task=task, block=memory[-1:])
    own = layers.own(options.middleware, mine)
    form = None if options.response_format is None else Form(options.response_format)
    structured = () if form is None else (StructuredMiddleware(form),)
    stack = (*memory[:-1], *layers.skills(files, mine), *structured, *common, *own)
    if tool_text(options, mine) == "lean":  # all but a few tools, and the user's own, are left out of its requests
        kept = {*LEAN, *(name for name, _ in own_tools(options, ()))}
        others = {t.name: t for t in (*_tools_of(stack), *tools) if getattr(t, "name", None) not in (None, *kept)}
        lean = LeanToolsMiddleware(others, layers.guard.whole, offered=MORE_TOOLS not in options.tools_off)
        stack = (lean, *stack) if others else stack
    stack = (*first, *stack)
    know_signatures(stack)
    graph = create_agent(
        mine.model,
        tools,
        system_prompt=whole(prompt_of(options, mine)) or None,
        middleware=stack,
        response_format=None if form is None else form.strategy(),
        state_schema=KernelState,
        checkpointer=checkpointer,
        store=store,
    ).with_config({"recursion_limit": 10_000})
    return graph, stack, tools, nested


def prompt_of(options: Options, mine: Measured) -> str:
    """Return the instructions; ours name no tool that is not there."""
    if options.system_prompt != SYSTEM_PROMPT:
        return options.system_prompt
    files = options.enable_filesystem and not {"ls", "read_file"} & {*options.tools_off}
    return lean_prompt(files=files) if tool_text(options, mine) == "lean" else default_prompt(files=files)


def _tools_of(stack: Sequence[Any]) -> list[Any]:
    return [tool for one in stack for tool in getattr(one, "tools", ())]


# -- nested agents: which there are, what each is made of, and that any may call any, down to the limit


_PRIVATE = frozenset({*keys.OF_MEMORY, keys.SKILLS, keys.SKILL_ERRORS, keys.OFFLOAD, keys.OFFLOAD_ID})
"""State that a subagent neither inherits nor returns."""


def in_force(options: Options, files: Sequence[Subagent] = ()) -> tuple[Subagent, ...]:
    """Return the subagents there are: the general-purpose one unless another of its name stands in its place, the user's, those of files."""
    given = (*options.subagents, *files)
    built_in = options.general_purpose and all(agent.name != GENERAL_PURPOSE.name for agent in given)
    helper = GENERAL_PURPOSE if options.enable_memory else replace(GENERAL_PURPOSE, description=WITHOUT_MEMORY)
    return (*((helper,) if built_in else ()), *given)


def _delegation(
    layers: Layers, agents: Sequence[Subagent], backend: Any, main: Measured, tools: Tools
) -> tuple[DelegationMiddleware | None, dict[str, Measured]]:
    """Return (the middleware that gives `task`, None where there is nobody to call; agent -> its own model)."""
    options = layers.options
    if not agents or not options.enable_subagents or TASK in options.tools_off:
        return None, {}
    own = {
        a.name: own_model(options, a.model, main) for a in agents if a.model is not None and "runnable" not in a.more
    }
    short = tool_text(options, main) != "full"

    def nested(agent: Subagent) -> Nested:
        def graph() -> Any:
            return _graph(agent, layers, backend, own.get(agent.name, main), tools, task)

        foreign = "runnable" in agent.more  # its file tools, if it has any, are not ours
        may_read, memory = (backend.may_read, backend.memory) if foreign else (None, dict)
        own_words = short and agent.description in (GENERAL_PURPOSE.description, WITHOUT_MEMORY)
        description = SHORT_GENERAL if own_words else " ".join(agent.description.split())
        return Nested(agent.name, description, graph, may_read, memory)

    listed = [nested(agent) for agent in agents]
    words = SHORT_TASK if short else FULL[TASK]
    task = DelegationMiddleware(backend, listed, _PRIVATE, options.max_subagent_depth, words)
    for one in listed:
        if any(one.name == agent.name for agent in options.subagents):
            try:
                _ = one.graph  # so that a mistake in one that is given in Python is reported at once
            except DeepnbError:
                raise
            except Exception as failure:
                words = (str(failure).strip().splitlines() or [type(failure).__name__])[0][:200]
                what = f"the subagent {one.name!r} can't be made ({words})"
                raise InvalidError(what, "fix it in subagents=[...]") from failure
    return task, own


def _graph(
    agent: Subagent, layers: Layers, backend: Any, model: Measured, tools: Tools, task: DelegationMiddleware
) -> Any:
    more: Mapping[str, Any] = agent.more
    if "runnable" in more:
        return more["runnable"]
    options, names, offered = layers.options, agent.named_tools, tools(model)
    if agent.tools is not None:  # beside the file tools and `task`
        by_name = {tool_name(t): t for t in offered}
        known = (*by_name, *(FILE_TOOLS if options.enable_filesystem else ()), TASK)
        if strange := next((name for name in names or () if name not in known), None):
            what = f"the subagent {agent.name!r} has no tool {strange!r} to choose from"
            raise NotFoundError(what, f"use one of {', '.join(known)}")
        chosen = [by_name.get(t) if isinstance(t, str) else t for t in agent.tools]
        offered = described([tool for tool in chosen if tool is not None])
    skills = [_NamedSkills(backend, agent.skills, options.skills)] if agent.skills else []
    called = task if names is None or TASK in names else None
    spec = {
        "name": agent.name,
        "description": agent.description,
        "system_prompt": agent.system_prompt,
        "model": model.model,
        "tools": list(offered),
        "middleware": [
            *skills,
            *layers.common(backend, model, names=names, task=called),
            *layers.own(more.get("middleware", ()), model),
        ],
        **{key: more[key] for key in ("response_format",) if key in more},
    }
    return nested_graph(spec)


class _NamedSkills(SkillsMiddleware):
    """Discloses all skills of the directories that are wanted, and those of the session's that are wanted by name."""

    def __init__(self, backend: Any, wanted: Sequence[str], sources: tuple[str, ...]) -> None:
        folders = tuple(name for name in wanted if name.startswith("/"))
        self._names = frozenset(normal(name) for name in wanted if not name.startswith("/"))
        self._folders = tuple(f"{folder.rstrip('/')}/" for folder in folders)
        super().__init__(backend, (*sources, *folders) if self._names else folders)

    def _changed(self, state: Any, found: Found) -> dict[str, Any] | None:
        kept = tuple(s for s in found.skills if s.name in self._names or s.path.startswith(self._folders))
        return super()._changed(state, replace(found, skills=kept))


@dataclass(frozen=True)
class Built:
    """A graph ready to run, and what the session needs to know of it."""

    graph: Graph
    model: str
    rule: Rule
    meter: Meter
    compaction: SummarizationMiddleware | None
    """That of the main agent; None where it is not deepnb's."""
    tools: tuple[tuple[str, str], ...]
    """(name, first line of its description) of each tool."""
    guard: GuardedBackend
    effects: Effects
    nested: Mapping[str, Measured]
    stack: tuple[Any, ...]
    sees: bool
    caching: Caching = UNKNOWN
    prompt: str = ""
    """Its own instructions, before what the middleware adds."""
    form: Any = None
    """What its answers are to be; None for text."""
    bound: tuple[Any, ...] = ()
    """Its tools, those of the middleware included."""


def build(options: Options, host: Host, agents: Sequence[Subagent] = ()) -> Built:
    """Return the agent for these options; `agents` are the subagents of its files."""
    mine, guarded = main_model(options, host.recording), host.backend
    over_notebook = described(
        [*namespace_tools(options.namespace), *code_tools(host.desk, sees=takes_images(mine.model))]
    )
    given = described(options.tools)

    def offered(own: Measured) -> list[Any]:
        kept = [tool for tool in given if tool_name(tool) not in options.tools_off]
        return [*in_words(over_notebook, options, own), *kept]

    there = in_force(options, agents)
    does = effects(options, there, host.undoable)
    ask = partial(
        ApprovalMiddleware,
        host.policy,
        does.of,
        lambda: writer().agent,
        offered=set(),
        problem=does.problem,
        sign=host.sign,
        before=partial(does.state, guarded),
    )
    guard = GuardMiddleware(guarded, options.eviction_threshold, host.restorer.whole)
    layers = Layers(options, host.now, host.search, guard, ask(), ask(seal=True), host.prunes)
    files, nested = ScopedBackend(guarded, host.scope), ScopedBackend(guarded, lambda: host.scope().inside)
    graph, stack, tools, own = agent(
        layers, there, mine, offered, files, nested, checkpointer=host.checkpointer, store=options.store
    )
    hooks = (str(node) for hook in (".after_agent", ".after_model") for node in graph.nodes if node.endswith(hook))
    end = next(hooks, "model")  # a turn ends with the first: these hooks run in reverse order
    return Built(
        graph=OwnGraph(graph, end, host.restorer, host.sign, prunes=host.prunes),
        model=mine.label,
        rule=mine.rule,
        meter=mine.meter,
        compaction=next(one for one in stack if isinstance(one, SummarizationMiddleware)),
        tools=tuple(tool_lines(stack, tools).items()),
        guard=guarded,
        effects=does,
        nested=own,
        stack=stack,
        sees=takes_images(mine.model),
        caching=caching_of(mine.model),
        prompt=prompt_of(options, mine),
        form=options.response_format,
        bound=(*_tools_of(stack), *tools),
    )


def tool_lines(stack: Sequence[Any], tools: Sequence[Any]) -> dict[str, str]:
    """Return name -> first line of the description, of every tool the graph binds."""
    lines: dict[str, str] = {}
    for tool in (*_tools_of(stack), *tools):
        words = getattr(tool, "description", None) or getattr(tool, "__doc__", None) or ""
        lines[tool_name(tool) or "tool"] = next((line.strip() for line in words.splitlines() if line.strip()), "")
    return lines


# -- a graph of somebody else's in the place of the one that `build` makes


def attached_options(given: Mapping[str, Any]) -> Options:
    """Return the options of a session on a graph: what was `given`, the rest as the graph has it."""
    usual = {one.name: getattr(Options(), one.name) for one in fields(Options)}
    if wrong := next((one for one in given if one in OF_THE_GRAPH and given[one] != usual[one]), None):
        raise RefusedError(f"{wrong} can't be given with graph", "set it where the graph is made")
    graph, messages = given["graph"], given["messages_key"]
    own = {one: value for one, value in given.items() if one not in OF_THE_GRAPH | {"graph"}}
    made = attachment(graph, messages, attach, backend=own.get("backend"), checkpointer=own.get("checkpointer"))
    where = no_files() if made.backend is None else made.backend
    found: dict[str, Any] = {"backend": where, "store": own.get("store") or graph.store}
    if own.get("checkpointer") is None and has_checkpointer(graph):
        found["checkpointer"] = graph.checkpointer
    if (memory := made.parts.of("MemoryMiddleware")) is not None and made.features.has("memory"):
        found["memory"] = tuple(memory.sources)
        found["memory_refresh"] = getattr(memory, "_refresh", "thread")
    if (skills := made.parts.of("SkillsMiddleware")) is not None and made.features.has("skills"):
        found["skills"] = skill_sources(skills)
    options = changed(Options(), {**own, **found})
    model = next(iter(made.parts.models), None)
    listed = getattr(made.parts.of("SubAgentMiddleware"), "_subagents", ())
    said = ([str(one.get(key) or "") for key in ("name", "description", "system_prompt")] for one in listed)
    agents = tuple(Subagent(name, about, prompt) for name, about, prompt in said)
    options = replace(options, subagents=agents, general_purpose=False, enable_subagents=bool(agents))
    return replace(options, graph=made, model=model)


def attach(options: Options, host: Host) -> Built:
    """Return the graph with what the session needs to know of it, over the session's checkpointer."""
    made = options.graph
    assert made is not None
    graph = made.graph.copy(update={"checkpointer": host.checkpointer})
    model = options.model
    window, found = options.max_input_tokens or window_of(model), made.parts.of("SummarizationMiddleware")
    own = getattr(found, "_lc_helper", found)  # it compacts as far as its own middleware says so
    trigger, keep = _size(getattr(own, "trigger", None)), _size(getattr(own, "keep", None))
    if window is None:  # a fraction of nothing
        trigger, keep = (size if size and size[0] != "fraction" else None for size in (trigger, keep))
    reserve, limit = reserve_of(next(iter(made.parts.models), None))[0], None
    if isinstance(found, CompactionSteps):
        reserve, limit = found.rule.reserve, found.rule.limit
    elif own is not found and window is not None:  # deepagents' own lowers nothing, and compacts so much earlier
        limit = max(0, window - headroom(window) - reserve)
    rule = rule_for(window, trigger, keep, reserve, limit, as_asked=True)
    if own is None:
        rule = replace(rule_for(window), compacts=False)
    return Built(
        graph=AttachedGraph(graph, made.messages, is_async=made.parts.is_async),
        model=label_of(model) if model is not None else made.name,
        rule=rule,
        meter=meter_of(model, rule),
        compaction=None,
        tools=tuple(tool_lines((), list(made.parts.tools)).items()),
        guard=host.backend,
        effects=Effects(host.undoable, {tool.name: "outside" for tool in made.parts.tools}),
        nested={},
        stack=made.parts.middleware,
        sees=model is None or takes_images(model),
        caching=UNKNOWN if model is None else replace(caching_of(model), marks=False),
    )


def _size(given: Any) -> Size | None:
    if isinstance(given, list) and given:
        given = given[0]
    return (given[0], given[1]) if isinstance(given, tuple) and len(given) == 2 else None
