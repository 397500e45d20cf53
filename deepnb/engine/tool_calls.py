"""How a tool call runs: coroutines on the loop, an exception as the result, results of a length that can be kept."""

import inspect
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.errors import GraphBubbleUp, is_invalid_resume

from deepnb.engine import coroutines
from deepnb.engine.listen import tell, tell_notice
from deepnb.engine.request import LONGEST, bounded
from deepnb.values.failures import NotOnTapeError, failure_text, own_traceback
from deepnb.values.turn import ToolEnded


class AsyncToolsMiddleware(AgentMiddleware):
    """Runs them on `deepnb.engine.coroutines`; a run that is a coroutine itself awaits them where it is."""

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
            return coroutines.run(tool._arun(*args, **kwargs))

    object.__setattr__(made, "_run", first)
    return made


def _on_loop(coroutine: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    @wraps(coroutine)
    def call(*args: Any, **kwargs: Any) -> Any:
        return coroutines.run(coroutine(*args, **kwargs))

    return call


_STOPS = (GraphBubbleUp, NotOnTapeError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends or interrupts the run, not the tool alone."""


class ToolErrorsMiddleware(AgentMiddleware):
    """Gives the model a result where a tool raised.

    Every agent has it, nested ones too. It stands outside the user's own middleware, whose exceptions are results as well.
    """

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        try:
            return _bounded(handler(request))
        except _STOPS:
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        try:
            return _bounded(await handler(request))
        except (*_STOPS, CancelledError):
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)


def _bounded(result: Any) -> Any:
    """Return a result whose texts are not too long to be kept, and tell the user if something is left out."""
    if not isinstance(result, ToolMessage):
        return result
    content = result.content
    if isinstance(content, str):
        made: Any = bounded(content)
    else:
        made = [
            bounded(b) if isinstance(b, str) else {**b, "text": bounded(b["text"])} if b.get("type") == "text" else b
            for b in content
        ]
    if made == content:
        return result
    tell_notice(
        f"the result of {result.name} is longer than {LONGEST:,} characters: what is between its ends is left out"
    )
    return result.model_copy(update={"content": made})


def _result(call: Any, error: BaseException, began: float) -> ToolMessage:
    if is_invalid_resume(error):  # nothing the model could put right
        raise error
    text = failure_text(error)
    if not isinstance(error, Exception):  # of these the Listener hears from some versions of LangChain only
        id_, name, took = call["id"] or "", call["name"], time.perf_counter() - began
        tell(lambda path: ToolEnded(id_, name, text, "error", took, path, own_traceback(error)))
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
