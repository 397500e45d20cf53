"""`agent.py` of an application: the call that makes its graph, with the options that differ from the defaults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from deepnb.models.keys import OFFLINE, PROVIDERS
from deepnb.models.resolve import is_tape, resolve
from deepnb.values.agent import Subagent
from deepnb.values.approvals import policy_of
from deepnb.wings.package.literals import CantWriteError, in_texts, in_value, literal
from deepnb.wings.package.module import LIST, NAME, distribution, requirement
from deepnb.wings.package.values import Code, LeftOut
from deepnb.wiring.options import SERVED, Options


@dataclass(frozen=True)
class ModelCode:
    """A chat model as an expression, and what it takes; its key is read from the environment."""

    code: str
    requirement: str = ""
    key: str = ""
    """The variable of the environment that holds its key."""


def model_code(model: Any, base_url: str | None, namespace: Mapping[str, Any]) -> ModelCode:
    """Return the code of the model that is meant in a session; raise CantWriteError if it was not given by its name."""
    if model == OFFLINE:
        return ModelCode(repr(OFFLINE))
    made: Any = resolve(model, base_url=base_url, namespace=namespace).model
    if is_tape(made):
        raise CantWriteError("plays a tape")
    if not isinstance(model, str) or namespace.get(model) is made:
        raise CantWriteError(f"is a {type(made).__name__} of this kernel: use one by its name, as openai:gpt-5.2")
    package = distribution(type(made).__module__)
    needs = requirement(package) if package and package != "deepnb" else ""
    return ModelCode(repr(model), needs, next((p.key or "" for p in PROVIDERS.values() if p.package == package), ""))


_HEAD = '"""The agent of a notebook as a graph, which langgraph.json names; the options are those of deepnb.Session."""'

_ELSEWHERE: Mapping[str, str] = {
    "backend": "an application keeps memory in the server's store, and other files in the thread",
    "checkpointer": "the server has its own",
    "store": "the server has its own",
    "embeddings": "memory is searched by words there",
    "middleware": "it is an object of this kernel: import it in agent.py, and pass middleware=[...]",
    "max_tokens": "tokens are counted in a session only",
    "max_cost": "costs are counted in a session only",
}
"""Option -> why an application does not have it."""


def agent_file(options: Options, module: Code, known: Sequence[str]) -> Code:
    """Return the file for these options, or raise CantWriteError; `known` are the tools that subagents can name."""
    try:
        models = [model_code(options.model, options.base_url, options.namespace)]
    except CantWriteError as why:
        raise CantWriteError(f"the model {why}") from None
    agents, left_out = list[str](), list[LeftOut]()
    for agent in options.subagents:
        try:
            agents.append(_subagent(agent, options, module, known, models))
        except CantWriteError as why:
            left_out.append(LeftOut(f"subagent {agent.name}", str(why)))
    given = {"model": models[0].code, **dict(_plain(options))}
    if module.names:
        given["tools"] = LIST
    if agents:
        given["subagents"] = "[\n" + "".join(f"        {text},\n" for text in agents) + "    ]"
    gone = [LeftOut(name, why) for name, why in _ELSEWHERE.items() if getattr(options, name) not in (None, ())]
    asked = "what is allowed here is asked about there: approve= in agent.py allows it"
    rules = policy_of(options.approve).rules
    gone += [LeftOut(f"allow {one}", asked) for one, rule in rules.items() if rule == "allow"]
    needs = frozenset(one.requirement for one in models if one.requirement)
    keys = tuple(dict.fromkeys(one.key for one in models if one.key))
    imports = ["from deepnb.middleware import application"]
    if module.names:
        used = (name for name in module.names.values() if name in given.get("subagents", ""))
        imports.append(f"from {NAME} import {', '.join(dict.fromkeys((LIST, *used)))}")
    lines = [_HEAD, "", "from pathlib import Path", "", *imports, "", "graph = application("]
    lines += ["    Path(__file__).parent,", *(f"    {name}={text}," for name, text in given.items()), ")", ""]
    return Code("\n".join(lines), needs, (*gone, *left_out), keys=keys)


def _plain(options: Options) -> Iterator[tuple[str, str]]:
    for one in fields(Options):
        value = getattr(options, one.name)
        usual = None if one.default is MISSING else one.default
        if one.name not in SERVED or one.name in ("model", "tools", "middleware", "subagents") or value == usual:
            continue
        if one.name == "approve":
            value = policy_of(value).without_allowed.option  # nothing that is allowed here is allowed there
            if value == "outside":
                continue
        if (text := literal(value)) is None:
            raise CantWriteError(f"{one.name} is a {type(value).__name__}")
        if found := in_value(one.name, value):
            raise CantWriteError(f"{one.name} holds {found}")
        yield one.name, text


def _subagent(agent: Subagent, options: Options, module: Code, known: Sequence[str], models: list[ModelCode]) -> str:
    if agent.more:
        raise CantWriteError(f"has {', '.join(agent.more)}, which is only in this kernel")
    pairs = {name: repr(getattr(agent, name)) for name in ("name", "description", "system_prompt")}
    if agent.tools is not None:
        names = []
        for tool in agent.tools:
            if isinstance(tool, str) and tool not in known:
                raise CantWriteError(f"uses the tool {tool}, which is left out")
            if not isinstance(tool, str) and id(tool) not in module.names:
                raise CantWriteError("has a tool that is left out")
            names.append(repr(tool) if isinstance(tool, str) else module.names[id(tool)])
        pairs["tools"] = f"[{', '.join(names)}]"
    if agent.skills:
        pairs["skills"] = repr(list(agent.skills))
    if agent.model is not None:
        models.append(own := model_code(agent.model, None, options.namespace))
        pairs["model"] = own.code
    text = "{" + ", ".join(f"{name!r}: {value}" for name, value in pairs.items()) + "}"
    if found := in_texts((text, agent.description, agent.system_prompt)):
        raise CantWriteError(f"holds {found}")
    return text
