"""What a tool says of itself, the same from every Python: since 3.13 a docstring comes without its indentation."""

from collections.abc import Sequence
from inspect import cleandoc, isroutine
from typing import Any

from langchain_core.tools import BaseTool, tool


def described(tools: Sequence[Any]) -> list[Any]:
    """The tools as they are bound: functions as tools, and no description indented as its code is."""
    return [_described(one) for one in tools]


def _described(given: Any) -> Any:
    if isroutine(given) and given.__doc__:
        return tool(description=cleandoc(given.__doc__))(given)
    if isinstance(given, BaseTool) and (clean := cleandoc(given.description)) != given.description:
        return given.model_copy(update={"description": clean})
    return given
