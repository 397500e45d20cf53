"""The files that an application ships, put into the store at the first run of each namespace."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.core.errors import NotFoundError


class SeedMiddleware(AgentMiddleware):
    """Seeds the memory of an application; it stands outside of all that reads memory."""

    def __init__(self, backend: MemoryStoreBackend, files: Mapping[str, bytes]) -> None:
        super().__init__()
        self.tools = []
        self._backend = backend
        self._files = files

    def before_agent(self, state: Any, runtime: Any) -> None:
        if runtime.store is None:
            raise NotFoundError("there is no store for memory", "set graph.store, such as to InMemoryStore()")
        self._backend.seed(self._files, runtime)

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        await asyncio.to_thread(self.before_agent, state, runtime)


def shipped_files(directory: Path) -> dict[str, bytes]:
    """path -> bytes of the files below a directory, by path."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {f"/{path.relative_to(directory).as_posix()}": path.read_bytes() for path in files}
