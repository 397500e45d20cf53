"""Subagents as they are given in Python, in deepagents' own shape or as `deepnb.Subagent`, checked before anything runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepnb.core.errors import InvalidError, RefusedError
from deepnb.core.subagents import Subagent
from deepnb.skills.names import near, normal, wrong_name

_OWN = ("name", "description", "system_prompt", "tools", "model", "skills")
_MORE = ("middleware", "response_format", "runnable")
_EXAMPLE = 'subagents=[{"name": "critic", "description": "Finds what is wrong", "system_prompt": "..."}]'


def subagents(given: Iterable[Any]) -> tuple[Subagent, ...]:
    """The subagents of `Session(subagents=[...])`; a mistake is one line."""
    made = tuple(map(_one, given))
    names = [agent.name for agent in made]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidError(f"two subagents are called {twice!r}", "rename one of them")
    return made


def _one(given: Any) -> Subagent:
    if isinstance(given, Subagent):
        agent = given
    elif isinstance(given, Mapping):
        agent = _from_mapping(given)
    else:
        raise InvalidError(f"a subagent is a dict or a deepnb.Subagent, not a {type(given).__name__}", _EXAMPLE)
    _check(agent)
    return replace(agent, name=normal(agent.name))


def _from_mapping(given: Mapping[str, Any]) -> Subagent:
    name = given.get("name")
    who = f"the subagent {name!r}" if name else "a subagent"
    if missing := next((key for key in ("name", "description") if not given.get(key)), None):
        raise InvalidError(f"{who} has no {missing}", _EXAMPLE)
    if given.get("mode") not in (None, "isolated"):
        raise InvalidError(
            f"{who} has mode={given['mode']!r}, but a deepnb subagent never sees the conversation of its caller",
            "remove mode, and put what it needs to know into its task",
        )
    if given.get("permissions"):
        raise RefusedError(
            f"{who} has permissions, which deepnb does not apply", 'tools=["read_file", "grep"] limits it'
        )
    if given.get("interrupt_on"):
        raise RefusedError(
            f"{who} has interrupt_on, which a session can't answer",
            'Session(approve={"write_file": "ask"}) asks, there too',
        )
    if unknown := [key for key in given if key not in (*_OWN, *_MORE, "mode", "permissions", "interrupt_on")]:
        raise InvalidError(f"{who} has no option {unknown[0]!r}", f"the options are {', '.join((*_OWN, *_MORE))}")
    own = {key: given[key] for key in _OWN if given.get(key) is not None}
    for key in ("tools", "skills"):
        if key in own:
            own[key] = _many(who, key, own[key])
    return Subagent(**own, more={key: given[key] for key in _MORE if given.get(key) is not None})


def _many(who: str, key: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidError(f"{key} of {who} is a list, not a {type(value).__name__}", f"{key}=[...]")
    return tuple(value)


def _check(agent: Subagent) -> None:
    who = f"the subagent {agent.name!r}"
    for key in ("name", "description", "system_prompt"):
        if not isinstance(value := getattr(agent, key), str):
            raise InvalidError(f"{key} of {who} is text, not a {type(value).__name__}", _EXAMPLE)
    if wrong := wrong_name(normal(agent.name)):
        raise InvalidError(f"{agent.name!r} can't be a subagent's name ({wrong})", f'"name": "{near(agent.name)}"')
    if not agent.description.strip():
        raise InvalidError(f"{who} has no description", "say what it is for: the model chooses it by that")
    for key in ("tools", "skills"):
        if (many := getattr(agent, key)) is not None:
            _many(who, key, many)
    if strange := next((s for s in agent.skills if not isinstance(s, str)), None):
        raise InvalidError(
            f"skills of {who} are directories or names, not a {type(strange).__name__}", 'skills=["/skills/"]'
        )
