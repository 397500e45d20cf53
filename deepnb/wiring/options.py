"""What an agent is made of: one frozen value."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from deepnb.models.keys import OFFLINE, OFFLINE_WINDOW, is_teaching, window_of
from deepnb.values.agent import Subagent, near, normal, wrong_name
from deepnb.values.approvals import Effect, policy_of
from deepnb.values.budget import Kind, Size, rule_for
from deepnb.values.errors import InvalidError, RefusedError
from deepnb.values.files import check_path
from deepnb.values.request import SYSTEM_PROMPT
from deepnb.values.turn import Price
from deepnb.workshop.approvals import Effects, marked

if TYPE_CHECKING:
    from deepnb.wiring.attachment import Attachment

# -- what a user hands in, checked before anything is built of it


def check_parts(tools: tuple[Any, ...], middleware: tuple[Any, ...], store: Any, checkpointer: Any) -> None:
    """Raise an error for the first part that can't be one. By what it has: the engine need not be imported for that."""

    def check(option: str, part: Any, has: tuple[str, ...], what: str) -> None:
        if isinstance(part, type) or not all(hasattr(part, name) for name in has):
            kind = f"the class {part.__name__}" if isinstance(part, type) else f"{part!r:.60}"
            raise InvalidError(f"{option} can't be {kind}", f"pass {what}")

    for tool in tools:
        if isinstance(tool, Mapping):
            continue
        if not isinstance(tool, type) and hasattr(tool, "name") and hasattr(tool, "invoke"):
            continue
        check("tools", tool, ("__name__", "__call__"), "functions with a docstring, or LangChain tools")
        if not (tool.__doc__ or "").strip():
            what = f"the tool {tool.__name__} has no docstring"
            raise InvalidError(what, "add one: it tells the model what the tool does")
    for one in middleware:
        what = "a LangChain AgentMiddleware, such as MyMiddleware()"
        check("middleware", one, ("wrap_model_call", "before_agent"), what)
    if store is not None:
        check("store", store, ("get", "put", "search", "batch"), "a LangGraph store, such as InMemoryStore()")
    if checkpointer is not None:
        what = "a LangGraph checkpointer, such as InMemorySaver()"
        check("checkpointer", checkpointer, ("get_tuple", "put", "list"), what)


def check_form(form: Any, *, offline: bool) -> None:
    """Raise an error for what can't be the form of an answer, or of one by the offline model."""
    if form is None:
        return
    schema = isinstance(form, Mapping) and (form.get("type") == "object" or "properties" in form)
    has = ("__dataclass_fields__", "model_validate", "__total__")
    if not schema and not (isinstance(form, type) and any(hasattr(form, name) for name in has)):
        what = f"the class {form.__name__}" if isinstance(form, type) else f"{form!r:.60}"
        do = "give a pydantic model, a dataclass, or the JSON schema of an object"
        raise InvalidError(f"response_format can't be {what}", do)
    if offline:
        raise RefusedError("the offline model gives no answers in a form", "%agent use NAME takes another model")


_OWN = ("name", "description", "system_prompt", "tools", "model", "skills")
_MORE = ("middleware", "response_format", "runnable")
_EXAMPLE = 'subagents=[{"name": "critic", "description": "Finds what is wrong", "system_prompt": "..."}]'


def subagents(given: Iterable[Any]) -> tuple[Subagent, ...]:
    """Return the subagents of `Session(subagents=[...])`, in deepagents' own shape or as `deepnb.Subagent`."""
    made = tuple(map(_subagent, given))
    names = [agent.name for agent in made]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidError(f"two subagents are called {twice!r}", "rename one of them")
    return made


def _subagent(given: Any) -> Subagent:
    if not isinstance(given, Subagent | Mapping):
        raise InvalidError(f"a subagent is a dict or a deepnb.Subagent, not a {type(given).__name__}", _EXAMPLE)
    if isinstance(given, Mapping):
        who = f"the subagent {given['name']!r}" if given.get("name") else "a subagent"
        if missing := next((key for key in ("name", "description") if not given.get(key)), None):
            raise InvalidError(f"{who} has no {missing}", _EXAMPLE)
        if unknown := [key for key in given if key not in (*_OWN, *_MORE)]:
            do = f"the options are {', '.join((*_OWN, *_MORE))}"
            raise InvalidError(f"{who} has no option {unknown[0]!r}", do)
        own, more = ({key: given[key] for key in keys if given.get(key) is not None} for keys in (_OWN, _MORE))
        given = Subagent(**own, more=more)
    agent: Subagent = given
    who, lists = f"the subagent {agent.name!r}", dict[str, Any]()
    for key in ("name", "description", "system_prompt"):
        if not isinstance(value := getattr(agent, key), str):
            raise InvalidError(f"{key} of {who} is text, not a {type(value).__name__}", _EXAMPLE)
    if wrong := wrong_name(normal(agent.name)):
        raise InvalidError(f"{agent.name!r} can't be a subagent's name ({wrong})", f'"name": "{near(agent.name)}"')
    if not agent.description.strip():
        raise InvalidError(f"{who} has no description", "say what it is for: the model chooses it by that")
    for key in ("tools", "skills"):
        if (value := getattr(agent, key)) is None:
            continue
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InvalidError(f"{key} of {who} is a list, not a {type(value).__name__}", f"{key}=[...]")
        lists[key] = tuple(value)
    if strange := next((s for s in lists.get("skills", ()) if not isinstance(s, str)), None):
        do = 'skills=["/skills/"]'
        raise InvalidError(f"skills of {who} are directories or names, not a {type(strange).__name__}", do)
    return replace(agent, name=normal(agent.name), **lists)


MESSAGES_KEY = "messages"

Refresh = Literal["thread", "call", "delta"]
ToolText = Literal["lean", "short", "full"]


@dataclass(frozen=True)
class Options:
    """The agent's parts; the docstring of `deepnb.Session` says what each is."""

    model: Any = "offline"
    base_url: str | None = None
    model_settings: Mapping[str, float] | None = None
    system_prompt: str = SYSTEM_PROMPT
    tools: tuple[Any, ...] = ()
    middleware: tuple[Any, ...] = ()
    subagents: tuple[Subagent, ...] = ()
    general_purpose: bool = True
    max_subagent_depth: int = 3
    backend: Any = None
    checkpointer: Any = None
    store: Any = None
    assistant_id: str | None = None
    max_input_tokens: int | None = None
    trigger: Size | None = None
    keep: Size | None = None
    eviction_threshold: int | None = 20_000
    memory: tuple[str, ...] = ("/AGENTS.md",)
    memory_refresh: Refresh = "delta"
    memory_budget: int | None = None
    embeddings: Any = None
    skills: tuple[str, ...] = ("/skills/",)
    enable_memory: bool = True
    enable_skills: bool = True
    enable_filesystem: bool = True
    enable_subagents: bool = True
    approve: Any = "outside"
    response_format: Any = None
    max_steps: int | None = 50
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    tool_text: ToolText | None = None
    tools_off: tuple[str, ...] = ()
    namespace: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    graph: Attachment | None = None
    messages_key: str = MESSAGES_KEY


_OF_THE_SESSION = (
    *("backend", "checkpointer", "store", "assistant_id", "max_input_tokens", "embeddings", "max_steps", "max_tokens"),
    *("max_cost", "prices", "namespace", "graph", "messages_key"),
)
OF_THE_GRAPH = frozenset(f.name for f in fields(Options)).difference(_OF_THE_SESSION)
"""Options that are a matter of the graph, where somebody else made it."""

SERVED = OF_THE_GRAPH - {"response_format"} | {"max_input_tokens", "max_steps"}
"""Those that an agent on a LangGraph server has, too."""

_MANY = ("tools", "tools_off", "middleware", "subagents", "memory", "skills")
_COUNTS = ("max_input_tokens", "eviction_threshold", "memory_budget", "max_steps", "max_tokens")


UNCHANGED: Any = type("Unchanged", (), {"__repr__": lambda self: "unchanged"})()
"""The default of an option that keeps its value."""


def known_only(where: str, given: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the arguments of a function that spells them out; an unknown one names the nearest."""
    names = [name for name in given if name not in ("self", "unknown", "prompt")]
    options = {f.name for f in fields(Options)}
    for name in unknown:
        if where == "Session.configure" and name in options:
            raise RefusedError(f"{name} can't be changed", f"deepnb.Session({name}=...) starts a session with another")
        near = difflib.get_close_matches(name, names, 1)
        do = f"did you mean {near[0]}?" if near else f"help(deepnb.{where}) lists them"
        raise InvalidError(f"{where.rpartition('.')[2]} has no option {name!r}", do)
    return {name: given[name] for name in names if name in options and given[name] is not UNCHANGED}


def changed(options: Options, changes: Mapping[str, Any]) -> Options:
    """Return the options with changes; a single path counts as a sequence of one."""
    given: dict[str, Any] = {
        k: (v,) if k in ("memory", "skills") and isinstance(v, str) else v
        for k, v in changes.items()
        if not (v is None and k in ("prices", "namespace"))
    }
    if given.get("embeddings") == "":
        given["embeddings"] = None
    for name in _MANY:
        if name in given and not isinstance(given[name], list | tuple):
            raise InvalidError(f"{name} must be a list, not a {type(given[name]).__name__}", f"{name}=[...]")
    given.update({name: tuple(given[name]) for name in _MANY if name in given})
    if "subagents" in given:
        given["subagents"] = subagents(given["subagents"])
    if options.graph is not None and (wrong := next((name for name in given if name in OF_THE_GRAPH), None)):
        what = f"{wrong} is a matter of {options.graph.name}, which this session runs"
        raise RefusedError(what, "set it where the graph is made")
    made = replace(options, **given)
    if given.get("embeddings"):
        from deepnb.search.embedders import embedder_of  # which takes NumPy along

        embedder_of(made.embeddings, made.namespace)
    if model_of(made) != model_of(options):  # what was set for the other model is not this one's
        made = replace(made, max_input_tokens=given.get("max_input_tokens"), model_settings=given.get("model_settings"))
    _check(made)
    if "backend" in given and made.backend is not None:
        from deepnb.backends.mounts import given_backend

        found = given_backend(made.backend, made.store, made.assistant_id)
        made = replace(made, backend=found.root) if isinstance(made.backend, str) else made
    if made.keep is not None and sizes_in(given):  # the window as far as it is known without making the model
        window = made.max_input_tokens or (OFFLINE_WINDOW if made.model == OFFLINE else None)
        if window is None:
            window = window_of(made.namespace.get(made.model) if isinstance(made.model, str) else made.model)
        check_sizes(rule_for(window, made.trigger, made.keep, as_asked=True).conflict)
    return made


def model_of(options: Options) -> tuple[str | int, str | None]:
    return options.model if isinstance(options.model, str) else id(options.model), options.base_url


def sizes_in(changes: Mapping[str, Any]) -> bool:
    """Return whether changes say when to compact, or how much is kept: a model of another window says neither."""
    return not changes.keys().isdisjoint(("trigger", "keep"))


def check_sizes(conflict: str) -> None:
    """Raise an error where trigger and keep don't go together."""
    if conflict:
        raise InvalidError(conflict, 'give a smaller keep, such as keep=("fraction", 0.1), or a larger trigger')


def _check(o: Options) -> None:
    policy_of(o.approve)
    check_parts(o.tools, o.middleware, o.store, o.checkpointer)
    named = isinstance(o.model, str)
    offline = (named and o.model == OFFLINE) or is_teaching(o.namespace.get(o.model) if named else o.model)
    check_form(o.response_format, offline=offline)
    for name in ("trigger", "keep"):
        if (size := getattr(o, name)) is None:
            continue
        kind, value = size if isinstance(size, list | tuple) and len(size) == 2 else ("", 0)
        if not (_is_amount(value) and value > 0 and kind in get_args(Kind) and (kind != "fraction" or value <= 1)):
            do = f'{name}=("fraction", 0.85), or ("tokens", N) or ("messages", N)'
            raise InvalidError(f"{name} can't be {size!r}", do)
    for name in _COUNTS:
        count = getattr(o, name)
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            raise InvalidError(f"{name} can't be {count!r}", "give a whole number above 0, or None")
    if o.max_cost is not None and not (_is_amount(o.max_cost) and o.max_cost > 0):
        raise InvalidError(f"max_cost can't be {o.max_cost!r}", "give US dollars, such as 0.5, or None")
    depth = o.max_subagent_depth
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        do = "give a whole number above 0; enable_subagents=False for none"
        raise InvalidError(f"max_subagent_depth can't be {depth!r}", do)
    prices = o.prices.values() if isinstance(o.prices, Mapping) else [None]
    if not all(isinstance(one, list | tuple) and len(one) == 3 and all(map(_is_amount, one)) for one in prices):
        do = 'prices={"MODEL": (2.0, 0.5, 8.0)}, with what your provider charges'
        raise InvalidError("prices must give dollars per million tokens of input, cached input and output", do)
    for name, value in (o.model_settings or {}).items():
        fits = {"max_tokens": "a whole number above 0", "temperature": "0 or more", "timeout": "seconds above 0"}
        least = 0 if name == "temperature" else 1 if name == "max_tokens" else 0.001
        whole = name != "max_tokens" or isinstance(value, int)
        if name not in fits or not (_is_amount(value) and whole and value >= least):
            does = f"give {fits[name]}" if name in fits else f"give one of {', '.join(fits)}"
            raise InvalidError(f"{name} of a model can't be {value!r}", does)
    if o.memory_refresh not in (policies := get_args(Refresh)):
        raise InvalidError(f"memory_refresh must be one of {', '.join(policies)}", f"memory_refresh={policies[0]!r}")
    if o.tool_text not in (None, *(forms := get_args(ToolText))):
        do = 'tool_text="lean", or None to go by the window'
        raise InvalidError(f"tool_text must be one of {', '.join(forms)}", do)
    for name, off in (("memory", "enable_memory"), ("skills", "enable_skills")):
        if not getattr(o, name):
            raise InvalidError(f"{name} needs a path", f"{off}=False disables it")
    for path in (*o.memory, *(source.rstrip("/") for source in o.skills)):
        check_path(path)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def same(a: Options, b: Options) -> bool:
    """Return whether two options make the same agent; objects are the same only where they are one."""

    def one(x: Any, y: Any) -> bool:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return len(x) == len(y) and all(map(one, x, y))
        return x is y or (isinstance(x, str | int | float) and type(x) is type(y) and bool(x == y))

    return all(one(getattr(a, f.name), getattr(b, f.name)) for f in fields(Options) if f.name != "approve")


def effects(options: Options, agents: Sequence[Subagent], undoable: Callable[[str], bool]) -> Effects:
    """Return what calls of the tools of an agent and its nested ones do; `undoable` says it of a path."""
    given: dict[str, Effect] = {}
    for name, tool in own_tools(options, agents):
        does = marked(tool)
        given[name] = does if given.get(name, does) == does else "outside"
    return Effects(
        undoable, given, frozenset(agent.name for agent in agents if "runnable" in agent.more), options.namespace
    )


def own_tools(options: Options, agents: Sequence[Subagent]) -> list[tuple[str, Any]]:
    """Return (name, tool) of each of the user's own, those of nested agents and of middleware included."""
    own = [tool for agent in agents for tool in agent.tools or () if not isinstance(tool, str)]
    layers = [*options.middleware, *(m for agent in agents for m in agent.more.get("middleware", ()))]
    found = [*options.tools, *own, *(t for m in layers for t in getattr(m, "tools", ()))]
    return [(str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool")), tool) for tool in found]
