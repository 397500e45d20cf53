"""AGENTS.md files of directories: the nearest one is shown when the agent works on a file below it.

The convention is that of agents.md: of several such files, the one nearest to the file holds.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage

from deepnb.engine.request import message_text, still_sent
from deepnb.gate import redact
from deepnb.memory.budget import Count, fitted

NAME = "AGENTS.md"
_TOOLS = ("read_file", "edit_file", "write_file")


class NestedMemoryMiddleware(AgentMiddleware):
    """Adds a directory's AGENTS.md to the result of the first tool call below it; it adds no step of its own."""

    def __init__(self, backend: BackendProtocol, sources: Sequence[str], budget: int, count: Count) -> None:
        super().__init__()
        self.tools = []
        self._backend = backend
        self._sources = frozenset(sources)
        self._budget = budget
        self._count = count

    @property
    def name(self) -> str:
        return "NestedMemoryMiddleware"

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._with_nearest(handler(request), request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await asyncio.to_thread(self._with_nearest, await handler(request), request)

    def _wanted(self, request: Any, result: Any) -> list[str]:
        """Where the AGENTS.md for this call may be, nearest first."""
        path = str(request.tool_call["args"].get("file_path", ""))
        fine = isinstance(result, ToolMessage) and result.status != "error" and isinstance(result.content, str)
        if request.tool_call["name"] not in _TOOLS or not fine or not path.startswith("/"):
            return []
        near = [str(parent / NAME) for parent in PurePosixPath(path).parents]
        return [p for p in near if p != path and p not in self._sources]

    def _with_nearest(self, result: Any, request: Any) -> Any:
        paths = self._wanted(request, result)
        found: list[Any] = self._backend.download_files(paths) if paths else []
        nearest = next((f for f in found if f.content is not None), None)
        if nearest is None or self._shown(request.state, nearest.path):
            return result
        try:
            text = redact(nearest.content.decode("utf-8"))
        except UnicodeDecodeError:
            return result
        (shown,) = fitted({nearest.path: text}, [nearest.path], self._budget, self._count) or (None,)
        if shown is None:
            return result
        block = f"\n\n{_opening(nearest.path)}\n{shown.shown}\n</agents_md>"
        return result.model_copy(update={"content": f"{result.content}{block}"})

    def _shown(self, state: Any, path: str) -> bool:
        """Whether the file stands in a message that is still sent."""
        sent = still_sent(state) if isinstance(state, Mapping) else []
        tag = _opening(path)
        return any(tag in message_text(m) for m in sent if m.type == "tool")


def _opening(path: str) -> str:
    return f'<agents_md path="{path}">'
