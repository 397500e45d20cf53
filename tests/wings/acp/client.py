"""A client of the protocol for tests: the package's own connection, what it was told, and every message."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, schema, spawn_agent_process, text_block

from tests import ROOT
from tests.support.forks import python

MODELS: dict[str, Any] = {
    "error": schema.Error, "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "answer to initialize": schema.InitializeResponse, "answer to session/new": schema.NewSessionResponse,
    "answer to session/load": schema.LoadSessionResponse, "answer to session/list": schema.ListSessionsResponse,
    "answer to session/close": schema.CloseSessionResponse,
    "answer to session/set_mode": schema.SetSessionModeResponse,
    "answer to session/set_config_option": schema.SetSessionConfigOptionResponse,
    "answer to session/prompt": schema.PromptResponse,
}  # fmt: skip
"""What the agent sends: as the protocol's schema has it."""

SCRIPTED = """
import sys
from deepnb.testing import ScriptedModel, call
from deepnb.wings.acp.command import run_acp
sys.exit(run_acp(model=ScriptedModel(answers=[{answers}], delay=0.01), persist="k.db", mount=True))
"""
"""A process whose model gives these answers."""


def program(answers: str = "", *arguments: str) -> list[str]:
    """The command of an agent: with the offline model, or one that gives these answers, written as Python."""
    how = ["-c", SCRIPTED.format(answers=answers)] if answers else ["-m", "deepnb", "acp"]
    return [*python(), *how, *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


class Client:
    """One that remembers what it was told, and decides as `choices` say, the last one for all calls that follow."""

    def __init__(self) -> None:
        self.conn: Any = None
        self.process: Any = None
        self.messages: list[tuple[str, dict[str, Any]]] = []
        """(incoming or outgoing, message), all of them."""
        self.updates: list[Any] = []
        self.cards: list[Any] = []
        self.choices: list[str | None] = ["once"]
        self.session = ""

    def on_connect(self, conn: Any) -> None:
        """Nothing: it is known."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        assert session_id == self.session or not self.session
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.cards.append(tool_call)
        choice = self.choices.pop(0) if len(self.choices) > 1 else self.choices[0]
        if choice is None:  # it never answers
            await asyncio.Event().wait()
        assert choice in [one.option_id for one in options]
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=str(choice))
        )

    async def new(self, cwd: Path) -> str:
        made = await self.conn.new_session(cwd=str(cwd), mcp_servers=[])
        self.session = made.session_id
        return self.session

    async def ask(self, *blocks: Any) -> Any:
        self.updates.clear()
        given = [text_block(one) if isinstance(one, str) else one for one in blocks]
        return await self.conn.prompt(session_id=self.session, prompt=given)

    async def until(self, is_it: Callable[[], object]) -> None:
        while not is_it():
            await asyncio.sleep(0.02)

    @property
    def text(self) -> str:
        return "".join(one.content.text for one in self.updates if one.session_update == "agent_message_chunk")

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]


@asynccontextmanager
async def connected(cwd: Path, *arguments: str, answers: str = "") -> AsyncIterator[Client]:
    client = Client()

    def note(event: Any) -> None:
        client.messages.append((event.direction.value, event.message))

    command = program(answers, *arguments)
    started: Any = spawn_agent_process(client, *command, env=environment(), cwd=cwd, observers=[note])  # type: ignore[arg-type]
    async with started as (client.conn, client.process):
        await client.conn.initialize(protocol_version=PROTOCOL_VERSION)
        yield client


def misfits(messages: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """What of the agent's messages the protocol's schema does not have, or does not have like that."""
    asked = {message["id"]: message["method"] for way, message in messages if way == "outgoing" and "method" in message and "id" in message}  # fmt: skip
    found = []
    for way, message in messages:
        if way != "incoming":
            continue
        if "error" in message:
            model, value = MODELS["error"], message["error"]
        elif "method" in message:
            model, value = MODELS[message["method"]], message["params"]
        else:
            model, value = MODELS[f"answer to {asked[message['id']]}"], message["result"]
        try:
            back = model.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True)
        except ValueError as error:
            found.append(f"{value}: {error}")
        else:
            if back != value:
                found.append(f"{value} is read as {back}")
    return found
