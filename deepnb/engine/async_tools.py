"""Tools that are only coroutines, as MCP adapters give them, in a run that is synchronous."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool, StructuredTool, Tool

from deepnb.engine import loop


class AsyncToolsMiddleware(AgentMiddleware):
    """Runs them on `deepnb.engine.loop`; a run that is a coroutine itself awaits them where it is."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        tool = request.tool
        return handler(request.override(tool=_synchronous(tool)) if tool is not None and is_async(tool) else request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


def is_async(tool: Any) -> bool:
    """Whether a tool, or a function that will be one, has a coroutine and may have nothing else."""
    if isinstance(tool, StructuredTool | Tool):
        return tool.func is None and tool.coroutine is not None
    if isinstance(tool, BaseTool):
        return type(tool)._arun is not BaseTool._arun
    return inspect.iscoroutinefunction(tool)


def _synchronous(tool: BaseTool) -> BaseTool:
    if isinstance(tool, StructuredTool | Tool):
        assert tool.coroutine is not None
        return tool.model_copy(update={"func": _on_loop(tool.coroutine)})
    made, original = tool.model_copy(), tool._run

    @wraps(original)
    def first(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except NotImplementedError:
            kwargs.pop("run_manager", None)  # that of a synchronous run
            return loop.run(tool._arun(*args, **kwargs))

    object.__setattr__(made, "_run", first)
    return made


def _on_loop(coroutine: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    @wraps(coroutine)
    def call(*args: Any, **kwargs: Any) -> Any:
        return loop.run(coroutine(*args, **kwargs))

    return call
