"""The wiring of nested agents: which there are, what each is made of, and that any may call any, down to the limit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepnb.engine import keys
from deepnb.engine.tools import described
from deepnb.skills.catalog import Found
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.subagents.delegation import DelegationMiddleware, Nested, nested_graph
from deepnb.values.agent import FILE_TOOLS, GENERAL_PURPOSE, TASK, WITHOUT_MEMORY, Subagent, normal
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.wiring.model import Measured, own_model
from deepnb.wiring.options import Options
from deepnb.wiring.tool_text import FULL, SHORT_GENERAL, SHORT_TASK, tool_text

_PRIVATE = frozenset({*keys.OF_MEMORY, keys.SKILLS, keys.SKILL_ERRORS, keys.OFFLOAD, keys.OFFLOAD_ID})
"""State that a subagent neither inherits nor returns."""

Base = Callable[[Measured, Sequence[str] | None, DelegationMiddleware | None], list[Any]]
"""(its model, the names its tools are limited to, its `task` if it has one) -> what every nested agent has."""

Tools = Callable[[Measured], Sequence[Any]]
"""A model -> the tools over the notebook, described for it, and the user's own."""

OwnLayers = Callable[[Sequence[Any], Measured], tuple[Any, ...]]
"""(the middleware an agent was given, its model) -> that, and what must stand inside it."""


def in_force(options: Options, files: Sequence[Subagent] = ()) -> tuple[Subagent, ...]:
    """The subagents there are: the general-purpose one unless another of its name stands in its place, the user's, those of files."""
    given = (*options.subagents, *files)
    built_in = options.general_purpose and all(agent.name != GENERAL_PURPOSE.name for agent in given)
    helper = GENERAL_PURPOSE if options.enable_memory else replace(GENERAL_PURPOSE, description=WITHOUT_MEMORY)
    return (*((helper,) if built_in else ()), *given)


def delegation(
    options: Options,
    agents: Sequence[Subagent],
    backend: Any,
    main: Measured,
    tools: Tools,
    base: Base,
    own_layers: OwnLayers,
) -> tuple[DelegationMiddleware | None, dict[str, Measured]]:
    """The middleware that gives `task`, None where there is nobody to call; and the models that are not the main agent's, by agent.

    `own_layers` gives what stands inside `base`.
    """
    if not options.enable_subagents or TASK in options.tools_off:
        return None, {}
    own = {
        a.name: own_model(options, a.model, main) for a in agents if a.model is not None and "runnable" not in a.more
    }
    made: list[DelegationMiddleware] = []
    short = tool_text(options, main) != "full"

    def nested(agent: Subagent) -> Nested:
        def graph() -> Any:
            return _graph(agent, options, backend, own.get(agent.name, main), tools, base, made[0], own_layers)

        foreign = "runnable" in agent.more  # its file tools, if it has any, are not ours
        may_read, memory = (backend.may_read, backend.memory) if foreign else (None, dict)
        own_words = short and agent.description in (GENERAL_PURPOSE.description, WITHOUT_MEMORY)
        description = SHORT_GENERAL if own_words else " ".join(agent.description.split())
        return Nested(agent.name, description, graph, may_read, memory)

    all_ = [nested(agent) for agent in agents]
    if not all_:
        return None, own
    made.append(
        DelegationMiddleware(backend, all_, _PRIVATE, options.max_subagent_depth, SHORT_TASK if short else FULL[TASK])
    )
    for one in all_:
        if any(one.name == agent.name for agent in options.subagents):
            _try(one)
    return made[0], own


def _try(nested: Nested) -> None:
    """Make the graph of a subagent that is given in Python now, so that a mistake in it is reported at once."""
    try:
        _ = nested.graph
    except DeepnbError:
        raise
    except Exception as failure:
        words = (str(failure).strip().splitlines() or [type(failure).__name__])[0][:200]
        raise InvalidError(
            f"the subagent {nested.name!r} can't be made ({words})", "fix it in subagents=[...]"
        ) from failure


def _graph(
    agent: Subagent,
    options: Options,
    backend: Any,
    model: Measured,
    tools: Tools,
    base: Base,
    task: DelegationMiddleware,
    own_layers: OwnLayers,
) -> Any:
    more: Mapping[str, Any] = agent.more
    if "runnable" in more:
        return more["runnable"]
    names = agent.named_tools
    skills = [_skills(backend, agent.skills, options.skills)] if agent.skills else []
    spec = {
        "name": agent.name,
        "description": agent.description,
        "system_prompt": agent.system_prompt,
        "model": model.model,
        "tools": _tools(agent, tools(model), options.enable_filesystem),
        "middleware": [
            *skills,
            *base(model, names, task if names is None or TASK in names else None),
            *own_layers(more.get("middleware", ()), model),
        ],
        **{key: more[key] for key in ("response_format",) if key in more},
    }
    return nested_graph(spec)


def _tools(agent: Subagent, tools: Sequence[Any], files: bool) -> list[Any]:
    """The tools of a subagent beside the file tools and `task`."""
    if agent.tools is None:
        return list(tools)
    by_name = {str(getattr(t, "name", None) or getattr(t, "__name__", "")): t for t in tools}
    known = (*by_name, *(FILE_TOOLS if files else ()), TASK)
    if strange := next((name for name in agent.named_tools or () if name not in known), None):
        raise NotFoundError(
            f"the subagent {agent.name!r} has no tool {strange!r} to choose from", f"use one of {', '.join(known)}"
        )
    chosen = [
        by_name.get(t) if isinstance(t, str) else t for t in agent.tools if not isinstance(t, str) or t in by_name
    ]
    return described(chosen)


def _skills(backend: Any, wanted: Sequence[str], sources: tuple[str, ...]) -> SkillsMiddleware:
    """What discloses skills: all of the directories that are named, or of the session's those that are named."""
    directories = tuple(name for name in wanted if name.startswith("/"))
    names = frozenset(normal(name) for name in wanted if not name.startswith("/"))
    if not names:
        return SkillsMiddleware(backend, directories)
    return _NamedSkills(backend, (*sources, *directories), names, directories)


class _NamedSkills(SkillsMiddleware):
    """Discloses only skills of certain names, and all of certain directories."""

    def __init__(
        self, backend: Any, sources: tuple[str, ...], names: frozenset[str], directories: tuple[str, ...]
    ) -> None:
        super().__init__(backend, sources)
        self._names, self._whole = names, tuple(f"{d.rstrip('/')}/" for d in directories)
        self._seen: tuple[Found, Found] = (Found(), Found())

    def _changed(self, state: Any, found: Found) -> dict[str, Any] | None:
        if found is not self._seen[0]:
            kept = tuple(s for s in found.skills if s.name in self._names or s.path.startswith(self._whole or "\0"))
            self._seen = (found, replace(found, skills=kept))
        return super()._changed(state, self._seen[1])
