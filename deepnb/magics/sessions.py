"""The sessions of a shell: the one on deepnb's own agent, and those on graphs that were attached; one is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from deepnb.core.values import ThreadInfos
from deepnb.session.opened import OpenedSession, open_session
from deepnb.session.session import Session


class Sessions:
    """Each graph has a session of its own, with its threads, files and memory."""

    def __init__(self, own: Session, prepare: Callable[[Session], None]) -> None:
        """`prepare` joins a session to the shell."""
        prepare(own)
        self.own = self.current = own
        self._prepare = prepare
        self._attached: dict[str, Session] = {}
        self.opened: dict[str, OpenedSession] = {}
        """Those that were opened to be read, by the name of their thread."""
        self._live = own

    def __iter__(self) -> Iterator[Session]:
        return iter((self.own, *self._attached.values()))

    @property
    def is_own(self) -> bool:
        """Whether deepnb's agent is in use."""
        return self.current is self.own

    def use_own(self) -> Session:
        """Go back to deepnb's agent."""
        self.live.workspace.current.idle()
        self.current = self.own
        return self.own

    def attach(
        self, name: str, graph: Any, messages_key: str | None, header: str | None = None
    ) -> tuple[Session, bool]:
        """The session on a graph that a variable holds, or on that at an address, in use from now on, and whether it was made just now.

        A `header` that is named is asked for again.
        """
        self.live.workspace.current.idle()
        known = self._attached.get(name)
        attached = known.options.graph if known is not None else None
        key = messages_key or (attached.messages if attached else None)
        same = attached is not None and (attached.graph is graph or (attached.is_served and not header))
        if known is not None and attached is not None and same and attached.messages == key:
            self.current = known
            return known, False
        given = {"messages_key": messages_key, "header": header, "name": name if graph != name else None}
        made = self.own.attach(graph, **{option: value for option, value in given.items() if value})
        self._prepare(made)
        if known is not None:
            known.close()
        self._attached[name] = self.current = made
        return made, True

    @property
    def live(self) -> Session:
        """The session that prompts go to: that in use, or the one before it where this was opened to be read."""
        if not isinstance(self.current, OpenedSession):
            self._live = self.current
        return self._live

    @property
    def reading(self) -> OpenedSession | None:
        """The session in use, where it was opened to be read."""
        return self.current if isinstance(self.current, OpenedSession) else None

    def open(self, path: str, thread: str | None) -> OpenedSession:
        """A session of a file, in use from now on; one that was opened before is read again."""
        self.live.workspace.current.idle()
        made = open_session(path, thread, into=self.own)
        known = self.opened.get(made.thread)
        if self._is_taken(made.thread) or (known is not None and known.index.path != made.index.path):
            free = (f"{made.thread}-{n}" for n in count(2))
            name = next(one for one in free if one not in self.opened and not self._is_taken(one))
            made = OpenedSession(made.file, name, self.own)
        self._prepare(made)
        self.opened[made.thread] = self.current = made
        return made

    def _is_taken(self, name: str) -> bool:
        return name in self.live.workspace.threads

    def switch(self, name: str) -> Session:
        """The session of a thread, in use from now on."""
        self.live.workspace.current.idle()
        if (known := self.opened.get(name)) is None:
            self.live.switch(name)
        self.current = known or self.live
        return self.current

    def forked(self, name: str | None, at: int | None) -> str:
        """A thread of deepnb's agent that goes on from the opened session in use; returns its name."""
        made = self.current.fork(name, at)
        self._live = self.current = self.own
        return made

    def threads(self) -> ThreadInfos:
        """The threads of the live session, and those that were opened."""
        reading = self.current is not self.live
        own = (replace(info, current=info.current and not reading) for info in self.live.threads)
        opened = (replace(info, current=one is self.current) for one in self.opened.values() for info in one.threads)
        return ThreadInfos((*own, *opened))
