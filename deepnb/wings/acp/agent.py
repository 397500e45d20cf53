"""What a client asks of the agent: sessions, prompts with permissions, modes, models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, RequestError, helpers, schema

from deepnb import __version__
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.errors import BusyError, DeepnbError, InvalidError, NotFoundError
from deepnb.values.events import without_credentials
from deepnb.values.text import excerpt
from deepnb.values.turn import Turn
from deepnb.wings.acp.chat import ASK, READ_ONLY, Chat, Setup
from deepnb.wings.acp.prompt import read_prompt
from deepnb.wings.acp.turns import Turns
from deepnb.wings.acp.updates import ALWAYS, ONCE, REJECT

_LISTED = 100
"""Sessions that are listed, the newest first."""
_MODEL = "model"
_MODES = {ASK: ("Ask", "What can't be undone needs your approval."), READ_ONLY: ("Read-only", "Nothing is changed.")}

P = ParamSpec("P")
T = TypeVar("T")


def _in_lines(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Answer with deepnb's one line where a method raises an error of it."""

    @wraps(method)
    async def told(*args: P.args, **given: P.kwargs) -> T:
        try:
            return await method(*args, **given)
        except DeepnbError as error:
            code = -32002 if isinstance(error, NotFoundError) else -32602 if isinstance(error, InvalidError) else -32603
            raise RequestError(code, error.typed) from None

    return told


class Agent:
    """The protocol's agent: each method is a request, or a notification, on the event loop of the connection."""

    def __init__(self, setup: Setup, turns: Turns) -> None:
        self._setup, self._turns = setup, turns
        self._chats: dict[str, Chat] = {}
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def on_connect(self, client: Any) -> None:
        """Keep what speaks to the client."""
        self._client, self._loop = client, asyncio.get_running_loop()

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is being answered."""
        return any(chat.is_busy for chat in self._chats.values())

    def close(self) -> None:
        """Close all sessions, when no turn plays any more."""
        for chat in self._chats.values():
            chat.session.close()

    # -- sessions

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        sessions = {"list": schema.SessionListCapabilities(), "close": schema.SessionCloseCapabilities()}
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=schema.Implementation(name="deepnb", title="deepnb", version=__version__),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True, sse=False),
                session_capabilities=schema.SessionCapabilities(**sessions),
            ),
        )

    @_in_lines
    async def new_session(self, cwd: str, mcp_servers: Any = None, **_: Any) -> schema.NewSessionResponse:
        chat = await asyncio.to_thread(Chat, self._setup, cwd, mcp_servers)
        self._chats[chat.thread] = chat
        return schema.NewSessionResponse(session_id=chat.thread, modes=_modes(chat), config_options=_settings(chat))

    @_in_lines
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Any = None, **_: Any
    ) -> schema.LoadSessionResponse:
        chat = self._chats.get(session_id)
        if chat is None or (self._setup.persist is not None and not chat.is_busy):  # as it is now in the database
            loaded = await asyncio.to_thread(Chat, self._setup, cwd, mcp_servers, session_id)
            if chat is not None:
                await asyncio.wrap_future(self._turns.add(chat.session.close))
            chat = self._chats[session_id] = loaded
        for turn in map(without_credentials, chat.turns):
            await self._tell(chat, helpers.update_user_message_text(turn.prompt))
            for update in [one for event in turn.events for one in chat.updates.of(event)]:
                await self._tell(chat, update)
        return schema.LoadSessionResponse(modes=_modes(chat), config_options=_settings(chat))

    @_in_lines
    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        found = [(chat.thread, chat.turns) for chat in self._chats.values()]
        if self._setup.persist is not None:
            found = await asyncio.to_thread(self._setup.threads)
        newest = sorted((one for one in found if one[1]), key=lambda one: one[1][-1].started, reverse=True)[:_LISTED]
        where = cwd or str(Path.cwd())
        facts = [(name, excerpt(turns[0].first_words, 80), turns[-1].started or None) for name, turns in newest]
        infos = [schema.SessionInfo(session_id=i, cwd=where, title=title, updated_at=at) for i, title, at in facts]
        return schema.ListSessionsResponse(sessions=infos)

    @_in_lines
    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        chat = self._chat(session_id)
        await self.cancel(session_id)
        del self._chats[session_id]
        await asyncio.wrap_future(self._turns.add(chat.session.close))
        return schema.CloseSessionResponse()

    @_in_lines
    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> schema.SetSessionModeResponse:
        if mode_id not in _MODES:
            raise InvalidError(f"there is no mode {mode_id!r}", f"use one of {', '.join(_MODES)}")
        self._chat(session_id).mode = mode_id
        return schema.SetSessionModeResponse()

    @_in_lines
    async def set_config_option(
        self, config_id: str, session_id: str, value: Any, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        chat = self._chat(session_id)
        if config_id != _MODEL or value not in chat.models:
            raise InvalidError(f"{config_id} can't be {value!r}", f"{_MODEL} is one of {', '.join(chat.models)}")
        chat.model = value
        return schema.SetSessionConfigOptionResponse(config_options=_settings(chat))

    # -- prompts

    @_in_lines
    async def prompt(self, prompt: Sequence[Any], session_id: str, **_: Any) -> schema.PromptResponse:
        chat = self._chat(session_id)
        if chat.is_busy:
            raise BusyError("the session answers a prompt already", "wait for its end, or cancel it")
        chat.is_busy, chat.is_cancelled = True, False
        try:
            return await self._answered(chat, *await asyncio.to_thread(read_prompt, prompt))
        except asyncio.CancelledError:
            if not chat.is_cancelled:
                raise
            return schema.PromptResponse(stop_reason="cancelled")
        finally:
            chat.is_busy, chat.waits = False, None

    async def cancel(self, session_id: str, **_: Any) -> None:
        chat = self._chats.get(session_id)
        if chat is None or not chat.is_busy:
            return
        chat.is_cancelled = True
        if isinstance(chat.waits, asyncio.Future):
            chat.waits.cancel()
        else:
            self._turns.interrupt(chat.waits)

    async def _answered(self, chat: Chat, text: str, images: Sequence[Any]) -> schema.PromptResponse:
        while chat.notes:
            await self._tell(chat, helpers.update_agent_message_text(f"> {chat.notes.pop(0)}\n\n"))
        await self._decided(chat, None)  # what an earlier turn still asks comes first
        turn = await self._decided(chat, await self._play(chat, chat.play, text, images))
        usage = chat.usage
        if turn is not None and turn.budget is not None and (window := turn.budget.rule.window) is not None:
            cost = None if usage.cost is None else schema.Cost(amount=usage.cost, currency="USD")
            facts: dict[str, Any] = {"used": turn.budget.total, "size": window, "cost": cost}
            await self._tell(chat, schema.UsageUpdate(session_update="usage_update", **facts))
        if turn is not None and turn.number == 1:
            title = excerpt(turn.prompt, 80)
            await self._tell(chat, schema.SessionInfoUpdate(session_update="session_info_update", title=title))
        reason: Any = "cancelled" if chat.is_cancelled or turn is None else "end_turn"
        if reason == "end_turn" and turn is not None and turn.interrupted:  # at a limit
            await self._tell(chat, helpers.update_agent_message_text(f"\n\n> {turn.interrupted}"))
            reason = "max_turn_requests" if "step" in turn.interrupted else "max_tokens"
        tokens = {"input_tokens": usage.input, "output_tokens": usage.output, "cached_read_tokens": usage.cached}
        told = schema.Usage(total_tokens=usage.input + usage.output, **tokens) if usage.exact else None
        return schema.PromptResponse(stop_reason=reason, usage=told)

    async def _decided(self, chat: Chat, turn: Turn | None) -> Turn | None:
        """Return the turn as it stands when nothing of it needs approval any more."""
        while not chat.is_cancelled and (asked := await asyncio.to_thread(chat.asked)):
            decisions = [await self._decide(chat, call, change) for call, change in asked]
            turn = await self._play(chat, chat.resume, decisions)
        return turn

    async def _decide(self, chat: Chat, call: PendingCall, change: object) -> Decision:
        await self._tell(chat, chat.updates.begin(call.id, call.name, call.args, "pending", change))
        card, options = chat.updates.card(call, change)
        asks = self._client.request_permission(session_id=chat.thread, tool_call=card, options=options)
        chat.waits = asyncio.ensure_future(asks)
        chosen = getattr((await chat.waits).outcome, "option_id", None)
        if chosen in (ONCE, ALWAYS):
            return call.approve(remember=chosen == ALWAYS)
        if chosen == REJECT:
            return call.reject()
        chat.is_cancelled = True
        raise asyncio.CancelledError

    async def _play(self, chat: Chat, play: Callable[..., Turn | None], *given: Any) -> Turn | None:
        if chat.is_cancelled:
            raise asyncio.CancelledError
        chat.waits = self._turns.add(partial(play, self._turns, partial(self._tell_and_wait, chat), *given))
        turn: Turn | None = await asyncio.wrap_future(chat.waits)
        return turn

    # -- helpers

    def _chat(self, session_id: str) -> Chat:
        if session_id not in self._chats:
            raise NotFoundError(f"no session {session_id!r} is open", "load it, or begin a new one")
        return self._chats[session_id]

    async def _tell(self, chat: Chat, update: Any) -> None:
        await self._client.session_update(session_id=chat.thread, update=update)

    def _tell_and_wait(self, chat: Chat, update: Any) -> None:
        """Tell the client from the main thread, which waits until there is room for more."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._tell(chat, update), self._loop).result()


def _modes(chat: Chat) -> schema.SessionModeState:
    modes = [schema.SessionMode(id=id_, name=name, description=about) for id_, (name, about) in _MODES.items()]
    return schema.SessionModeState(current_mode_id=chat.mode, available_modes=modes)


def _settings(chat: Chat) -> list[Any]:
    facts: dict[str, Any] = {"type": "select", "id": _MODEL, "name": "Model", "category": "model"}
    models = [schema.SessionConfigSelectOption(value=name, name=name) for name in chat.models]
    return [schema.SessionConfigOptionSelect(**facts, current_value=chat.model, options=models)]
