"""The sessions of a shell: the one on deepnb's own agent, and those on graphs that were attached; one is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from deepnb.session.session import Session


class Sessions:
    """Each graph has a session of its own, with its threads, files and memory."""

    def __init__(self, own: Session, prepare: Callable[[Session], None]) -> None:
        """`prepare` joins a session to the shell."""
        prepare(own)
        self.own = self.current = own
        self._prepare = prepare
        self._attached: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter((self.own, *self._attached.values()))

    @property
    def is_own(self) -> bool:
        """Whether deepnb's agent is in use."""
        return self.current is self.own

    def use_own(self) -> Session:
        """Go back to deepnb's agent."""
        self.current.workspace.current.idle()
        self.current = self.own
        return self.own

    def attach(
        self, name: str, graph: Any, messages_key: str | None, header: str | None = None
    ) -> tuple[Session, bool]:
        """The session on a graph that a variable holds, or on that at an address, in use from now on, and whether it was made just now.

        A `header` that is named is asked for again.
        """
        self.current.workspace.current.idle()
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
