"""The graphs of a session: made when they are first needed, and kept for a while."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepnb.agent.options import Options, same
from deepnb.memory.scope import Scope

if TYPE_CHECKING:
    from deepnb.agent.build import Built
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.memory.searching import MemorySearch

KEPT = 4
"""A few, since one turn may use another model and the next the session's own again."""


class Graphs:
    """Graphs by their options, and the backend they write through, over one checkpointer. Imports of the engine wait for the first."""

    def __init__(
        self,
        backend: Callable[[], GuardedBackend],
        checkpointer: Any,
        clock: Callable[[], str],
        scope: Callable[[], Scope],
        search: Callable[[], MemorySearch],
    ) -> None:
        """`backend` and `search` give those of the thread meant just now; without a `checkpointer`, threads are kept in memory."""
        self._backend = backend
        self._given = checkpointer
        self._clock = clock
        self._scope = scope
        self._search = search
        self._made: list[tuple[Options, Any, Built]] = []
        """Options, the variable their model's name stood for, the graph made of them."""

    @cached_property
    def checkpointer(self) -> Any:
        """Where threads are checkpointed."""
        if self._given is not None:
            return self._given
        from langgraph.checkpoint.memory import InMemorySaver

        return InMemorySaver()

    def of(self, options: Options) -> Built:
        """The graph for these options."""
        from deepnb.agent.build import build

        held = options.namespace.get(options.model) if isinstance(options.model, str) else None
        for known, variable, built in self._made:
            if same(known, options) and variable is held and built.guard is self._backend():
                return built
        built = build(options, self._backend(), self.checkpointer, self._clock, self._scope, self._search)
        self._made = [*self._made[1 - KEPT :], (options, held, built)]
        return built
