"""Names and schemas of tools, made fit for all providers: one tool that a provider refuses takes all others down with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool

UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_NAME = 64
"""Characters of the longest name."""


def fit_name(name: str) -> str:
    """Return a name as all providers take it: another one has a hash of its own, so that no two become one."""
    if name and len(name) <= _NAME and not UNFIT.search(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{UNFIT.sub('_', name)[: _NAME - 7] or 'tool'}_{mark}"


@dataclass(frozen=True)
class FitTool:
    """A tool in the form in which all providers take it, and what an answer's words for it mean."""

    name: str
    """Its own."""
    form: Any
    """As JSON."""
    mended: bool = False
    """Whether that is not what the tool says of itself."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Name of an argument as it is offered -> its own, where they differ."""


def fit_tool(tool: Any, name: str) -> FitTool:
    """Return the form of a tool that has this name."""
    shown = getattr(tool, "tool_call_schema", None)
    if isinstance(tool, Mapping):
        form: Any = tool
    elif isinstance(shown, Mapping):  # which may be one that LangChain can't convert
        function = {"name": name, "description": tool.description, "parameters": shown}
        form = {"type": "function", "function": function}
    else:
        form = convert_to_openai_tool(tool)
    inner = form.get("function", form) if form.get("type", "function") == "function" else {}
    schema = next((inner[key] for key in ("parameters", "input_schema") if key in inner), None)
    if not isinstance(schema, Mapping):  # a tool of the provider's own
        return FitTool(name, form)
    parameters, arguments = fit_parameters(schema)
    if parameters == schema and fit_name(name) == name:
        return FitTool(name, form)
    function = {"name": fit_name(name), "description": inner.get("description", ""), "parameters": parameters}
    return FitTool(name, {"type": "function", "function": function}, True, arguments)


_KINDS = {"string", "number", "integer", "boolean", "object", "array", "null"}
_UNIONS = ("anyOf", "oneOf", "allOf")
_SHAPES: Mapping[str, Any] = {"required": list, "enum": list, "properties": Mapping, "exclusiveMinimum": int | float,
    "exclusiveMaximum": int | float, **dict.fromkeys(_UNIONS, list)}  # fmt: skip
"""What keywords hold in the draft that providers read: older drafts have `required: true`."""
_PARAMETER = re.compile(r"[^a-zA-Z0-9_.-]")


def fit_parameters(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the schema of a tool's parameters as all providers take it, and the names that differ in it."""
    root = dict(schema)
    if isinstance(target := _target(root.get("$ref"), schema), Mapping):
        root = {**target, **{key: value for key, value in root.items() if key != "$ref"}}
    unions = {key: [one for one in root.pop(key, None) or () if isinstance(one, Mapping)] for key in _UNIONS}
    properties = dict(root.get("properties") or {})
    required = [set(root["required"])] if isinstance(root.get("required"), list) else [set()]
    for key, parts in unions.items():
        parts = [_target(one.get("$ref"), schema) or one for one in parts]
        for one in parts:
            properties = {**one.get("properties", {}), **properties}
        wanted = [set(one.get("required") or ()) for one in parts]
        if wanted:  # of alternatives that which each of them needs
            required.append(set.union(*wanted) if key == "allOf" else set.intersection(*wanted))
    names = {own: _PARAMETER.sub("_", own)[:_NAME] or "_" for own in properties}
    if len(set(names.values())) < len(names):
        names = {
            own: own if own == made else f"{made[: _NAME - 7]}_{sha256(own.encode()).hexdigest()[:6]}"
            for own, made in names.items()
        }
    needed = set.union(*required)
    root = {key: value for key, value in root.items() if key not in ("enum", "not", "required")}
    root |= {"type": "object", "properties": {names[own]: value for own, value in properties.items()}}
    if ordered := [names[own] for own in properties if own in needed]:
        root["required"] = ordered
    elif "required" in schema:
        root["required"] = []
    return _fit_schema(root, root), {made: own for own, made in names.items() if made != own}


def _fit_schema(one: Any, root: Mapping[str, Any]) -> Any:
    """Return a schema at any depth: arrays say what is in them, references lead somewhere, types are those there are."""
    if isinstance(one, list):
        return [_fit_schema(item, root) for item in one]
    if not isinstance(one, Mapping):
        return one
    made: dict[str, Any] = {}
    for key, value in one.items():
        if key in ("properties", "$defs", "definitions", "patternProperties") and isinstance(value, Mapping):
            value = {name: _fit_schema(inner, root) for name, inner in value.items()}
        elif key not in ("default", "enum", "const", "examples", "required"):
            value = _fit_schema(value, root)
        shape = _SHAPES.get(key)
        if shape is None or (isinstance(value, shape) and not isinstance(value, bool)):
            made[key] = value
    kinds = made.get("type")
    if isinstance(kinds, list):
        made["type"] = kinds = [kind for kind in kinds if kind in _KINDS]
    if ("type" in made and not kinds) or (isinstance(kinds, str) and kinds not in _KINDS):
        kinds = made.pop("type", None) and None
    if kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
        items = made.get("items")
        if not isinstance(items, Mapping):
            made["items"] = {"anyOf": items} if isinstance(items, list) and items else {}
    if "$ref" in made and _target(made["$ref"], root) is None:
        del made["$ref"]
    return made


def _target(ref: Any, root: Any) -> Any:
    """Return what a reference in a schema leads to; None for one that leads nowhere in it."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    for step in filter(None, ref[1:].split("/")):
        root = root.get(step) if isinstance(root, Mapping) else None
    return root
