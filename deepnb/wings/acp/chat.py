"""One session of the protocol: a session of deepnb in one of its threads, whose name is the id that the client knows."""

from __future__ import annotations

import os
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepnb.running.runner import TurnStream
from deepnb.session.session import Session
from deepnb.values.approvals import Decision, PendingCall, policy_of
from deepnb.values.errors import DeepnbError, InvalidError
from deepnb.values.turn import Turn, Usage
from deepnb.wings.acp.turns import Turns
from deepnb.wings.acp.updates import Updates

ASK, READ_ONLY = "ask", "read-only"
WORK = "/work"
"""Where the agent sees the directory of the session, if it is mounted."""


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
        made = Session(self.model, namespace={}, persist=self.persist)
        if self.keep is not None:
            made.memory.keep(self.keep)
        return made

    def threads(self) -> list[tuple[str, Sequence[Turn]]]:
        """Return (thread, turns) of all that the database keeps."""
        with self.session() as session:
            threads = session.workspace.threads
            return [(name, tuple(threads[name].turns)) for name in threads.names]


class Chat:
    """A session of the protocol. Its turns are played in the main thread; the rest may be asked for in any, between turns."""

    is_busy = is_cancelled = False
    """Whether it answers a prompt, which the client has cancelled."""
    waits: Any = None
    """What it waits for: the future of a turn, or of the user's decision."""

    def __init__(self, setup: Setup, cwd: str, servers: Iterable[Any] | None, thread: str | None = None) -> None:
        """Begin a thread, or go on with one that is kept."""
        if not os.path.isdir(cwd):
            raise InvalidError(f"cwd can't be {cwd!r}", "give the path of a directory")
        self._cwd = cwd
        self.notes: list[str] = []
        """What is to be said before the next answer."""
        self.session = setup.session()
        try:
            self.thread = self._new() if thread is None else self.session.workspace.threads[thread].name
            if setup.mount:
                self.session.mount(WORK, f"disk:{cwd}")
            for spec in setup.mcp:
                self.session.tools.add(f"mcp:{spec}")
        except BaseException:
            self.session.close()
            raise
        for server in servers or ():
            self._add(server)
        self.mode = READ_ONLY if policy_of(self.session.options.approve).mode == READ_ONLY else ASK
        self.model = self.session.model
        self.models = tuple(dict.fromkeys((self.model, *(one.name for one in self.session.models() if one.usable))))
        self.updates = Updates(self._place)

    def _new(self) -> str:
        """Begin a thread; the one that is current in the database stays so, for notebooks."""
        before, name = self.session.thread, f"chat-{secrets.token_hex(3)}"
        self.session.new(name)
        self.session.switch(before)
        return name

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
            self.notes.append(f"the MCP server {server.name} is left out: {error.typed}")
        finally:
            for variable, value in before.items():
                os.environ.pop(variable)
                os.environ.update({} if value is None else {variable: value})

    def _place(self, path: str) -> str:
        """Return the file of the disk that a path of the agent stands for; the path itself where there is none."""
        storage = self.session.workspace.home.storage
        if path.startswith(f"{WORK}/") and any(one.startswith(WORK) for one in storage.mounts):
            return str(Path(self._cwd, path.removeprefix(f"{WORK}/")))
        file = Path(storage.kept, path.lstrip("/")) if storage.kept else None
        return str(file) if file is not None and file.is_file() else path

    # -- what is known of it

    @property
    def turns(self) -> Sequence[Turn]:
        """The turns of its thread."""
        return self.session.workspace.threads[self.thread].turns

    @property
    def usage(self) -> Usage:
        """The tokens of all of them."""
        return sum((turn.usage for turn in self.turns), Usage())

    def asked(self) -> list[tuple[PendingCall, object]]:
        """Return the calls that need approval, each with what it would change."""
        thread = self.session.workspace.threads[self.thread]
        return [(call, self.session.approvals.change(call)) for call in thread.asked if call.key not in thread.decided]

    # -- in the main thread

    def play(self, turns: Turns, tell: Callable[[Any], None], prompt: str, images: Sequence[Any]) -> Turn | None:
        """Play a prompt to its end, or until calls need approval; None where it was interrupted before it began."""
        model = None if self.model == self.session.model else self.model
        return self._read(turns, tell, self.session.stream(prompt, images=images, model=model, thread=self.thread))

    def resume(self, turns: Turns, tell: Callable[[Any], None], decisions: Sequence[Decision]) -> Turn | None:
        """Go on with the turn whose calls are decided."""
        return self._read(turns, tell, self.session.resume(decisions))

    def _read(self, turns: Turns, tell: Callable[[Any], None], stream: TurnStream) -> Turn | None:
        with self._in_mode():
            try:
                with turns.interruptible():
                    for event in stream:
                        for update in self.updates.of(event):
                            tell(update)
            except (KeyboardInterrupt, ConnectionError):  # what was reached is kept
                pass
            finally:
                _close(stream)
        return stream.turn

    @contextmanager
    def _in_mode(self) -> Iterator[None]:
        """The client's mode holds for its turns alone: the policy is kept in the database, for notebooks, too."""
        before = policy_of(self.session.options.approve).mode
        wanted: Any = READ_ONLY if self.mode == READ_ONLY else "outside" if before == READ_ONLY else before
        if wanted != before:
            self.session.approvals.mode(wanted)
        try:
            yield
        finally:
            if wanted != before:
                self.session.approvals.mode(before)


def _close(stream: TurnStream) -> None:
    while True:
        try:
            return stream.close()
        except KeyboardInterrupt:
            continue
