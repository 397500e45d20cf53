"""Upstream's file tools, made once for a backend that runs no commands, with long texts put where only some may read."""

from collections.abc import Collection, Sequence
from typing import Any

from deepagents.middleware.filesystem import FilesystemMiddleware


class FileToolsMiddleware(FilesystemMiddleware):
    """`ls`, `read_file`, `write_file`, `edit_file`, `delete`, `glob` and `grep`.

    Upstream drops `execute` at each model call, and copies `grep` to take the words on `execute` out of its
    description: a new schema each time, a fifth of what a short turn costs. Here both are done once.
    """

    def __init__(
        self, backend: Any, longest: int | None, names: Sequence[str] | None = None, kept: Collection[str] = frozenset()
    ) -> None:
        """`names` are the tools there are, None for all; a result of more than `longest` tokens goes into a file.

        Nested agents can read that: `kept` are tools whose results go into none, since they bound them themselves.
        """
        chosen: Any = None if names is None else list(names)
        super().__init__(backend=backend, tool_token_limit_before_evict=longest, tools=chosen)
        tools = [tool for tool in self.tools if tool.name != "execute"]
        self.tools = self._with_filtered_grep_description(list(tools), include_execution=False)  # type: ignore[assignment]
        self._conversation_history_prefix += "/prompts"  # beside the history of a thread, not in its place
        self._kept = frozenset(kept)

    @property
    def name(self) -> str:
        return "FilesystemMiddleware"

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request) if request.tool_call["name"] in self._kept else super().wrap_tool_call(request, handler)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] in self._kept:
            return await handler(request)
        return await super().awrap_tool_call(request, handler)
