"""What can be a tool, a middleware, a store or a checkpointer: a line for what can't, before anything is built of it."""

from collections.abc import Mapping
from typing import Any

from deepnb.core.errors import InvalidError


def check_parts(tools: tuple[Any, ...], middleware: tuple[Any, ...], store: Any, checkpointer: Any) -> None:
    """Raise an error for the first part that can't be one. By what it has: the engine need not be imported for that."""
    for tool in tools:
        _check_tool(tool)
    for one in middleware:
        _check(
            "middleware",
            one,
            ("wrap_model_call", "before_agent"),
            "a LangChain AgentMiddleware, such as MyMiddleware()",
        )
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
