"""An exception in a tool as that tool's result, so that the model goes on, and results of a length that can be kept."""

import time
from asyncio import CancelledError
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, is_invalid_resume

from deepnb.core.failures import failure_text, own_traceback
from deepnb.core.tape_index import NotOnTapeError
from deepnb.core.values import ToolEnded
from deepnb.engine.listen import tell, tell_notice
from deepnb.engine.request import LONGEST, bounded

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
