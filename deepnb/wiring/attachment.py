"""A compiled graph of somebody else's: what it is made of, and what it has of what deepnb shows and does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepnb.values.agent import Feature, Features
from deepnb.values.errors import InvalidError

if TYPE_CHECKING:
    from deepnb.engine.attached_graph import GraphParts
    from deepnb.engine.graph import Graph


@dataclass(frozen=True, eq=False)
class Attachment:
    """A graph as it was when it was attached."""

    graph: Any
    name: str
    messages: str
    """The channel of its conversation."""
    parts: GraphParts
    features: Features
    backend: Any
    """Where its files are; None where it has none."""
    in_state: bool
    """Whether they are in its state, memory included, so that each thread has its own."""
    make: Callable[..., Any]
    """Makes what the session needs of it, from options and a host."""
    served: Graph | None = None
    """The agent, where it is on a server, which `graph` is then."""
    stored: Any = None
    """The backend of its memory and skills, where these are in a server's store and not in the state."""
    drawn: Mapping[str, Any] | None = None
    """The graph as a server draws it."""

    @property
    def shape(self) -> tuple[list[str], list[tuple[str, str, bool]]]:
        """The nodes, and the edges: from which to which, and whether on a condition."""
        drawn = self.drawn or self.graph.get_graph().to_json()
        edges = [(str(one["source"]), str(one["target"]), bool(one.get("conditional"))) for one in drawn["edges"]]
        return [str(one["id"]) for one in drawn["nodes"]], edges

    @property
    def is_served(self) -> bool:
        return self.served is not None

    @property
    def asks(self) -> frozenset[str]:
        """The tools whose calls it asks about, as far as its middleware names them."""
        named = getattr(self.parts.of("HumanInTheLoopMiddleware"), "interrupt_on", {})
        return frozenset(name for name, rule in named.items() if rule)

    def refusal(self, path: str, memory: tuple[str, ...], skills: tuple[str, ...], guarded: bool) -> str:
        """Return why the graph would not read a file, in one line; empty where it would."""
        if self.backend is None:
            return _line(self.features, "files")
        if not guarded or self.stored is not None or (path in memory and self.features.has("memory")):
            return ""
        if path.startswith(tuple(f"{source.rstrip('/')}/" for source in skills)):
            return _line(self.features, "skills")
        if self.features.has("memory"):
            return f"{self.name} does not read it: its memory is {', '.join(memory)}"
        return _line(self.features, "memory")


def is_graph(value: object) -> bool:
    """Return whether a value is a compiled graph, or one that is not compiled yet; by its type, without importing the engine."""
    names = {f"{one.__module__}.{one.__qualname__}" for one in type(value).__mro__}
    return not names.isdisjoint({"langgraph.pregel.main.Pregel", "langgraph.graph.state.StateGraph"})


def attachment(
    graph: Any, messages: str, make: Callable[..., Any], *, backend: Any = None, checkpointer: Any = None
) -> Attachment:
    """Return a graph with all that is known of it; `backend` and `checkpointer` are what was given beside it."""
    from langgraph.graph import StateGraph
    from langgraph.graph.state import CompiledStateGraph

    from deepnb.engine.attached_graph import graph_parts

    if isinstance(graph, StateGraph):
        raise InvalidError("this graph is not compiled yet", "graph=builder.compile()")
    if not isinstance(graph, CompiledStateGraph):
        do = "pass what create_agent, create_deep_agent or compile() gave"
        raise InvalidError(f"a {type(graph).__name__} is not a compiled graph", do)
    channels = graph.builder.channels
    if messages not in channels:
        lists = [name for name in channels if "messages" in name.lower()]
        do = f"messages_key={lists[0]!r}" if lists else 'messages_key="..." names the channel of its conversation'
        raise InvalidError(f"the graph has no channel {messages!r}: it has {', '.join(channels)}", do)
    name = "your graph" if graph.name == "LangGraph" else graph.name
    parts = graph_parts(graph)
    where = backend
    if where is None and (files := parts.of("FilesystemMiddleware")) is not None:
        where = files.backend
    elif where is None:
        readers = map(parts.of, ("MemoryMiddleware", "SkillsMiddleware", "SummarizationMiddleware"))
        where = next((found for one in readers if (found := getattr(one, "_backend", None)) is not None), None)
    found = _features(name, graph, parts, where, checkpointer)
    return Attachment(graph, name, messages, parts, found, where, _is_state(where), make)


def _is_state(backend: Any) -> bool:
    from deepagents.backends import CompositeBackend, StateBackend

    while isinstance(backend, CompositeBackend):
        backend = backend.default
    return isinstance(backend, StateBackend)


def _features(name: str, graph: Any, parts: GraphParts, backend: Any, checkpointer: Any) -> Features:
    from deepnb.models.keys import window_of
    from deepnb.models.resolve import label_of

    own, given = has_checkpointer(graph), checkpointer is not None
    listed: list[Feature] = []

    def add(what: str, has: object, said: str, lacks: str, do: str) -> None:
        listed.append(Feature(what, said) if has else Feature(what, lacks, do, has=False))

    model = next(iter(parts.models), None)
    label, window = ("", None) if model is None else (label_of(model), window_of(model))
    more = f"; {len(parts.models)} models were found, and this is the first" if len(parts.models) > 1 else ""
    lacks = "no chat model was found in its nodes" if model is None else f"the profile of {label} does not say it"
    do = "Session(graph=..., max_input_tokens=N)"
    add("window", window is not None, f"{window or 0:,} tokens, of {label}{more}", lacks, do)
    kept = "deepnb's is used: threads are kept in this kernel"
    do = "compile(checkpointer=...)"
    add("checkpointer", own or given, "the one that was given" if given else "its own", kept, do)
    kind = type(backend).__name__
    where = f"in its state ({kind})" if _is_state(backend) else kind
    add("files", backend is not None, where, "it has no file tools", "add deepagents' FilesystemMiddleware()")
    memory, skills = parts.of("MemoryMiddleware"), parts.of("SkillsMiddleware")
    sources = () if memory is None or backend is None else memory.sources
    do = 'add deepnb.middleware.MemoryMiddleware(), or memory=["/AGENTS.md"] in create_deep_agent'
    add("memory", sources, ", ".join(sources), "no memory files are in its prompt", do)
    there = skills is not None and backend is not None
    do = 'add deepnb.middleware.SkillsMiddleware(), or skills=["/skills/"] in create_deep_agent'
    add("skills", there, ", ".join(skill_sources(skills)) if there else "", "no skills are in its prompt", do)
    do = "add deepagents' SubAgentMiddleware(), or subagents=[...] in create_deep_agent"
    add("subagents", any(tool.name == "task" for tool in parts.tools), "its own", "it has no tool task", do)
    offloads = hasattr(parts.of("SummarizationMiddleware"), "_backend")
    do = "add deepnb.middleware.CompactionMiddleware(model)"
    add("history", offloads, "it offloads what it summarizes", "it offloads nothing", do)
    asks = parts.of("HumanInTheLoopMiddleware")
    tools = ", ".join(getattr(asks, "interrupt_on", ())) or "by its own policy"
    do = 'add LangChain\'s HumanInTheLoopMiddleware(interrupt_on={"TOOL": True})'
    add("approvals", asks is not None, tools, "none of its middleware asks before a call of a tool", do)
    return Features(name, (*listed, *own_ways(own or given)))


def has_checkpointer(graph: Any) -> bool:
    return hasattr(getattr(graph, "checkpointer", None), "get_tuple")


def skill_sources(middleware: Any) -> tuple[str, ...]:
    return tuple(one if isinstance(one, str) else str(one[0]) for one in middleware.sources)


_LACKS = (
    ("compaction by hand", "it compacts by itself, if at all"),
    ("flush", "only deepnb's agent makes notes before a compaction"),
    ("tapes", "its models are its own, and can't be replaced"),
    ("mounts", "its files are where it was given them"),
    ("empty and shared threads", "what its threads have in common is a matter of its own"),
)


def own_ways(kept: bool) -> tuple[Feature, ...]:
    """Return what no graph of somebody else's has, since it is deepnb's own agent that does it."""
    do = "%agent use MODEL goes back to deepnb's agent, which has it"
    lacks = tuple(Feature(name, why, do, has=False, ours=True) for name, why in _LACKS)
    why = "its own checkpointer keeps its threads"
    return (*lacks, Feature("persistence by deepnb", why, "compile it without one", has=False)) if kept else lacks


def _line(features: Features, name: str) -> str:
    one = next((one for one in features.lacks if one.name == name), None)
    return f"{features.agent} has no {one.name}: {one.what}; {one.do}" if one else ""
