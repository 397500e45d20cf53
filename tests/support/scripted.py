"""A chat model that says what it is told to, in order, and keeps every request it was sent."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field


def call(name: str, /, id: str = "c1", **args: Any) -> AIMessage:  # noqa: A002
    """An answer that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id}])


def unasked(*tools: Any) -> dict[str, Any]:
    """Options of a session with tools of the user's that run without asking."""
    return {"tools": list(tools), "approve": {getattr(t, "name", None) or t.__name__: "allow" for t in tools}}


class Scripted(BaseChatModel):
    """Answers are given in order; the last one is repeated. An exception among them is raised."""

    answers: list[Any]
    profile: ModelProfile | None = Field(default_factory=lambda: ModelProfile(max_input_tokens=100_000))
    delay: float = 0.0
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    flush: Any = "NO_REPLY"
    """The answer to the silent call before a compaction, which takes none of `answers`; an exception is raised."""
    flushes: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(t) for t in tools], **kwargs)

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        if "<leaving>" in str(messages[-1].content):
            self.flushes.append(messages)
            return _answer(self.flush)
        self.requests.append(messages)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return _answer(answer)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages).model_copy(update={"id": None}))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._next(messages)
        words = str(answer.content).split(" ") if answer.content else []
        for i, word in enumerate(words):
            time.sleep(self.delay)
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word if i == 0 else f" {word}"))
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=answer.tool_calls))


class Paid(Scripted):
    """Reports usage, as providers do, in the last chunk."""

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield from super()._stream(*args, **kwargs)
        details = {"cache_read": 4}
        usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": details}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def _answer(answer: Any) -> AIMessage:
    if isinstance(answer, BaseException):
        raise answer
    return AIMessage(answer) if isinstance(answer, str) else answer
