"""A model's answer as the agent takes it: without thinking in tags, and with calls that it wrote as text.

The middleware that asks the model says in a context variable what it offered, so that whoever listens to the answer as
it is streamed shows the same.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.core.answers import FROM_TEXT, calls_in, split_thinking, stands_in
from deepnb.engine.request import message_text, tool_name


class Reader:
    """Reads the answer to one request of an agent."""

    def __init__(self, request: Any) -> None:
        self._request = request
        tools = (request.tools or ()) if request.response_format is None else ()  # that answer is JSON as well
        self.offered: Mapping[str, Callable[[], Mapping[str, str]]] = {
            name: partial(_types, tool) for tool in tools if (name := tool_name(tool))
        }

    def read(self, message: AIMessage) -> AIMessage:
        """The answer without its thinking, and as the calls that it is, where it is nothing else."""
        if not isinstance(message.content, str):
            return message
        _, text = split_thinking(message.content)
        calls = [] if message.tool_calls or message.invalid_tool_calls else calls_in(text, self.offered)
        if calls:
            others = [m for m in (self._request.system_message, *self._request.messages) if m and m.type != "ai"]
            texts = [message_text(m) for m in others]
            calls = [] if any(stands_in(call, texts) for call in calls) else calls
        if not calls and text == message.content:
            return message
        key = sha256(f"{message.id} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
        made: list[Any] = [
            {"name": name, "args": args, "id": f"{FROM_TEXT}{key}{at}", "type": "tool_call"}
            for at, (name, args) in enumerate(calls)
        ]
        return message.model_copy(update={"content": "" if made else text, "tool_calls": made or message.tool_calls})

    def of(self, response: Any) -> Any:
        """A model's response with its answers read."""
        if not isinstance(response, ModelResponse):
            return response
        result = [self.read(m) if isinstance(m, AIMessage) else m for m in response.result]
        same = all(a is b for a, b in zip(result, response.result, strict=True))
        return response if same else replace(response, result=result)


_READER: ContextVar[Reader | None] = ContextVar("reader", default=None)


@contextmanager
def reading(request: Any) -> Iterator[Reader]:
    """Give what reads the answer to a request that is sent in the block."""
    token = _READER.set(reader := Reader(request))
    try:
        yield reader
    finally:
        _READER.reset(token)


def reader() -> Reader | None:
    """What reads the answer to the request under way; None where nobody does."""
    return _READER.get()


def _types(tool: Any) -> Mapping[str, str]:
    """name -> JSON type of a tool's parameters, in their order."""
    properties = convert_to_openai_tool(tool)["function"].get("parameters", {}).get("properties", {})
    return {name: str(one.get("type", "")) for name, one in properties.items()}
