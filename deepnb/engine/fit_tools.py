"""Names and schemas of tools, made fit for all providers: one tool that is refused takes all others down with it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool

UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_NAME = re.compile(rf"{UNFIT.pattern}|^(?=[0-9-])")  # my.tool, and 21st_tool: Google's begin with a letter or _
_PARAMETER = re.compile(r"[^a-zA-Z0-9_.-]")
_LONGEST = 64
_KINDS = {"string", "number", "integer", "boolean", "object", "array", "null"}
_UNIONS = ("anyOf", "oneOf", "allOf")
_NAMED = ("properties", "$defs", "definitions", "patternProperties")
_SHAPES: Mapping[str, Any] = {
    **dict.fromkeys((*_UNIONS, "required", "enum"), list),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), int | float),
    "properties": Mapping,
}
"""What keywords hold in the draft that providers read: older drafts have `required: true`."""


def fit_name(name: str, unfit: re.Pattern[str] = _NAME) -> str:
    """Return a name as all providers take it; one that they do not has a hash of its own, so that no two become one."""
    if name and len(name) <= _LONGEST and not unfit.search(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{unfit.sub('_', name)[: _LONGEST - 7] or 'tool'}_{mark}"


@dataclass(frozen=True)
class FitTool:
    """A tool in the form in which all providers take it, and what an answer's words for it mean."""

    name: str
    form: Any
    mended: bool = False
    """Whether that is not what the tool says of itself."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Name of an argument as it is offered -> its own, where they differ."""


def form_of(tool: Any, name: str) -> tuple[Any, bool]:
    """Return (a tool in OpenAI's form, whether LangChain can write that itself)."""
    try:
        return tool if isinstance(tool, Mapping) else convert_to_openai_tool(tool), True
    except (KeyError, TypeError):  # it follows references: one to nowhere in the schema, a parameter called $ref
        return {"name": name, "description": tool.description, "parameters": tool.tool_call_schema}, False


def fit_tool(tool: Any, name: str, *, enums: bool = True) -> FitTool:
    """Return the form of a tool that has this name; `enums` says whether values that are no texts can be listed."""
    form, whole = form_of(tool, name)
    inner = form.get("function", form) if form.get("type", "function") == "function" else {}
    schema = inner.get("parameters", inner.get("input_schema"))
    if not isinstance(schema, Mapping):  # a tool of the provider's own
        return FitTool(name, form)
    parameters, arguments = fit_parameters(schema, enums=enums)
    if parameters == schema and fit_name(name) == name and whole:
        return FitTool(name, form)
    function = {"name": fit_name(name), "description": inner.get("description", ""), "parameters": parameters}
    return FitTool(name, {"type": "function", "function": function}, True, arguments)


def fit_parameters(schema: Mapping[str, Any], *, enums: bool = True) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the schema of an object without what stands at its top but can't, and the names that differ in it."""
    root = {**(_target(schema.get("$ref"), schema) or {}), **schema}
    root.pop("$ref", None)
    properties, required = dict(root.get("properties") or {}), _list(root.get("required"))
    needed = set(required)
    for key in _UNIONS:
        parts = [
            _target(one.get("$ref"), schema) or one for one in _list(root.pop(key, None)) if isinstance(one, Mapping)
        ]
        for one in parts:
            properties = {**one.get("properties", {}), **properties}
        if wanted := [set(_list(one.get("required"))) for one in parts]:  # of alternatives that which all of them need
            needed |= set.union(*wanted) if key == "allOf" else set.intersection(*wanted)
    names = {own: fit_name(own, _PARAMETER) for own in properties}
    made = {key: value for key, value in root.items() if key not in ("enum", "not", "required")}
    made |= {"type": "object", "properties": {names[own]: value for own, value in properties.items()}}
    if "required" in schema or needed:
        made["required"] = [names.get(own, own) for own in dict.fromkeys((*required, *properties)) if own in needed]
    return _fit_schema(made, made, enums), {sent: own for own, sent in names.items() if sent != own}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _fit_schema(one: Any, root: Mapping[str, Any], enums: bool) -> Any:
    """Return a schema at any depth: arrays say what is in them, references lead somewhere, types are those there are."""
    if isinstance(one, list):
        return [_fit_schema(item, root, enums) for item in one]
    if not isinstance(one, Mapping):
        return one
    made: dict[str, Any] = {}
    for key, value in one.items():
        if key in _NAMED and isinstance(value, Mapping):
            value = {n: {} if inner is True else _fit_schema(inner, root, enums) for n, inner in value.items()}
        elif key not in ("default", "enum", "const", "examples", "required"):
            value = _fit_schema(value, root, enums)
        if key not in _SHAPES or (isinstance(value, _SHAPES[key]) and not isinstance(value, bool)):
            made[key] = value
    kinds = made.pop("type", None)
    known = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind in _KINDS]
    if known:
        made["type"] = known if isinstance(kinds, list) else known[0]
    if "array" in known and not isinstance(items := made.get("items"), Mapping):
        made["items"] = {"anyOf": items} if items and isinstance(items, list) else {}
    if "required" in made and "properties" in made:
        made["required"] = [name for name in made["required"] if name in made["properties"]]
    if not enums and any(not isinstance(value, str) for value in made.get("enum", ())):
        values = json.dumps(made.pop("enum"), ensure_ascii=False, default=str)
        made["description"] = f"{made.get('description', '')} One of {values[1:-1]}.".strip()
    if "$ref" in made and _target(made["$ref"], root) is None:
        del made["$ref"]
    return made


def _target(ref: Any, root: Any) -> Any:
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    for step in filter(None, ref[1:].split("/")):
        root = root.get(step) if isinstance(root, Mapping) else None
    return root
