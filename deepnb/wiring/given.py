"""What a user hands in, checked before anything is built of it: tools, middleware, a store, a checkpointer, subagents."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from deepnb.models.names import OFFLINE
from deepnb.skills.names import near, normal, wrong_name
from deepnb.values.errors import InvalidError, RefusedError
from deepnb.values.subagents import Subagent


def check_parts(tools: tuple[Any, ...], middleware: tuple[Any, ...], store: Any, checkpointer: Any) -> None:
    """Raise an error for the first part that can't be one. By what it has: the engine need not be imported for that."""
    for tool in tools:
        _check_tool(tool)
    for one in middleware:
        what = "a LangChain AgentMiddleware, such as MyMiddleware()"
        _check("middleware", one, ("wrap_model_call", "before_agent"), what)
    if store is not None:
        _check("store", store, ("get", "put", "search", "batch"), "a LangGraph store, such as InMemoryStore()")
    if checkpointer is not None:
        what = "a LangGraph checkpointer, such as InMemorySaver()"
        _check("checkpointer", checkpointer, ("get_tuple", "put", "list"), what)


def _check_tool(tool: Any) -> None:
    if isinstance(tool, Mapping) or (not isinstance(tool, type) and hasattr(tool, "name") and hasattr(tool, "invoke")):
        return
    _check("tools", tool, ("__name__", "__call__"), "functions with a docstring, or LangChain tools")
    if not (tool.__doc__ or "").strip():
        name = tool.__name__
        raise InvalidError(f"the tool {name} has no docstring", "add one: it tells the model what the tool does")


def _check(option: str, part: Any, has: tuple[str, ...], what: str) -> None:
    if isinstance(part, type) or not all(hasattr(part, name) for name in has):
        kind = f"the class {part.__name__}" if isinstance(part, type) else f"{part!r:.60}"
        raise InvalidError(f"{option} can't be {kind}", f"pass {what}")


def check_form(form: Any, model: Any) -> None:
    """Raise an error for what can't be the form of an answer, or of one by the offline model."""
    if form is None:
        return
    is_class = isinstance(form, type) and (
        is_dataclass(form) or hasattr(form, "model_validate") or hasattr(form, "__total__")
    )
    is_schema = isinstance(form, Mapping) and (form.get("type") == "object" or "properties" in form)
    if not (is_class or is_schema):
        what = f"the class {form.__name__}" if isinstance(form, type) else f"{form!r:.60}"
        do = "give a pydantic model, a dataclass, or the JSON schema of an object"
        raise InvalidError(f"response_format can't be {what}", do)
    if model == OFFLINE:
        raise RefusedError("the offline model gives no answers in a form", "%agent use NAME takes another model")


_OWN = ("name", "description", "system_prompt", "tools", "model", "skills")
_MORE = ("middleware", "response_format", "runnable")
_EXAMPLE = 'subagents=[{"name": "critic", "description": "Finds what is wrong", "system_prompt": "..."}]'


def subagents(given: Iterable[Any]) -> tuple[Subagent, ...]:
    """Return the subagents of `Session(subagents=[...])`, in deepagents' own shape or as `deepnb.Subagent`.

    A mistake raises an error of one line.
    """
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
    _check_subagent(agent)
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


def _check_subagent(agent: Subagent) -> None:
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
