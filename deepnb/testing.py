"""For tests of your agents: a chat model that says what you tell it to, and a recorder of what a model is sent.

>>> from langchain.agents import create_agent
>>> def get_time() -> str:
...     "Get the time."
...     return "12:00"
>>> model = ScriptedModel(answers=[call("get_time"), "It is noon."])
>>> agent, recorder = create_agent(model, [get_time], system_prompt="Be brief."), RequestRecorder()
>>> result = agent.invoke({"messages": "What time is it?"}, {"callbacks": [recorder]})
>>> result["messages"][-1].text
'It is noon.'
>>> [message.text for message in recorder.requests[1].messages]
['Be brief.', 'What time is it?', '', '12:00']
>>> [tool["function"]["name"] for tool in recorder.requests[1].tools]
['get_time']

The model works wherever LangChain takes one: in `invoke`, `ainvoke`, `stream` and `astream`, and in deepnb's
`Session(model=...)`. The recorder works with any chat model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field


def call(name: str, /, id: str = "c1", **args: Any) -> AIMessage:  # noqa: A002
    """An answer that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": id}])


class ScriptedModel(BaseChatModel):
    """Gives its answers in order and repeats the last one; keeps every request it was sent."""

    answers: list[Any]
    """Texts, messages such as `call(...)` makes, and exceptions, which are raised."""
    profile: ModelProfile | None = Field(default_factory=lambda: ModelProfile(max_input_tokens=100_000))
    delay: float = 0.0
    """Seconds before each word, where it streams."""
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    """What it was sent, the system message first."""
    flush: Any = "NO_REPLY"
    """The answer to the silent call before a compaction, which takes none of `answers`; an exception is raised."""
    flushes: list[list[BaseMessage]] = Field(default_factory=list)
    """What it was sent in those calls."""

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
        return _answer(self.answers[min(len(self.requests), len(self.answers)) - 1])

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
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="", tool_calls=answer.tool_calls, invalid_tool_calls=answer.invalid_tool_calls
            )
        )


@dataclass(frozen=True)
class SentRequest:
    """What a model was sent in one call."""

    messages: tuple[BaseMessage, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """As the provider is sent them."""

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n\n".join(m.text for m in self.messages if m.type == "system")

    @property
    def text(self) -> str:
        """The text of all messages, in order."""
        return "\n\n".join(m.text for m in self.messages)


class RequestRecorder(BaseCallbackHandler):
    """Keeps what chat models are sent, after all middleware: an agent's own, its subagents' and those of summaries."""

    run_inline = True

    def __init__(self) -> None:
        self.requests: list[SentRequest] = []

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, invocation_params: Any = None, **_: Any
    ) -> None:
        """LangChain tells of a call."""
        tools = tuple((invocation_params or {}).get("tools") or ())
        self.requests += [SentRequest(tuple(batch), tools) for batch in messages]


def _answer(answer: Any) -> AIMessage:
    if isinstance(answer, BaseException):
        raise answer
    return AIMessage(answer) if isinstance(answer, str) else answer
