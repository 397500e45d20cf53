"""An exception in a tool as that tool's result, so that the model goes on."""

import time
from asyncio import CancelledError
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, is_invalid_resume

from deepnb.core.failures import failure_text, own_traceback
from deepnb.core.tape_index import NotOnTapeError
from deepnb.core.values import ToolEnded
from deepnb.engine.listen import tell

_STOPS = (GraphBubbleUp, NotOnTapeError, KeyboardInterrupt, SystemExit, GeneratorExit)
"""What ends or interrupts the run, not the tool alone."""


class ToolErrorsMiddleware(AgentMiddleware):
    """Gives the model a result where a tool raised.

    Every agent has it, nested ones too. It stands outside the user's own middleware, whose exceptions are results as well.
    """

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        try:
            return handler(request)
        except _STOPS:
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        try:
            return await handler(request)
        except (*_STOPS, CancelledError):
            raise
        except BaseException as error:
            return _result(request.tool_call, error, began)


def _result(call: Any, error: BaseException, began: float) -> ToolMessage:
    if is_invalid_resume(error):  # nothing the model could put right
        raise error
    text = failure_text(error)
    if not isinstance(error, Exception):  # of these the Listener hears from some versions of LangChain only
        id_, name, took = call["id"] or "", call["name"], time.perf_counter() - began
        tell(lambda path: ToolEnded(id_, name, text, "error", took, path, own_traceback(error)))
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
