"""One session of the protocol: a session of deepnb in one of its threads, whose name is the id that the client knows."""

import asyncio
import os
import re
import secrets
import shlex
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import helpers, schema

from deepnb.running.runner import AsyncTurnStream
from deepnb.running.thread import Thread
from deepnb.session.session import Session
from deepnb.values.approvals import Decision, policy_of
from deepnb.values.errors import DeepnbError, InvalidError
from deepnb.values.text import excerpt
from deepnb.values.turn import Turn, Usage
from deepnb.wings.acp.content import ALWAYS, ONCE, REJECT, Updates, read_prompt

ASK, READ_ONLY = "ask", "read-only"
WORK = "/work"
"""Where the agent sees the directory of the session, if it is mounted."""

_OFF = ("list_variables", "inspect_variable", "query_table")
"""Tools for the variables of a kernel, which is another process here; nor is there one that runs code."""


@dataclass(frozen=True)
class Setup:
    """What the sessions of a process have in common, as it was given on the command line."""

    model: str = "offline"
    keep: str | None = None
    persist: str | None = None
    mcp: Sequence[str] = ()
    mount: bool = False

    def session(self) -> Session:
        """Return a session of deepnb that is kept where this says."""
        made = Session(self.model, persist=self.persist, tools_off=_OFF)
        if self.keep is not None:
            made.memory.keep(self.keep)
        return made

    def threads(self) -> list[tuple[str, list[Turn]]]:
        """Return (thread, turns) of all that the database keeps."""
        with self.session() as session:
            threads = session.workspace.threads
            return [(name, list(threads[name].turns)) for name in threads.names]


class Chat:
    """A session of the protocol; what `client` is told of is what happens in it."""

    task: asyncio.Task[Any] | None = None
    is_cancelled = False

    def __init__(self, setup: Setup, client: Any, cwd: str, servers: Iterable[Any], thread: str | None = None) -> None:
        if not os.path.isdir(cwd):
            raise InvalidError(f"cwd can't be {cwd!r}", "give the path of a directory")
        self._client, self._cwd = client, cwd
        keep = "--keep DIR and --persist FILE of `deepnb acp` keep them"
        here = f"threads and memory are kept in this process only: {keep}"
        self._notes = [here] if setup.keep is None and setup.persist is None else []
        """What is to be said before the next answer."""
        self.session = setup.session()
        try:
            if thread is None:  # the thread that is current in the database stays so, for notebooks
                before, self.id = self.session.thread, f"chat-{secrets.token_hex(3)}"
                self.session.new(self.id)
                self.session.switch(before)
            else:
                self.id = self.session.workspace.threads[thread].name
            if setup.mount:
                self.session.mount(WORK, f"disk:{cwd}")
            for spec in setup.mcp:
                self.session.tools.add(f"mcp:{spec}")
        except BaseException:
            self.session.close()
            raise
        for server in servers:
            self._add(server)
        self.mode = READ_ONLY if policy_of(self.session.options.approve).mode == READ_ONLY else ASK
        self.model = self.session.model
        self.models = tuple(dict.fromkeys((self.model, *(one.name for one in self.session.models() if one.usable))))
        self.updates = Updates(self._place)
        _ = self.session.workspace.built  # here, where it keeps nobody waiting

    def _add(self, server: Any) -> None:
        """Start an MCP server of the client's list, with its variables; one that does not start is a line, and no more."""
        given = {one.name: one.value for one in getattr(server, "env", ())}
        headers = {one.name: one.value for one in getattr(server, "headers", ())}
        spec = shlex.join([server.command, *server.args]) if hasattr(server, "command") else getattr(server, "url", "")
        before = {name: os.environ.get(name) for name in given}
        os.environ.update(given)
        try:
            name = re.sub(r"[^a-zA-Z0-9]+", "-", server.name).strip("-")[:30] or None
            self.session.tools.add(f"mcp:{spec}", name=name, env=list(given), headers=headers or None)
        except DeepnbError as error:
            self._notes.append(f"the MCP server {server.name} is left out: {error.typed}")
        finally:
            for variable, value in before.items():
                os.environ.pop(variable)
                os.environ.update({} if value is None else {variable: value})

    def _place(self, path: str) -> str:
        """Return the path on disk of a file that the agent names; its own path where no disk holds it."""
        storage = self.session.workspace.home.storage
        if path.startswith(f"{WORK}/") and any(one.startswith(WORK) for one in storage.mounts):
            return str(Path(self._cwd, path.removeprefix(f"{WORK}/")))
        file = Path(storage.kept, path.lstrip("/")) if storage.kept else None
        return str(file) if file is not None and file.is_file() else path

    @property
    def thread(self) -> Thread:
        """Its thread, as it is known here."""
        return self.session.workspace.threads[self.id]

    async def tell(self, update: Any) -> None:
        """Send an update, or words; it is done when the client has room for more."""
        made = helpers.update_agent_message_text(update) if isinstance(update, str) else update
        await self._client.session_update(session_id=self.id, update=made)

    async def answer(self, blocks: Sequence[Any]) -> schema.PromptResponse:
        """Play a prompt to its end, with the user's decisions on what needs approval."""
        text, images = await asyncio.to_thread(read_prompt, blocks)
        while self._notes:
            await self.tell(f"> {self._notes.pop(0)}\n\n")
        if (asked := self.thread.asked) and all(call.key in self.thread.decided for call in asked):
            # The last turn was cancelled after the decisions: it has to end first, and a tool that was cut is not run again.
            await self._play(self.session.aresume("skip" if self.thread.cut else None, thread=self.id))
            await self.tell("\n\n")
        await self._decided(None)  # what an earlier turn still asks
        model = None if self.model == self.session.model else self.model
        stream = self.session.astream(text, images=images, model=model, thread=self.id)
        turn = await self._decided(await self._play(stream))
        usage, reason = sum((one.usage for one in self.thread.turns), Usage()), "end_turn"
        if turn is not None and turn.budget is not None and (size := turn.budget.rule.window) is not None:
            facts: dict[str, Any] = {"used": turn.budget.total, "size": size, "session_update": "usage_update"}
            cost = None if usage.cost is None else schema.Cost(amount=usage.cost, currency="USD")
            await self.tell(schema.UsageUpdate(**facts, cost=cost))
        if turn is not None and turn.number == 1:
            title = schema.SessionInfoUpdate(session_update="session_info_update", title=excerpt(turn.prompt, 80))
            await self.tell(title)
        if turn is not None and turn.interrupted:  # at a limit
            await self.tell(f"\n\n> {turn.interrupted}")
            reason = "max_turn_requests" if "step" in turn.interrupted else "max_tokens"
        tokens = {"inputTokens": usage.input, "outputTokens": usage.output, "cachedReadTokens": usage.cached}
        told = {"totalTokens": usage.input + usage.output, **tokens} if usage.exact else None
        return schema.PromptResponse.model_validate({"stopReason": reason, "usage": told})

    async def _decided(self, turn: Turn | None) -> Turn | None:
        while asked := [call for call in self.thread.asked if call.key not in self.thread.decided]:
            decisions = list[Decision]()
            for call in asked:
                change = await asyncio.to_thread(self.session.approvals.change, call)
                await self.tell(self.updates.begin(call.id, call.name, call.args, "pending", change))
                card, options = self.updates.card(call, change)
                answer = await self._client.request_permission(session_id=self.id, tool_call=card, options=options)
                if (chosen := getattr(answer.outcome, "option_id", None)) not in (ONCE, ALWAYS, REJECT):
                    self.is_cancelled = True
                    raise asyncio.CancelledError
                decisions.append(call.reject() if chosen == REJECT else call.approve(remember=chosen == ALWAYS))
            turn = await self._play(self.session.aresume(decisions, thread=self.id))
        return turn

    async def _play(self, stream: AsyncTurnStream) -> Turn | None:
        # The client's mode holds for its turns alone: the policy is kept in the database, for notebooks, too.
        before = policy_of(self.session.options.approve).mode
        wanted: Any = READ_ONLY if self.mode == READ_ONLY else "outside" if before == READ_ONLY else before
        if wanted != before:
            self.session.approvals.mode(wanted)
        try:
            async with aclosing(stream):  # with all kept that was reached
                async for event in stream:
                    for update in self.updates.of(event):
                        await self.tell(update)
        finally:
            if wanted != before:
                self.session.approvals.mode(before)
        return stream.turn
