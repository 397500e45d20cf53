"""What a tool says of itself, the same from every Python: since 3.13 a docstring comes without its indentation."""

from collections.abc import Mapping, Sequence
from inspect import cleandoc, isroutine
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.tools import BaseTool, StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool

_SCHEMAS: dict[CodeType | None, Any] = {}
"""The arguments of deepnb's own functions by their code: each graph binds them anew, over a namespace of its own."""
_PARAMETERS: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
"""The shorter JSON schemas, by the class that describes the arguments: making one takes milliseconds."""


def described(tools: Sequence[Any]) -> list[Any]:
    """The tools as they are bound: functions as tools, and no description indented as its code is."""
    return [_described(one) for one in tools]


def _described(given: Any) -> Any:
    if isroutine(given) and given.__doc__:
        code = given.__code__ if isinstance(given, FunctionType) and given.__module__.startswith("deepnb.") else None
        made = tool(description=cleandoc(given.__doc__), args_schema=_SCHEMAS.get(code))(given)
        if code is not None:
            _SCHEMAS[code] = made.args_schema
        return made
    if isinstance(given, BaseTool) and (clean := cleandoc(given.description)) != given.description:
        return given.model_copy(update={"description": clean})
    return given


class ShortTool(StructuredTool):
    """A tool that shows a model a shorter schema; its arguments are checked against its own, as before."""

    shown: dict[str, Any]
    """The JSON schema of its parameters, with its description, as a model sees it: made once, asked for at each call."""

    tool_call_schema = property(attrgetter("shown"))


def shortened(tools: Sequence[Any], texts: Mapping[str, str]) -> list[Any]:
    """The tools, those named in `texts` with that description, which has to say what each parameter is."""
    return [_shortened(one, texts.get(one.name)) if isinstance(one, StructuredTool) else one for one in tools]


def _shortened(tool: StructuredTool, text: str | None) -> StructuredTool:
    if text is None:
        return tool
    held = {name: getattr(tool, name) for name in type(tool).model_fields}
    return ShortTool(**{**held, "description": text, "shown": {**_parameters(tool), "description": text}})


def _parameters(tool: StructuredTool) -> dict[str, Any]:
    known = _PARAMETERS.get(tool.args_schema) if isinstance(tool.args_schema, type) else None
    if known is None:
        known = _plain(convert_to_openai_tool(tool)["function"].get("parameters", {}))
        if isinstance(tool.args_schema, type):
            _PARAMETERS[tool.args_schema] = known
    return known


_SAID = ("description", "default", "additionalProperties")
"""Keys of a parameter's schema in whose place the tool's description stands."""


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with the names and types of parameters alone; that an optional one may be null goes without saying."""
    properties = {name: _type(parameter) for name, parameter in schema.get("properties", {}).items()}
    return {**schema, "properties": properties}


def _type(parameter: Mapping[str, Any]) -> dict[str, Any]:
    choices = [one for one in parameter.get("anyOf", ()) if one.get("type") != "null"]
    found = choices[0] if len(choices) == 1 else parameter
    return {key: value for key, value in found.items() if key not in _SAID}
