"""Marks for providers that cache a prompt only up to where they are told to: Anthropic's.

What is cached is a prefix of tools, system prompt and messages, in this order, up to a block with a
mark; a request has at most four marks, and a mark finds what was cached up to 20 blocks before it
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). The four stand where a
request is likely to be the same next time:

1. before the memory block, behind what hardly ever changes: tools, instructions, skills;
2. behind the memory block, which stays as it is until it is made anew;
3. at the end of the request before this one, since a step of many tool calls is more than 20 blocks;
4. at the end of this one.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from deepnb.core.cached import LEAST, Caching
from deepnb.core.prompt import MEMORY_OPEN

MARK = {"type": "ephemeral"}
"""Kept by the provider for five minutes from its last use."""


class PromptCacheMiddleware(AgentMiddleware):
    """Sets the marks, innermost, so that they stand in what is really sent; marks of the user's own are left as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.tools = []

    @property
    def name(self) -> str:
        return "PromptCacheMiddleware"

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        return handler(marked(request))

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        return await handler(marked(request))


def wants_marks(model: Any) -> bool:
    """Whether a model's provider wants marks: known by the package of its class, so that nothing is imported to ask."""
    return any(kind.__module__.partition(".")[0] == "langchain_anthropic" for kind in type(model).__mro__)


def caching_of(model: Any) -> Caching:
    """What is known of how a model's provider caches prompts."""
    openai = any(kind.__module__.partition(".")[0] == "langchain_openai" for kind in type(model).__mro__)
    address = str(getattr(model, "openai_api_base", None) or "https://api.openai.com")
    known = wants_marks(model) or (openai and "://api.openai.com" in address)
    return Caching(wants_marks(model), LEAST if known else 0)


def marked(request: ModelRequest) -> ModelRequest:
    """The request with its marks; as it is where the model wants none, or somebody has set some."""
    if not wants_marks(request.model) or _has_marks(request):
        return request
    messages: list[Any] = list(request.messages)
    # What was last before the newest answer was the end of the request before.
    answers = [i for i, m in enumerate(messages) if isinstance(m, AIMessage)]
    if answers and answers[-1] > 0:
        messages[answers[-1] - 1] = _with_mark(messages[answers[-1] - 1])
    return request.override(
        system_message=_system_with_marks(request.system_message),
        messages=messages,
        model_settings={**request.model_settings, "cache_control": MARK},
    )


def _system_with_marks(system: SystemMessage | None) -> SystemMessage | None:
    """The system message with a mark on its last block, and on the one before where that is memory's."""
    if system is None or not (blocks := _blocks(system)):
        return system
    places = {len(blocks) - 1}
    memory = next((i for i, b in enumerate(blocks) if b.get("text", "").lstrip("\n").startswith(MEMORY_OPEN)), 0)
    if memory:
        places.add(memory - 1)
    return SystemMessage(content=[{**b, "cache_control": MARK} if i in places else b for i, b in enumerate(blocks)])


def _with_mark(message: BaseMessage) -> BaseMessage:
    """The message with a mark on its last block; as it is where it has none that can bear one."""
    blocks = _blocks(message)
    if not blocks or blocks[-1].get("type") != "text" or not blocks[-1].get("text"):
        return message
    return message.model_copy(update={"content": [*blocks[:-1], {**blocks[-1], "cache_control": MARK}]})


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    """The content as blocks."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return [b if isinstance(b, dict) else {"type": "text", "text": b} for b in message.content]


def _has_marks(request: ModelRequest) -> bool:
    system = [request.system_message] if request.system_message is not None else []
    return "cache_control" in request.model_settings or any(_is_marked(m.content) for m in (*system, *request.messages))


def _is_marked(content: str | Sequence[Any]) -> bool:
    return not isinstance(content, str) and any(isinstance(b, Mapping) and "cache_control" in b for b in content)
