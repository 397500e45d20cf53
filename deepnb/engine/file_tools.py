"""Upstream's file tools, made once for a backend that runs no commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deepagents.middleware.filesystem import FilesystemMiddleware


class FileToolsMiddleware(FilesystemMiddleware):
    """`ls`, `read_file`, `write_file`, `edit_file`, `delete`, `glob` and `grep`.

    Upstream drops `execute` at each model call, and copies `grep` to take the words on `execute` out of its
    description: a new schema each time, a fifth of what a short turn costs. Here both are done once.
    """

    def __init__(self, backend: Any, evict: int | None, names: Sequence[str] | None = None) -> None:
        """`names` are the tools there are, None for all; a result of more than `evict` tokens goes to a file."""
        chosen: Any = None if names is None else list(names)
        super().__init__(backend=backend, tool_token_limit_before_evict=evict, tools=chosen)
        kept = [tool for tool in self.tools if tool.name != "execute"]
        self.tools = self._with_filtered_grep_description(list(kept), include_execution=False)  # type: ignore[assignment]

    @property
    def name(self) -> str:
        return "FilesystemMiddleware"
