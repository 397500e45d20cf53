"""Marks for Anthropic's models, whose provider caches a prompt only up to where it is told to.

A prefix of tools, system prompt and messages is cached up to a block with a mark, of which a request has four at most;
a mark finds what was cached up to 20 blocks before it. Upstream marks the end of the memory block and of the request, and
the tools. Here the block's beginning is marked in the place of the tools, and the end of the request before: a step of
many tool calls is more than 20 blocks (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
"""

from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_anthropic.middleware.prompt_caching import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage

from deepnb.engine.fit import as_blocks
from deepnb.values.request import MEMORY_OPEN


class PromptCacheMiddleware(AnthropicPromptCachingMiddleware):
    """Sets the marks, innermost, so that they stand in what is really sent; marks of the user's own are left as they are."""

    def _should_apply_caching(self, request: ModelRequest) -> bool:
        sent = [message for message in (request.system_message, *request.messages) if message is not None]
        marked = any("cache_control" in block for message in sent for block in as_blocks(message))
        return not marked and "cache_control" not in request.model_settings and super()._should_apply_caching(request)

    def _apply_caching(self, request: ModelRequest) -> ModelRequest:
        made = super()._apply_caching(request)
        system, messages = made.system_message, list(request.messages)
        texts = [block.get("text", "").lstrip("\n") for block in as_blocks(system)] if system is not None else []
        memory = next((i for i, text in enumerate(texts) if text.startswith(MEMORY_OPEN)), 0)
        if system is not None and memory:
            system = self._with_mark(system, memory - 1)
        answers = [i for i, message in enumerate(messages) if isinstance(message, AIMessage)]
        end = answers[-1] - 1 if answers else -1  # what was last before the newest answer ended the request before
        if end >= 0:
            messages[end] = self._with_mark(messages[end], -1)
        return made.override(system_message=system, messages=messages, tools=request.tools)

    def _with_mark(self, message: Any, at: int) -> Any:
        content = as_blocks(message)
        if not content or content[at].get("type") != "text" or not content[at].get("text"):
            return message
        content[at] = {**content[at], "cache_control": self._cache_control}
        return message.model_copy(update={"content": content})
