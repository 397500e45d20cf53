"""What a compiled graph is made of, as far as its nodes can be looked into: models, middleware, tools.

LangChain keeps no list of them in a graph. They are found where its nodes hold them: in the closures of their functions,
in the globals that those name, and in bound runnables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph._internal._runnable import RunnableCallable
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from deepnb.engine.tool_calls import is_async

_DEPTH = 14
_MANY = 200
"""Items of a collection that are looked at."""


@dataclass(frozen=True)
class GraphParts:
    """What was found, the nearest to the nodes first."""

    models: tuple[BaseChatModel, ...]
    middleware: tuple[AgentMiddleware[Any, Any, Any], ...]
    tools: tuple[BaseTool, ...]
    is_async: bool
    """Whether something in it runs only as a coroutine."""

    def of(self, name: str) -> Any:
        """The first middleware of this name, or of a class made from one of it; None where there is none."""
        known = ((m, {m.name, *(c.__name__ for c in type(m).__mro__)}) for m in self.middleware)
        return next((m for m, names in known if name in names), None)


def graph_parts(compiled: Any) -> GraphParts:
    """The parts of a compiled graph; those of its subagents are left out."""
    models: list[BaseChatModel] = []
    middleware: list[AgentMiddleware[Any, Any, Any]] = []
    tools: dict[str, BaseTool] = {}
    coroutines = False
    for one in _within(compiled):
        if isinstance(one, BaseChatModel):
            models.append(one)
        elif isinstance(one, AgentMiddleware):
            middleware.append(one)
            coroutines |= _only_async(one)
        elif isinstance(one, BaseTool):
            tools[one.name] = one
            coroutines |= is_async(one) and getattr(one, "func", None) is None
        elif isinstance(one, RunnableCallable):
            coroutines |= one.func is None
    return GraphParts(tuple(models), tuple(middleware), tuple(tools.values()), coroutines)


def _within(compiled: Any) -> Iterator[Any]:
    """Everything that is found in a graph, the nearest first, each once."""
    seen: set[int] = set()
    todo: list[tuple[Any, int]] = [(compiled, 0)]
    while todo:
        one, depth = todo.pop(0)
        if id(one) in seen or depth > _DEPTH:
            continue
        seen.add(id(one))
        yield one
        todo += [(other, depth + 1) for other in _held(one)]


def _held(one: Any) -> Sequence[Any]:
    """What a value holds in which parts of a graph may be."""
    match one:
        case BaseChatModel() | AgentMiddleware():
            return ()
        case BaseTool():  # its middleware is what its function closes over; anything deeper is a subagent's
            return [m for m in _cells(getattr(one, "func", None)) if isinstance(m, AgentMiddleware)]
        case Pregel():
            return [node.bound for node in one.nodes.values()]
        case ToolNode():
            return list(one.tools_by_name.values())
        case RunnableCallable():
            return [one.func, one.afunc]
        case RunnableBinding():
            return [one.bound]
        case RunnableSequence():
            return one.steps
        case MethodType():
            return [one.__self__, one.__func__]
        case partial():
            return [one.func, *one.args, *one.keywords.values()]
        case FunctionType():
            return [*_cells(one), *_globals(one)]
        case list() | tuple():
            return one[:_MANY]
        case dict():
            return list(one.values())[:_MANY]
    return ()


def _cells(function: Any) -> list[Any]:
    return [c.cell_contents for c in getattr(function, "__closure__", None) or () if c != CellType()]


def _globals(function: FunctionType) -> list[Any]:
    """The runnables, and the functions of the same module, that a function names."""
    own = function.__globals__
    named = [own[name] for name in function.__code__.co_names if name in own]
    return [
        one for one in named if isinstance(one, Runnable) or (isinstance(one, FunctionType) and one.__globals__ is own)
    ]


def _only_async(one: AgentMiddleware[Any, Any, Any]) -> bool:
    """Whether a hook of a middleware has no synchronous twin."""
    return any(
        getattr(type(one), f"a{hook}") is not getattr(AgentMiddleware, f"a{hook}")
        and getattr(type(one), hook) is getattr(AgentMiddleware, hook)
        for hook in ("wrap_model_call", "wrap_tool_call")
    )
