"""A graph of somebody else's in the place of the one that `build` makes."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from deepnb.backends.wrapper import no_files
from deepnb.engine.attached_graph import AttachedGraph
from deepnb.engine.compaction import CompactionSteps
from deepnb.engine.images import takes_images
from deepnb.engine.request import reserve_of
from deepnb.models.keys import window_of
from deepnb.models.resolve import label_of
from deepnb.values.agent import Subagent
from deepnb.values.budget import Size, headroom, rule_for
from deepnb.values.errors import RefusedError
from deepnb.values.xray import UNKNOWN
from deepnb.wiring.attachment import attachment, has_checkpointer, skill_sources
from deepnb.wiring.build import Built, tool_lines
from deepnb.wiring.layers import Host
from deepnb.wiring.model import caching_of, meter_of
from deepnb.wiring.options import OF_THE_GRAPH, Options, changed
from deepnb.workshop.approvals import Effects


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
    agents = tuple(
        Subagent(str(one["name"]), str(one["description"]), str(one.get("system_prompt") or ""))
        for one in getattr(made.parts.of("SubAgentMiddleware"), "_subagents", ())
    )
    return replace(
        options, graph=made, model=model, subagents=agents, general_purpose=False, enable_subagents=bool(agents)
    )


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
