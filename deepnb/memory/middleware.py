"""Puts the memory files into the system prompt; when they are read again is the refresh policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from deepagents.backends.protocol import BackendProtocol, FileDownloadResponse
from deepagents.middleware.filesystem import FilesystemState
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, PrivateStateAttr
from langchain_core.messages import SystemMessage

from deepnb.core.errors import DeepnbError
from deepnb.engine import keys
from deepnb.memory.guidelines import memory_block

Refresh = Literal["thread", "call"]
"""`thread`: read once per thread. `call`: read before every model call."""


class MemoryState(FilesystemState):
    """What memory adds to the state: the texts as they are injected; neither output nor inherited."""

    memory_contents: Annotated[NotRequired[dict[str, str]], PrivateStateAttr]


class MemoryMiddleware(AgentMiddleware):
    """Memory of a thread, read once: before its first model call."""

    state_schema = MemoryState

    def __init__(self, backend: BackendProtocol, sources: Sequence[str]) -> None:
        super().__init__()
        self.tools = []
        self.sources = tuple(sources)
        self._backend = backend

    @property
    def name(self) -> str:
        return "MemoryMiddleware"

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return None if _loaded(state) else self._load(state)

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return None if _loaded(state) else await self._aload(state)

    def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        return handler(self._with_memory(request))

    async def awrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        return await handler(self._with_memory(request))

    def _load(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._changed(state, self._backend.download_files(list(self.sources)))

    async def _aload(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._changed(state, await self._backend.adownload_files(list(self.sources)))

    def _changed(self, state: Mapping[str, Any], responses: Sequence[FileDownloadResponse]) -> dict[str, Any] | None:
        contents = texts(self.sources, responses)
        return None if state.get(keys.MEMORY) == contents else {keys.MEMORY: contents}

    def _with_memory(self, request: ModelRequest) -> ModelRequest:
        state: Mapping[str, Any] = request.state
        block = memory_block(state.get(keys.MEMORY) or {}, self.sources)
        return request.override(system_message=with_block(request.system_message, block))


class FreshMemoryMiddleware(MemoryMiddleware):
    """Memory read again before every model call, so that an edit is seen by the very next one."""

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return None

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return None

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return self._load(state)

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return await self._aload(state)


def memory_middleware(backend: BackendProtocol, sources: Sequence[str], refresh: Refresh) -> MemoryMiddleware:
    """The middleware for a refresh policy."""
    return (MemoryMiddleware if refresh == "thread" else FreshMemoryMiddleware)(backend, sources)


def _loaded(state: Mapping[str, Any]) -> bool:
    return state.get(keys.MEMORY) is not None


def texts(sources: Sequence[str], responses: Sequence[FileDownloadResponse]) -> dict[str, str]:
    """path -> text of the files that exist; a file that can't be read is an error naming it."""
    found: dict[str, str] = {}
    for path, response in zip(sources, responses, strict=True):
        if response.error == "file_not_found":
            continue
        if response.error is not None or response.content is None:
            raise DeepnbError(
                f"memory file {path} can't be read ({response.error})", "mend or remove it, then run again"
            )
        try:
            found[path] = response.content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DeepnbError(
                f"memory file {path} is not UTF-8 text (byte {error.start})",
                "save it as UTF-8, or remove it, then run again",
            ) from None
    return found


def with_block(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message with a text block appended, what it held left as it is."""
    held: list[Any] = list(system.content_blocks) if system else []
    return SystemMessage(content_blocks=[*held, {"type": "text", "text": f"\n\n{block}" if held else block}])
