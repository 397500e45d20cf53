"""What a client asks of the agent: sessions, prompts, modes, models."""

import asyncio
from collections.abc import Sequence
from functools import wraps
from os import getcwd
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, helpers, schema

from deepnb import __version__
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, NotFoundError
from deepnb.values.events import without_credentials
from deepnb.values.text import excerpt
from deepnb.wings.acp.chat import ASK, READ_ONLY, Chat, Setup

_MODEL = "model"
_MODES = {ASK: ("Ask", "What can't be undone needs your approval."), READ_ONLY: ("Read-only", "Nothing is changed.")}
_ABLE = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True},
    "sessionCapabilities": {"list": {}, "close": {}},
}


def _in_lines(method: Any) -> Any:

    @wraps(method)
    async def told(*args: Any, **given: Any) -> Any:
        try:
            return await method(*args, **given)
        except DeepnbError as error:
            code = -32002 if isinstance(error, NotFoundError) else -32602 if isinstance(error, InvalidError) else -32603
            raise RequestError(code, error.typed) from None

    return told


class Agent:
    """The protocol's agent: each method is a request, or a notification."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._chats: dict[str, Chat] = {}
        self._client: Any = None

    def on_connect(self, client: Any) -> None:
        self._client = client

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is being answered."""
        return any(chat.task is not None for chat in self._chats.values())

    def close(self) -> None:
        """Close all sessions."""
        for chat in self._chats.values():
            chat.session.close()

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        info = schema.Implementation(name="deepnb", title="deepnb", version=__version__)
        able = schema.AgentCapabilities.model_validate(_ABLE)
        version = min(protocol_version, PROTOCOL_VERSION)
        return schema.InitializeResponse(protocol_version=version, agent_info=info, agent_capabilities=able)

    @_in_lines
    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> schema.NewSessionResponse:
        chat = await asyncio.to_thread(Chat, self._setup, self._client, cwd, mcp_servers or ())
        self._chats[chat.id] = chat
        return schema.NewSessionResponse(session_id=chat.id, **_state(chat))

    @_in_lines
    async def load_session(self, cwd: str, session_id: str, mcp_servers: Any = None, **_: Any) -> Any:
        chat = self._chats.get(session_id)
        if chat is None or (self._setup.persist is not None and chat.task is None):  # as it is now in the database
            loaded = await asyncio.to_thread(Chat, self._setup, self._client, cwd, mcp_servers or (), session_id)
            if chat is not None:
                loaded.mode, loaded.model = chat.mode, chat.model
                chat.session.close()
            chat = self._chats[session_id] = loaded
        for turn in map(without_credentials, chat.thread.turns):
            await chat.tell(helpers.update_user_message_text(turn.prompt))
            for update in [one for event in turn.events for one in chat.updates.of(event)]:
                await chat.tell(update)
        return schema.LoadSessionResponse(**_state(chat))

    @_in_lines
    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        found = [(chat.id, chat.thread.turns) for chat in self._chats.values()]
        if self._setup.persist is not None:
            found = await asyncio.to_thread(self._setup.threads)
        newest = sorted((one for one in found if one[1]), key=lambda one: one[1][-1].started, reverse=True)
        known = [(name, excerpt(turns[0].first_words, 80), turns[-1].started or None) for name, turns in newest]
        infos = [schema.SessionInfo(session_id=n, cwd=cwd or getcwd(), title=t, updated_at=at) for n, t, at in known]
        return schema.ListSessionsResponse(sessions=infos)

    @_in_lines
    async def close_session(self, session_id: str, **_: Any) -> None:
        chat = self._chat(session_id)
        await self.cancel(session_id)
        while chat.task is not None:
            await asyncio.wait((chat.task,))
        del self._chats[session_id]
        chat.session.close()

    @_in_lines
    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> None:
        if mode_id not in _MODES:
            raise InvalidError(f"there is no mode {mode_id!r}", f"use one of {', '.join(_MODES)}")
        self._chat(session_id).mode = mode_id

    @_in_lines
    async def set_config_option(self, config_id: str, session_id: str, value: Any, **_: Any) -> Any:
        chat = self._chat(session_id)
        if config_id != _MODEL or value not in chat.models:
            raise InvalidError(f"{config_id} can't be {value!r}", f"{_MODEL} is one of {', '.join(chat.models)}")
        chat.model = value
        return schema.SetSessionConfigOptionResponse(config_options=_state(chat)["config_options"])

    @_in_lines
    async def prompt(self, prompt: Sequence[Any], session_id: str, **_: Any) -> schema.PromptResponse:
        chat = self._chat(session_id)
        if chat.task is not None:
            raise BusyError("the session answers a prompt already", "wait for its end, or cancel it")
        chat.task, chat.is_cancelled = asyncio.current_task(), False
        try:
            return await chat.answer(prompt)
        except asyncio.CancelledError:
            if not chat.is_cancelled:
                raise
            return schema.PromptResponse(stop_reason="cancelled")
        finally:
            chat.task = None

    async def cancel(self, session_id: str, **_: Any) -> None:
        if (chat := self._chats.get(session_id)) is not None and chat.task is not None:
            chat.is_cancelled = True
            chat.task.cancel()

    def _chat(self, session_id: str) -> Chat:
        if session_id not in self._chats:
            raise NotFoundError(f"no session {session_id!r} is open", "load it, or begin a new one")
        return self._chats[session_id]


def _state(chat: Chat) -> dict[str, Any]:
    modes = [schema.SessionMode(id=id_, name=name, description=about) for id_, (name, about) in _MODES.items()]
    facts: dict[str, Any] = {"type": "select", "id": _MODEL, "name": "Model", "category": "model"}
    models = [schema.SessionConfigSelectOption(value=name, name=name) for name in chat.models]
    model = schema.SessionConfigOptionSelect(**facts, current_value=chat.model, options=models)
    state = schema.SessionModeState(current_mode_id=chat.mode, available_modes=modes)
    return {"modes": state, "config_options": [model]}
